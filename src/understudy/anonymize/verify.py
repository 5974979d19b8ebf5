"""Check an anonymised release: everything that any release is checked for, and k, l and t counted again."""

import json
from pathlib import Path
from typing import Any

from understudy.anonymize.criteria import Closeness, Criterion, criterion_from_dict
from understudy.anonymize.measure import Measured, measure
from understudy.anonymize.run import spelled
from understudy.codebook import Codebook
from understudy.errors import ReleaseError, UnderstudyError
from understudy.release.release import ANONYMIZED, CODEBOOK, MANIFEST
from understudy.release.verify import Verdict, verify_release

__all__ = ["is_anonymized", "measure_release", "verify_anonymized"]

_CLOSE = 1e-9


def is_anonymized(folder: str | Path) -> bool:
    """Whether a folder holds an anonymised release."""
    try:
        manifest = json.loads((Path(folder) / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(manifest, dict) and manifest.get("holds") == "anonymized"


def verify_anonymized(folder: str | Path) -> tuple[Verdict, Measured | None]:
    """The verdict, and what was measured in the table itself."""
    verdict = verify_release(folder)
    passed, problems = list(verdict.passed), list(verdict.problems)
    measured = None
    try:
        manifest = json.loads((Path(folder) / MANIFEST).read_text(encoding="utf-8"))
        measured = measure_release(folder)
        _compare(manifest, measured, passed, problems)
    except (UnderstudyError, OSError, ValueError, KeyError, TypeError, AttributeError) as reason:
        problems.append(f"the classes of the table cannot be counted again: {reason}")
    return Verdict(passed=tuple(passed), problems=tuple(problems), total=verdict.total), measured


def measure_release(folder: str | Path) -> Measured:
    """Count the classes of a released table and measure what it was asked for."""
    import pyarrow.parquet as pq

    place = Path(folder)
    manifest = json.loads((place / MANIFEST).read_text(encoding="utf-8"))
    anonymity = manifest.get("anonymity")
    if not isinstance(anonymity, dict):
        raise ReleaseError(f"{str(folder)!r} holds no anonymised release.")
    criteria = [criterion_from_dict(one) for one in anonymity["asked"]["criteria"]]
    book = Codebook.load(place / CODEBOOK)
    orders = {one.column: spelled(book.column(one.column)) for one in criteria if _is_ordered(one)}
    return measure(
        pq.read_table(place / ANONYMIZED),
        quasi=anonymity["quasi_identifiers"],
        criteria=criteria,
        orders=orders,
        trees=anonymity["trees"],
    )


def _is_ordered(one: Criterion) -> bool:
    return isinstance(one, Closeness) and one.distance == "ordered"


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
    for (one, value), said in zip(measured.achieved, stated["criteria"], strict=True):
        if not one.passes(value):
            problems.append(f"{one.said} was asked for, and the worst class measures {value:.6g}")
        elif said["achieved"] is None or abs(said["achieved"] - value) > _CLOSE * max(1.0, abs(value)):
            problems.append(f"{one.said} measures {value:.6g} in the worst class, the manifest says {said['achieved']}")
        else:
            passed.append(f"{one.said} holds: the worst class measures {value:.6g}")
    claimed = [entry["event"] for entry in manifest["ledger"] if entry["event"]["kind"] == "k-anonymous-table"]
    for event in claimed:
        if event["k"] > measured.k or event["quasi_identifiers"] != anonymity["quasi_identifiers"]:
            problems.append(f"the ledger claims {event['k']}-anonymity, which the table does not have")
        if set(event["criteria"]) != {one.said for one, _ in measured.achieved}:
            problems.append("the ledger claims other criteria than those that were measured")
