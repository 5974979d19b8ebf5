"""Compute the price of a commuting release again from its parameters, and check the rows that it paid for."""

import math
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from understudy.codebook import Codebook
from understudy.commute.level_recheck import level_faults
from understudy.commute.plan import THEOREM
from understudy.commute.synthesize import PLACES
from understudy.errors import UnderstudyError
from understudy.mechanisms.origin_baselines import BASELINES, SubsampledBinomial, baseline_event
from understudy.mechanisms.origin_draws import KEEP_ALL, OriginDraws
from understudy.privacy.events import Event
from understudy.privacy.ledger import Ledger
from understudy.release.release import TABLE
from understudy.release.verify import RECHECK_TOLERANCE, Looked, bought_inputs

_PREFIX = "commute-"


def recheck_commute(looked: Looked) -> None:
    """Whether the draws were paid for at the parameters that the manifest states; other releases are left alone."""
    manifest, book, total = looked.manifest, looked.book, looked.total
    if not str(manifest.get("method")).startswith(_PREFIX):
        return
    if book is None or total is None or not total.is_formal:
        return
    own = own_events(manifest)
    event = own[0] if len(own) == 1 else None
    if event is None:
        faults = ["the ledger must price the draws of this release once, beside what its inputs cost, and does not"]
    else:
        method = str(manifest["method"]).removeprefix(_PREFIX)
        if method == "levels":
            faults = level_faults(looked.place, manifest["parameters"], event, PLACES)
        else:
            faults = _disagreements(method, manifest["parameters"], event)
        if not faults and isinstance(event, OriginDraws):
            faults = [*_strange_domain(manifest, event, book), *_unpaid_rows(looked.place, manifest, event, book)]
    looked.conclude(faults, "the draws were paid for at the parameters that are stated")


def own_events(manifest: Mapping[str, Any]) -> list[Event]:
    """What is left of the ledger without the releases that were used as public knowledge; nothing if one is missing."""
    own = list(Ledger.from_list(manifest["ledger"]))
    for entry in bought_inputs(manifest):
        paying = next((line for line in own if line.event == entry.event), None)
        if paying is None:
            return []
        own.remove(paying)
    return [entry.event for entry in own]


def _disagreements(method: str, parameters: Mapping[str, Any], event: Event) -> list[str]:
    """Where event and parameters say different things."""
    epsilon, delta = float(parameters["epsilon"]), parameters["delta"]
    compared: dict[str, tuple[Any, Any]] = {}
    if method == "dirichlet":
        if not isinstance(event, OriginDraws):
            return [f"the method dirichlet draws origins, and the ledger prices {event.kind}"]
        certificate = "probabilistic" if parameters["certificate"] == THEOREM else parameters["certificate"]
        compared["certificate"] = (certificate, event.certificate)
        compared["epsilon"] = (epsilon, event.epsilon)
        compared["reject"] = (bool(parameters["reject"]), event.rejects)
        if event.public.shrinks:
            compared["shrink"] = (bool(parameters["shrink"]), True)
    else:
        try:
            assert method in BASELINES
            due = baseline_event(method, epsilon=epsilon, delta=delta, keep=parameters["subsample"] or 0.5)
        except (AssertionError, UnderstudyError):
            return [f"there is no method {method!r} with these parameters"]
        compared["method"] = (due.kind, event.kind)
        if isinstance(event, SubsampledBinomial):
            compared["subsample"] = (round(float(parameters["subsample"]) * KEEP_ALL), event.keep)
        wanted, priced = (float(getattr(claim, "epsilon", math.inf)) for claim in (due.guarantee(), event.guarantee()))
        if abs(wanted - priced) > RECHECK_TOLERANCE * wanted:
            compared["epsilon"] = (wanted, priced)
    faults = [
        f"the parameters say {name} {stated!r}, and the ledger was priced for {priced!r}"
        for name, (stated, priced) in compared.items()
        if stated != priced
    ]
    cost = float(getattr(event.guarantee(), "delta", math.inf))
    if cost > (delta or 0.0) * (1 + RECHECK_TOLERANCE):
        faults.append(f"the draws cost delta {cost:.6g}, and the parameters allow {delta or 0.0:.6g}")
    return faults


def _strange_domain(manifest: Mapping[str, Any], event: OriginDraws, book: Codebook) -> list[str]:
    """Whether output sizes and the number of origins are those that were priced."""
    parameters, public = manifest["parameters"], event.public
    faults = []
    size = parameters["size"]
    if not isinstance(size, str) and np.any(public.draws != np.maximum(1, np.ceil(public.workers * size))):
        faults.append(f"the ledger was priced for other numbers of synthetic workers than {size:g} per real one")
    plain = all(parameters[name] is None for name in ("rings", "cutoff", "split"))
    coarse = any("partition of origins" in assumption for assumption in manifest["assumptions"])
    origins = len(book.column(book.names[0]).labels)
    if plain and not coarse and np.any(public.cells.sum(axis=1) != origins):
        faults.append(f"the codebook has {origins:,} origins, and the ledger was priced for another number")
    return faults


def _unpaid_rows(place: Path, manifest: Mapping[str, Any], event: OriginDraws, book: Codebook) -> list[str]:
    """Whether no destination has more synthetic workers than some kind of destination was priced for."""
    try:
        table = pyarrow.parquet.read_table(place / TABLE, columns=[book.names[1]])
    except (OSError, pa.ArrowException) as reason:
        return [f"the table cannot be read: {reason}"]
    drawn = set(Counter(table.column(0).to_pylist()).values())
    paid = set(event.public.draws.tolist())
    # beyond a cut-off workers are left out, so that a destination may have fewer
    wrong = max(drawn, default=0) > max(paid) if manifest["parameters"]["cutoff"] is not None else not drawn <= paid
    return ["a destination has another number of synthetic workers than the ledger was priced for"] if wrong else []
