"""Check a release folder against itself: digests, table, codebook, price and statement."""

import json
from dataclasses import dataclass, replace
from glob import escape
from itertools import product
from pathlib import Path
from typing import Any

from understudy.codebook import Codebook
from understudy.errors import ReleaseError, UnderstudyError
from understudy.privacy.guarantees import Guarantee, KAnonymous
from understudy.privacy.ledger import Ledger
from understudy.privacy.statement import statement
from understudy.release.manifest import FORMAT
from understudy.release.release import CODEBOOK, COUNT_COLUMNS, MANIFEST, digest_of, table_names
from understudy.release.workshop import PART_NAME, PARTS
from understudy.sources.check import check_table

__all__ = ["Verdict", "verify_release"]

_TOLERANCE = 1e-9  # other versions of the accounting library may differ in the last digits, downwards or upwards


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What was looked at and what was wrong."""

    passed: tuple[str, ...]
    problems: tuple[str, ...]
    total: Guarantee | None

    @property
    def is_valid(self) -> bool:
        """Whether nothing was wrong."""
        return not self.problems


def verify_release(folder: str | Path) -> Verdict:
    """Recompute everything that can be recomputed without the confidential data."""
    place = Path(folder)
    manifest = _read_manifest(place)
    try:
        return _verified(place, manifest)
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as reason:
        if isinstance(reason, UnderstudyError):
            raise
        raise ReleaseError(
            f"the manifest in {str(place)!r} has not the shape of one ({type(reason).__name__}: {str(reason)[:80]}); "
            "take the folder again from where it was published."
        ) from None


def _verified(place: Path, manifest: dict[str, Any]) -> Verdict:
    passed: list[str] = []
    problems: list[str] = []
    _check_files(place, manifest, passed, problems)
    book = _check_codebook(place, manifest, passed, problems)
    if book is not None and manifest.get("holds") == "counts":
        _check_counts(place, manifest, book, passed, problems)
    elif book is not None:
        _check_rows(place, manifest, book, passed, problems)
    total = _check_price(manifest, passed, problems)
    if total is not None and total.is_formal and not isinstance(total, KAnonymous):
        _check_grounds(manifest, book, problems)
    return Verdict(passed=tuple(passed), problems=tuple(problems), total=total)


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
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise ReleaseError(f"the manifest in {str(place)!r} is not of format {FORMAT}; use the version that wrote it.")
    return manifest


def _table_name(manifest: dict[str, Any]) -> str:
    return table_names(str(manifest.get("holds")), confidential=bool(manifest.get("confidential")))[0]


def _check_files(place: Path, manifest: dict[str, Any], passed: list[str], problems: list[str]) -> None:
    files = manifest.get("files", {})
    parts = [name for name in files if PART_NAME.fullmatch(name)]
    for needed in (CODEBOOK,) if parts else (_table_name(manifest), CODEBOOK):
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


def _check_codebook(place: Path, manifest: dict[str, Any], passed: list[str], problems: list[str]) -> Codebook | None:
    try:
        book = Codebook.load(place / CODEBOOK)
    except UnderstudyError as reason:
        problems.append(f"the codebook cannot be used: {reason}")
        return None
    if book.digest != manifest["codebook"]["digest"]:
        problems.append("the codebook is not the one that the release was made with")
        return None
    passed.append("the codebook is the one that the release was made with")
    return book


def _check_rows(place: Path, manifest: dict[str, Any], book: Codebook, passed: list[str], problems: list[str]) -> None:
    import pyarrow as pa
    import pyarrow.parquet

    paths = [place / _table_name(manifest)]
    table = paths[0]
    if "parts" in manifest:
        paths = [place / name for name in manifest.get("files", {}) if PART_NAME.fullmatch(name)]
        table = Path(escape(str(place / PARTS))) / "part-*.parquet"
    try:
        faults = check_table(table, replace(book, unit=None))  # ids never reach a release
        rows = sum(pyarrow.parquet.read_metadata(path).num_rows for path in paths)
    except (UnderstudyError, OSError, pa.ArrowException) as reason:
        problems.append(f"the table cannot be read: {reason}")
        return
    problems.extend(fault.sentence for fault in faults)
    if rows != manifest["rows"]["number"]:
        problems.append(f"the table has {rows:,} rows, the manifest says {manifest['rows']['number']:,}")
    if not faults and rows == manifest["rows"]["number"]:
        passed.append(f"all {rows:,} rows fit the codebook")


def _check_counts(
    place: Path, manifest: dict[str, Any], book: Codebook, passed: list[str], problems: list[str]
) -> None:
    """A table of counts holds every combination of its levels once, and an interval around every count."""
    import pyarrow as pa
    import pyarrow.parquet

    try:
        found = pyarrow.parquet.read_table(place / _table_name(manifest))
        names = [name for name in found.column_names if name not in COUNT_COLUMNS]
        expected = set(product(*(book.column(name).labels for name in names)))
        combinations = list(zip(*(found.column(name).to_pylist() for name in names), strict=True))
        low, count, high = (found.column(name).to_pylist() for name in ("low", "count", "high"))
    except (UnderstudyError, KeyError, OSError, pa.ArrowException) as reason:
        problems.append(f"the table cannot be read: {reason}")
        return
    wrong = []
    if not names or len(combinations) != len(expected) or set(combinations) != expected:
        wrong.append("the table does not hold every combination of the levels of its columns once")
    if any(not a <= b <= c for a, b, c in zip(low, count, high, strict=True)):
        wrong.append("a count of the table lies outside its own interval")
    if len(combinations) != manifest["rows"]["number"]:
        wrong.append(f"the table has {len(combinations):,} rows, the manifest says {manifest['rows']['number']:,}")
    problems.extend(wrong)
    if not wrong:
        passed.append(f"all {len(combinations):,} combinations of {', '.join(names)} are there")


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
    paper = manifest.get("paper") or {}
    expected = statement(
        ledger,
        total,
        rows=manifest["rows"]["number"],
        route=manifest["route"],
        paper=paper.get("statement"),
    )
    if manifest["statement"] != expected:
        problems.append("the statement in plain words is not the one that the ledger supports")
    else:
        passed.append("the statement says what the ledger supports")
    for entry, written in zip(ledger, manifest["ledger"], strict=True):
        if not _agree(written["guarantee"], entry.guarantee.to_dict()):
            problems.append(f"the price of {entry.stage} is not what its event costs")
    if manifest["assumptions"] != list(ledger.assumptions):
        problems.append("the list of assumptions is not that of the ledger")
    return total


def _check_grounds(manifest: dict[str, Any], book: Codebook | None, problems: list[str]) -> None:
    """What a formal promise cannot stand on, whatever its ledger adds up to."""
    if str(manifest.get("randomness", "")).startswith("seeded"):
        problems.append("the randomness was seeded, and the ledger claims a promise all the same")
    if manifest.get("confidential"):
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
