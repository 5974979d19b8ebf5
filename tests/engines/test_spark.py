"""Drawing on Spark: the rows of a local run, PLUGS where the records lie, and a worker that dies."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import understudy as us
from tests.engines.conftest import run_python, spark_environment, wait_until
from tests.engines.part_tables import BOOK, declared, new_account, rows_of, table
from understudy.codebook import Categorical, Codebook, Detail, Integer
from understudy.errors import DataError, RefusalError, ReleaseError, UnderstudyError
from understudy.mechanisms.stream import Stream
from understudy.privacy.account import ChargeState
from understudy.release.verify import verify_release
from understudy.sources.inputs import find_provenance
from understudy.synth.ranged import synthesize_parts
from understudy.synth.spark_plugs import shares
from understudy.synth.workers import LocalWorkers, SparkWorkers, spark_failures

pytestmark = pytest.mark.java


@pytest.mark.parametrize("method", ["pegs", "sbhg"])
def test_spark_draws_the_rows_of_a_local_run(method: str, spark: Any, tmp_path: Path) -> None:
    options: dict[str, Any] = {"pegs": {"alpha": 1.0}, "sbhg": {"epsilon": 50.0, "delta": 1e-3, "parents": "declared"}}
    recipe = us.make_recipe(method, **options[method])
    for name, workers in (("here", LocalWorkers()), ("spark", SparkWorkers(session=spark))):
        steps: list[tuple[int, int]] = []
        synthesize_parts(
            table(),
            BOOK,
            recipe,
            rows=500,
            out=tmp_path / name,
            part_rows=120,
            seed=9,
            workers=workers,
            report=lambda step, done, of, seen=steps: seen.append((done, of)) if step == "drawing rows" else None,
        )
        assert steps[-1] == (500, 500)
    assert rows_of(tmp_path / "here").equals(rows_of(tmp_path / "spark"))
    assert verify_release(tmp_path / "spark").problems == ()


def test_plugs_works_where_the_records_lie(spark: Any, tmp_path: Path) -> None:
    """Exact number of rows, every file a mixture of all parts, and the law of the same method on this machine."""
    pq.write_table(table(6000), tmp_path / "t.parquet")
    recipe = us.PLUGS(l=1.2, partitions=3, sweeps=5)
    frame = spark.read.parquet(str(tmp_path / "t.parquet"))
    release = synthesize_parts(
        frame, BOOK, recipe, rows=9000, out=tmp_path / "r", part_rows=4000, workers=SparkWorkers(session=spark)
    )
    assert release.manifest.total.kind == "LDiverse"
    drawn = rows_of(tmp_path / "r")
    assert drawn.num_rows == 9000
    assert verify_release(tmp_path / "r").problems == ()
    here = recipe.fit(us.open(table(6000), BOOK)).sample(9000).table
    for name in BOOK.names:
        for level in BOOK.column(name).labels:
            a, b = (np.mean(np.array(t.column(name).to_pylist()) == level) for t in (drawn, here))
            # two samples of 9,000 whose parts were dealt differently: dealing moves a share by at most what a
            # sample of 2,000 records per part does; z = 8 on both together
            assert abs(a - b) < 8 * np.sqrt(0.25 * (2 / 9000 + 2 / 6000))


def test_files_that_change_while_plugs_draws_are_said(spark: Any, tmp_path: Path, monkeypatch: Any) -> None:
    """Codes of a worker that is lost would be made again from other rows."""
    from understudy.synth import spark_plugs

    path, samples = tmp_path / "t.parquet", spark_plugs._sample_parts
    pq.write_table(table(600), path)

    def sampled(*given: Any, **more: Any) -> None:
        samples(*given, **more)
        pq.write_table(table(601), path)

    monkeypatch.setattr(spark_plugs, "_sample_parts", sampled)
    recipe = us.PLUGS(l=1.2, partitions=2, sweeps=2)
    frame = spark.read.parquet(str(path))
    with pytest.raises(DataError, match="changed"):
        synthesize_parts(
            frame, BOOK, recipe, rows=400, out=tmp_path / "r", part_rows=200, workers=SparkWorkers(session=spark)
        )
    assert not (tmp_path / "r").exists()
    assert not (tmp_path / "r.unfinished").exists(), "what nobody saw is given up"


@pytest.mark.parametrize("method", ["pegs", "plugs"])
def test_details_and_measured_numbers_are_drawn_on_spark(method: str, spark: Any, tmp_path: Path) -> None:
    """The released tables travel to the workers; PLUGS reads the records where they lie."""
    book = Codebook(
        columns=(
            *BOOK.columns,
            Integer(name="n", edges=(Fraction(0), Fraction(50), Fraction(100)), shape="measured", pieces=50),
            Detail(name="d", detail_of="a", other="other", groups=(("x", ("x1", "x2")), ("y", ("y1",)))),
        )
    )
    a = np.array(table().column("a").to_pylist())
    data = table().append_column("n", pa.array([7, 77, 77] * 1000)).append_column("d", pa.array(np.char.add(a, "1")))
    pq.write_table(data, tmp_path / "t.parquet")
    options: dict[str, Any] = {"pegs": {"alpha": 5.0, "delta": 1e-6}, "plugs": {"l": 1.2, "partitions": 2}}
    recipe = us.make_recipe(method, detail_epsilon=20.0, detail_delta=1e-6, **options[method])
    frame = spark.read.parquet(str(tmp_path / "t.parquet"))
    release = synthesize_parts(
        frame, book, recipe, rows=400, out=tmp_path / "r", part_rows=150, workers=SparkWorkers(session=spark)
    )
    assert any(entry.stage == "details" for entry in release.manifest.ledger)
    assert verify_release(tmp_path / "r").problems == ()
    drawn = rows_of(tmp_path / "r").to_pydict()
    assert set(zip(drawn["a"], drawn["d"], strict=True)) <= {("x", "x1"), ("y", "y1"), ("x", "other"), ("y", "other")}
    assert np.isin(drawn["n"], [7, 77]).mean() > 0.95


def test_shares_are_exact() -> None:
    found = shares((4000, 4000, 1000), 3, Stream.seeded(1))
    assert found.sum(axis=1).tolist() == [4000, 4000, 1000]
    assert (abs(found[:2] - 4000 / 3) < 8 * np.sqrt(4000 * 2 / 9)).all()


def test_a_data_frame_and_a_session_are_opened_alike(spark: Any, tmp_path: Path) -> None:
    pq.write_table(table(), tmp_path / "t.parquet")
    frame = spark.read.parquet(str(tmp_path / "t.parquet"))
    frame.createOrReplaceTempView("visits")
    counts = [us.open(what, BOOK, table=name).count([("a", "b")])[0].open().to_grid().tolist()
              for what, name in ((frame, None), (spark, "visits"), (table(), None))]  # fmt: skip
    assert counts[0] == counts[1] == counts[2]
    with pytest.raises(DataError, match="name one with `table`"):
        us.open(spark, BOOK)
    with pytest.raises(DataError, match="cannot be read"):
        us.open(spark, BOOK, table="nowhere")


def test_a_row_of_csv_is_one_row_whatever_its_values_hold(spark: Any, tmp_path: Path) -> None:
    """By itself Spark makes two rows of one with a line end in it: two records where the price is of one."""
    book = Codebook(columns=(Categorical(name="a", levels=("x", "y"), missing="NA"),))
    path = tmp_path / "t.csv"
    path.write_text('id,a,note\n1,x,"one\ntwo"\n2,y,"plain"\n3,x,""\n')
    counts = [us.open(what, book, table=name).count([("a",)])[0].open().to_grid().tolist()
              for what, name in ((spark, str(path)), (path, None))]  # fmt: skip
    assert counts == [[2, 1, 0]] * 2
    path.write_text("id,a,note\n1,x\n2,y,plain,more\n")
    for what, name in ((spark, str(path)), (path, None)):
        with pytest.raises(DataError, match="Mend that line"):
            us.open(what, book, table=name).count([("a",)])


def test_what_a_worker_refuses_is_refused_here(spark: Any) -> None:
    def work(batches: Any) -> Any:
        raise RefusalError("nothing survives. Use fewer parents.")
        yield

    with pytest.raises(RefusalError, match=r"nothing survives\. Use fewer parents\."), spark_failures():
        spark.range(1).mapInArrow(work, "id long").collect()


def test_a_job_that_fails_says_why(spark: Any, tmp_path: Path) -> None:
    class Elsewhere(SparkWorkers):
        def draw(self, job: Any, drawer: Any, missing: Any, told: Any) -> None:
            job.parts_folder.rmdir()  # the workers' disk goes away
            super().draw(job, drawer, missing, told)

    with pytest.raises(
        ReleaseError, match=r"could not be begun \(the Spark job failed.*No such file.*nothing was left behind"
    ):
        synthesize_parts(
            table(), BOOK, us.PeGS(alpha=1.0), rows=100, out=tmp_path / "r", workers=Elsewhere(session=spark)
        )


def free_port() -> int:
    with contextlib.closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def cluster(java: Path, tmp_path: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A stand-alone master and two workers of one core, on this machine only."""
    import pyspark

    start = Path(pyspark.__file__).parent / "bin" / "spark-class"
    port = free_port()
    master = f"spark://127.0.0.1:{port}"
    deploy = "org.apache.spark.deploy"
    environment = {**spark_environment(), "SPARK_NO_DAEMONIZE": "1"}
    log = (tmp_path / "cluster.log").open("wb")
    commands = [
        [str(start), f"{deploy}.master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0"]
    ]
    for number in range(2):
        folder = tmp_path / f"worker{number}"
        commands.append([
            str(start), f"{deploy}.worker.Worker", "--host", "127.0.0.1", "--cores", "1", "--memory", "1200m",
            "--webui-port", "0", "--work-dir", str(folder), master,
        ])  # fmt: skip
    running = [
        subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)
        for command in commands
    ]
    try:
        said = tmp_path / "cluster.log"
        wait_until(lambda: said.read_text(errors="replace").count("Registering worker 127.0.0.1") == 2, 90, "workers")
        yield master, running[1:]
    finally:
        for process in running:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        log.close()


@pytest.mark.long
def test_a_cluster_loses_a_worker_while_it_draws(
    cluster: tuple[str, list[subprocess.Popen[bytes]]], tmp_path: Path
) -> None:
    """End to end, by the command line: counted and drawn on the cluster, charged once, whole."""
    master, workers = cluster
    pq.write_table(table(), tmp_path / "t.parquet")
    declared().save(tmp_path / "book.toml")
    new_account(tmp_path / "a.account")
    out = tmp_path / "release"
    command = [
        sys.executable, "-c", "from understudy.cli.app import main; main()", "synth",
        f"{master}?path={tmp_path / 't.parquet'}", "-c", str(tmp_path / "book.toml"), "-m", "pegs",
        "--epsilon-per-record", "1", "--delta", "1e-6", "--rows", "1600000", "-o", str(out), "--part-rows", "100000",
        "--account", str(tmp_path / "a.account"), "--engine", "spark", "--json",
    ]  # fmt: skip
    running = subprocess.Popen(
        command, env=spark_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    receipts = tmp_path / "release.unfinished/receipts"
    wait_until(
        lambda: len(list(receipts.glob("part-*.json"))) >= 1 or running.poll() is not None, 180, "the first part"
    )
    os.killpg(workers[0].pid, signal.SIGKILL)  # the worker, its executor and its Python, at once
    said, errors = running.communicate(timeout=240)
    assert running.returncode == 0, said + errors
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["parts"] == 16
    assert sum(pq.read_metadata(path).num_rows for path in (out / "synthetic").iterdir()) == 1_600_000
    assert verify_release(out).problems == ()
    [charge] = us.Account.open(tmp_path / "a.account").history()
    assert charge.state == ChargeState.COMMITTED and charge.release_id == manifest["release"]


_KILLED = """
import os, signal, sys
from pathlib import Path
import understudy as us
from understudy.errors import DataError
from understudy.sources.engines.spark import spark_session

folder = Path(sys.argv[1])
session = spark_session("local[1]")
java = int(session.sparkContext._jvm.java.lang.ProcessHandle.current().pid())
asked = []

def report(step, done, total):
    asked.append(step)
    if step == "counting" and asked.count("counting") == 1:
        os.kill(java, signal.SIGKILL)

for _ in range(2):  # and it stays a sentence
    try:
        us.synthesize(session, folder / "book.toml", rows=10, method="marginals", epsilon=1.0, delta=1e-6,
                      out=folder / "release", account=folder / "a.account", table=str(folder / "t.parquet"),
                      report=report)
    except DataError as reason:
        print("said:", reason, flush=True)
assert "counting" in asked
os._exit(0)  # Spark's own clean-up waits for the Java that is gone
"""


@pytest.mark.long
def test_a_count_that_loses_spark_says_so(java: Path, tmp_path: Path) -> None:
    """Java is killed in the middle of a count: one sentence, nothing charged, nothing written, no traceback."""
    pq.write_table(table(), tmp_path / "t.parquet")
    declared().save(tmp_path / "book.toml")
    new_account(tmp_path / "a.account")
    done = subprocess.run(
        [sys.executable, "-c", _KILLED, str(tmp_path)],
        env=spark_environment(), capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    said = [line for line in done.stdout.splitlines() if line.startswith("said:")]
    assert done.returncode == 0 and len(said) == 2, done.stdout + done.stderr
    assert all("The database went away while it was asked; nothing was released" in line for line in said), said
    assert "Traceback" not in done.stderr
    assert us.Account.open(tmp_path / "a.account").history() == [] and not (tmp_path / "release").exists()


@pytest.mark.parametrize("change", ["more rows", "as many rows", "gone"])
def test_a_file_that_changes_is_said_and_counts_are_never_mixed(spark: Any, tmp_path: Path, change: str) -> None:
    """Spark lists files once, and would read what is under their names now."""
    folder = tmp_path / "a b[1]%20*"
    folder.mkdir()
    age = Integer(name="age", edges=tuple(map(Fraction, (0, 18, 65))), missing="NA")
    book = Codebook(columns=(age,))

    def put(value: int, rows: int) -> None:
        pq.write_table(pa.table({"age": pa.array([value] * rows, pa.int64())}), folder / "t.parquet")

    put(5, 400)
    glob = "".join(f"\\{letter}" if letter in "[]*" else letter for letter in str(folder / "t.parquet"))
    source = us.open(spark, book, table=glob)
    assert source.count([("age",)])[0].open().to_grid().tolist() == [400, 0, 0]
    assert source.count([("age",)])[0].open().to_grid().tolist() == [400, 0, 0]  # nothing changed, nothing is said
    if change == "gone":
        (folder / "t.parquet").unlink()
    else:
        put(20, 700 if change == "more rows" else 400)
    with pytest.raises(DataError, match="the table changed while it was counted"):
        source.count([("age",)])
    with pytest.raises(DataError, match=r"the table changed while it was counted|cannot be read"):
        source.count([(book.smooth[0].fine.name,)])  # until it was looked for, a count of the new file
    if change != "gone":  # "run again" in the same session does not find the old codes
        later = us.open(spark, book, table=glob)
        assert later.count([("age",)])[0].open().to_grid().tolist() == [0, 700 if change == "more rows" else 400, 0]


def test_a_data_frame_of_a_release_is_known_as_one(spark: Any, tmp_path: Path) -> None:
    """Rows that Spark has read carry no mark; the files that they come from do."""
    release = tmp_path / "release 1"
    us.synthesize(table(200), BOOK, rows=50, method="laplace", epsilon=1.0, out=release)
    pq.write_table(table(200), tmp_path / "people.parquet")
    read = spark.read.parquet(str(release / "synthetic.parquet"))
    read.createOrReplaceTempView("drawn_before")
    spark.read.parquet(str(tmp_path / "people.parquet")).createOrReplaceTempView("people")
    for what, named in (
        (read, None),
        (read.filter("1 = 1").select(read.columns[:1]), None),
        (spark, "drawn_before"),
        (spark, f"parquet.`{release}/synthetic.parquet`"),
    ):
        found = find_provenance(what, table=named)
        assert found.is_release and not found.record_wise, named
        told = us.quote(BOOK, 50, "laplace", data=what, table=named, epsilon=1.0)
        assert not told.total.is_formal, named
        with pytest.raises(UnderstudyError, match="synthetic release"):
            us.quote_count(what, BOOK, ["a"], 1.0, table=named)
        with pytest.raises(UnderstudyError, match="synthetic release"):
            us.quote_answer(BOOK, "count", epsilon=1.0, data=what, table=named)
    for what, named in ((spark, "people"), (spark, "nowhere"), (spark.range(3), None)):
        assert not find_provenance(what, table=named).is_release


DIES = """
import os, signal, sys
from understudy.cli.app import main
from understudy.sources.engines.spark import SparkBench

fetched, asked = SparkBench.fetched, []

def dying(connection, expression):
    asked.append(1)
    if len(asked) == 2:  # between two tables of one count
        process = connection._session.sparkContext._gateway.proc
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    return fetched(connection, expression)

SparkBench.fetched = staticmethod(dying)
sys.argv = ["understudy", *sys.argv[1:]]
main()
"""
"""A command whose Spark is struck down while it counts."""


def test_a_spark_that_dies_while_it_counts_is_told_and_nothing_is_charged(java: Path, tmp_path: Path) -> None:
    book, path, out = tmp_path / "book.toml", tmp_path / "t.parquet", tmp_path / "r"
    declared().save(book)
    pq.write_table(table(300), path)
    account = new_account(tmp_path / "a.account")
    words = ["synth", f"spark://local?path={path}", "-c", str(book), "-n", "10", "-m", "marginals"]
    words += ["--epsilon", "1", "--delta", "1e-6", "-o", str(out), "--account", str(tmp_path / "a.account")]
    ended = run_python(DIES, *words)
    assert ended.returncode in (1, 2), ended.stderr
    assert "does not answer any more" in ended.stderr and "our mistake" not in ended.stderr, ended.stderr
    assert not out.exists() and all(charge.state is not ChargeState.COMMITTED for charge in account.history())
