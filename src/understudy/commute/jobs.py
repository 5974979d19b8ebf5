"""One function per use case of commuting tables; the command line calls only these."""

from pathlib import Path
from typing import Any

from understudy.commute.evaluating import evaluate_commutes
from understudy.commute.places import CommuteInput, Places, Regions, read_origins, read_places, read_regions
from understudy.commute.plan import Plan
from understudy.commute.recipe import CommuteRecipe
from understudy.commute.released import ReleasedCommutes, read_release
from understudy.errors import ParameterError, ReleaseError
from understudy.evaluate.commuting import CommuteFindings
from understudy.mechanisms.stream import Stream
from understudy.parameters import Whole
from understudy.privacy.account import Account, account_at, remember_look
from understudy.release import Release
from understudy.release.folders import check_target
from understudy.sources.base import Report
from understudy.sources.flows import read_flows


def open_commutes(
    data: Any,
    *,
    origin: str = "origin",
    destination: str = "destination",
    count: str | None = None,
    table: str | None = None,
    places: Any = None,
    origins: Any = None,
    regions: Any = None,
    account: Account | str | Path | None = None,
) -> CommuteInput:
    """Read the public tables first and then count the confidential one; ``account`` pays for what is drawn from it."""
    paying = account_at(account)
    known = places if isinstance(places, Places) or places is None else read_places(places, confidential=data)
    listed = None if origins is None else read_origins(origins, confidential=data)
    names = None if listed is None else listed.names
    if names is None and known is not None:
        names = known.names if known.homes is None else known.homes
    flows = read_flows(data, origin=origin, destination=destination, count=count, table=table, origins=names)
    if known is not None:
        known.positions(tuple(flows.origins.to_pylist()), "origin")
        known.positions(flows.destinations, "destination")
    coarse = regions
    if regions is not None and not isinstance(regions, Regions):
        coarse = read_regions(regions, tuple(flows.origins.to_pylist()), confidential=data)
    return CommuteInput(
        flows=flows, places=known, regions=coarse, origins=listed, names=(origin, destination), account=paying
    )


def quote_commutes(recipe: CommuteRecipe, given: CommuteInput) -> Plan:
    """The plan and its price, from public facts alone.

    With an account the choices are written down there, so that no later look at the data can have made them.
    """
    plan = recipe.plan(given)
    if given.account is not None:
        given.account.fix(plan.choices, label=f"{plan.quote.method}, {plan.rows:,} rows")
    return plan


def synthesize_commutes(
    recipe: CommuteRecipe,
    given: CommuteInput,
    *,
    out: str | Path | None,
    csv: bool = False,
    seed: int | None = None,
    report: Report | None = None,
) -> Release:
    """Pay, draw, and write if ``out`` is given."""
    if out is not None:
        check_target(Path(out))
    fitted = recipe.fit(given, stream=Stream.of_seed(seed), report=report)
    return fitted.sample() if out is None else fitted.write(out, csv=csv)


def compare_commutes(
    data: Any,
    release: str | Path,
    *,
    places: Any = None,
    short: float | None = None,
    account: Account | str | Path | None = None,
    **columns: Any,
) -> tuple[CommuteFindings, ReleasedCommutes]:
    """Compare a release with the confidential table; an account records the look.

    ``columns``: ``origin``, ``destination``, ``count`` and ``table`` of the confidential table.
    """
    charged = account_at(account)
    made = read_release(release, places=None if places is None else read_places(places, confidential=data))
    real = read_flows(data, origins=list(made.origins), **columns)
    findings = evaluate_commutes(real, made, short=short)
    # before anybody sees a figure
    remember_look(charged, f"evaluation of commutes: the release {made.manifest['release']}")
    return findings, made


def write_example(folder: Path, *, workers: int, seed: int) -> list[Path]:
    """A simulated town to try the commands on: flows.csv and places.csv in a new folder."""
    import pyarrow.csv

    from understudy.datasets import commutes

    if folder.exists():
        raise ParameterError(f"{str(folder)!r} exists already; an example never overwrites. Choose another folder.")
    Whole(least=0, tried=1).check("seed", seed)
    town = commutes(workers, seed)
    try:
        folder.mkdir(parents=False)
    except OSError as reason:
        raise ReleaseError(f"the folder {str(folder)!r} cannot be made ({reason.strerror}).") from None
    paths = [folder / "flows.csv", folder / "places.csv"]
    for path, table in zip(paths, town, strict=True):
        pyarrow.csv.write_csv(table, path)
    return paths
