"""Options that the commands about commutes share."""

from typing import Annotated

import typer

from understudy.cli.numbers import number, whole_number

_INPUT, _DOMAIN, _PROMISE = "Input", "Domain (public)", "Promise"

Flows = Annotated[str, typer.Argument(help="Table of origin, destination and perhaps a count: file, glob or database.")]
Origin = Annotated[str, typer.Option(help="Column of origins.", rich_help_panel=_INPUT)]
Destination = Annotated[str, typer.Option(help="Column of destinations.", rich_help_panel=_INPUT)]
Count = Annotated[
    str | None,
    typer.Option(
        help="Column of worker counts; else one row is one worker.", rich_help_panel=_INPUT, show_default=False
    ),
]
PlacesFile = Annotated[
    str | None,
    typer.Option(
        "--places",
        help="Public table of place, latitude, longitude, and perhaps home (true where people may live).",
        rich_help_panel=_INPUT,
        show_default=False,
    ),
]
OriginsFile = Annotated[
    str | None,
    typer.Option(
        "--origins",
        help="Public list of possible origins; default: the places.",
        rich_help_panel=_INPUT,
        show_default=False,
    ),
]
Epsilon = Annotated[
    float,
    typer.Option(
        help="Before shrinking and rejection, which add to it.",
        rich_help_panel=_PROMISE,
        parser=number,
        metavar="NUMBER",
    ),
]
Delta = Annotated[
    float | None,
    typer.Option(help="Not for pure.", rich_help_panel=_PROMISE, show_default=False, parser=number, metavar="NUMBER"),
]
CertificateWord = Annotated[
    str,
    typer.Option(
        "--certificate",
        help="pure (theorem 4.1), theorem-4.4 (the paper's choice, promise recomputed), probabilistic (exact tails) or "
        "exact (smallest noise).",
        rich_help_panel=_PROMISE,
    ),
]
Method = Annotated[
    str, typer.Option(help="dirichlet, or a baseline: laplace, subsample, sba.", rich_help_panel=_PROMISE)
]
RingsFile = Annotated[
    str | None,
    typer.Option(
        "--rings",
        help="Public histogram of distances (miles, share, perhaps keep), or ctpp-minnesota.",
        rich_help_panel=_DOMAIN,
        show_default=False,
    ),
]
PriorShape = Annotated[
    str, typer.Option("--prior", help="uniform, or distance: by the rings' shares.", rich_help_panel=_DOMAIN)
]
PriorCap = Annotated[
    int,
    typer.Option(
        help="Largest ratio of virtual counts.", rich_help_panel=_DOMAIN, parser=whole_number, metavar="NUMBER"
    ),
]
Shrink = Annotated[
    bool,
    typer.Option(
        "--shrink", help="Drop empty origins at random (algorithm 2); costs epsilon.", rich_help_panel=_DOMAIN
    ),
]
Cutoff = Annotated[
    float | None,
    typer.Option(
        help="Leave out commutes beyond so many miles.",
        rich_help_panel=_DOMAIN,
        show_default=False,
        parser=number,
        metavar="NUMBER",
    ),
]
Split = Annotated[
    float | None,
    typer.Option(
        help="Model commutes beyond so many miles apart, ring by ring.",
        rich_help_panel=_DOMAIN,
        show_default=False,
        parser=number,
        metavar="NUMBER",
    ),
]
RegionsFile = Annotated[
    str | None,
    typer.Option(
        "--regions",
        help="Public partition of origins (origin, region, perhaps density): draw regions, then place.",
        rich_help_panel=_DOMAIN,
        show_default=False,
    ),
]
Reject = Annotated[
    bool, typer.Option("--reject", help="Draw again what is not gamma-Good (lemma 5.2).", rich_help_panel=_PROMISE)
]
Size = Annotated[
    float,
    typer.Option(help="Synthetic workers per real one.", rich_help_panel=_PROMISE, parser=number, metavar="NUMBER"),
]
Sizes = Annotated[
    str | None,
    typer.Option(
        help="Public table of destination, workers: output sizes.", rich_help_panel=_PROMISE, show_default=False
    ),
]
Subsample = Annotated[
    float,
    typer.Option(
        help="Share kept by the baseline subsample.", rich_help_panel=_PROMISE, parser=number, metavar="NUMBER"
    ),
]
