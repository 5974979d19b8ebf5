"""What every runner does around its method: read codes, time fit and draw, write rows. Needs pandas only."""

import json
import resource
import sys
import time
from pathlib import Path

import pandas as pd


def run(make):
    """``make(frame of codes, sizes by column, epsilon, delta)`` returns a function from a number of rows to codes."""
    train, levels, epsilon, delta, rows, out = sys.argv[1:]
    levels = json.loads(Path(levels).read_text())
    text = pd.read_csv(train, dtype=str, keep_default_na=False)
    codes = pd.DataFrame(
        {name: text[name].map({level: i for i, level in enumerate(levels[name])}) for name in text.columns}
    ).astype(int)
    started = time.perf_counter()
    draw = make(codes, {name: len(values) for name, values in levels.items()}, float(epsilon), float(delta))
    fitted = time.perf_counter()
    drawn = draw(int(rows))
    done = time.perf_counter()
    shown = {name: [levels[name][int(code)] for code in drawn[name]] for name in text.columns}
    pd.DataFrame(shown).to_csv(out, index=False)
    peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    print(json.dumps({"fit": fitted - started, "draw": done - fitted, "megabytes": peak / 1024}))
