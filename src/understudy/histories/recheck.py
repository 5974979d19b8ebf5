"""Check a release of linked tables against itself: digests, keys, caps, rules across tables, price and statement."""

from collections.abc import Mapping
from dataclasses import replace
from glob import escape
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from understudy.codebook import LinkedCodebook, LinkedTable
from understudy.errors import UnderstudyError
from understudy.histories.recipe import Histories
from understudy.parameters import options_of
from understudy.privacy.ledger import Ledger
from understudy.release.linked import table_file, table_files
from understudy.release.reading import read_manifest_file
from understudy.release.release import CODEBOOK
from understudy.release.verify import (
    Looked,
    Verdict,
    bought_inputs,
    check_declared,
    check_face,
    check_listed_files,
    check_marks,
    check_notices,
    check_other_formats,
    check_passport,
    differing_prices,
    verify_manifest,
)
from understudy.sources.base import Report
from understudy.sources.faults import engine_errors
from understudy.sources.files import open_table
from understudy.sources.linked_check import check_linked
from understudy.sources.linked_files import ALL_PARTS


def is_linked(place: Path) -> bool:
    """Whether a folder holds a release of linked tables."""
    return read_manifest_file(place).get("tables") is not None


def verify_histories(folder: str | Path, report: Report | None = None) -> Verdict:
    """Recompute everything that can be recomputed without the confidential data."""
    place = Path(folder)
    looked = Looked(place=place, manifest=read_manifest_file(place), report=report)

    def tables(looked: Looked) -> Looked:
        check_notices(looked)
        names = list(looked.manifest["tables"])
        if "parts" in looked.manifest:
            check_listed_files(looked, needed=(CODEBOOK,), folders=names)
        else:
            check_listed_files(looked, needed=(*map(table_file, names), CODEBOOK), folders=())
        book = _check_codebook(looked)
        if book is not None:
            check_declared(looked, book)
            _check_tables(looked, book)
            for table in book.tables if "parts" not in looked.manifest else ():
                check_other_formats(looked, looked.place / table_file(table.name), table.as_file)
            _recheck_price(looked, book)
            check_passport(looked, book)
        return replace(looked, linked=book)

    return verify_manifest(looked, [tables, check_marks, check_face])


def _check_codebook(looked: Looked) -> LinkedCodebook | None:
    try:
        book = LinkedCodebook.load(looked.place / CODEBOOK)
    except UnderstudyError as reason:
        looked.problems.append(f"the codebook cannot be used: {reason}")
        return None
    same = book.digest == looked.manifest["codebook"]["digest"]
    faults = [] if same else ["the codebook is not the one that the release was made with"]
    looked.conclude(faults, "the codebook is the one that the release was made with")
    return book if same else None


def _check_tables(looked: Looked, book: LinkedCodebook) -> None:
    """Values, keys, rules across tables; then the caps and the numbers of rows."""
    stated = looked.manifest["tables"]
    if set(stated) != {table.name for table in book.tables}:
        looked.problems.append("the manifest names other tables than the codebook")
        return
    paths = {table.name: _path(looked, table.name) for table in book.tables}
    try:
        number = {name: _rows(looked, name) for name in paths}
        faults = [fault.sentence for fault in check_linked(paths, book) if fault.kind != "empty file"]
        caps = [fault for table in book.tables for fault in _over_cap(table, paths[table.name])]
    except (UnderstudyError, OSError, pa.ArrowException, KeyError) as reason:
        looked.problems.append(f"the tables cannot be read: {reason}")
        return
    wrong = [
        f"the table {name} has {number[name]:,} rows, the manifest says {stated[name]:,}"
        for name in paths
        if number[name] != stated[name]
    ]
    people = number[book.person.name]
    if people != looked.manifest["rows"]["number"]:
        wrong.append(f"there are {people:,} people, the manifest says {looked.manifest['rows']['number']:,}")
    looked.conclude(
        [*faults, *wrong], "all rows fit the codebook, every row has its parent, and none breaks a rule across tables"
    )
    looked.conclude(caps, "no row has more rows below it than the caps allow")


def _path(looked: Looked, name: str) -> Path:
    """The file of a table, or a pattern of the files that it is spread over."""
    if "parts" not in looked.manifest:
        return looked.place / table_file(name)
    return Path(escape(str(looked.place / name))) / ALL_PARTS


def _rows(looked: Looked, name: str) -> int:
    files = table_files(name, looked.manifest["files"])
    return sum(pyarrow.parquet.read_metadata(looked.place / file).num_rows for file in files)


def _over_cap(table: LinkedTable, path: Path) -> list[str]:
    if table.cap is None or table.parent_key is None:
        return []
    opened = open_table(path, file=table.book.plain.file)
    rows = opened.table.select(parent=opened.value(table.parent_key))
    each = rows.group_by("parent").aggregate(n=rows.count())
    with engine_errors(repr(opened.label)):
        most = each.n.max().to_pyarrow().as_py() or 0
    if most <= table.cap:
        return []
    return [f"a row of {table.parent} has {most} rows of {table.name}, and the cap is {table.cap}"]


def _recheck_price(looked: Looked, book: LinkedCodebook) -> None:
    manifest = looked.manifest
    ledger = Ledger.from_list(manifest["ledger"])
    faults = price_faults(
        manifest["parameters"], book, ledger, manifest["delta_for_total"], inputs=bought_inputs(manifest)
    )
    looked.conclude(faults, "the method, its parameters and the codebook cost what is stated")


def price_faults(
    parameters: Mapping[str, Any],
    book: LinkedCodebook,
    ledger: Ledger,
    delta: float | None,
    *,
    inputs: Ledger | None = None,
) -> list[str]:
    """Why a ledger cannot be that of `histories` with these parameters and this codebook."""
    stated = ledger.total(delta=delta)
    if not stated.is_formal:
        return []
    try:
        options = {name: value for name, value in parameters.items() if name in options_of(Histories)}
        due = (Histories(**options).quote(book, 1).ledger + (inputs or Ledger())).total(delta=delta)
    except (UnderstudyError, TypeError) as reason:
        return [f"the price cannot be computed again: {reason}"]
    if not due.is_formal:
        return [f"the ledger claims a price, and with this codebook there is none ({getattr(due, 'why', '')})"]
    return differing_prices(due, stated)
