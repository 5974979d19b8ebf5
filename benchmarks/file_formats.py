"""Reading a workbook and an SPSS file of 100,000 x 50, against the library that parses it: the bar is 3 times its time.

Processor time, the better of two runs each, alternating. The library's time is what its users wait for: calamine's list
of rows, pyreadstat's data frame. Ours ends with a table that the engine can count in.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ROWS, COLUMNS = 100_000, 50
BAR = 3.0


def columns() -> dict[str, Any]:
    rng = np.random.default_rng(23)
    kinds: tuple[Callable[[], Any], ...] = (
        lambda: rng.integers(0, 9, ROWS).astype(float),
        lambda: rng.random(ROWS).round(4),
        lambda: rng.choice(["male", "female", "other"], ROWS),
    )
    return {f"c{place}": kinds[place % 3]() for place in range(COLUMNS)}


def write_xlsx(path: Path) -> None:
    import xlsxwriter

    table = columns()
    workbook = xlsxwriter.Workbook(str(path), {"constant_memory": True})
    sheet = workbook.add_worksheet("data")
    sheet.write_row(0, 0, list(table))
    for number, row in enumerate(zip(*(values.tolist() for values in table.values()), strict=True), start=1):
        sheet.write_row(number, 0, row)
    workbook.close()


def write_sav(path: Path) -> None:
    import pandas as pd
    import pyreadstat

    labels = {f"c{place}": {float(code): f"code {code}" for code in range(9)} for place in range(0, COLUMNS, 3)}
    pyreadstat.write_sav(
        pd.DataFrame(columns()),
        str(path),
        variable_value_labels=labels,
        missing_ranges={name: [8.0] for name in labels},
        row_compress=True,
    )


def calamine(path: Path) -> Any:
    from python_calamine import CalamineWorkbook

    with CalamineWorkbook.from_path(str(path)) as workbook:
        return workbook.get_sheet_by_index(0).to_python()


def readstat(path: Path) -> Any:
    import pyreadstat

    return pyreadstat.read_sav(str(path), user_missing=True)


def ours(path: Path) -> Any:
    from understudy.sources import files

    files._PARSED.clear()
    return files.open_table(path).table.count().to_pyarrow().as_py()


def seconds(read: Callable[[Path], Any], path: Path) -> float:
    start = time.process_time()
    read(path)
    return time.process_time() - start


def peak(reads: str, path: Path) -> float:
    """The most memory that a process of its own takes, in MiB, by the kernel: getrusage tells of parents too."""
    script = (
        f"from pathlib import Path; from benchmarks import file_formats; file_formats.{reads}(Path({str(path)!r})); "
        "print(Path('/proc/self/status').read_text().partition('VmHWM:')[2].split()[0])"
    )
    said = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    return int(said.stdout.split()[-1]) / 1024


def main() -> None:
    """Print both ratios and what each takes of memory."""
    with tempfile.TemporaryDirectory() as folder:
        for suffix, write, library in (("xlsx", write_xlsx, calamine), ("sav", write_sav, readstat)):
            path = Path(folder) / f"table.{suffix}"
            write(path)
            ours(path)  # imports and the like are nobody's reading
            library(path)
            theirs, mine = zip(*((seconds(library, path), seconds(ours, path)) for _ in range(2)), strict=True)
            ratio = min(mine) / min(theirs)
            verdict = "kept" if ratio <= BAR else "MISSED"
            print(
                f".{suffix}, {ROWS:,} x {COLUMNS}: {library.__name__} {min(theirs):.1f} s, ours {min(mine):.1f} s, "
                f"ratio {ratio:.2f} (bar {BAR:g}: {verdict}); peak memory {peak(library.__name__, path):,.0f} MiB, "
                f"ours {peak('ours', path):,.0f} MiB"
            )


if __name__ == "__main__":
    main()
