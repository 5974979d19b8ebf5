"""Linked tables: what they cost, and people with histories. ``us.quote``, ``us.synthesize`` and ``us.draw`` come here
where the codebook or the model is one of linked tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from understudy.errors import BudgetError, ParameterError

if TYPE_CHECKING:
    from understudy.codebook import LinkedCodebook
    from understudy.histories.recipe import Histories
    from understudy.parameters import Option
    from understudy.privacy.account import Account
    from understudy.privacy.quote import Quote
    from understudy.release.linked import LinkedRelease
    from understudy.release.verify import Verdict
    from understudy.sources.base import Report
    from understudy.synth.parted import PartedRelease

NAME = "histories"


def history_options() -> dict[str, Option]:
    """The options of the method."""
    from understudy.histories.recipe import Histories
    from understudy.parameters import options_of

    return options_of(Histories)


def histories_of(method: Any, options: Mapping[str, Any]) -> Histories:
    """The recipe by name and options, by choices that were read from a file, or the recipe itself."""
    from understudy.histories.recipe import Histories
    from understudy.parameters import from_words, make_declared
    from understudy.synth.choices import Choices
    from understudy.synth.registry import DEFAULT

    if isinstance(method, Histories) and not options:
        return method
    name = method.method if isinstance(method, Choices) else method
    if name not in (NAME, DEFAULT):
        called = name if isinstance(name, str) else getattr(name, "name", type(name).__name__)
        raise ParameterError(
            f"`method` is {called!r}, which makes one table; a codebook of linked tables needs {NAME!r}. Leave the "
            "method out."
        )
    if isinstance(method, Choices):
        words = {key: value for key, value in method.with_options(options).options.items() if value is not None}
        return from_words(Histories, NAME, words)
    return make_declared(Histories, NAME, options)


def refuse_given(**given: Any) -> None:
    """Arguments that make no sense, or are not there yet, for linked tables."""
    if names := [name for name, value in given.items() if value]:
        raise ParameterError(
            f"`{'`, `'.join(names)}` {'is' if len(names) == 1 else 'are'} not offered for linked tables; leave it out."
        )


def quote(
    book: LinkedCodebook, rows: int, method: Any, *, data: Any = None, account: Any = None, **options: Any
) -> Quote:
    """What a release about so many people would cost. Reads no row of the data."""
    from understudy.privacy.account import account_at
    from understudy.release.making import choices_of
    from understudy.sources.linked import linked_provenance

    recipe = histories_of(method, options)
    priced = recipe.quote(book, rows)
    if data is not None:
        priced = priced.with_data(linked_provenance(data, book))
    opened = account_at(account)
    if opened is not None:
        if fault := opened.relation_fault(priced.ledger):
            raise BudgetError(f"this release {fault}")
        fixed = choices_of(priced, recipe.parameters(), book.digest)
        opened.fix(fixed, label=f"{priced.method}, {rows:,} people")
    return priced


def synthesize(
    data: Any,
    book: LinkedCodebook,
    rows: int,
    method: Any,
    *,
    out: str | Path | None = None,
    formats: Sequence[str] = (),
    save_model: str | Path | None = None,
    account: Account | str | Path | None = None,
    unknown: str = "error",
    seed: int | None = None,
    report: Report | None = None,
    **options: Any,
) -> LinkedRelease:
    """Fit, pay and draw ``rows`` people with their histories, and write the tables if ``out`` is given."""
    from understudy.mechanisms.stream import Stream
    from understudy.release.folders import check_file
    from understudy.sources.linked import linked_provenance, open_linked
    from understudy.synth.released import refuse_model_of

    recipe = histories_of(method, options)
    if save_model is not None:
        if out is not None and Path(save_model).absolute() == Path(out).absolute():
            raise ParameterError(f"{str(out)!r} is meant for the release and for its model; name the model otherwise.")
        check_file(Path(save_model), what="the model")
        refuse_model_of(linked_provenance(data, book))
    priced = recipe.quote(book, rows, secure=seed is None)  # refuse bad numbers before the data is touched
    source = open_linked(data, book, unknown=unknown, account=account)
    fitted = recipe.fit(source, stream=Stream.of_seed(seed), report=report, quote=priced)
    release = fitted.sample(rows) if out is None else fitted.write(out, rows, formats=formats)
    if save_model is not None:
        fitted.save_model(save_model)
    return release


def is_histories(model: str | Path) -> bool:
    """Whether a model file holds linked tables."""
    from understudy.histories.model_file import is_histories

    return is_histories(model)


def draw(
    model: str | Path,
    rows: int,
    *,
    where: Mapping[str, Any] | None,
    out: str | Path | None = None,
    formats: Sequence[str] = (),
    report: Report | None = None,
) -> LinkedRelease:
    """More people from a released model, of a sub-population if asked for; nothing is paid."""
    from understudy.histories.fitted import drawn_release
    from understudy.histories.model_file import load_histories
    from understudy.mechanisms.stream import Stream
    from understudy.parameters import ROWS
    from understudy.privacy.statement import Subject

    loaded, stream = load_histories(model), Stream.checked(None)
    quote = loaded.quote(ROWS.check("rows", rows), secure=True, subject=Subject.PEOPLE)
    release = drawn_release(loaded, quote, loaded.payment(), stream, where=where or None, report=report)
    if out is not None:
        release.save(out, formats=formats)
    return release


def synthesize_parts(
    data: Any, book: LinkedCodebook, rows: int, method: Any, *, options: Mapping[str, Any], **how: Any
) -> PartedRelease:
    """Fit, pay and draw ``rows`` people in Parquet parts; run again after a crash, it goes on."""
    from understudy.histories.parts import PART_PEOPLE, synthesize_linked_parts

    how["part_rows"] = PART_PEOPLE if how["part_rows"] is None else how["part_rows"]
    return synthesize_linked_parts(data, book, histories_of(method, options), rows=rows, **how)


def draw_parts(model: str | Path, rows: int, **how: Any) -> PartedRelease:
    """More people from a released model in Parquet parts; nothing is paid."""
    from understudy.histories.parts import PART_PEOPLE, draw_linked_parts

    how["part_rows"] = PART_PEOPLE if how["part_rows"] is None else how["part_rows"]
    return draw_linked_parts(Path(model), rows=rows, **how)


def verify(folder: str | Path, report: Report | None = None) -> Verdict | None:
    """The verdict about a release of linked tables; None where the folder holds another one."""
    from understudy.histories.recheck import is_linked, verify_histories

    return verify_histories(folder, report) if is_linked(Path(folder)) else None
