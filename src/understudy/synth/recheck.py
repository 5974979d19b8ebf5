"""Compute the price of a release again from its method, parameters and codebook, to find edited ledgers."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from understudy.codebook import Codebook
from understudy.errors import UnderstudyError
from understudy.mechanisms.gaussian_measurements import GaussianMeasurements
from understudy.privacy.guarantees import Neighbours
from understudy.privacy.ledger import Ledger
from understudy.privacy.provenance import Made
from understudy.privacy.quote import Quote
from understudy.release.measurements import MEASUREMENTS, bounded_table, read_measurements
from understudy.release.verify import RECHECK_TOLERANCE, Looked, bought_inputs, differing_prices
from understudy.synth.certificate import faults_of, regression_faults
from understudy.synth.choices import remade
from understudy.synth.counts import Counts
from understudy.synth.linked_counts import LINKED, join_faults
from understudy.synth.measurements import units_needed
from understudy.synth.paid_books import bought_codebook
from understudy.synth.people import of_people
from understudy.synth.registry import METHODS


def recheck_method(looked: Looked) -> None:
    """Compute price and texts of the method again from the manifest, for synthesis and counts."""
    manifest, book, total = looked.manifest, looked.book, looked.total
    if book is None or (manifest["method"] not in METHODS and looked.made is not Made.COUNTS):
        return
    if manifest["format"] != 1:  # whose words were other ones
        _recheck_words(looked, book)
    _recheck_certificate(looked, book)
    _recheck_measurements(looked, book)
    if LINKED in manifest["parameters"]:
        unnamed = join_faults(book, manifest["parameters"], Ledger.from_list(manifest["ledger"]))
        looked.conclude(unnamed, "keys, caps and constants that the joined counts rest on are named and fit the price")
    if total is None or not total.is_formal:
        return
    faults = cheaper_than_its_method(
        manifest["method"],
        manifest["parameters"],
        book,
        rows=_rows_asked(manifest),
        ledger=Ledger.from_list(manifest["ledger"]),
        delta=manifest["delta_for_total"],
        inputs=bought_inputs(manifest),
    )
    if faults is None:
        looked.passed.append("(the price of the method is not computed anew: the manifest has only words for a choice)")
        return
    looked.problems.extend(faults)
    if not faults:
        looked.passed.append("the method, its parameters and the codebook cost what is stated")


def _recheck_words(looked: Looked, book: Codebook) -> None:
    """What the paper claims of the method, and what a reader is warned of before the draw."""
    manifest = looked.manifest
    try:
        quote = _price(manifest["method"], manifest["parameters"], book, _rows_asked(manifest))
    except UnderstudyError:
        return  # the manifest has only words for a choice
    if not _are_alike(manifest["paper"], dict(quote.paper) if quote.paper else None):
        looked.problems.append("what the manifest says of the paper's claim is not what the method says of it")
    missing = [warning for warning in quote.warnings if warning not in manifest["warnings"]]
    looked.problems.extend(f"the manifest leaves out a warning of the method: {warning}" for warning in missing)


def _are_alike(stated: Any, due: Any) -> bool:
    """Whether two values of a manifest are the same. Numbers are computed by logarithms and by calibration, so another
    machine may have other last digits, as it may in the price, which is held to the same tolerance."""
    if isinstance(stated, Mapping) and isinstance(due, Mapping):
        return stated.keys() == due.keys() and all(_are_alike(stated[name], due[name]) for name in due)
    if isinstance(stated, float) and isinstance(due, float):
        return stated == due or abs(stated - due) <= RECHECK_TOLERANCE * min(abs(stated), abs(due))
    return bool(stated == due)


def _rows_asked(manifest: Mapping[str, Any]) -> int:
    """How many rows were priced: those that are there, or those that a certificate rejected."""
    return int(manifest["rows"]["number"] or manifest.get("certificate", {}).get("rows", 0))


def _recheck_certificate(looked: Looked, book: Codebook) -> None:
    """What follows from the measurements of a certificate is computed again, from released rows too."""
    certificate, parameters = looked.manifest.get("certificate"), looked.manifest["parameters"]
    if certificate is None:
        if parameters.get("certify"):
            looked.passed.append("(the certificate of this recipe was given to other rows; these have none)")
        return
    try:
        recipe = of_people(remade(looked.manifest["method"], parameters), book)
    except UnderstudyError:
        looked.passed.append("(the certificate is not computed anew: the manifest has only words for a choice)")
        return
    faults = faults_of(certificate, recipe, book, rows=int(looked.manifest["rows"]["number"]))
    if not faults and certificate["accepted"]:
        faults = regression_faults(certificate, book, pyarrow.parquet.read_table(looked.table))
    words = "accepts the release" if certificate["accepted"] else "rejects the release, whose rows are withheld"
    looked.conclude(faults, f"the certificate follows from its measurements, and {words}")


def _recheck_measurements(looked: Looked, book: Codebook) -> None:
    """The measurements beside the rows are such, of this codebook, and not more exact than what was paid for."""
    if MEASUREMENTS not in looked.manifest.get("files", {}) or not (looked.place / MEASUREMENTS).is_file():
        return
    faults = []
    try:
        table = bounded_table(looked.place / MEASUREMENTS, book)
        read_measurements(table, book)
        events = [entry.event.inner or entry.event for entry in Ledger.from_list(looked.manifest["ledger"])]
        paid = [event for event in events if isinstance(event, GaussianMeasurements)]
        if not any(units_needed(table, book, event) <= event.units * (1 + RECHECK_TOLERANCE) for event in paid):
            faults = [f"{MEASUREMENTS} states less noise than the ledger paid for"]
    except (UnderstudyError, OSError, pa.ArrowException) as reason:
        faults = [str(reason)]
    if "where" in looked.manifest["parameters"]:
        faults.append(f"{MEASUREMENTS} is about everybody, and the rows are those of a part")
    looked.conclude(faults, f"{MEASUREMENTS} fits the codebook and has the noise that was paid for")


def _price(method: str, parameters: Mapping[str, Any], book: Codebook, rows: int) -> Quote:
    if method not in METHODS:
        plan = Counts(
            book=book,
            by=tuple(parameters["columns"]),
            epsilon=parameters["epsilon"],
            weighted=parameters["weight"] is not None,
            neighbours=Neighbours(parameters["neighbours"]),
        )
        return plan.quote()
    return remade(method, parameters).quote(book, rows)


def cheaper_than_its_method(
    method: str,
    parameters: Mapping[str, Any],
    book: Codebook,
    *,
    rows: int,
    ledger: Ledger,
    delta: float | None,
    inputs: Ledger | None = None,
) -> list[str] | None:
    """Why a ledger cannot be that of its method; None where a manifest has only words for a choice."""
    if not ledger.total(delta=delta).is_formal:
        return []
    try:
        quote = replace(_price(method, parameters, book, rows), bought=bought_codebook(book))
        price = quote.ledger + (inputs or Ledger())  # as the manifest tells them, wherever the files are now
        due, stated = price.total(delta=delta), ledger.total(delta=delta)
    except UnderstudyError:
        return None
    if not due.is_formal:
        return [f"the ledger claims a price, and with this codebook the method has none ({getattr(due, 'why', '')})"]
    return differing_prices(due, stated)
