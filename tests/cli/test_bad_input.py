"""Hostile and careless input: one clear sentence, the right exit code, nothing left behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import understudy as us
from understudy.codebook import Categorical, Codebook


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("pegs", "--epsilon-per-record", 0), ("--epsilon-per-record", "0", "above 0")),
        (("pegs", "--epsilon-per-record", -1), ("-1", "above 0")),
        (("pegs", "--epsilon-per-record", "nan"), ("nan", "above 0")),
        (("pegs", "--epsilon", "inf"), ("inf", "finite")),
        (("pegs", "--alpha", 0), ("alpha", "0")),
        (("pegs",), ("exactly one of alpha", "no default")),
        (("pegs", "--alpha", 1, "--epsilon", 1), ("exactly one",)),
        (("pegs", "--alpha", 1, "--delta", 0), ("delta", "above 0 and below 1")),
        (("pegs", "--alpha", 1, "--delta", 1), ("delta", "above 0 and below 1")),
        (("pegs", "--alpha", 1, "--delta", 1.5), ("1.5", "above 0 and below 1")),
        (("sba", "--epsilon", 1, "--delta", -1e-6), ("delta", "above 0 and below 1")),
        (("sba", "--epsilon", 1), ("needs --delta", "no default")),
        (("laplace", "--epsilon", -2), ("-2", "above 0")),
        (("laplace",), ("needs --epsilon",)),
        (("laplace", "--epsilon", 1, "--sweeps", 3), ("does not take --sweeps; it takes --detail-epsilon",)),
        (("pegs", "--alpha", 1, "--sweeps", 0), ("sweeps", "1 or more")),
        (("pegs-rs", "--alpha", 1, "--block-size", 0), ("--block-size", "1 or more")),
        (("pegs-rs", "--alpha", 1), ("needs --block-size",)),
        (("pegz", "--alpha", 1), ("no method 'pegz'", "Did you mean 'pegs'")),
        (("pegs", "--alpha", 1, "--neighbours", "twins"), ("twins", "add-remove, replace-one")),
        (("pegs", "--alpha", 1, "--parents", "charge=los", "--parents", "private"), ("COLUMN=PARENT",)),
        (("pegs", "--alpha", 1, "--parents", "charge=nobody"), ("'nobody'", "choose parents among")),
        (("pegs", "--alpha", 1, "--parents", "guess"), ("'guess'", "mutual-information")),
        (("pegs", "--alpha", 1, "--key", "sha"), ("'sha'", "minhash")),
        (("pegs", "--alpha", 1, "--prior", "no-such-file.csv"), ("no-such-file.csv",)),
        (("lugs",), ("needs --l", "no default")),
        (("lugs", "--l", 0.5), ("0.5", "at least 1")),
        (("lugs", "--l", 3), ("'cat'", "2 levels", "--cap")),
        (("lugs", "--l", "two"), ("'two'", "COLUMN=NUMBER")),
        (("lugs", "--l", "sex=1.2"), ("no value for",)),
        (("lugs", "--l", "sex=1.2", "--l", "1.5"), ("COLUMN=NUMBER",)),
        (("lugs", "--l", 1.5, "--floor", 1), ("floor", "below 1")),
        (("lugs", "--l", 1.5, "--hashes", 0), ("hashes",)),
        (("plugs", "--l", 1.5, "--partitions", 0), ("partitions",)),
        (("lugs", "--l", 1.5, "--partitions", 2), ("does not take --partitions",)),
    ],
)
def test_bad_parameters(run, discharges, tmp_path, options, words):
    data, book = discharges
    method, *rest = options
    for command in (("quote", data), ("synth", data, "-o", tmp_path / "r")):
        said = run(*command, "-c", book, "-m", method, *rest, "-n", 10)
        assert said.code in (1, 2)
        for word in words:
            assert word in said.err.replace("\n", " "), said.err
        assert not (tmp_path / "r").exists()


@pytest.mark.parametrize("rows", ["0", "-5", "many", "1.5"])
def test_bad_rows(run, discharges, tmp_path, rows):
    data, book = discharges
    said = run("synth", data, "-c", book, "-m", "pegs", "--alpha", 1, "-n", rows, "-o", tmp_path / "r")
    assert said.code == 2 and rows in said.err
    assert list(tmp_path.iterdir()) == []


def test_errors_are_json_for_machines(run, discharges):
    data, book = discharges
    said = run("quote", data, "-c", book, "-m", "pegz", "-n", 10, "--json")
    assert said.code == 2 and said.json["error"]["kind"] == "ParameterError"
    said = run("quote", data, "-c", book, "-m", "pegs", "-n", "ten", "--json")
    assert said.code == 2 and said.json["error"]["kind"] == "UsageError"


def test_output_that_exists_or_cannot_be_written(run, discharges, tmp_path):
    data, book = discharges
    words = ("synth", data, "-c", book, "-m", "laplace", "--epsilon", 1, "-n", 10, "-o")
    (tmp_path / "there").mkdir()
    assert "exists already" in run(*words, tmp_path / "there").err
    assert "does not exist" in run(*words, tmp_path / "no" / "such" / "folder").err
    assert "nothing can be written" in run(*words, "/proc/release").err
    assert [p.name for p in tmp_path.iterdir()] == ["there"]


def test_a_full_disk_leaves_nothing_and_stays_charged(discharges, tmp_path):
    """RLIMIT_FSIZE makes every larger write fail, as a full disk does; how large the file is tells of the draw."""
    data, book = discharges
    account = tmp_path / "d.account"
    us.Account.create(account, dataset="d", epsilon=5.0, delta=0.0, neighbours=us.Neighbours.ADD_REMOVE)
    script = (
        "import resource, sys\n"
        "from understudy.cli.app import main\n"
        "from understudy.release import Release\n"
        "save = Release.save\n"
        "def full(self, folder, **options):\n"
        "    resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))\n"
        "    return save(self, folder, **options)\n"
        "Release.save = full\n"
        "main(sys.argv[1:])\n"
    )
    words = ["synth", str(data), "-c", str(book), "-m", "laplace", "--epsilon", "1", "-n", "50000"]
    done = subprocess.run(
        [sys.executable, "-c", script, *words, "-o", str(tmp_path / "r"), "--account", str(account)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 2 and "could not be written" in done.stderr and "Traceback" not in done.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["d.account"]
    assert "stays charged" in " ".join(done.stderr.split())
    opened = us.Account.open(account)
    assert [(charge.state.value, charge.digest) for charge in opened.history()] == [("committed", None)]


def test_interrupt_during_sampling(discharges, tmp_path):
    """Ctrl-C in the middle of the draw: one sentence, no folder, price given back."""
    data, book = discharges
    account = tmp_path / "d.account"
    us.Account.create(account, dataset="d", epsilon=1e12, delta=0.0, neighbours=us.Neighbours.ADD_REMOVE)
    script = (
        "import os, sys, time\n"
        "from understudy.samplers import gibbs\n"
        "slow = gibbs.ConditionalSampler.draw\n"
        "def draw(self, *a):\n"
        "    os.write(1, b'drawing\\n'); time.sleep(0.2); return slow(self, *a)\n"  # one write, not two
        "gibbs.ConditionalSampler.draw = draw\n"
        "from understudy.cli.app import main\n"
        "main(sys.argv[1:])\n"
    )
    words = ["synth", str(data), "-c", str(book), "-m", "pegs", "--alpha", "1", "-n", "200000"]
    process = subprocess.Popen(
        [sys.executable, "-c", script, *words, "-o", str(tmp_path / "r"), "--account", str(account)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "drawing\n"
    time.sleep(0.3)
    os.kill(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130 and "interrupted; nothing was written" in err and "Traceback" not in err
    assert [p.name for p in tmp_path.iterdir()] == ["d.account"]
    assert us.Account.open(account).spent().epsilon == 0


def test_read_only_installation_still_compiles():
    """Where numba finds no place for its cache, kernels are compiled without one."""
    script = (
        "import numba.core.caching as caching\n"
        "caching.CacheImpl._locator_classes = []\n"
        "import numpy as np\n"
        "from understudy.mechanisms.stream import Stream\n"
        "print(Stream.seeded(1).below_each(np.full(3, 1, dtype=np.uint64)).tolist())\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0 and done.stdout.strip() == "[0, 0, 0]", done.stderr


def test_codebook_of_another_file(run, discharges, tmp_path):
    _, book = discharges
    other = tmp_path / "other.csv"
    other.write_text("a,b\n1,2\n")
    said = run("synth", other, "-c", book, "-m", "pegs", "--alpha", 1, "-n", 5, "-o", tmp_path / "r")
    assert said.code == 2 and "lacks the columns" in said.err and "codebook of another file" in said.err


def test_truncated_parquet(run, discharges, tmp_path):
    _, book = discharges
    whole = tmp_path / "whole.parquet"
    pq.write_table(us.datasets.discharges(rows=500, seed=1), whole)
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(whole.read_bytes()[:-100])
    said = run("synth", broken, "-c", book, "-m", "pegs", "--alpha", 1, "-n", 5, "-o", tmp_path / "r")
    assert said.code == 2 and "broken.parquet" in said.err and "copy it again" in said.err
    assert not (tmp_path / "r").exists()


def test_difficult_levels_survive_the_whole_path(run, tmp_path):
    levels = ("plain", "a,b", 'say "hi"', "two\nlines", "😀 emoji", "=1+1", " space ")
    book = Codebook(
        columns=(Categorical(name="x", levels=levels), Categorical(name='odd "name", with comma', levels=("0", "1")))
    )
    table = pa.table({"x": list(levels) * 20, 'odd "name", with comma': ["0", "1"] * 70})
    data, path, release = tmp_path / "d.parquet", tmp_path / "c.toml", tmp_path / "r"
    pq.write_table(table, data)
    book.save(path)
    made = run("synth", data, "-c", path, "-m", "pegs", "--alpha", 1, "-n", 300, "-o", release, "--csv")
    assert made.code == 0 and "formula" in made.err
    drawn = pq.read_table(release / "synthetic.parquet").column("x").to_pylist()
    assert set(drawn) == set(levels)
    assert run("verify", release).code == 0
    again = us.open(release / "synthetic.csv", book).count([["x"]])[0].open().to_grid()
    assert again.tolist() == [drawn.count(level) for level in levels]


def test_one_level_column(run, tmp_path):
    book = tmp_path / "c.toml"
    book.write_text('format = 1\n\n[[columns]]\nname = "state"\nkind = "categorical"\nlevels = ["CA"]\n')
    data = tmp_path / "d.csv"
    data.write_text("state\n" + "CA\n" * 30)
    assert run("codebook", "check", data, "-c", book).code == 0
    made = run("synth", data, "-c", book, "--epsilon", 1, "--delta", 1e-6, "-n", 5, "-o", tmp_path / "r", "--csv")
    assert made.code == 0 and (tmp_path / "r" / "synthetic.csv").read_text().split() == ['"state"', *['"CA"'] * 5]


def test_five_hundred_columns(run, tmp_path):
    rows = 300
    names = [f"c{i}" for i in range(500)]
    table = pa.table({name: [str((i * (k + 3)) % 3) for i in range(rows)] for k, name in enumerate(names)})
    book = Codebook(columns=tuple(Categorical(name=name, levels=("0", "1", "2")) for name in names))
    data, path = tmp_path / "wide.parquet", tmp_path / "wide.toml"
    pq.write_table(table, data)
    book.save(path)
    made = run("synth", data, "-c", path, "-m", "pegs", "--alpha", 1, "-n", 50, "-o", tmp_path / "r")
    assert made.code == 0, made.err
    assert pq.read_table(tmp_path / "r" / "synthetic.parquet").shape == (50, 500)
    refused = run("synth", data, "-c", path, "-m", "laplace", "--epsilon", 1, "-n", 50, "-o", tmp_path / "s")
    assert refused.code == 1 and "combinations" in refused.err and "pegs" in refused.err


def test_verify_notices_every_change(run, discharges, tmp_path):
    data, book = discharges
    release = tmp_path / "r"
    run("synth", data, "-c", book, "-m", "laplace", "--epsilon", 1, "-n", 40, "-o", release)
    manifest = release / "manifest.json"
    whole = manifest.read_text()
    for before, after, problem in (
        ('"number": 40', '"number": 41', "rows"),
        ('"epsilon": 1.0', '"epsilon": 0.5', "stated total"),
        ("more than 2.72 times", "more than 1.01 times", "statement"),
        ("sha256:", "sha256:0", "digest"),
    ):
        assert before in whole
        manifest.write_text(whole.replace(before, after))
        said = run("verify", release)
        assert said.code == 1 and problem in said.out, said.out
    manifest.write_text(whole)
    assert run("verify", release).code == 0
    table = release / "synthetic.parquet"
    pq.write_table(pq.read_table(table).slice(0, 39), table)
    assert run("verify", release).code == 1
    assert run("verify", tmp_path / "nowhere").code == 2
    manifest.write_text("{}")
    assert run("verify", release).code == 2


def test_unreadable_codebooks(run, discharges, tmp_path):
    data, _ = discharges
    words = ("-m", "pegs", "--alpha", 1, "-n", 5)
    assert "no codebook" in run("quote", data, "-c", tmp_path / "none.toml", *words).err
    bad = tmp_path / "bad.toml"
    bad.write_text("format = 1\n[[columns]\n")
    assert "not valid TOML" in run("quote", data, "-c", bad, *words).err
    bad.write_bytes(b"\xff\xfe\x00")
    assert "UTF-8" in run("quote", data, "-c", bad, *words).err
    assert Path(bad).exists()
