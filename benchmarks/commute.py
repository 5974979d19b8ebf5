"""Synthetic origins for all of Rhode Island, and against a domain as large as the United States.

``python -m benchmarks.commute``, with UNDERSTUDY_DATA for the real flows (a simulated table of the same size without).
Bars: 406,052 jobs against 17,127 origins from counted flows to synthetic table in under 30 seconds; the same jobs
against 8,206,261 origins, uniform prior, at most 1.5 times as long, in under 2 GiB. Each runs in a process of its own
after one warm-up draw, best of five; rounds are interleaved and medians taken. Distance rings are timed apart: building
their index, then drawing with domain shrinking.
"""

import json
import os
import resource
import statistics
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

DOMAIN = 8_206_261
ROUNDS, REPEATS = 3, 5
BAR, RATIO, MEMORY = 30.0, 1.5, 2.0


def flows() -> Any:
    """Rhode Island's flows with their public places, or a simulated table of the same size."""
    from experiments.onthemap.world import Absent, rhode_island, town

    try:
        return rhode_island().all()
    except Absent:
        return town(workers=406_052).all()


def widened(given: Any) -> Any:
    """The same workers against a domain of 8,206,261 origins: their own, and simulated ones that nobody lives in."""
    import pyarrow.compute as pc

    own = given.flows.origins.cast(pa.string())
    more = pc.utf8_lpad(pa.array(np.arange(DOMAIN - len(own))).cast(pa.string()), width=16, padding="0")
    origins = pa.concat_arrays([own, more])
    return replace(given, flows=replace(given.flows, origins=origins), places=None)


def synthesize(given: Any, **options: Any) -> tuple[float, float]:
    """Seconds on the clock, and of the processor, from counted flows to a synthetic table in memory."""
    from understudy.commute import CommuteRecipe
    from understudy.commute.synthesize import draw
    from understudy.mechanisms.stream import Stream

    start, used = time.perf_counter(), time.process_time()
    recipe = CommuteRecipe(epsilon=4.6, delta=1e-5, certificate="exact", **options)
    plan = recipe.plan(given)
    made = draw(plan, stream=Stream.from_system())
    table = pa.table(
        {
            "origin": given.flows.origins.take(pa.array(made.origins)),
            "destination": pa.array(given.flows.destinations).take(pa.array(made.destinations)),
        }
    )
    assert table.num_rows == plan.rows - made.left_out
    return time.perf_counter() - start, time.process_time() - used


def worker(kind: str) -> None:
    """One process: warm up, then time."""
    from understudy.commute import ctpp_minnesota
    from understudy.commute.plan import build_domain
    from understudy.commute.recipe import CommuteRecipe

    given = flows()
    if kind == "states":
        given = widened(given)
    options: dict[str, Any] = {}
    index = 0.0
    if kind == "rings":
        options = {"rings": ctpp_minnesota(), "shrink": True, "cutoff": 30.0}
        recipe = CommuteRecipe(epsilon=4.6, delta=1e-5, certificate="exact", **options)
        build_domain(recipe, given.flows, given.places, None)
        start = time.perf_counter()
        build_domain(recipe, given.flows, given.places, None)
        index = time.perf_counter() - start
    synthesize(given, **options)
    trials = [synthesize(given, **options) for _ in range(REPEATS)]
    clock, used = (min(values) for values in zip(*trials, strict=True))  # the machine may be shared
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(json.dumps({"clock": clock, "used": used, "index": index, "peak": peak, "workers": given.flows.workers}))


def measured(kind: str) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.commute", "--worker", kind],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        cwd=Path(__file__).parents[1],
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def main() -> None:
    times: dict[str, list[dict[str, float]]] = {"state": [], "states": [], "rings": []}
    for number in range(ROUNDS):
        for kind, found in times.items():
            found.append(measured(kind))
            last = found[-1]
            print(
                f"  round {number + 1}, {kind}: {last['clock']:.2f} s, processor {last['used']:.2f} s, "
                f"peak {last['peak']:.2f} GiB",
                flush=True,
            )
    middle = {
        kind: {name: statistics.median(row[name] for row in found) for name in found[0]}
        for kind, found in times.items()
    }
    one, many, rings = middle["state"], middle["states"], middle["rings"]
    jobs = f"{one['workers']:,.0f} jobs"
    print(f"{jobs}, own origins: {one['clock']:.2f} s (bar {BAR:g}): {_word(one['clock'] <= BAR)}")
    for name, word in (("clock", "clock"), ("used", "processor")):
        ratio = many[name] / one[name]
        print(
            f"{jobs}, {DOMAIN:,} origins: {many[name]:.2f} s {word}, ratio {ratio:.2f} (bar {RATIO:g}): "
            f"{_word(ratio <= RATIO)}"
        )
    print(f"peak memory {many['peak']:.2f} GiB (bar {MEMORY:g}): {_word(many['peak'] <= MEMORY)}")
    print(f"distance rings: index {rings['index']:.2f} s, whole synthesis with shrinking {rings['clock']:.2f} s")


def _word(met: bool) -> str:
    return "met" if met else "MISSED"


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        worker(sys.argv[2])
    else:
        main()
