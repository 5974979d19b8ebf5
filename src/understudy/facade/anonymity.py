"""Anonymised tables: make them, and count again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from understudy.errors import ParameterError, ReleaseError

if TYPE_CHECKING:
    from understudy.anonymize import Measured, Rule
    from understudy.anonymize import Recipe as AnonymizeRecipe
    from understudy.anonymize.criteria import Criterion
    from understudy.anonymize.fitted import Anonymized
    from understudy.anonymize.report.gather import Findings
    from understudy.anonymize.risk import RiskFigures
    from understudy.codebook import Codebook
    from understudy.release.verify import Verdict
    from understudy.sources.base import Report


def anonymize(
    data: Any,
    book: Codebook | str | Path,
    k: int | None = None,
    *,
    suppression: float | None = None,
    loss: str | None = None,
    mondrian: bool = False,
    delete: bool = False,
    criteria: Sequence[Criterion] = (),
    hierarchies: Mapping[str, Rule] | None = None,
    recipe: AnonymizeRecipe | str | Path | None = None,
    quasi: Sequence[str] | None = None,
    out: str | Path | None = None,
    csv: bool = False,
    page: str | Path | None = None,
    unknown: str = "error",
    table: str | None = None,
    seed: int | None = None,
    report: Report | None = None,
) -> Anonymized:
    """Generalise and suppress until every combination of quasi-identifiers is shared by ``k`` rows, and count again.

    Parameters
    ----------
    data
        Path, address or table.
    book
        Codebook, or the path of one.
    k
        Rows that must share every combination of quasi-identifiers.
    suppression
        Share of rows that may be suppressed (not with ``mondrian``).
    loss
        ``height``, ``discernibility`` or ``entropy`` (default).
    mondrian
        Cut boxes instead of generalising whole columns.
    delete
        Delete suppressed rows instead of starring them.
    criteria
        Further demands, such as ``understudy.anonymize.EntropyDiversity(column="diagnosis", l=3)``.
    hierarchies
        How columns are generalised, by name; by default the codebook's steps.
    recipe
        Instead of all of these: a recipe or its TOML file, with every step in order.
    quasi
        Quasi-identifiers; by default the codebook's roles.
    out
        New folder for the release; without it nothing is written.
    csv
        Write ``anonymized.csv`` too.
    page
        HTML page for a disclosure board; confidential. Needs ``out``.
    unknown
        Values outside the codebook: ``error``, ``missing``, ``other`` or ``other-or-missing``.
    table
        Table in a database.
    seed
        Reproducible draws, for simulation: swaps and noise can then be undone.
    report
        Called with step, done and total.

    Returns
    -------
    Anonymized
        ``.release`` may leave the house; everything else of it is confidential.
    """
    from understudy.anonymize.jobs import make_release
    from understudy.anonymize.recipe import Recipe, load_recipe

    if recipe is None:
        chosen = _anonymize_recipe(k, suppression, loss, mondrian, delete, criteria, hierarchies)
    elif k is not None or suppression is not None or loss or mondrian or delete or criteria or hierarchies:
        raise ParameterError(
            "a recipe says everything that is asked; leave `recipe` out, or put `k`, `suppression`, criteria and "
            "hierarchies into it."
        )
    else:
        chosen = recipe if isinstance(recipe, Recipe) else load_recipe(recipe)
    return make_release(
        data,
        book,
        chosen,
        out=None if out is None else Path(out),
        quasi=quasi,
        csv=csv,
        page=None if page is None else Path(page),
        seed=seed,
        unknown=unknown,
        table=table,
        report=report,
    )


def _anonymize_recipe(
    k: int | None,
    suppression: float | None,
    loss: str | None,
    mondrian: bool,
    delete: bool,
    criteria: Sequence[Criterion],
    hierarchies: Mapping[str, Rule] | None,
) -> AnonymizeRecipe:
    from understudy.anonymize import FullDomain, Mondrian, Recipe

    if k is None:
        raise ParameterError("nothing is asked: give `k`, or a `recipe`. There is no default for privacy.")
    rules = dict(hierarchies or {})
    if mondrian:
        if suppression is not None or loss or delete:
            raise ParameterError("`mondrian` suppresses nothing and has no loss to choose; leave those options out.")
        return Recipe(steps=(Mondrian(k=k, criteria=tuple(criteria)),), hierarchies=rules)
    if suppression is None:
        raise ParameterError(
            "`suppression` is missing: the share of rows that may be suppressed, for example 0.01; 0 allows none."
        )
    step = FullDomain(
        k=k,
        suppression=suppression,
        loss=loss or "entropy",
        suppressed="delete" if delete else "star",
        criteria=tuple(criteria),
    )
    return Recipe(steps=(step,), hierarchies=rules)


def criterion(kind: str, column: str, numbers: str) -> Criterion:
    """A demand in words: ``distinct`` and ``entropy`` take L, ``recursive`` C,L, ``closeness`` T or T,DISTANCE."""
    from understudy.anonymize import Closeness, DistinctDiversity, EntropyDiversity, RecursiveDiversity

    first, _, second = numbers.partition(",")
    if kind == "distinct":
        return DistinctDiversity(column=column, l=_parsed(int, numbers, kind))
    if kind == "entropy":
        return EntropyDiversity(column=column, l=_parsed(float, numbers, kind))
    if kind == "recursive":
        return RecursiveDiversity(column=column, c=_parsed(float, first, kind), l=_parsed(int, second, kind))
    return Closeness(column=column, t=_parsed(float, first, kind), distance=second or "equal")


def hierarchy(column: str, text: str) -> Rule:
    """A rule in words: ``intervals:5,10``, ``prefix:3,2``, ``dates:month,year`` or ``arx:FILE``."""
    from understudy.anonymize import Rule

    kind, _, rest = text.partition(":")
    items = tuple(item.strip() for item in rest.split(",") if item.strip())
    if kind == "arx" and rest:
        return Rule(arx=Path(rest))
    if kind == "intervals" and items:
        return Rule(intervals=items)
    if kind == "prefix" and items:
        return Rule(prefix=tuple(_parsed(int, item, "hierarchy") for item in items))
    if kind == "dates" and items:
        return Rule(dates=items)
    raise ParameterError(
        f"`hierarchy` is {column}={text!r}; write intervals:5,10,20 or prefix:3,2 or dates:month,year or arx:FILE."
    )


def _parsed(kind: Callable[[str], Any], text: str, option: str) -> Any:
    try:
        return kind(text)
    except ValueError:
        word = "whole number" if kind is int else "number"
        raise ParameterError(f"`{option}` has {text!r} where a {word} belongs; see --help for its form.") from None


def measure_risk(
    data: Any, book: Codebook | str | Path | None = None, **options: Any
) -> tuple[tuple[str, ...], RiskFigures]:
    """Prosecutor, journalist and marketer risk of a table by its classes, and the quasi-identifiers that form them.

    An anonymised release has its own codebook. ``options`` are those of
    :func:`understudy.anonymize.jobs.measure_risk`. What comes out is confidential.
    """
    from understudy.anonymize import jobs

    return jobs.measure_risk(data, book, **options)


def write_report(
    real: Any, release: str | Path, book: Codebook | str | Path, out: str | Path, **options: Any
) -> Findings:
    """One page for a disclosure board about the folder of an anonymised release, before and after. Confidential.

    ``options`` are those of :func:`understudy.anonymize.jobs.write_report`.
    """
    from understudy.anonymize import jobs

    return jobs.write_report(real, Path(release), book, out=Path(out), **options)


def verify_anonymized(folder: str | Path) -> tuple[Verdict, Measured | None]:
    """The verdict about an anonymised release, and k, l and t as counted again."""
    from understudy.anonymize.verify import is_anonymized
    from understudy.anonymize.verify import verify_anonymized as recount

    if Path(folder).is_dir() and not is_anonymized(folder):
        raise ReleaseError(f"{str(folder)!r} holds no anonymised release; check others with `understudy verify`.")
    return recount(folder)
