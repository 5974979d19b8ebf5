"""A stated price against the method, parameters and codebook that it is stated for: a ledger edited by hand shows."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from understudy.codebook import Codebook
from understudy.errors import UnderstudyError
from understudy.privacy.ledger import Ledger
from understudy.release.release import CODEBOOK, MANIFEST
from understudy.release.verify import Verdict, verify_release
from understudy.synth.registry import METHODS
from understudy.synth.remade import remade

__all__ = ["cheaper_than_its_method", "recheck_release"]

_TOLERANCE = 1e-6  # calibration may differ in the last digits between machines


def recheck_release(folder: str | Path) -> Verdict:
    """As :func:`verify_release`; and the price of the method is computed anew from what the manifest says of it."""
    found = verify_release(folder)
    manifest = json.loads((Path(folder) / MANIFEST).read_text(encoding="utf-8"))
    if not found.is_valid or found.total is None or not found.total.is_formal or manifest["method"] not in METHODS:
        return found
    faults = cheaper_than_its_method(
        manifest["method"],
        manifest["parameters"],
        Codebook.load(Path(folder) / CODEBOOK),
        rows=int(manifest["rows"]["number"]),
        ledger=Ledger.from_list(manifest["ledger"]),
        delta=manifest["delta_for_total"],
    )
    if faults:
        return replace(found, problems=(*found.problems, *faults))
    return replace(found, passed=(*found.passed, "the method, its parameters and the codebook cost what is stated"))


def cheaper_than_its_method(
    method: str, parameters: Mapping[str, Any], book: Codebook, *, rows: int, ledger: Ledger, delta: float | None
) -> list[str]:
    """Why a ledger cannot be that of its method; nothing where it can, or where a manifest has only words for it."""
    if method not in METHODS or not ledger.total(delta=delta).is_formal:
        return []
    asked = dict(parameters.get("per_person") or {})
    asked.pop("records", None)  # the targets of a person; the fields hold the share of one record
    try:
        price = remade(method, {**parameters, **asked}).quote(book, rows).ledger
        due, stated = price.total(delta=delta), ledger.total(delta=delta)
    except UnderstudyError:
        return []  # choices that are described in words only
    if not due.is_formal:
        return [f"the ledger claims a price, and with this codebook the method has none ({getattr(due, 'why', '')})"]
    same = getattr(due, "neighbours", None) == getattr(stated, "neighbours", None)
    if (
        not same
        or _epsilon(due) > _epsilon(stated) * (1 + _TOLERANCE)
        or _delta(due) > _delta(stated) * (1 + _TOLERANCE)
    ):
        return [
            f"the ledger adds up to epsilon {_epsilon(stated):.6g}, delta {_delta(stated):.6g}, and the method with "
            f"its parameters and codebook costs epsilon {_epsilon(due):.6g}, delta {_delta(due):.6g}: one of them was "
            "changed"
        ]
    return []


def _epsilon(claim: Any) -> float:
    return float(getattr(claim, "epsilon", 0.0))


def _delta(claim: Any) -> float:
    return float(getattr(claim, "delta", 0.0))
