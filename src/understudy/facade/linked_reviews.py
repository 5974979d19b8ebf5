"""Review linked tables beside their data, and propose rules within and across them. The codebook gets the answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from understudy.errors import ParameterError

if TYPE_CHECKING:
    from understudy.codebook import LinkedCodebook, Rule
    from understudy.facade.reviews import Reviewed, Rules
    from understudy.sources.base import Report
    from understudy.sources.review import Question


def linked_file(book: Any) -> bool:
    """Whether a file is a codebook of linked tables."""
    from understudy.facade.codebooks import load_linked

    return isinstance(book, str | Path) and load_linked(book) is not None


def review_tables(
    book: str | Path,
    data: Any,
    *,
    answers: Mapping[str, Any] | str | Path | Callable[[Sequence[Question]], Mapping[str, Any]] | None,
    by: str | None,
    table: str | None,
    report: Report | None,
) -> Reviewed:
    """The review of every table: panels are called ``table.panel``, columns ``table.column``."""
    from understudy.codebook import LinkedCodebook
    from understudy.codebook.answers import Answers, check_panels, reviewed_book
    from understudy.codebook.book import read_text
    from understudy.codebook.linked_declare import edited_linked_text
    from understudy.facade.reviews import Reviewed, plain_answers, tied_columns, today, write_book
    from understudy.sources.linked_check import book_of_file
    from understudy.sources.linked_files import places_of
    from understudy.sources.review import look_at_columns, questions

    _refuse(table=table)
    text, linked = read_text(book), LinkedCodebook.load(book)
    plain = answers if answers is None or callable(answers) else plain_answers(answers, by, None)
    if plain is not None and not callable(plain):
        _read(plain, by, linked)  # mistakes are told before the data are read
    files = {}
    asked: list[Question] = []
    for name, place in places_of(data, linked).items():
        alone, owners = book_of_file(linked, linked.table(name))
        looked = look_at_columns(place.what, alone, table=place.table)
        tied = tied_columns(place.what, alone, place.table, report)
        own = [_spelled(one, name, owners) for one in questions(alone, looked, tied) if one.columns]
        own = [one for one in own if one.columns]
        files[name] = (alone, owners, looked, own)
        asked += own
    if plain is not None:
        given: Answers = _read(plain(asked) if callable(plain) else plain, by, linked)
        check_panels(given, [one.id for one in asked])
        changed: dict[str, Any] = {}
        for alone, owners, looked, own in files.values():
            made = reviewed_book(
                alone,
                replace(given, columns={n: given.columns[s] for n, s in _names(owners) if s in given.columns}),
                panel_of={column.partition(".")[2]: one.id for one in own for column in one.columns},
                suggested={n.partition(".")[2]: word for one in own for n, word in one.suggested.items()},
                levels_of={n: [v for v, _ in seen.values] for n, seen in looked.items() if seen.is_complete},
                on=today(),
            )
            columns = {column.name: column for column in made.written}
            changed |= {spelled: columns[name] for name, spelled in _names(owners)}
        wanted = with_columns(linked, changed)
        write_book(book, edited_linked_text(text, linked, wanted))
        linked = wanted
    every = [(each.spelled(one.name), one.is_reviewed) for each in linked.tables for one in each.book.written]
    return Reviewed(
        questions=tuple(asked),
        codebook=linked,
        unreviewed=tuple(name for name, done in every if not done),
        reviewed=tuple(name for name, done in every if done),
    )


def _read(data: Any, by: str | None, book: LinkedCodebook) -> Any:
    from understudy.codebook.answers import Answers, check_answer

    parts = {"by", "panels", "columns"}
    strange = sorted(map(str, set(data) - parts)) if isinstance(data, Mapping) else [type(data).__name__]
    if strange:
        why = "; the person is told by the key of the top table" if "person" in strange else ""
        raise ParameterError(
            f"the answers have {', '.join(strange)}{why}; for linked tables they may have by, panels (such "
            "as 'stays.levels') and columns (such as 'stays.ward')."
        )
    for part in ("panels", "columns"):
        own = data.get(part, {})
        if not isinstance(own, Mapping) or not all(isinstance(answer, str) for answer in own.values()):
            raise ParameterError(f"`{part}` of the answers must be a table of texts, such as 'stays.ward' = 'yes'.")
        for name, answer in own.items():
            check_answer(name, answer)
    who = by or data.get("by")
    if not isinstance(who, str) or not who.strip():
        raise ParameterError("`by` is missing: name the person who answers, such as 'A. Meyer, registrar'.")
    known = {table.spelled(column.name) for table in book.tables for column in table.book.written}
    if strange := [name for name in data.get("columns", {}) if name not in known]:
        raise ParameterError(f"the answers name {strange[0]!r}, which is no column; write TABLE.COLUMN.")
    return Answers(by=who.strip(), panels=data.get("panels", {}), columns=data.get("columns", {}))


def _names(owners: Mapping[str, str]) -> list[tuple[str, str]]:
    """Each column of a file, and how it is spelled."""
    return [(name, f"{owner}.{name}") for name, owner in owners.items()]


def _spelled(one: Question, table: str, owners: Mapping[str, str]) -> Question:
    """A question with columns spelled by the tables that describe them; keys are not asked about."""
    spelled = dict(_names(owners))
    return replace(
        one,
        id=f"{table}.{one.id}",
        columns=tuple(spelled[name] for name in one.columns if name in spelled),
        sees={spelled[name]: sees for name, sees in one.sees.items() if name in spelled},
        suggested={spelled[name]: word for name, word in one.suggested.items() if name in spelled},
    )


def with_columns(book: LinkedCodebook, changed: Mapping[str, Any]) -> LinkedCodebook:
    """The codebook with answered columns; a column that reading rests on stays."""
    lost = [
        table.spelled(constant.column)
        for table in book.tables
        for constant in table.constants
        if changed.get(table.spelled(constant.column)) is not None
        and changed[table.spelled(constant.column)].kind == "text"
    ]
    if lost:
        raise ParameterError(
            f"the answer drops {lost[0]}, which is a constant; take [tables...constants] of it out of the codebook "
            "first, by hand."
        )
    tables = []
    for table in book.tables:
        columns = tuple(
            replace(changed[table.spelled(column.name)], parents=column.parents)
            if table.spelled(column.name) in changed
            else column
            for column in table.book.written
        )
        tables.append(replace(table, book=replace(table.book, columns=columns)))
    return replace(book, tables=tuple(tables))


def rules_of_tables(
    book: str | Path,
    data: Any,
    *,
    accept: Sequence[str],
    maps: Mapping[tuple[str, str], str | Path],
    by: str | None,
    source: str | None,
    given: Mapping[str, Any],
    report: Report | None,
) -> Rules:
    """Propose rules within and across linked tables, and write those that a person declares."""
    from understudy.codebook import LinkedCodebook
    from understudy.codebook.book import read_text
    from understudy.codebook.linked_declare import edited_linked_text
    from understudy.evaluate.linked.opened import open_tables
    from understudy.evaluate.linked.proposals import propose_across
    from understudy.evaluate.linked.rows import read_rows
    from understudy.facade.reviews import Rules, accepted_rules, attestation, mapped_rules, write_book
    from understudy.sources.linked_files import places_of

    _refuse(**given)
    text, linked = read_text(book), LinkedCodebook.load(book)
    if data is None and (accept or not maps):
        raise ParameterError("`data` is missing: rules of linked tables are proposed from the data.")
    word = attestation(by, source)
    files = () if data is None else tuple(place.what for place in places_of(data, linked).values())
    added = mapped_rules(linked, maps, word, confidential=files or (None,))
    is_asked = data is not None and (accept or not maps)
    proposals = propose_across(read_rows(open_tables(data, linked), linked, capped=False)) if is_asked else []
    added += accepted_rules(proposals, accept, word)
    if added:
        wanted = _with_rules(linked, added)
        write_book(book, edited_linked_text(text, linked, wanted))
        linked = wanted
    return Rules(codebook=linked, proposals=tuple(proposals), packs=(), added=tuple(added), notes=())


def _with_rules(book: LinkedCodebook, added: Sequence[Rule]) -> LinkedCodebook:
    """Rules about one row of one table are its own; the others stand across the tables."""
    from understudy.codebook.linked_rules import is_previous, renamed, table_of
    from understudy.facade.reviews import without_maps

    own: dict[str, list[Rule]] = {}
    across: list[Rule] = []
    for rule in added:
        tables = {table_of(name) for name in rule.columns}
        if len(tables) == 1 and not any(map(is_previous, rule.columns)):
            bare = renamed(rule, lambda name: name.partition(".")[2])
            if bare.attestation is not None:
                bare = replace(bare, attestation=replace(bare.attestation, of=bare.content))
            own.setdefault(tables.pop(), []).append(bare)
        else:
            across.append(rule)
    changed = tuple(
        replace(t, book=replace(t.book, constraints=(*without_maps(t.book.constraints, own[t.name]), *own[t.name])))
        if t.name in own
        else t
        for t in book.tables
    )
    return replace(book, tables=changed, rules=(*without_maps(book.rules, across), *across))


def _refuse(**given: Any) -> None:
    if names := [name for name, value in given.items() if value]:
        raise ParameterError(
            f"`{names[0]}` is about one table and not offered for linked ones; leave it out (rules across tables may "
            "be written by hand, as [[rules]])."
        )
