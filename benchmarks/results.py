"""What the benchmarks said, on which machine, kept in RESULTS.md: one section per benchmark, replaced when it runs."""

import contextlib
import datetime as dt
import io
import os
import platform
import re
import sys
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PLACE = Path(__file__).with_name("RESULTS.md")
_LIBRARIES = (
    "numpy",
    "numba",
    "pyarrow",
    "duckdb",
    "ibis-framework",
    "pyspark",
    "psycopg",
    "cryptography",
    "randomgen",
)
_HEAD = """# What the benchmarks said

Written by `make bench`; every section says on which machine and with which versions. Rates vary between machines and by
up to 40 % between runs, so the bars are ratios of things measured in one run. `MISSED` is left standing.
"""


class _Both(io.StringIO):
    """Shown as it happens, and kept."""

    def __init__(self, shown: io.TextIOBase) -> None:
        super().__init__()
        self._shown = shown

    def write(self, text: str) -> int:
        self._shown.write(text)
        self._shown.flush()
        return super().write(text)


def machine() -> str:
    """Processor, memory and versions, in one paragraph."""
    processor = platform.processor() or platform.machine()
    with contextlib.suppress(OSError):
        found = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
        processor = found[1] if found else processor
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    known = []
    for name in _LIBRARIES:
        with contextlib.suppress(PackageNotFoundError):
            known.append(f"{name} {version(name)}")
    return (
        f"{processor}, {os.cpu_count()} cores, {memory:.0f} GiB; {platform.system()}, Python "
        f"{platform.python_version()}, {', '.join(known)}"
    )


def run(name: str, work: Callable[[], None]) -> None:
    """Run one benchmark and keep what it prints."""
    shown = sys.stdout
    kept = _Both(shown)  # type: ignore[arg-type]
    load = os.getloadavg()[0]
    with contextlib.redirect_stdout(kept):
        work()
    write_section(name, kept.getvalue(), load)


def write_section(name: str, text: str, load: float) -> None:
    """Put one section in its place, leaving the others."""
    day = dt.datetime.now(dt.UTC).date().isoformat()
    busy = f"; load average {load:.1f} when it began" if load > 0.5 else ""
    section = f"## {name}\n\n{day}, {machine()}{busy}.\n\n```\n{text.rstrip()}\n```\n"
    existing = PLACE.read_text(encoding="utf-8") if PLACE.exists() else _HEAD
    parts = re.split(r"(?m)^(?=## )", existing)
    sections = {part.splitlines()[0].removeprefix("## "): part.rstrip() + "\n" for part in parts[1:]}
    sections[name] = section
    PLACE.write_text("\n".join([parts[0].rstrip() + "\n", *sections.values()]), encoding="utf-8")
