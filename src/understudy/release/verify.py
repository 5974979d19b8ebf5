"""Check a release against itself: digests, table, codebook, inputs, price and statement.

The same checks hold for every kind of release. Other packages add what they can recompute (the price of a method,
the classes of an anonymised table) as a :class:`Check`; ``understudy.verify`` uses them all.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from glob import escape
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from understudy.codebook import Codebook, LinkedCodebook
from understudy.errors import ReleaseError, UnderstudyError
from understudy.loading import loader
from understudy.privacy.guarantees import Guarantee, KAnonymous, PureDP
from understudy.privacy.ledger import Ledger
from understudy.privacy.provenance import MARK, InputRole, Made, Provenance
from understudy.privacy.statement import Subject, statement
from understudy.release.face import FACE
from understudy.release.face.page import what_is
from understudy.release.folders import digest_of
from understudy.release.formats import FORMATS, GUARDED, GUARDED_WORDS, holds_same_rows
from understudy.release.manifest import read_quote
from understudy.release.notices import NOTICE, Notice, read_notices
from understudy.release.passport.writing import PASSPORT, listed_files, passport_faults, was_compared
from understudy.release.reading import made_of, read_manifest_file, tables_of
from understudy.release.release import CODEBOOK, COUNT_COLUMNS, INPUT_MANIFEST, MANIFEST, TABLE_NAMES, table_as
from understudy.release.signature import SIGNATURE, check_signature, signed_file
from understudy.release.verify_face import face_faults, released_page_digest
from understudy.release.workshop import PARTS, part_names
from understudy.sources.base import Report, told_by_size
from understudy.sources.check import check_table
from understudy.sources.inputs import other_than_marked, provenance_of_manifest

RECHECK_TOLERANCE = 1e-6
"""How far, relatively, a price that is computed anew from a method's parameters may lie from the stated one:
calibration, noise on a grid and sums of tails differ in the last digits between machines."""
_TOLERANCE = 1e-9  # of sums of stated prices; other versions of the accounting library differ in the last digits


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The kind of release, the checks that were made, and the problems found."""

    what: str
    passed: tuple[str, ...]
    problems: tuple[str, ...]
    total: Guarantee | None
    notices: tuple[str, ...] = ()
    """What was noted after it was out: that it is superseded or withdrawn."""
    signed_by: str = ""
    """Name of the key that signed it; empty where nobody did, or where the signature cannot be read."""

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
    linked: LinkedCodebook | None = None
    """Instead of the one codebook, that of linked tables."""
    total: Guarantee | None = None
    passed: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)
    report: Report | None = None
    """Told how far the long checks are."""

    @property
    def made(self) -> Made:
        """What the table is."""
        return made_of(self.manifest)

    @property
    def table(self) -> Path:
        """Where its one table lies, if it is not in parts."""
        return self.place / TABLE_NAMES[self.made]

    @property
    def tables(self) -> list[Path]:
        """Its one table, or all its parts."""
        return tables_of(self.place, self.manifest)

    def conclude(self, faults: Sequence[str], passed: str) -> None:
        """Keep the faults; where there are none, what passed."""
        self.problems.extend(faults)
        if not faults:
            self.passed.append(passed)


Check = Callable[[Looked], None]
"""Adds what it passed and what is wrong; leaves alone what is not its kind."""


@loader("the release", remedy="take the folder again from where it was published.", error=ReleaseError)
def verify_release(folder: str | Path, checks: Sequence[Check] = (), report: Report | None = None) -> Verdict:
    """Recompute everything that can be recomputed without the confidential data."""
    place = Path(folder)
    looked = Looked(place=place, manifest=read_manifest_file(place), report=report)

    def table(looked: Looked) -> Looked:
        check_notices(looked)
        check_listed_files(looked)
        book = _check_codebook(looked)
        if book is not None:
            if looked.made is not Made.ANSWER:  # whose figures the room of answers checks
                (_check_counts if looked.made is Made.COUNTS else _check_rows)(looked, book)
            check_other_formats(looked, looked.table, book)
            check_passport(looked, book)
        return replace(looked, book=book)

    return verify_manifest(looked, [table, check_marks, *checks, check_face])


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
    return Verdict(
        what=_what(looked),
        passed=tuple(looked.passed),
        problems=tuple(looked.problems),
        total=looked.total,
        notices=tuple(notice.sentence for notice in looked.notices),
    )


def _priced(looked: Looked) -> Looked:
    total = _check_price(looked)
    formal = total is not None and total.is_formal and not isinstance(total, KAnonymous)
    _check_inputs(looked, formal=formal)
    if formal:
        _check_grounds(looked)
    return replace(looked, total=total)


def refuse_other_promise(place: Path, manifest: dict[str, Any]) -> None:
    """Refuse a manifest that promises something else than its ledger supports, before its words are repeated."""
    looked = Looked(place=place, manifest=manifest)
    _check_price(looked)
    if looked.problems:
        raise ReleaseError(
            f"the manifest of {str(place)!r} does not verify ({looked.problems[0]}), and what is not as it says is not "
            "passed on; see `understudy verify`."
        )


def _what(looked: Looked) -> str:
    if looked.manifest.get("subject") == Subject.SCORE:
        return f"a risk score by {looked.manifest.get('method')}"
    return what_is(looked.manifest, looked.made)


def check_notices(looked: Looked) -> None:
    """Read what was noted in the folder after the release was out."""
    try:
        looked.notices.extend(read_notices(looked.place))
    except ReleaseError as reason:
        looked.problems.append(str(reason))
    if looked.notices:
        looked.passed.append(f"{NOTICE} is about this release")


def check_face(looked: Looked) -> None:
    """The page is that of the folder; releases of earlier versions have none."""
    listed, book = FACE in looked.manifest.get("files", {}), looked.linked or looked.book
    if not listed or book is None or looked.problems:  # what is wrong already would be wrong here again
        return
    faults = face_faults(looked.place, looked.manifest, book, looked.notices)
    looked.conclude(faults, f"{FACE} states the promise of the manifest, runs nothing and loads nothing")


def check_listed_files(looked: Looked, needed: Sequence[str] | None = None, folders: Sequence[str] = (PARTS,)) -> None:
    """Every file that is needed (one table and its codebook, unless told otherwise) is listed, there and unchanged.

    ``folders`` are those that may hold parts: one for each table.
    """
    place, manifest, passed, problems = looked.place, looked.manifest, looked.passed, looked.problems
    files = manifest.get("files", {})
    parts = part_names(files, folders)
    for name in needed or ((CODEBOOK,) if parts else (looked.table.name, CODEBOOK)):
        if name not in files:
            problems.append(f"the manifest lists no {name}")
    for folder in folders:
        if manifest.get("parts", 0) != (listed := len(part_names(files, (folder,)))):
            problems.append(f"the manifest speaks of {manifest.get('parts', 0)} parts of {folder} and lists {listed}")
    inner = [place / folder for folder in folders if (place / folder).is_dir()]
    present = {f"{folder.name}/{path.name}" for folder in inner for path in folder.iterdir()}
    problems.extend(f"{name} is in the folder but not in the manifest" for name in sorted(present - set(files)))
    notices, kept = [NOTICE] if looked.notices else [], list(folders) if parts else []
    known = {*files, MANIFEST, SIGNATURE, *listed_files(place), *notices, *kept}
    problems.extend(
        f"{path.name} lies in the folder and is not part of the release; a page or figure made from the confidential "
        "table must not go out with it"
        for path in sorted(place.iterdir())
        if path.name not in known or (path.is_dir() and path.name not in kept)
    )
    paths = told_by_size([place / name for name in files], "comparing digests", looked.report)
    for path, (name, stated) in zip(paths, files.items(), strict=True):
        inside = Path(name).name == name or name in parts
        if not inside or not path.is_file():
            problems.append(f"{name} is listed in the manifest but is not in the folder")
        elif (released_page_digest if name == FACE else digest_of)(path) != stated:
            problems.append(f"{name} was changed after the release: its digest is not the one in the manifest")
        elif name not in parts:
            passed.append(f"{name} has the digest that the manifest states")
    if parts and not any(name.startswith(f"{folder}/") for folder in folders for name in problems):
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
    check_declared(looked, book)
    looked.passed.append("the codebook is the one that the release was made with")
    return book


def check_declared(looked: Looked, book: Codebook | LinkedCodebook) -> None:
    """What the manifest repeats of the codebook is what the codebook says."""
    attested = {column.name: str(column.attestation) for column in book.released if column.is_attested}
    if looked.manifest["codebook"]["attested"] != attested:
        looked.problems.append("the attestations in the manifest are not those of the codebook")
    declared = {} if book.publication is None else book.publication.to_dict()
    if looked.manifest.get("publication", {}) != declared:
        looked.problems.append("what the manifest says of the publication is not what the codebook says")


def _check_rows(looked: Looked, book: Codebook) -> None:
    table = looked.table
    if "parts" in looked.manifest:
        table = Path(escape(str(looked.place / PARTS))) / "part-*.parquet"
    try:
        # ids never reach a release
        faults = check_table(table, replace(book, unit=None), report=looked.report)
        rows = sum(pyarrow.parquet.read_metadata(path).num_rows for path in looked.tables)
    except (UnderstudyError, OSError, pa.ArrowException) as reason:
        looked.problems.append(f"the table cannot be read: {reason}")
        return
    withheld = looked.manifest.get("certificate", {}).get("accepted") is False
    wrong = [fault.sentence for fault in faults if not (withheld and fault.kind == "empty file")]
    if rows != (number := looked.manifest["rows"]["number"]):
        wrong.append(f"the table has {rows:,} rows, the manifest says {number:,}")
    looked.conclude(wrong, f"all {rows:,} rows fit the codebook")
    if book.constraints and not any(fault.kind == "broken rule" for fault in faults):
        looked.passed.append(f"0 rows break the {len(book.constraints)} rules of the codebook")


def check_other_formats(looked: Looked, table: Path, book: Codebook) -> None:
    """The CSV and the like hold the same rows as the table: another table under their names would go out unseen."""
    for form in FORMATS:
        name = table_as(table.name, form)
        if form == "parquet" or name not in looked.manifest.get("files", {}) or not (looked.place / name).is_file():
            continue
        try:
            rows = pyarrow.parquet.read_table(table)
            same = holds_same_rows(looked.place / name, form, rows, book, looked.made)
        except (UnderstudyError, OSError, pa.ArrowException) as reason:
            looked.problems.append(f"{name} cannot be compared with the table: {reason}")
            continue
        faults = [] if same else [f"{name} does not hold the rows of the table"]
        if form == GUARDED and looked.manifest.get("guarded") != GUARDED_WORDS:
            faults.append(f"the manifest does not say how {name} is guarded")
        looked.conclude(faults, f"{name} holds the same rows as the table")


def check_passport(looked: Looked, book: Codebook | LinkedCodebook) -> None:
    """A passport says what manifest and codebook say."""
    if (looked.place / PASSPORT).exists():
        faults = passport_faults(looked.place, looked.manifest, book)
        if faults or was_compared(looked.place):
            looked.conclude(faults, "the passport is that of this release")
        else:
            looked.passed.append(
                "the passport names this manifest; another version wrote it: its words were not compared"
            )


def check_signed(verdict: Verdict, place: Path, public: bytes | None) -> Verdict:
    """The verdict with what the signature adds to it; with a key, there must be one by that key."""
    signed = check_signature(place, public)
    if signed is None:
        return verdict
    if signed.fault:
        return replace(verdict, problems=(*verdict.problems, signed.fault), signed_by=signed.key)
    whose = "the key that was given" if public is not None else f"{signed.key}; give the publisher's key to compare"
    passed = (*verdict.passed, f"{signed_file(place).name} was signed with {whose}")
    return replace(verdict, passed=passed, signed_by=signed.key)


def _check_counts(looked: Looked, book: Codebook) -> None:
    """A table of counts holds every combination of its levels once, and an interval around every count."""
    try:
        table = pyarrow.parquet.read_table(looked.table)
        names = [name for name in table.column_names if name not in COUNT_COLUMNS]
        labels = [book.column(name).labels for name in names]
        combinations = list(zip(*(table.column(name).to_pylist() for name in names), strict=True))
        low, count, high = (table.column(name).to_pylist() for name in ("low", "count", "high"))
    except (UnderstudyError, KeyError, OSError, pa.ArrowException) as reason:
        looked.problems.append(f"the table cannot be read: {reason}")
        return
    wrong = []
    is_whole = names and len(combinations) == math.prod(map(len, labels))  # before any product is laid out
    if not is_whole or set(combinations) != set(product(*labels)):
        wrong.append("the table does not hold every combination of the levels of its columns once")
    if any(not a <= b <= c for a, b, c in zip(low, count, high, strict=True)):
        wrong.append("a count of the table lies outside its own interval")
    if len(combinations) != (number := looked.manifest["rows"]["number"]):
        wrong.append(f"the table has {len(combinations):,} rows, the manifest says {number:,}")
    looked.conclude(wrong, f"all {len(combinations):,} combinations of {', '.join(names)} are there")


def check_marks(looked: Looked) -> None:
    """What the table says of itself, and what its input said, against the manifest, which alone is easily edited."""
    try:
        kept = [
            (pyarrow.parquet.read_schema(path).metadata or {}).get(MARK) for path in looked.tables if path.is_file()
        ]
        marks = [Provenance.from_dict(json.loads(text)) for text in set(kept) if text is not None]
        stated = provenance_of_manifest(looked.manifest, "")
    except (UnderstudyError, OSError, ValueError, KeyError, TypeError, pa.ArrowException) as reason:
        looked.problems.append(f"what the table says of itself cannot be read: {reason}")
        return
    if looked.manifest["format"] == 1:
        if marks:
            looked.problems.append("the manifest is of format 1, and the table was written in a later one")
        return
    if None in kept:
        looked.problems.append("the table, or a part of it, does not say of itself what it is")
    for mark in marks:
        odd = other_than_marked(stated, mark)
        faults = [f"the table says of itself another {' and '.join(odd)} than its manifest"] if odd else []
        looked.conclude(faults, "the table says of itself what its manifest says")
    path = looked.place / INPUT_MANIFEST
    if not path.is_file():
        return
    text = path.read_text(encoding="utf-8")
    facts = provenance_of_manifest(json.loads(text), text).to_dict()
    same = looked.manifest["inputs"].get(InputRole.DATA.name.lower()) == facts
    faults = [] if same else [f"what the manifest says of the table that went in is not what {INPUT_MANIFEST} says"]
    looked.conclude(faults, f"the table that went in is what {INPUT_MANIFEST} says")


def _check_price(looked: Looked) -> Guarantee | None:
    manifest, problems = looked.manifest, looked.problems
    try:
        ledger = Ledger.from_list(manifest["ledger"])
        total = ledger.total(delta=manifest["delta_for_total"])
    except (UnderstudyError, LookupError, TypeError, ValueError, ArithmeticError) as reason:
        problems.append(f"the ledger cannot be priced: {reason}")
        return None
    stated, due = manifest["guarantee"], total.to_dict()
    faults = [f"the stated total {_short(stated)} is not what the ledger adds up to, {_short(due)}"]
    looked.conclude([] if _agree(stated, due) else faults, f"the ledger adds up to the stated total, {_short(due)}")
    if manifest["format"] == 1:
        supported = _promise_of_format_1(manifest, ledger, total) in manifest["statement"]
        words = "the statement makes the promise that the ledger supports, in the words of format 1"
    else:
        look = manifest["confidential_look"]
        supported = read_quote(manifest).statement_of(manifest["rows"]["number"], looked=look) == manifest["statement"]
        words = "the statement says what the ledger supports"
    faults = [] if supported else ["the statement in plain words is not the one that the ledger supports"]
    looked.conclude(faults, words)
    if not _agree(manifest["basic_composition"], ledger.basic().to_dict()):
        problems.append("the total by basic composition is not that of the ledger")
    for entry, written in zip(ledger, manifest["ledger"], strict=True):
        if not _agree(written["guarantee"], entry.guarantee.to_dict()):
            problems.append(f"the price of {entry.stage} is not what its event costs")
    if manifest["assumptions"] != list(ledger.assumptions):
        problems.append("the list of assumptions is not that of the ledger")
    return total


def _promise_of_format_1(manifest: dict[str, Any], ledger: Ledger, total: Guarantee) -> str:
    """The statements of the first format were worded differently; their promise is still compared with the ledger."""
    words = statement(ledger, total, rows=manifest["rows"]["number"], route=manifest["route"], paper=None)
    promise = words.partition(" for ")[0] if isinstance(total, PureDP) or hasattr(total, "epsilon") else words[:40]
    if manifest.get("subject") == Subject.SCORE:
        promise = "(" + promise.partition("(")[2] if hasattr(total, "epsilon") else "no formal privacy guarantee"
    if manifest.get("holds") == "counts":
        promise = promise.replace("This table of", "This file of").replace("counts", "rows")
    return promise


def differing_prices(due: Guarantee, stated: Guarantee) -> list[str]:
    """Whether a stated total is what its method costs by a computation of its own."""

    def close(name: str) -> bool:
        first, second = _figure(due, name), _figure(stated, name)
        return abs(first - second) <= RECHECK_TOLERANCE * max(first, second)

    same = getattr(due, "neighbours", None) == getattr(stated, "neighbours", None)
    if same and close("epsilon") and close("delta"):
        return []
    return [
        f"the ledger adds up to epsilon {_figure(stated, 'epsilon'):.6g}, delta {_figure(stated, 'delta'):.6g}, and "
        f"the method with its parameters and codebook costs epsilon {_figure(due, 'epsilon'):.6g}, delta "
        f"{_figure(due, 'delta'):.6g}: one of them was changed"
    ]


def _figure(claim: Guarantee, name: str) -> float:
    return float(getattr(claim, name, 0.0))


def _check_inputs(looked: Looked, *, formal: bool) -> None:
    """Whether what went in allows what is promised: a public input is public or paid for, a price per row holds."""
    manifest, problems = looked.manifest, looked.problems
    events = [entry["event"] for entry in manifest.get("ledger", ())]
    if manifest["format"] != 1 and InputRole.DATA.name.lower() not in manifest["inputs"]:
        problems.append("the manifest does not say what table went in")
    for name, facts in manifest.get("inputs", {}).items():
        role, table = InputRole[name.upper()], Provenance.from_dict(facts)
        if not role.is_public:
            if formal and table.as_data:
                problems.append(f"the ledger claims a promise, and {table.as_data[0].event.to_dict()['why']}")
            continue
        try:
            table.as_public(role)
        except UnderstudyError as reason:
            problems.append(str(reason))
        if any(entry["event"] not in events for entry in facts.get("ledger", ())):
            problems.append(f"the price of {table.called}, used as {role.value}, is not in the ledger")


def bought_inputs(manifest: Mapping[str, Any]) -> Ledger:
    """What releases that were used as public knowledge add, each once."""
    ledgers = {
        facts["release"]: facts["ledger"]
        for role, facts in manifest.get("inputs", {}).items()
        if InputRole[role.upper()].is_public and "ledger" in facts
    }
    return Ledger.from_list(entry for ledger in ledgers.values() for entry in ledger)


def _check_grounds(looked: Looked) -> None:
    """What a formal promise cannot stand on, whatever its ledger adds up to."""
    manifest, book, problems = looked.manifest, looked.book, looked.problems
    if str(manifest.get("randomness", "")).startswith("seeded"):
        problems.append("the randomness was seeded, and the ledger claims a promise all the same")
    if manifest.get("confidential") or manifest.get("real_records"):
        problems.append("the table holds real records, and the ledger claims a promise all the same")
    if book is None:
        return
    if not book.is_public:
        problems.append(f"the ledger claims a promise, and {book.why_not_public}")
    stages = [entry["event"] for entry in manifest["ledger"]]
    bought = [item["event"] for purchase in book.purchases for item in json.loads(purchase.entries)]
    if any(event not in stages for event in bought):
        problems.append("the codebook was drafted, or its rules learned, at a price that the ledger leaves out")
    relation = manifest["guarantee"].get("neighbours", "")
    if book.unit is not None and relation and "person" not in str(relation):
        problems.append("the codebook makes the person the unit, and the ledger prices single records")


def _agree(stated: dict[str, Any], due: dict[str, Any]) -> bool:
    """Whether two promises are one, up to the last digits of their figures."""
    if set(stated) != set(due):
        return False
    for name, value in due.items():
        if isinstance(value, float) and isinstance(stated[name], int | float):
            scale = abs(value) if name == "delta" else max(1.0, abs(value))  # a delta is small, and so are its digits
            gap = abs(value - stated[name])  # no number where the manifest states none, which agrees with nothing
            if value != stated[name] and not (math.isfinite(value) and gap <= _TOLERANCE * scale):
                return False
        elif value != stated[name]:
            return False
    return True


def _short(guarantee: dict[str, Any]) -> str:
    shown = (
        f"{name} {value:.6g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in guarantee.items()
        if name != "kind"
    )
    return f"{guarantee['kind']} ({', '.join(shown)})"
