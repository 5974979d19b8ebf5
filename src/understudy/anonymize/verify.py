"""Check an anonymised release: everything that any release is checked for, and k, l and t counted again."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from understudy.anonymize.criteria import criterion_from_dict
from understudy.anonymize.measure import Measured, class_sizes, measure
from understudy.anonymize.outcome import orders_of
from understudy.anonymize.recipe import step_from_dict
from understudy.codebook import Codebook
from understudy.errors import ReleaseError, UnderstudyError, quoted
from understudy.loading import loader
from understudy.privacy.provenance import InputRole, Made, Provenance
from understudy.release.reading import read_manifest_file
from understudy.release.release import ANONYMIZED, CODEBOOK, MANIFEST
from understudy.release.verify import Looked, Verdict, verify_release

REMEDY = "take the folder again from where it was published."
_CLOSE = 1e-9


def is_anonymized(folder: str | Path) -> bool:
    """Whether a folder holds an anonymised release."""
    place = Path(folder) / MANIFEST
    try:  # a pipe or a device in its place would be read for ever
        manifest = json.loads(place.read_text(encoding="utf-8")) if place.is_file() else None
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(manifest, dict) and manifest.get("holds") == "anonymized"


@dataclass(frozen=True, kw_only=True)
class Released:
    """An anonymised release as it is found, with the classes of its quasi-identifiers."""

    manifest: Mapping[str, Any]
    table: Any
    quasi: tuple[str, ...]
    sizes: Any
    """Rows of each class."""


@loader("the release", remedy=REMEDY, error=ReleaseError)
def read_anonymized(folder: str | Path, quasi: Sequence[str] | None = None) -> Released:
    """The manifest and the table; ``quasi`` instead of the quasi-identifiers that the manifest names."""
    import pyarrow.parquet as pq

    place = Path(folder)
    manifest = read_manifest_file(place)
    names = tuple(quasi or manifest["anonymity"]["quasi_identifiers"])
    table = pq.read_table(place / ANONYMIZED)
    if missing := [name for name in names if name not in table.column_names]:
        raise ReleaseError(
            f"the table of {str(place)!r} has no column {quoted(missing)}; it has {quoted(table.column_names)}."
        )
    return Released(manifest=manifest, table=table, quasi=names, sizes=class_sizes(table, names))


@loader("the release", remedy=REMEDY, error=ReleaseError)
def verify_anonymized(folder: str | Path) -> tuple[Verdict, Measured | None]:
    """The verdict about an anonymised release, and what was measured in the table itself."""
    measured: list[Measured] = []
    verdict = verify_release(folder, [lambda looked: measured.extend(_recheck(looked))])
    return verdict, measured[0] if measured else None


def recheck_anonymity(looked: Looked) -> None:
    """Count k, l and t again in the released table, and ask the steps whether rows really came from one record each."""
    _recheck(looked)


def _recheck(looked: Looked) -> list[Measured]:
    if looked.made is not Made.ANONYMIZED:
        return []
    try:
        measured = measure_release(looked.place, looked.manifest)
        _compare(looked.manifest, measured, looked.passed, looked.problems)
        _check_record_wise(looked.manifest, looked.passed, looked.problems)
    except (UnderstudyError, OSError, ValueError, KeyError, TypeError, AttributeError) as reason:
        looked.problems.append(f"the classes of the table cannot be counted again: {reason}")
        return []
    return [measured]


def measure_release(place: Path, manifest: Mapping[str, Any]) -> Measured:
    """Count the classes of a released table and measure what it was asked for."""
    import pyarrow.parquet as pq

    anonymity = manifest.get("anonymity")
    if not isinstance(anonymity, dict):
        raise ReleaseError(f"{str(place)!r} holds no anonymised release.")
    criteria = [criterion_from_dict(entry) for entry in anonymity["asked"]["criteria"]]
    return measure(
        pq.read_table(place / ANONYMIZED),
        quasi=anonymity["quasi_identifiers"],
        criteria=criteria,
        orders=orders_of(Codebook.load(place / CODEBOOK), criteria),
        trees=anonymity["trees"],
    )


def _compare(manifest: dict[str, Any], measured: Measured, passed: list[str], problems: list[str]) -> None:
    anonymity = manifest["anonymity"]
    names = ", ".join(anonymity["quasi_identifiers"])
    stated = anonymity["measured"]
    if stated["k"] != measured.k:
        problems.append(f"the table is {measured.k}-anonymous for {names}, the manifest says {stated['k']}")
    else:
        passed.append(f"the table is {measured.k}-anonymous for {names}, counted again in {measured.classes:,} classes")
    if anonymity["asked"]["k"] is not None and measured.k < anonymity["asked"]["k"]:
        problems.append(f"{anonymity['asked']['k']}-anonymity was asked for, and the table has {measured.k}")
    for (criterion, value), entry in zip(measured.achieved, stated["criteria"], strict=True):
        label, claim = criterion.label, entry["achieved"]
        if not criterion.passes(value):
            problems.append(f"{label} was asked for, and the worst class measures {value:.6g}")
        elif claim is None or not (claim == value or abs(claim - value) <= _CLOSE * max(1.0, abs(value))):
            problems.append(f"{label} measures {value:.6g} in the worst class, the manifest says {claim}")
        else:
            passed.append(f"{label} holds: the worst class measures {value:.6g}")
    claimed = [entry["event"] for entry in manifest["ledger"] if entry["event"]["kind"] == "k-anonymous-table"]
    for event in claimed:
        if event["k"] > measured.k or event["quasi_identifiers"] != anonymity["quasi_identifiers"]:
            problems.append(f"the ledger claims {event['k']}-anonymity, which the table does not have")
        if set(event["criteria"]) != {criterion.label for criterion, _ in measured.achieved}:
            problems.append("the ledger claims other criteria than those that were measured")


def _check_record_wise(manifest: Mapping[str, Any], passed: list[str], problems: list[str]) -> None:
    """What a later price would rest on: every step treats each record by itself, and no seed shifts its noise."""
    if manifest["format"] == 1 or not manifest["record_wise"]:
        return
    steps = [step_from_dict(entry) for entry in manifest["parameters"]["steps"]]
    wrong = [f"{step.do} does not treat each record by itself" for step in steps if not step.is_record_wise]
    if any(step.is_random for step in steps) and not str(manifest["randomness"]).startswith("secure"):
        wrong.append("its noise was drawn under a seed, where one record more shifts that of every later row")
    source = manifest["inputs"].get(InputRole.DATA.name.lower(), {})
    if not Provenance.from_dict(source).record_wise:
        wrong.append("it was made from a table in which one person can change the rows of many")
    problems.extend(f"the manifest says that each row came from one record by itself, and {why}" for why in wrong)
    if not wrong:
        passed.append("every step treats each record by itself")
