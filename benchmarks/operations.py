"""Wall time, processor time and peak memory of every command on the demo table.

``python -m benchmarks.operations``. Every command is a process of its own, so that imports and start-up are in the
figures and nothing is warm but the cache of compiled kernels, which a first run of each command fills. The demo table
is 50,000 simulated discharges of 13 columns; where a command reads another kind of table, the smallest one that its
guide uses. No bar: these are for planning a machine.
"""

import contextlib
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import understudy

RESULTS = Path(__file__).with_name("RESULTS.md")
PAGE = Path(__file__).parents[1] / "docs" / "guide" / "operations.md"
BEGIN, END = "<!-- operations table: begin -->", "<!-- operations table: end -->"
QUICK = bool(os.environ.get("UNDERSTUDY_QUICK"))
"""One round and no warming up: for a machine that has compiled everything already."""
_SBA = "-c d.toml --epsilon 1 --delta 1e-6 -n 50000"
_TOWN = "town/flows.csv --count workers --places town/places.csv --epsilon 4 --delta 1e-6 --certificate exact"
COMMANDS = (
    ("help", "--help"),
    ("methods", "methods"),
    ("example", "example -o {new}"),
    ("codebook draft", "codebook draft d.csv -o {new}.toml"),
    ("codebook draft, priced", "codebook draft d.csv -o {new}.toml --epsilon 1 --delta 1e-6"),
    ("codebook declare", "codebook declare drafted.toml --all --by me --from here"),
    ("codebook check", "codebook check d.csv -c d.toml"),
    ("codebook show", "codebook show d.toml"),
    ("quote", f"quote d.csv {_SBA}"),
    ("synth", f"synth d.csv {_SBA} -o {{new}}"),
    ("synth -m pegs", "synth d.csv -c d.toml -m pegs --epsilon-per-record 1 --delta 1e-6 -n 50000 -o {new}"),
    ("synth --engine local", f"synth d.csv {_SBA} --engine local -o {{new}}"),
    ("draw", "draw m.us -n 50000 -o {new}"),
    ("impute, 1 file", "impute d.csv -c d.toml --files 1 -o {new}"),
    ("count", "count d.csv -c d.toml --by sex,race --epsilon 1 -o {new}"),
    ("verify", "verify release"),
    ("evaluate", "evaluate d.csv release -c d.toml -o {new}.html"),
    ("evaluate --large", "evaluate d.csv release -c d.toml --large -o {new}.json"),
    ("rumap, 2 runs", "rumap d.csv -c d.toml --epsilons 1 --delta 1e-6 --repeat 2 -n 50000 -o {new}"),
    ("audit, 200 runs", "audit small.csv -c d.toml -m marginal-bootstrap --epsilon 1 --delta 1e-6 -n 5 --runs 200"),
    ("anonymize run", "anonymize run d.csv -c d.toml --quasi sex,age.yrs,race --k 5 --suppression 0.02 -o {new}"),
    ("anonymize verify", "anonymize verify vague"),
    ("anonymize risk", "anonymize risk d.csv -c d.toml --quasi sex,age.yrs,race"),
    ("anonymize report", "anonymize report d.csv vague -c d.toml -o {new}.html"),
    ("reconstruct risk", "reconstruct risk d.csv -c d.toml --group patzip --value charge --known los,age.yrs"),
    ("reconstruct", "reconstruct people.csv -a means.csv:patzip:charge -m ludia -o {new}"),
    ("commute example", "commute example -o {new}"),
    ("commute quote", f"commute quote {_TOWN}"),
    ("commute synth", f"commute synth {_TOWN} -o {{new}}"),
    ("commute map", "commute map trips -o {new}.html"),
    ("commute evaluate", "commute evaluate town/flows.csv trips --count workers -o {new}.html"),
    ("train", "train d.csv -c d.toml --target cat --method forest --epsilon 1 -o {new}.us"),
    ("serve, one healthy answer", "serve score.us --port {port} --database sqlite:///s.db"),
    ("account create", "account create {new}.account --dataset d --epsilon 5 --delta 1e-5"),
    ("account show", "account show d.account"),
    ("account history", "account history d.account"),
    ("keys create", "keys create --label {new} --database sqlite:///s.db"),
    ("keys list", "keys list --database sqlite:///s.db"),
    ("demo", "demo -o {new}"),
)


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="understudy-operations-") as place:
        folder = Path(place)
        _prepare(folder)
        print(f"{'command':26}  {'seconds':>8}  {'processor':>9}  {'peak MiB':>8}")
        for label, line in COMMANDS:
            _show(label, line, folder)


def write_page() -> None:
    """Copy the table from RESULTS.md to the page about operations, so that there is one source for both."""
    said = RESULTS.read_text(encoding="utf-8").split("## operations\n", 1)[1].split("\n## ", 1)[0]
    table = "```text" + said.split("```")[1] + "```"
    page = PAGE.read_text(encoding="utf-8")
    head, rest = page.split(BEGIN, 1)
    PAGE.write_text(f"{head}{BEGIN}\n{table}\n{END}{rest.split(END, 1)[1]}", encoding="utf-8")


def _show(label: str, line: str, folder: Path) -> None:
    found = [_measure(line, folder, round_) for round_ in range(1 if QUICK else 2)]
    found = found if QUICK else found[1:]  # the first fills caches
    seconds, processor, peak = (statistics.median(values) for values in zip(*found, strict=True))
    print(f"{label:26}  {seconds:8.2f}  {processor:9.2f}  {peak:8.0f}")


def _measure(line: str, folder: Path, round_: int) -> tuple[float, float, float]:
    """Seconds on the clock, seconds of processor with helpers, MiB at most of the process."""
    port = _free_port() if "{port}" in line else 0
    words = line.format(new=f"new-{abs(hash(line)) % 10**8}-{round_}", port=port).split()
    peak = folder / "peak"
    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-c", _PROGRAM, *words],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**_environment(), "UNDERSTUDY_PEAK": str(peak)},
    )
    assert process.stderr is not None
    if port:
        _wait_for(f"http://127.0.0.1:{port}/healthz")
        process.terminate()
    said = process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    process.stderr.close()
    if process.returncode:
        raise RuntimeError(f"{line}: {said.decode()}")
    return seconds, used.ru_utime + used.ru_stime, int(peak.read_text(encoding="utf-8")) / 1024


_PROGRAM = """
import atexit, os, pathlib, re
def tell():
    status = pathlib.Path("/proc/self/status").read_text()
    pathlib.Path(os.environ["UNDERSTUDY_PEAK"]).write_text(re.search(r"VmHWM:\\s+(\\d+)", status).group(1))
atexit.register(tell)
from understudy.cli.start import main
main()
"""
"""The peak is asked of the process itself: what the system tells of a child begins with the peak of its parent."""


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _wait_for(address: str) -> None:
    for _ in range(600):
        with contextlib.suppress(OSError), urllib.request.urlopen(address, timeout=1):
            return
        time.sleep(0.05)
    raise RuntimeError(f"{address} does not answer")


_TABLES = """
import pyarrow as pa
import pyarrow.csv as pv
import understudy as us
table = us.datasets.discharges(rows=50_000, seed=2011)
pv.write_csv(table, "d.csv")
pv.write_csv(table.slice(0, 60), "small.csv")
us.datasets.discharges_codebook().save("d.toml")
us.datasets.discharges_codebook().save("drafted.toml")
frame = table.to_pandas()
frame["charge"] = [float(str(value).rstrip("K+") or 0) if str(value) != "None" else 0.0 for value in frame["charge"]]
few = frame[["sex", "los", "patzip", "race"]]
pv.write_csv(pa.Table.from_pandas(few, preserve_index=False), "people.csv")
means = frame.groupby("patzip")["charge"].mean().reset_index()
pv.write_csv(pa.Table.from_pandas(means, preserve_index=False), "means.csv")
"""


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(Path(understudy.__file__).parents[1])}


def _prepare(folder: Path) -> None:
    subprocess.run([sys.executable, "-c", _TABLES], cwd=folder, check=True, env=_environment())
    for line in (
        f"synth d.csv {_SBA} -o release --save-model m.us",
        "account create d.account --dataset d --epsilon 5 --delta 1e-5",
        "commute example -o town",
        f"commute synth {_TOWN} -o trips",
        "keys create --label a --database sqlite:///s.db",
        "anonymize run d.csv -c d.toml --quasi sex,age.yrs,race --k 5 --suppression 0.02 -o vague",
        "train d.csv -c d.toml --target cat --method forest --epsilon 1 -o score.us",
    ):
        _measure(line, folder, 0)


if __name__ == "__main__":
    main()
