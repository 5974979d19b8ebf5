"""Tables that are made from data: synthetic rows, completed tables, noisy counts, and what they cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from understudy.errors import BudgetError, ParameterError, ReleaseError
from understudy.facade import histories
from understudy.facade.codebooks import load_any, load_codebook, load_linked
from understudy.facade.documented import documented

if TYPE_CHECKING:
    from understudy.codebook import Codebook, LinkedCodebook
    from understudy.parameters import Option
    from understudy.privacy.account import Account
    from understudy.privacy.quote import Quote
    from understudy.release import Release
    from understudy.release.linked import LinkedRelease
    from understudy.sources.base import Report
    from understudy.synth.choices import Choices
    from understudy.synth.counts import Counts
    from understudy.synth.parted import PartedRelease
    from understudy.synth.recipe import Fitted, Recipe


def recipe_of(method: str | Recipe | Choices, options: Mapping[str, Any], book: Codebook, rows: int) -> Recipe:
    """A recipe by name and options, by choices that were read from a file, or the recipe itself."""
    from understudy.synth.choices import Choices

    if isinstance(method, str):
        return Choices(method=method, options=options).recipe(book, rows)
    if isinstance(method, Choices):
        return method.with_options(options).recipe(book, rows)
    if options:
        raise ParameterError(
            f"{', '.join(sorted(options))} stand beside a recipe, which holds its own options; "
            f"write {type(method).__name__}(...) with them, or give the method by name."
        )
    return method


def read_recipe(path: str | Path | None) -> Choices:
    """A recipe file or the manifest of a release; None stands for the default method without options."""
    from understudy.synth import choices

    return choices.Choices(options={}) if path is None else choices.read_recipe(path)


def recipe_text(path: str | Path, choices: Choices) -> str:
    """The recipe that was read from ``path``, as TOML."""
    from understudy.loading import loading

    with loading(path, "the recipe", remedy="take the release again from where it was published.", error=ReleaseError):
        return choices.to_toml()


def save_recipe(text: str, out: str | Path) -> Path:
    """Write a recipe to a new file."""
    from understudy.files import Access, write_file

    try:
        return write_file(Path(out), text, Access.EVERYBODY, new=True)
    except FileExistsError:
        raise ReleaseError(f"{str(out)!r} exists already; a recipe never overwrites. Choose another name.") from None
    except OSError as reason:
        raise ReleaseError(f"the recipe {str(out)!r} cannot be written ({reason.strerror}).") from None


def read_words(path: str | Path | None) -> dict[str, Any]:
    """The options in a recipe file of whatever is made from options; None stands for no file."""
    from understudy.synth import choices

    words = {} if path is None else choices.read_words(path)
    if isinstance(words.get("parameters"), dict):
        raise ParameterError(
            f"the recipe {str(path)!r} is the manifest of a release; here only a TOML file of options is read. Write "
            "one, an option per line."
        )
    return words


def declared_options(method: str | None) -> dict[str, Option]:
    """The options that a method declares, or all methods together."""
    from understudy.parameters import options_of, options_together
    from understudy.synth.registry import METHODS, find_method

    if method == histories.NAME:
        declared = histories.history_options()
    else:
        declared = options_together(METHODS) if method is None else options_of(find_method(method))
        declared = declared if method is not None else histories.history_options() | declared
    declared.pop("rows", None)  # an argument of every use case
    return declared


def filling_options() -> dict[str, Option]:
    """The options of :func:`impute`."""
    from understudy.parameters import options_of
    from understudy.synth.filling import Filling

    return options_of(Filling)


@documented
def quote(
    book: Codebook | LinkedCodebook | str | Path,
    rows: int,
    method: str | Recipe | Choices = "marginals",
    *,
    data: Any = None,
    account: Account | str | Path | None = None,
    rows_about: int | None = None,
    public: Any = None,
    table: str | None = None,
    **options: Any,
) -> Quote:
    """Say what a release would cost. Reads no row of the data.

    Parameters
    ----------
    data
        The table, only to learn whether it is itself a release: that changes what is promised.
    account
        These choices are written down there, so that no later look at the data can have made them. Nothing is charged.
    rows_about
        About how many records the table has, a public guess: adds a forecast (:func:`understudy.forecast`).
    public
        Public table of the same shape, for the forecast.
    **options
        Options of the method, such as ``epsilon=1, delta=1e-6``.

    Returns
    -------
    Quote
        ``.total``, ``.statement``, ``.ledger``, ``.warnings`` and ``.forecast``.
    """
    from understudy.codebook import Codebook
    from understudy.privacy.account import account_at
    from understudy.privacy.provenance import InputRole
    from understudy.release.making import choices_of
    from understudy.sources.inputs import provenance_behind
    from understudy.sources.same import refuse_same
    from understudy.synth.people import of_people

    book = load_any(book)
    if not isinstance(book, Codebook):
        histories.refuse_given(rows_about=rows_about, public=public, table=table)
        return histories.quote(book, rows, method, data=data, account=account, **options)
    recipe = recipe_of(method, options, book, rows)
    recipe.public_inputs(data)
    priced = recipe.quote(book, rows).with_data(provenance_behind(data, book, table))
    if rows_about is not None:
        from understudy.synth.forecast import forecast

        refuse_same(data, public, InputRole.STAND_IN.value)
        priced = replace(priced, forecast=forecast(recipe, book, rows_about, public=public))
    elif public is not None:
        raise ParameterError("`public` is for the forecast; say about how many records there are: `rows_about`.")
    opened = account_at(account)
    if opened is not None:
        chosen, public = of_people(recipe, book).parameters(), recipe.public_tables.values()
        if fault := opened.relation_fault(priced.ledger):
            raise BudgetError(f"this release {fault}")
        fixed = choices_of(priced, chosen, book.digest, public=public)
        opened.fix(fixed, label=f"{priced.method}, {rows:,} rows")
    return priced


@documented
def synthesize(
    data: Any,
    book: Codebook | LinkedCodebook | str | Path,
    rows: int,
    method: str | Recipe | Choices = "marginals",
    *,
    out: str | Path | None = None,
    csv: bool = False,
    formats: str | Sequence[str] = (),
    save_model: str | Path | None = None,
    account: Account | str | Path | None = None,
    unknown: str = "error",
    table: str | None = None,
    seed: int | None = None,
    report: Report | None = None,
    **options: Any,
) -> Release | LinkedRelease:
    """Make one synthetic release: fit, pay, draw, and write it if ``out`` is given.

    Parameters
    ----------
    out
        New folder for table, codebook and manifest; without it nothing is written.
    csv
        Write ``synthetic.csv`` too.
    formats
        Write the table too as ``xlsx``, ``sav``, ``dta`` or ``csv``, or several of them, with order, labels and
        missing codes.
    save_model
        New file for the released model (route N), from which :func:`draw` makes more rows.
    account
        Charged before anything is drawn.
    **options
        Options of the method, such as ``epsilon=1, delta=1e-6``.

    Returns
    -------
    Release
        ``.table``, ``.statement``, ``.manifest``, ``.to_pandas()`` and ``.save(folder)``; for linked tables, where
        ``rows`` are people, ``.tables`` instead of ``.table``.

    Examples
    --------
    >>> import understudy as us
    >>> book = us.datasets.discharges_codebook()
    >>> patients = us.datasets.discharges(rows=2000, seed=1)
    >>> us.synthesize(patients, book, rows=100, method="marginals", epsilon=1, delta=1e-6)
    <Release of 100 rows by marginals, ApproxDP>
    """
    from understudy.codebook import Codebook
    from understudy.release.folders import check_target
    from understudy.release.formats import chosen_formats
    from understudy.sources.inputs import provenance_behind
    from understudy.synth.released import FittedReleased, refuse_model_of

    formats = chosen_formats(formats, csv=csv, rows=rows)
    if out is not None:
        check_target(Path(out))
    book = load_any(book)
    if not isinstance(book, Codebook):
        histories.refuse_given(table=table)
        how: dict[str, Any] = {
            "account": account,
            "unknown": unknown,
            "seed": seed,
            "report": report,
            "save_model": save_model,
        }
        return histories.synthesize(data, book, rows, method, out=out, formats=formats, **how, **options)
    recipe = recipe_of(method, options, book, rows)
    if save_model is not None:
        _check_model_target(recipe, Path(save_model), out)
        refuse_model_of(provenance_behind(data, book, table))
    fitted = _fitted(data, book, rows, recipe, account=account, unknown=unknown, table=table, seed=seed, report=report)
    release = fitted.sample(rows) if out is None else fitted.write(out, rows, formats=formats)
    certificate = release.manifest.certificate
    if save_model is not None and (certificate is None or certificate["accepted"]):
        assert isinstance(fitted, FittedReleased)  # checked above
        fitted.save_model(Path(save_model))
    return release


def synthesize_many(
    data: Any,
    book: Codebook | str | Path,
    rows: int,
    method: str | Recipe | Choices = "marginals",
    *,
    files: int,
    out: str | Path | None = None,
    csv: bool = False,
    formats: str | Sequence[str] = (),
    **more: Any,
) -> list[Release]:
    """Several files from one fit, in numbered folders: all written and paid, or none. On route S each pays.

    ``files`` says how many; the other arguments are those of :func:`synthesize`.
    """
    from understudy.release.folders import check_target
    from understudy.release.formats import chosen_formats
    from understudy.synth.recipe import FILES

    FILES.check("files", files)
    formats = chosen_formats(formats, csv=csv, rows=rows)
    if out is not None:
        check_target(Path(out))
    fitted = _fitted(data, load_codebook(book), rows, method, **more)
    return (
        fitted.sample_many(rows, files=files)
        if out is None
        else fitted.write_many(out, rows, files=files, formats=formats)
    )


def _fitted(
    data: Any,
    book: Codebook,
    rows: int,
    method: str | Recipe | Choices,
    *,
    seed: int | None = None,
    report: Report | None = None,
    **more: Any,
) -> Fitted:
    from understudy.mechanisms.stream import Stream
    from understudy.sources import open_source

    opening, options = _apart(more)
    recipe = recipe_of(method, options, book, rows)
    priced = recipe.quote(book, rows, secure=seed is None)  # refuse bad numbers before the data is touched
    source = open_source(data, book, **opening)
    return recipe.fit(source, stream=Stream.of_seed(seed), report=report, quote=priced)


def _apart(more: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What says how the data are opened, and the options of the method."""
    opening = {name: value for name, value in more.items() if name in ("account", "unknown", "table")}
    return opening, {name: value for name, value in more.items() if name not in opening}


def _check_model_target(recipe: Recipe, path: Path, out: str | Path | None) -> None:
    """Find out before anything is spent whether the model can be written."""
    from understudy.release.folders import check_target

    if recipe.route != "N":
        raise ParameterError(
            f"{recipe.name} has no model that may leave the house (route {recipe.route}); leave `save_model` out."
        )
    if path.exists():
        raise ReleaseError(f"{str(path)!r} exists already; a model never overwrites. Choose another name.")
    if out is not None and path.absolute() == Path(out).absolute():
        raise ParameterError(f"{str(path)!r} is meant for the release and for its model; give the model another name.")
    check_target(path)


def draw(
    model: str | Path,
    rows: int,
    *,
    where: Sequence[str] | Mapping[str, Any] = (),
    out: str | Path | None = None,
    csv: bool = False,
    formats: str | Sequence[str] = (),
    report: Report | None = None,
) -> Release | LinkedRelease:
    """More rows from a released model, of a sub-population if asked for; nothing is paid.

    ``where`` holds words such as ``sex=F``, or values by column; ``formats`` as in :func:`synthesize`.
    """
    from understudy.codebook.where import parse_where
    from understudy.release.folders import check_target
    from understudy.release.formats import chosen_formats
    from understudy.synth.model_file import load_model

    formats = chosen_formats(formats, csv=csv, rows=rows)
    if out is not None:
        check_target(Path(out))
    part = where if isinstance(where, Mapping) else parse_where(where)
    if histories.is_histories(model):
        return histories.draw(model, rows, where=part, out=out, formats=formats, report=report)
    release = load_model(model).sample(rows, where=part or None, report=report)
    if out is not None:
        release.save(out, formats=formats)
    return release


def synthesize_parts(
    data: Any,
    book: Codebook | str | Path,
    rows: int,
    method: str | Recipe | Choices = "marginals",
    *,
    out: str | Path,
    engine: str = "local",
    workers: int | None = None,
    part_rows: int | None = None,
    master: str | None = None,
    seed: int | None = None,
    report: Report | None = None,
    **more: Any,
) -> PartedRelease:
    """One release in Parquet parts, drawn in parallel; run again with the same arguments after a crash, it goes on.

    ``engine`` is ``local`` or ``spark``, ``workers`` the parts that are drawn at a time, ``part_rows`` the rows of
    each, ``master`` the Spark master; the other arguments are those of :func:`synthesize`.
    """
    from understudy.codebook import LinkedCodebook
    from understudy.synth.part_work import PART_ROWS
    from understudy.synth.ranged import synthesize_parts as run

    described, (opening, options) = load_any(book), _apart(more)
    parts = _parts(engine, workers, part_rows, master, data)
    if isinstance(described, LinkedCodebook):
        histories.refuse_given(table=opening.pop("table", None))
        how = {**opening, **parts, "out": out, "seed": seed, "report": report}
        return histories.synthesize_parts(data, described, rows, method, options=options, **how)
    recipe = recipe_of(method, options, described, rows)
    parts["part_rows"] = PART_ROWS if part_rows is None else part_rows
    return run(data, described, recipe, rows=rows, out=out, seed=seed, report=report, **opening, **parts)


def draw_parts(
    model: str | Path,
    rows: int,
    *,
    out: str | Path,
    engine: str = "local",
    workers: int | None = None,
    part_rows: int | None = None,
    master: str | None = None,
    report: Report | None = None,
) -> PartedRelease:
    """More rows from a released model in Parquet parts, drawn in parallel; nothing is paid."""
    from understudy.synth.part_work import PART_ROWS
    from understudy.synth.ranged import draw_parts as run

    how = {"out": out, "report": report, **_parts(engine, workers, part_rows, master, None)}
    if histories.is_histories(model):
        return histories.draw_parts(model, rows, **how)
    how["part_rows"] = PART_ROWS if part_rows is None else part_rows
    return run(Path(model), rows=rows, **how)


def _parts(engine: str, workers: int | None, part_rows: int | None, master: str | None, data: Any) -> dict[str, Any]:
    from understudy.sources.addresses import parse_address
    from understudy.synth.workers import workers_for

    if engine != "spark" and master is not None:
        raise ParameterError("`master` is for `engine` spark.")
    if engine == "spark" and master is None and isinstance(data, str) and data.startswith("spark://"):
        master = parse_address(data).host or None  # where the table lies
    return {"workers": workers_for(engine, count=workers, master=master), "part_rows": part_rows}


def impute(
    data: Any,
    book: Codebook | str | Path,
    *,
    files: int = 5,
    out: str | Path | None = None,
    csv: bool = False,
    formats: str | Sequence[str] = (),
    unknown: str = "error",
    table: str | None = None,
    seed: int | None = None,
    report: Report | None = None,
    **options: Any,
) -> list[Release]:
    """Fill the missing values of a real table ``files`` times; the outcome holds real records and is confidential.

    ``formats`` as in :func:`synthesize`; ``options`` are those of :class:`~understudy.synth.filling.Filling`:
    ``engines``, ``order``, ``sweeps``, ``key`` and ``key_space``.
    """
    from understudy.mechanisms.stream import Stream
    from understudy.parameters import from_words
    from understudy.release.folders import check_target
    from understudy.release.formats import chosen_formats
    from understudy.sources import open_source
    from understudy.synth.filling import Filling
    from understudy.synth.recipe import FILES

    formats = chosen_formats(formats, csv=csv)
    FILES.check("files", files)
    if out is not None:
        check_target(Path(out))
    filling = from_words(Filling, "impute", options)
    source = open_source(data, load_codebook(book), unknown=unknown, table=table)
    fitted = filling.fit(source, stream=Stream.of_seed(seed), report=report)
    return fitted.sample_many(files=files) if out is None else fitted.write_many(out, files=files, formats=formats)


@dataclass(frozen=True, kw_only=True)
class CountPrice:
    """What a table of counts would cost, and how wide its intervals would be."""

    cells: int
    half_width: float
    confidence: float
    quote: Quote

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "cells": self.cells,
            "half_width": self.half_width,
            "confidence": self.confidence,
            "total": self.quote.total.to_dict(),
            "entries": self.quote.ledger.to_list(),
        }


@documented
def count(
    data: Any,
    book: Codebook | LinkedCodebook | str | Path,
    by: Sequence[str],
    epsilon: float,
    *,
    out: str | Path | None = None,
    csv: bool = False,
    formats: str | Sequence[str] = (),
    page: str | Path | None = None,
    account: Account | str | Path | None = None,
    unknown: str = "error",
    table: str | None = None,
    seed: int | None = None,
    report: Report | None = None,
    **options: Any,
) -> Release:
    """Release noisy counts of every combination of levels, each with an interval.

    Parameters
    ----------
    by
        Columns to count by; of linked tables spelled ``table.column``, joined where the data lie.
    epsilon
        Price of the table.
    out
        New folder for the table; without it nothing is written.
    csv
        Write ``counts.csv`` too.
    formats
        Write the table too as ``xlsx``, ``sav``, ``dta`` or ``csv``, or several of them.
    page
        HTML page beside the table: what was done, loss and risk, and what other epsilons would give. Public.
    account
        Charged before any noise is drawn.
    **options
        ``weighted`` (each record by the codebook's survey weight: counts of the population), ``confidence`` (of the
        interval around each count, for its noise alone) and ``neighbours`` (``add-remove`` or ``replace-one``).

    Returns
    -------
    Release
        Its ``.table`` has the columns of ``by``, ``count``, ``low`` and ``high``.
    """
    from understudy.mechanisms.stream import Stream
    from understudy.pages.write import check_page_target, write_page
    from understudy.release.folders import check_target
    from understudy.release.formats import chosen_formats
    from understudy.synth.counts_page import counts_page

    formats = chosen_formats(formats, csv=csv)
    plan = _counts(book, by=by, epsilon=epsilon, **options)
    if out is not None:
        check_target(Path(out))
    if page is not None:
        check_page_target(Path(page))
    plan.quote()  # refuse bad numbers before the data are touched
    source = plan.open(data, account=account, unknown=unknown, table=table)
    fitted = plan.fit(source, stream=Stream.of_seed(seed), report=report)
    release = fitted.sample() if out is None else fitted.write(out, formats=formats)
    if page is not None:
        write_page(Path(page), counts_page(plan, release))
    return release


def quote_count(
    data: Any,
    book: Codebook | LinkedCodebook | str | Path,
    by: Sequence[str],
    epsilon: float,
    *,
    table: str | None = None,
    **options: Any,
) -> CountPrice:
    """What :func:`count` would cost and how wide its intervals would be. Reads no row of the data."""
    from understudy.sources.inputs import provenance_behind
    from understudy.sources.linked import linked_provenance

    counts = _counts(book, by=by, epsilon=epsilon, **options)
    linked = load_linked(book)
    if linked is None:
        provenance = provenance_behind(data, load_codebook(book), table)
    else:
        histories.refuse_given(table=table)
        provenance = linked_provenance(data, linked)
    provenance.refuse_as_data("a table of counts")  # what will be refused has no price
    quote = counts.quote().with_data(provenance)
    return CountPrice(cells=counts.cells, half_width=counts.reach, confidence=counts.confidence, quote=quote)


def count_options() -> dict[str, Option]:
    """The options of :func:`count`."""
    from understudy.parameters import options_of
    from understudy.synth.counts import Counts

    return options_of(Counts)


def _counts(book: Codebook | LinkedCodebook | str | Path, **words: Any) -> Counts:
    from understudy.parameters import from_words
    from understudy.synth.counts import Counts

    if (linked := load_linked(book)) is not None:
        from understudy.synth.linked_counts import linked_counts

        return linked_counts(linked, words)
    return from_words(Counts, "count", words, book=load_codebook(book))
