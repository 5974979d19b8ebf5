"""What every runner does around its method: read codes, time fit and draw, write rows. Needs pandas only."""

import json
import os
import re
import resource
import sys
import time
from pathlib import Path

import pandas as pd


def processor():
    """Seconds of all cores together, workers included once they have ended."""
    return sum(os.times()[:4])


def peak():
    """Megabytes of the largest process. Not ru_maxrss of this one: it begins with what the parent held."""
    own = re.search(r"VmHWM:\s*(\d+)", Path("/proc/self/status").read_text())
    return max(int(own[1]), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss) / 1024


def run(make):
    """``make(frame of codes, sizes by column, epsilon, delta)`` returns a function from a number of rows to codes."""
    train, levels, epsilon, delta, rows, out = sys.argv[1:]
    levels = json.loads(Path(levels).read_text())
    text = pd.read_csv(train, dtype=str, keep_default_na=False)
    codes = pd.DataFrame(
        {name: text[name].map({level: i for i, level in enumerate(levels[name])}) for name in text.columns}
    ).astype(int)
    started, used = time.perf_counter(), processor()
    draw = make(codes, {name: len(values) for name, values in levels.items()}, float(epsilon), float(delta))
    fitted = time.perf_counter()
    drawn = draw(int(rows))
    done, used = time.perf_counter(), processor() - used
    shown = {name: [levels[name][int(code)] for code in drawn[name]] for name in text.columns}
    pd.DataFrame(shown).to_csv(out, index=False)
    print(json.dumps({"fit": fitted - started, "draw": done - fitted, "processor": used, "megabytes": peak()}))
