"""A process that looks at the rows of one data set: ``python -m understudy.studio.looking ROOT NAME KIND...``.

It writes what it saw, or one sentence on why it could not, into ``.looks/`` and says nothing on its own.
"""

import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from understudy.errors import ParameterError, UnderstudyError
from understudy.studio import lots
from understudy.studio.changes import changing
from understudy.studio.kept import kept
from understudy.studio.looks import keep_look, key_of, look_file
from understudy.studio.stored_books import table_of
from understudy.studio.texts import texts
from understudy.studio.workspace import Dataset, Root, write_private


def _rows(own: Dataset) -> Any:
    from understudy.facade.peeks import first_rows

    address = own.data
    if several := _tables_together(own):
        return {"tables": [{"name": name, **_peek(first_rows(address, table=name))} for name in several]}
    if Path(address).is_dir():
        files = [path for path in sorted(Path(address).iterdir()) if path.is_file() and _may_hold_rows(path)]
        return {"tables": [{"name": path.name, **_peek(first_rows(path))} for path in files]}
    return {"tables": [{"name": "", **_peek(first_rows(address, table=own.table))}]}


def _tables_together(own: Dataset) -> tuple[str, ...]:
    """The tables of a whole database of several; none where one table is named, or where there is only one."""
    from understudy.facade.peeks import tables_in

    if own.table or Path(own.data).is_dir() or parse_qs(own.data.partition("?")[2]).get("table"):
        return ()
    names = tables_in(own.data)
    return names if len(names) > 1 else ()


def _may_hold_rows(path: Path) -> bool:
    return path.suffix.lower() in (".csv", ".tsv", ".parquet")


def _peek(top: Any) -> dict[str, Any]:
    return {name: getattr(top, name) for name in ("header", "rows", "reading", "guesses")}


def _draft(own: Dataset) -> Any:
    """A codebook where there is none yet, and a copy of it to compare with later.

    It may be drafted from another file than the data: an export of a server, or a document that describes the table.
    """
    from understudy.facade.codebooks import draft
    from understudy.facade.linked import draft_tables

    made: Any
    if look_file(own, "draft", "given").is_file():
        made = draft(own.root.address(_given(own, "draft")["from"]), own.codebook)
        told = {"left_out": made.left_out, "guesses": [asdict(guess) for guess in made.guesses], "notes": ()}
    elif Path(own.data).is_dir() or _tables_together(own):
        made = draft_tables(own.data, own.codebook)
        told = {"left_out": made.reasons, "guesses": [{"table": name, **asdict(guess)} for name, guess in made.guesses]}
        told["notes"] = made.notes
    else:
        made = draft(own.data, own.codebook, table=own.table)
        told = {"left_out": made.left_out, "guesses": [asdict(guess) for guess in made.guesses], "notes": ()}
    _name_for_readers(own)
    write_private(own.draft, own.codebook.read_bytes())
    return told


def _name_for_readers(own: Dataset) -> None:
    """The data set's title heads releases. That levels are drafted is for whoever reviews them: the lights say it."""
    import tomlkit

    drafted = tomlkit.parse(own.codebook.read_text(encoding="utf-8"))
    drafted.pop("description", None)
    if title := own.declared.get("title"):
        drafted["title"] = str(title)
    write_private(own.codebook, tomlkit.dumps(drafted))


def _columns(own: Dataset) -> Any:
    from understudy.facade.codebooks import check
    from understudy.facade.peeks import column_counts
    from understudy.facade.reviews import review

    table = table_of(own)
    faults = check(own.data, own.codebook, table=table).faults
    told: dict[str, Any] = {"faults": [fault.sentence for fault in faults][:200], "questions": [], "counts": {}}
    told["fits"] = not any(fault.is_fatal for fault in faults)
    if not told["fits"]:
        return told
    counts = column_counts(own.data, own.codebook, table=table)
    told |= {"rows": counts.rows, "counts": dict(counts.counts)}
    if not own.is_on_server:  # a review shows values, and a server gives away counts alone
        told["questions"] = [asdict(question) for question in review(own.codebook, own.data, table=table).questions]
    return told


def _rules(own: Dataset) -> Any:
    from understudy.facade.reviews import rules

    return rules(own.codebook, own.data, table=table_of(own)).to_dict()


def _persons(own: Dataset) -> Any:
    """How the records of each person repeat each other, before one table is split into persons and records."""
    from understudy.facade.linked import split

    looked = split(own.data, book=own.codebook, table=own.table).looked
    return {**asdict(looked), "constant": looked.constant}


def _given(own: Dataset, kind: str) -> Any:
    """What a person answered; it is used once."""
    given = kept(look_file(own, kind, "given"))
    with suppress(OSError):
        (own.looks / f"{kind}.given").unlink()
    if not given:
        raise ParameterError(texts("data")["given_lost"])
    return given


def _answers(own: Dataset) -> Any:
    from understudy.facade.reviews import review

    given = _given(own, "answers")
    with changing(own, by_look=True):
        review(own.codebook, own.data, answers=given["answers"], by=given["by"], table=table_of(own))


def _accepted(own: Dataset) -> Any:
    from understudy.facade.reviews import rules

    given = _given(own, "accepted")
    maps = {(first, second): file for first, second, file in given.pop("maps")}
    with changing(own, by_look=True):
        rules(own.codebook, own.data, table=table_of(own), maps=maps, **given)


def _parted(own: Dataset) -> Any:
    """One table becomes persons and their records: the codebook is written anew, and undo brings the old one back."""
    from understudy.facade.linked import split

    given = _given(own, "parted")
    made = split(own.data, book=own.codebook, table=own.table, **given)
    assert made.codebook is not None, "constants were given"
    with changing(own, by_look=True):
        write_private(own.codebook, made.codebook.to_toml())
    return {"faults": [fault.sentence for fault in made.faults]}


def _taken(own: Dataset) -> Any:
    """Columns that a draft left out become codes of a pack; how they write missing values is looked up in the data."""
    from understudy.facade.book_edits import take_codes

    given = _given(own, "taken")
    with changing(own, by_look=True):
        take_codes(own.codebook, own.data, given["columns"], given["pack"], table=table_of(own))


def _divided(own: Dataset) -> Any:
    """Some people are kept back by lot; the data set is made of the others from then on."""
    from understudy.facade.keeping import keep_back

    share = _given(own, "divided")["share"]
    lots.check(own)
    rest, held = lots.places_of(own)
    keep_back(own.data, own.codebook, rest=rest, held=held, share=share, table=table_of(own))
    now = own.root.dataset(own.name)
    try:
        lots.check(now)  # somebody may have released all of them meanwhile, by a command
    except UnderstudyError:
        rest.unlink()
        held.unlink()
        raise
    lots.take(now, rest, held)


_LOOKS: dict[str, Callable[[Dataset], Any]] = {
    "rows": _rows,
    "draft": _draft,
    "columns": _columns,
    "rules": _rules,
    "persons": _persons,
    "answers": _answers,
    "accepted": _accepted,
    "parted": _parted,
    "taken": _taken,
    "divided": _divided,
}


def _key(own: Dataset, kind: str) -> str:
    """What the look depends on; nothing where the codebook cannot be read, which whoever looks is told."""
    try:
        return key_of(own, kind)
    except UnderstudyError:
        return ""


def look(own: Dataset, kind: str) -> bool:
    """Make one look and keep it; whether it succeeded."""
    try:
        seen = _LOOKS[kind](own)
    except UnderstudyError as reason:
        keep_look(own, kind, _key(own, kind), problem=str(reason))
        return False
    except MemoryError:
        keep_look(own, kind, _key(own, kind), problem=texts("data")["no_memory"])
        return False
    except Exception as reason:  # its words may hold anything; the kind of mistake is enough to report
        keep_look(own, kind, _key(own, kind), problem=texts("data")["ours"].format(kind=type(reason).__name__))
        return False
    keep_look(own, kind, _key(own, kind), seen=seen)
    return True


def main(words: list[str]) -> None:
    """Look, one kind after the other, until one fails."""
    from understudy.facade.peeks import read_databases_alone

    read_databases_alone()
    folder, name, *kinds = words
    own = Root.at(folder).dataset(name)
    for kind in kinds:
        own = Root.at(folder).dataset(name)  # as the one before has left it
        (own.looks / f"{kind}.json").unlink(missing_ok=True)
        if not look(own, kind):
            break
    for kind in kinds:
        (own.looks / f"{kind}.running").unlink(missing_ok=True)


if __name__ == "__main__":
    main(sys.argv[1:])
