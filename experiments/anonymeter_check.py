"""Our singling-out, linkability and inference beside anonymeter's, on the same tables.

anonymeter wants older libraries than we do, so it runs in an environment of its own: make one, install ``anonymeter``
there, and name its interpreter in ``UNDERSTUDY_ANONYMETER``. Linkability and inference are the same attack in both
(nearest record by Gower's distance, ties taken as they come), so their rates must agree within chance. Singling out is
not: anonymeter draws five columns for every description, we three to eight, and cuts numbers at other places; only the
verdict can be compared.
"""

import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pv

import understudy as us
from understudy.codebook import Ordinal
from understudy.evaluate.risk.cells import open_cells
from understudy.evaluate.risk.giomi import inference, linkability, singling_out
from understudy.mechanisms.stream import Stream
from understudy.sources.base import Source

VARIABLE = "UNDERSTUDY_ANONYMETER"
SECRET = "MDC"
ATTACKS = 500
ROWS = 1_000


def tables() -> dict[str, tuple[Source, Source, Source]]:
    """Real, synthetic and held-out rows: once copied rows, once a private synthesis."""
    book = us.datasets.discharges_codebook()
    whole = us.datasets.discharges(rows=2 * ROWS, seed=4)
    real, control = (us.open(whole.slice(start, ROWS), book) for start in (0, ROWS))
    made = {
        "copied rows": us.make_recipe("contingency"),
        "marginals, epsilon 1": us.Marginals(epsilon=1.0, delta=1e-6),
    }
    return {
        name: (real, us.open(recipe.fit(real, stream=Stream.seeded(1)).sample(ROWS).table, book), control)
        for name, recipe in made.items()
    }


def ours(real: Source, copy: Source, control: Source) -> dict[str, Any]:
    """Rates by our attacks."""
    found = {
        "singling_out": singling_out(real, copy, holdout=control, guesses=ATTACKS),
        "linkability": linkability(real, copy, holdout=control, targets=ATTACKS),
        "inference": inference(real, copy, sensitive=SECRET, holdout=control, targets=ATTACKS),
    }
    return {
        name: {
            "attack": score.breakdown["attack"],
            "control": score.breakdown["control"],
            "gain": [score.value, score.low, score.high],
        }
        for name, score in found.items()
    }


def theirs(real: Source, copy: Source, control: Source, *, python: str) -> dict[str, Any]:
    """Rates by anonymeter, run by ``python``."""
    book = real.codebook
    asked = {
        "ordered": [column.name for column in book.modelled if isinstance(column, Ordinal)],
        "secret": SECRET,
        "halves": [list(book.names[::2]), list(book.names[1::2])],
        "attacks": ATTACKS,
    }
    with tempfile.TemporaryDirectory() as folder:
        for name, source in (("real", real), ("copy", copy), ("control", control)):
            records = open_cells(source, book.names).records()
            columns = {column: records[:, i] for i, column in enumerate(book.names)}
            pv.write_csv(pa.table(columns), Path(folder) / f"{name}.csv")
        peer = str(Path(__file__).with_name("anonymeter_peer.py"))
        done = subprocess.run(
            [python, "-W", "ignore", peer, folder, json.dumps(asked)], capture_output=True, text=True, check=True
        )
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


def main() -> dict[str, Any]:
    """Print both, attack by attack."""
    python = os.environ.get(VARIABLE)
    if not python:
        print(f"left out: name the interpreter of an environment that has anonymeter in {VARIABLE}")
        return {}
    results = {}
    for name, parts in tables().items():
        mine, peer = ours(*parts), theirs(*parts, python=python)
        results[name] = {"ours": mine, "theirs": peer}
        for attack in mine:
            a, b = mine[attack], peer[attack]
            said = f"attack {a['attack']:.3f} and {b['attack'][0]:.3f}, control {a['control']:.3f} and "
            said += f"{b['control'][0]:.3f}, gain {a['gain'][0]:.3f} and {b['gain'][0]:.3f}"
            print(f"{name}, {attack} (ours and anonymeter): {said}", flush=True)
    return results


if __name__ == "__main__":
    main()
