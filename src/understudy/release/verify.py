"""Check a release against itself: digests, table, codebook, inputs, price and statement.

One way for every kind of release. What a room can recompute besides (the price of a method, the classes of an
anonymised table, a risk score) it adds as a :class:`Check`; ``understudy.verify`` knows them all.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from glob import escape
from itertools import product
from pathlib import Path
from typing import Any

from understudy.codebook import Codebook
from understudy.errors import ReleaseError, UnderstudyError
from understudy.privacy.guarantees import Guarantee, KAnonymous, PureDP, guarantee_from_dict
from understudy.privacy.ledger import Ledger
from understudy.privacy.provenance import InputRole, Made, Provenance, inputs_from_dict
from understudy.privacy.statement import Subject, statement
from understudy.release.folders import digest_of
from understudy.release.manifest import FORMAT
from understudy.release.marks import check_marks
from understudy.release.release import CODEBOOK, COUNT_COLUMNS, MANIFEST, spelled_table, table_names
from understudy.release.workshop import PART_NAME, PARTS
from understudy.sources.check import check_table

_TOLERANCE = 1e-9  # other versions of the accounting library may differ in the last digits, downwards or upwards


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What it is, what was looked at and what was wrong."""

    what: str
    passed: tuple[str, ...]
    problems: tuple[str, ...]
    total: Guarantee | None

    @property
    def is_valid(self) -> bool:
        """Whether nothing was wrong."""
        return not self.problems

    def __repr__(self) -> str:
        faults = "valid" if self.is_valid else f"{len(self.problems)} problems"
        return f"<Verdict: {self.what}; {faults}>"


@dataclass(frozen=True, kw_only=True)
class Looked:
    """A release under examination."""

    place: Path
    manifest: dict[str, Any]
    book: Codebook | None = None
    total: Guarantee | None = None
    passed: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def made(self) -> Made:
        """What the table is; the first format had no word for the commonest kind."""
        if self.manifest["format"] == 1 and self.manifest.get("confidential"):
            return Made.COMPLETED
        return Made(self.manifest.get("holds", Made.SYNTHETIC))

    @property
    def table(self) -> Path:
        """Where its one table lies, if it is not in parts."""
        return self.place / table_names(self.made)[0]

    @property
    def tables(self) -> list[Path]:
        """Its one table, or all its parts."""
        parts = [self.place / name for name in self.manifest.get("files", {}) if PART_NAME.fullmatch(name)]
        return parts or [self.table]


Check = Callable[[Looked], None]
"""Adds what it passed and what is wrong; leaves alone what is not its kind."""


def verify_release(folder: str | Path, checks: Sequence[Check] = ()) -> Verdict:
    """Recompute everything that can be recomputed without the confidential data."""
    place = Path(folder)
    looked = Looked(place=place, manifest=_read_manifest(place))

    def table(found: Looked) -> Looked:
        _check_files(found)
        book = _check_codebook(found)
        if book is not None and found.made is Made.COUNTS:
            _check_counts(found, book)
        elif book is not None:
            _check_rows(found, book)
        if book is not None:
            _check_text(found, book)
        return replace(found, book=book)

    return verify_manifest(looked, [table, check_marks, *checks])


def verify_manifest(looked: Looked, checks: Sequence[Callable[[Looked], Looked | None]]) -> Verdict:
    """The verdict about a manifest and what goes with it."""
    try:
        for number, check in enumerate(checks):
            looked = check(looked) or looked
            if number == 0:  # what there is comes first, then its price, then what other rooms know
                looked = _priced(looked)
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as reason:
        if isinstance(reason, UnderstudyError):
            raise
        raise ReleaseError(
            f"the manifest in {str(looked.place)!r} has not the shape of one ({type(reason).__name__}: "
            f"{str(reason)[:80]}); take it again from where it was published."
        ) from None
    return Verdict(what=_what(looked), passed=tuple(looked.passed), problems=tuple(looked.problems), total=looked.total)


def _priced(looked: Looked) -> Looked:
    total = _check_price(looked.manifest, looked.passed, looked.problems)
    _check_inputs(looked.manifest, total, looked.problems)
    if total is not None and total.is_formal and not isinstance(total, KAnonymous):
        _check_grounds(looked.manifest, looked.book, looked.problems)
    return replace(looked, total=total)


def _what(looked: Looked) -> str:
    number, method = looked.manifest.get("rows", {}).get("number", 0), looked.manifest.get("method")
    if looked.manifest.get("subject") == Subject.SCORE:
        return f"a risk score by {method}"
    kinds = {
        Made.COUNTS: "a table of {:,} noisy counts",
        Made.ANONYMIZED: "an anonymised table of {:,} real records",
        Made.COMPLETED: "a completed table of {:,} real records (confidential)",
    }
    return f"{kinds.get(looked.made, 'a synthetic table of {:,} rows').format(number)} by {method}"


def _read_manifest(place: Path) -> dict[str, Any]:
    if not place.is_dir():
        raise ReleaseError(f"there is no release folder {str(place)!r}; give the folder that holds {MANIFEST}.")
    try:
        manifest = json.loads((place / MANIFEST).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ReleaseError(f"{str(place)!r} holds no {MANIFEST}; it is not a finished release.") from None
    except (OSError, ValueError, RecursionError) as reason:
        raise ReleaseError(
            f"the manifest in {str(place)!r} cannot be read as JSON ({str(reason)[:120]}); take the folder "
            "again from where it was published."
        ) from None
    if not isinstance(manifest, dict) or manifest.get("format") not in (1, FORMAT):
        raise ReleaseError(
            f"the manifest in {str(place)!r} is not of format 1 or {FORMAT}; use the version that wrote it."
        )
    return manifest


def _check_files(looked: Looked) -> None:
    place, manifest, passed, problems = looked.place, looked.manifest, looked.passed, looked.problems
    files = manifest.get("files", {})
    parts = [name for name in files if PART_NAME.fullmatch(name)]
    for needed in (CODEBOOK,) if parts else (looked.table.name, CODEBOOK):
        if needed not in files:
            problems.append(f"the manifest lists no {needed}")
    if manifest.get("parts", 0) != len(parts):
        problems.append(f"the manifest speaks of {manifest.get('parts', 0)} parts and lists {len(parts)}")
    found = {f"{PARTS}/{path.name}" for path in (place / PARTS).iterdir()} if (place / PARTS).is_dir() else set()
    problems.extend(f"{name} is in the folder but not in the manifest" for name in sorted(found - set(files)))
    known = {*files, MANIFEST, *([PARTS] if parts else [])}
    problems.extend(
        f"{path.name} lies in the folder and is not part of the release; a page or figure made from the confidential "
        "table must not go out with it"
        for path in sorted(place.iterdir())
        if path.name not in known
    )
    for name, stated in files.items():
        inside = Path(name).name == name or name in parts
        if not inside or not (place / name).is_file():
            problems.append(f"{name} is listed in the manifest but is not in the folder")
        elif digest_of(place / name) != stated:
            problems.append(f"{name} was changed after the release: its digest is not the one in the manifest")
        elif name not in parts:
            passed.append(f"{name} has the digest that the manifest states")
    if parts and not any(name.startswith(PARTS) for name in problems):
        passed.append(f"{len(parts)} parts have the digests that the manifest states")


def _check_codebook(looked: Looked) -> Codebook | None:
    try:
        book = Codebook.load(looked.place / CODEBOOK)
    except UnderstudyError as reason:
        looked.problems.append(f"the codebook cannot be used: {reason}")
        return None
    if book.digest != looked.manifest["codebook"]["digest"]:
        looked.problems.append("the codebook is not the one that the release was made with")
        return None
    attested = {column.name: str(column.attestation) for column in book.released if column.is_attested}
    if looked.manifest["codebook"]["attested"] != attested:
        looked.problems.append("the attestations in the manifest are not those of the codebook")
    looked.passed.append("the codebook is the one that the release was made with")
    return book


def _check_rows(looked: Looked, book: Codebook) -> None:
    import pyarrow as pa
    import pyarrow.parquet

    place, manifest, problems = looked.place, looked.manifest, looked.problems
    table = looked.table
    if "parts" in manifest:
        table = Path(escape(str(place / PARTS))) / "part-*.parquet"
    try:
        faults = check_table(table, replace(book, unit=None))  # ids never reach a release
        rows = sum(pyarrow.parquet.read_metadata(path).num_rows for path in looked.tables)
    except (UnderstudyError, OSError, pa.ArrowException) as reason:
        problems.append(f"the table cannot be read: {reason}")
        return
    problems.extend(fault.sentence for fault in faults)
    if rows != manifest["rows"]["number"]:
        problems.append(f"the table has {rows:,} rows, the manifest says {manifest['rows']['number']:,}")
    if not faults and rows == manifest["rows"]["number"]:
        looked.passed.append(f"all {rows:,} rows fit the codebook")


def _check_text(looked: Looked, book: Codebook) -> None:
    """The CSV holds the same rows as the table: another table under its name would go out unseen."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    name = table_names(looked.made)[1]
    if name not in looked.manifest.get("files", {}) or not (looked.place / name).is_file():
        return
    try:
        expected = spelled_table(pyarrow.parquet.read_table(looked.table), book, looked.made)
        types = {field.name: field.type for field in expected.schema}
        options = pyarrow.csv.ConvertOptions(column_types=types, strings_can_be_null=False, null_values=[""])
        found = pyarrow.csv.read_csv(looked.place / name, convert_options=options)
        same = found.equals(expected.replace_schema_metadata(None))
    except (UnderstudyError, OSError, pa.ArrowException) as reason:
        looked.problems.append(f"{name} cannot be compared with the table: {reason}")
        return
    if same:
        looked.passed.append(f"{name} holds the same rows as the table")
    else:
        looked.problems.append(f"{name} does not hold the rows of the table")


def _check_counts(looked: Looked, book: Codebook) -> None:
    """A table of counts holds every combination of its levels once, and an interval around every count."""
    import pyarrow as pa
    import pyarrow.parquet

    try:
        found = pyarrow.parquet.read_table(looked.table)
        names = [name for name in found.column_names if name not in COUNT_COLUMNS]
        expected = set(product(*(book.column(name).labels for name in names)))
        combinations = list(zip(*(found.column(name).to_pylist() for name in names), strict=True))
        low, count, high = (found.column(name).to_pylist() for name in ("low", "count", "high"))
    except (UnderstudyError, KeyError, OSError, pa.ArrowException) as reason:
        looked.problems.append(f"the table cannot be read: {reason}")
        return
    wrong = []
    if not names or len(combinations) != len(expected) or set(combinations) != expected:
        wrong.append("the table does not hold every combination of the levels of its columns once")
    if any(not a <= b <= c for a, b, c in zip(low, count, high, strict=True)):
        wrong.append("a count of the table lies outside its own interval")
    if len(combinations) != (number := looked.manifest["rows"]["number"]):
        wrong.append(f"the table has {len(combinations):,} rows, the manifest says {number:,}")
    looked.problems.extend(wrong)
    if not wrong:
        looked.passed.append(f"all {len(combinations):,} combinations of {', '.join(names)} are there")


def _check_price(manifest: dict[str, Any], passed: list[str], problems: list[str]) -> Guarantee | None:
    try:
        ledger = Ledger.from_list(manifest["ledger"])
        total = ledger.total(delta=manifest["delta_for_total"])
    except (UnderstudyError, LookupError, TypeError, ValueError, ArithmeticError) as reason:
        problems.append(f"the ledger cannot be priced: {reason}")
        return None
    stated, found = manifest["guarantee"], total.to_dict()
    if not _agree(stated, found):
        problems.append(f"the stated total {_short(stated)} is not what the ledger adds up to, {_short(found)}")
    else:
        passed.append(f"the ledger adds up to the stated total, {_short(found)}")
    if manifest["format"] == 1:
        _check_old_statement(manifest, total, passed, problems)
    elif manifest["statement"] != _expected(manifest, ledger, total):
        problems.append("the statement in plain words is not the one that the ledger supports")
    else:
        passed.append("the statement says what the ledger supports")
    if not _agree(manifest["basic_composition"], ledger.basic().to_dict()):
        problems.append("the total by basic composition is not that of the ledger")
    for entry, written in zip(ledger, manifest["ledger"], strict=True):
        if not _agree(written["guarantee"], entry.guarantee.to_dict()):
            problems.append(f"the price of {entry.stage} is not what its event costs")
    if manifest["assumptions"] != list(ledger.assumptions):
        problems.append("the list of assumptions is not that of the ledger")
    return total


def _expected(manifest: dict[str, Any], ledger: Ledger, total: Guarantee) -> str:
    """The statement that everything else in the manifest supports."""
    paper = manifest.get("paper") or {}
    call = manifest["call"]
    return statement(
        ledger,
        total,
        rows=manifest["rows"]["number"],
        route=manifest["route"],
        paper=paper.get("statement"),
        subject=Subject(manifest["subject"]),
        inputs=inputs_from_dict(manifest["inputs"]),
        looked=manifest["confidential_look"],
        call=None if call is None else guarantee_from_dict(dict(call)),
    )


def _check_old_statement(manifest: dict[str, Any], total: Guarantee, passed: list[str], problems: list[str]) -> None:
    """The words of the first format were other ones; the promise in them is held against the ledger all the same."""
    rows, said = manifest["rows"]["number"], manifest["statement"]
    ledger = Ledger.from_list(manifest["ledger"])
    fresh = statement(ledger, total, rows=rows, route=manifest["route"], paper=None)
    promise = fresh.partition(" for ")[0] if isinstance(total, PureDP) or hasattr(total, "epsilon") else fresh[:40]
    if manifest.get("subject") == Subject.SCORE:
        promise = "(" + promise.partition("(")[2] if hasattr(total, "epsilon") else "no formal privacy guarantee"
    if manifest.get("holds") == "counts":
        promise = promise.replace("This table of", "This file of").replace("counts", "rows")
    if promise not in said:
        problems.append("the statement in plain words is not the one that the ledger supports")
    else:
        passed.append("the statement makes the promise that the ledger supports, in the words of format 1")


def _check_inputs(manifest: dict[str, Any], total: Guarantee | None, problems: list[str]) -> None:
    """Whether what went in allows what is promised: a public input is public or paid for, a price per row holds."""
    formal = total is not None and total.is_formal and not isinstance(total, KAnonymous)
    events = [entry["event"] for entry in manifest.get("ledger", ())]
    if manifest["format"] != 1 and InputRole.DATA.name.lower() not in manifest["inputs"]:
        problems.append("the manifest does not say what table went in")
    for name, told in manifest.get("inputs", {}).items():
        role, one = InputRole[name.upper()], Provenance.from_dict(told)
        if not role.is_public:
            if formal and one.as_data:
                problems.append(f"the ledger claims a promise, and {one.as_data[0].event.to_dict()['why']}")
            continue
        try:
            one.as_public(role)
        except UnderstudyError as reason:
            problems.append(str(reason))
        if any(entry["event"] not in events for entry in told.get("ledger", ())):
            problems.append(f"the price of {one.called}, used as {role.value}, is not in the ledger")


def bought_inputs(manifest: Mapping[str, Any]) -> Ledger:
    """What releases that were used as public knowledge add, each once."""
    told = {
        one["release"]: one["ledger"]
        for role, one in manifest.get("inputs", {}).items()
        if InputRole[role.upper()].is_public and "ledger" in one
    }
    return Ledger.from_list(entry for ledger in told.values() for entry in ledger)


def _check_grounds(manifest: dict[str, Any], book: Codebook | None, problems: list[str]) -> None:
    """What a formal promise cannot stand on, whatever its ledger adds up to."""
    if str(manifest.get("randomness", "")).startswith("seeded"):
        problems.append("the randomness was seeded, and the ledger claims a promise all the same")
    if manifest.get("confidential") or manifest.get("real_records"):
        problems.append("the table holds real records, and the ledger claims a promise all the same")
    if book is None:
        return
    if not book.is_public:
        problems.append(f"the ledger claims a promise, and {book.why_not_public}")
    stages = [entry["event"] for entry in manifest["ledger"]]
    if book.paid is not None and any(item["event"] not in stages for item in json.loads(book.paid.entries)):
        problems.append("the codebook was drafted at a price that the ledger leaves out")
    relation = manifest["guarantee"].get("neighbours", "")
    if book.unit is not None and relation and "person" not in str(relation):
        problems.append("the codebook makes the person the unit, and the ledger prices single records")


def _agree(stated: dict[str, Any], found: dict[str, Any]) -> bool:
    if set(stated) != set(found):
        return False
    for name, value in found.items():
        other = stated[name]
        if isinstance(value, float) and isinstance(other, int | float):
            if abs(value - other) > _TOLERANCE * max(1.0, abs(value)):
                return False
        elif value != other:
            return False
    return True


def _short(guarantee: dict[str, Any]) -> str:
    shown = (
        f"{name} {value:.6g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in guarantee.items()
        if name != "kind"
    )
    return f"{guarantee['kind']} ({', '.join(shown)})"
