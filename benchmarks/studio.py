"""Each screen of the studio answers within 300 ms on 100,000 x 50, and its process stays under 300 MB.

``python -m benchmarks.studio``. The table is simulated, with one release of it. Each screen is asked by turns with a
bare page of the same server (its style sheet), so that other work on the machine meets both alike: the ratio is what
can be compared between machines. A release of the same table is made meanwhile. The first answer of each screen is
shown beside the median of the others.
"""

import http.client
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.csv

from understudy.studio.jobs import Job

ROWS, COLUMNS, ROUNDS = 100_000, 50, 15
BAR_MS, BAR_MB = 300.0, 300.0
BARE = "/static/htmx.min.js"
SCREENS = (
    "/",
    "/new",
    "/d/large/data",
    "/d/large/data/rows",
    "/d/large/codebook",
    "/d/large/codebook/column/7",
    "/d/large/codebook/review",
    "/d/large/codebook/rules",
    "/d/large/codebook/attest",
    "/d/large/codebook/difference",
    "/d/large/quote",
    "/d/large/quote/price?epsilon={epsilon}",
    "/d/large/quote/price?rows=100&method=laplace&epsilon={epsilon}",
    "/d/large/quote/price?rows=100&method=marginal-bootstrap&epsilon={epsilon}",
    "/d/large/quote/price?rows=100&method=pegs-rs&pegs-rs.block_size=2&epsilon={epsilon}",
    "/d/large/quote/error?error={error}",
    "/d/large/release",
    "/d/large/job/00000000000000000000000000000000",
    "/d/large/report",
    "/d/large/publish",
    "/d/large/publish/1",
    "/d/large/publish/1/page",
    "/d/large/publish/1/checked",
    "/d/large/anonymise",
    "/d/large/others",
)


def prepare(root: Path) -> None:
    """A data set that was looked at, with an account, a plan and one release."""
    from understudy.codebook import Categorical, Codebook, Role
    from understudy.facade import releases, tables
    from understudy.studio import plans
    from understudy.studio.looking import look
    from understudy.studio.workspace import Root, new_dataset

    rng = np.random.default_rng(1)
    sizes = [2 + k % 11 for k in range(COLUMNS)]
    names = [f"c{k}" for k in range(COLUMNS)]
    codes = {name: rng.integers(0, size, ROWS) for name, size in zip(names, sizes, strict=True)}
    table = pa.table({name: pa.array([f"v{code}" for code in values]) for name, values in codes.items()})
    book = Codebook(
        columns=tuple(
            Categorical(
                name=name,
                levels=tuple(f"v{code}" for code in range(size)),
                role=Role.QUASI_IDENTIFIER if place < 4 else Role.OTHER,
            )
            for place, (name, size) in enumerate(zip(names, sizes, strict=True))
        )
    )
    own = new_dataset(Root.at(root), "large", title="Large", data="rows.csv")
    pa.csv.write_csv(table, own.path("rows.csv"))
    book.save(own.codebook)
    releases.create_account(own.account, dataset="Large", epsilon=5, delta=1e-5, neighbours="add-remove")
    plan = plans.Plan(method="marginals", rows=ROWS, rows_about=ROWS, epsilon=1.0, delta=1e-6)
    plans.keep(own, plan)
    for kind in ("rows", "columns", "rules"):  # screens with their rows, histograms, questions and proposals
        assert look(own, kind), kind
    own.releases.mkdir()
    tables.synthesize(
        str(own.path("rows.csv")),
        own.codebook,
        ROWS,
        out=own.releases / "1",
        account=own.account,
        epsilon=1.0,
        delta=1e-6,
    )


class Asker:
    """One kept connection with the cookie of a session."""

    def __init__(self, address: str) -> None:
        host, path = re.fullmatch(r"http://([^/]+)(/.*)", address).groups()  # type: ignore[union-attr]
        self._connection, self._headers = http.client.HTTPConnection(host, timeout=120), {"Host": host}
        self._connection.request("GET", path, headers=self._headers)
        answer = self._connection.getresponse()
        answer.read()
        self._headers["Cookie"] = str(answer.getheader("set-cookie")).partition(";")[0]

    def ask(self, path: str, form: str | None = None) -> float:
        """Milliseconds of one answer; with a form it is sent."""
        start = time.perf_counter()
        if form is None:
            self._connection.request("GET", path, headers=self._headers)
        else:
            sent = {"Origin": f"http://{self._headers['Host']}", "Content-Type": "application/x-www-form-urlencoded"}
            self._connection.request("POST", path, body=form, headers={**self._headers, **sent})
        answer = self._connection.getresponse()
        self.text = answer.read().decode(errors="replace")
        taken = (time.perf_counter() - start) * 1000
        assert answer.status in ((200, 303) if form is None else (303,)), (path, answer.status)
        return taken

    def press(self, page: str, path: str) -> float:
        """Milliseconds until the answer to a button of a page."""
        self.ask(page)
        token = re.search(r'name="csrf" value="([^"]+)"', self.text)
        assert token is not None
        return self.ask(path, form=f"csrf={token[1]}")


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        prepare(root)
        process = subprocess.Popen(
            [sys.executable, "-m", "understudy", "studio", "--root", folder, "--json"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=os.environ,
        )
        try:
            _measure(process, _begin_a_release(root))
        finally:
            process.terminate()
            process.wait()


def _begin_a_release(root: Path) -> Job:
    """Work of the studio that is under way while its screens are asked: another release of the same table."""
    from understudy.studio import jobs, plans
    from understudy.studio.workspace import Root

    own = Root.at(root).dataset("large")
    asked = {
        "data": plans.data_words(own),
        "book": own.shown(own.codebook),
        "rows": ROWS,
        "method": "marginals",
        "out": own.shown(own.releases / "2"),
        "account": own.shown(own.account),
        "epsilon": 1.0,
        "delta": 1e-6,
    }
    job, _ = jobs.start(own.root.folder, "0" * 32, kind="synthesize", arguments=asked, about=own.name, by="")
    return job


def _measure(process: "subprocess.Popen[str]", job: Job) -> None:
    assert process.stdout is not None
    said = ""
    while not said.endswith("}\n}\n"):
        said += process.stdout.readline()
    asker = Asker(next(iter(json.loads(said)["addresses"].values())))
    slowest = 0.0
    server = psutil.Process(process.pid)
    sys.stdout.write(
        f"{ROWS:,} x {COLUMNS}, load {os.getloadavg()[0]:.1f}; milliseconds: first answer, median and worst of "
        f"{ROUNDS}, ratio of the medians to a bare file, processor time of the first and of each other answer; "
        "* while a release is made\n"
    )
    for path in ("/d/large/publish/1/check", "/d/large/publish/1/sign"):  # both read all rows, as work of their own
        slowest = max(slowest, pressed := asker.press("/d/large/publish/1", path))
        sys.stdout.write(f"{path:90} {pressed:8.1f}   until the button was answered\n")
    for screen in SCREENS:
        start = _used(server)
        first = asker.ask(screen.format(epsilon=0.7, error=0.2))
        before = _used(server)
        asked = [screen.format(epsilon=1 + place / 100, error=0.2 + (place + 1) / 100) for place in range(ROUNDS)]
        pairs = [(asker.ask(BARE), asker.ask(path)) for path in asked]
        bare, median = (statistics.median(times) for times in zip(*pairs, strict=True))
        worst = max(taken for _, taken in pairs)
        used = (_used(server) - before) / ROUNDS
        slowest = max(slowest, median)
        figures = (first, median, worst, median / bare, before - start, used)
        sys.stdout.write(
            f"{screen:90}"
            + "".join(f" {figure:8.1f}" for figure in figures)
            + f" {'*' if job.state.value == 'running' else ''}\n"
        )
    memory = server.memory_info().rss / 2**20
    for what, value, bar, unit in (("slowest screen", slowest, BAR_MS, "ms"), ("memory", memory, BAR_MB, "MB")):
        verdict = "kept" if value <= bar else "MISSED"
        sys.stdout.write(f"{what} {value:.0f} {unit}, bar {bar:.0f} {unit}: {verdict}\n")


def _used(server: psutil.Process) -> float:
    """Processor time of the server so far, in milliseconds; processes that it asks are not in it."""
    times = server.cpu_times()
    return float(times.user + times.system) * 1000


if __name__ == "__main__":
    main()
