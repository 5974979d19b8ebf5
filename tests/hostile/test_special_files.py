"""Pipes, devices, links and bombs in the place of files: refused in a sentence, at once, and nothing is written."""

import io
import json
import os
import signal
import stat
import sys
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fuzz.targets import BOOK, TABLE, prepare

import understudy as us
from understudy.cli.app import main
from understudy.codebook import Categorical, Codebook
from understudy.errors import UnderstudyError
from understudy.infer.opened import open_release
from understudy.privacy.account import Account
from understudy.release.folders import digest_of
from understudy.sources.kinds import WORKBOOK, ZIP, file_kind
from understudy.sources.same import refuse_same
from understudy.synth.model_file import load_model


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("special")


@pytest.fixture(scope="module")
def targets(place):
    return {target.name: target for target in prepare(place)}


class Waits(BaseException):
    """Nobody may turn it into a sentence."""


@pytest.fixture
def alarm():
    """A read that waits for a writer who never comes would wait for ever."""

    def stop(_number, _frame):
        raise Waits

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(45)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("kind", ["pipe", "link to a pipe", "device"])
def test_no_loader_waits_for_a_pipe_or_reads_a_device(targets, tmp_path, alarm, kind):
    for name, target in targets.items():
        folder = tmp_path / name
        path = folder / target.file
        path.parent.mkdir(parents=True)
        if kind == "pipe":
            os.mkfifo(path)
        elif kind == "link to a pipe":
            os.mkfifo(folder / "pipe")
            path.symlink_to(folder / "pipe")
        else:
            path.symlink_to("/dev/zero")
        try:
            target.load(path.parent if "/" in target.file else path)
        except UnderstudyError as reason:
            assert str(reason)
        else:
            as_none = ("signature", "notice", "reported manifest beside a file")
            assert name in as_none, f"{name} read something out of a {kind}"


@pytest.mark.parametrize("name", ["synthetic.parquet", "manifest.json", "codebook.toml"])
def test_a_link_inside_a_release_is_refused(place, targets, tmp_path, name):
    assert targets
    folder = tmp_path / "r"
    folder.mkdir()
    for path in (place / "release").iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    (folder / name).rename(tmp_path / name)
    (folder / name).symlink_to(tmp_path / name)
    with pytest.raises(UnderstudyError, match="symbolic link"):
        us.verify(folder)


def test_an_account_behind_a_link_is_refused(place, targets, tmp_path):
    assert targets
    (tmp_path / "link").symlink_to(place / "a.account")
    with pytest.raises(UnderstudyError, match="symbolic link"):
        Account.open(tmp_path / "link")


def call(*words):
    with pytest.raises(SystemExit) as stop:
        main(list(map(str, words)))
    return stop.value.code


def test_no_command_writes_through_a_link_or_into_a_pipe(place, targets, tmp_path, alarm, capsys):
    assert targets
    book, data, aim = place / "book.toml", place / "data.parquet", tmp_path / "aim"
    aim.write_text("kept")
    how = ("-m", "laplace", "--epsilon", 1, "-n", 5)
    for kind in ("link", "pipe"):
        out = tmp_path / kind
        out.symlink_to(aim) if kind == "link" else os.mkfifo(out)
        for words in (
            ("synth", data, "-c", book, *how, "-o", out),
            ("synth", data, "-c", book, *how, "-o", tmp_path / "never", "--save-model", out),
            ("codebook", "draft", data, "-o", out),
            ("evaluate", data, place / "release", "-c", book, "-o", out),
            ("account", "create", out, "--dataset", "d", "--epsilon", 1, "--delta", 0, "--neighbours", "add-remove"),
            ("recipe", place / "release", "-o", out),
            ("sign", place / "release", "--new-key", out),
        ):
            assert call(*words) == 2, (words, capsys.readouterr())
    linked = tmp_path / "linked.toml"
    linked.symlink_to(book)
    before = book.read_bytes()
    assert call("codebook", "declare", linked, "--all", "--by", "A", "--from", "B") == 2
    assert aim.read_text() == "kept" and book.read_bytes() == before and not (tmp_path / "never").exists()


def test_an_address_is_never_repeated():
    """It may hold a password."""
    from understudy.errors import DataError
    from understudy.loading import loading

    for raised in (DataError("no such table."), KeyError("x")):
        with (
            pytest.raises(DataError) as told,
            loading("postgresql://ann:hunter2@db/claims", "the table", remedy="check it.", error=DataError),
        ):
            raise raised
        assert "hunter2" not in " ".join([str(told.value), *getattr(told.value, "__notes__", ())])


# Bombs


def bomb(place: Path, tmp_path: Path, name: str, content: bytes, *, of: str = "model.us") -> Path:
    with zipfile.ZipFile(place / of) as archive:
        members = {one: archive.read(one) for one in archive.namelist()}
    assert name in members
    path = tmp_path / "bomb.us"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for one, inside in (members | {name: content}).items():
            archive.writestr(one, inside)
    return path


@pytest.mark.parametrize("name", ["table-0-codes.npy", "table-0-noisy-counts.npy", "codebook.toml", "model.json"])
def test_a_model_is_bounded_before_it_is_unpacked(place, targets, tmp_path, name):
    """80 MB in some ten kB; the codebook of the model has a few cells."""
    assert targets
    buffer = io.BytesIO()
    np.save(buffer, np.zeros((1, 1), dtype=np.int64))
    path = bomb(place, tmp_path, name, buffer.getvalue() + bytes(80_000_000))
    assert path.stat().st_size < 200_000
    tracemalloc.start()
    with pytest.raises(UnderstudyError, match="more than its codebook allows"):
        load_model(path)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 20_000_000


def test_a_table_of_a_model_cannot_claim_more_levels_than_its_codebook(place, targets, tmp_path):
    assert targets
    with zipfile.ZipFile(place / "model.us") as archive:
        described = archive.read("model.json").decode()
    assert '"sizes"' in described
    facts = json.loads(described)
    facts["tables"][0]["sizes"] = [10**9 for _ in facts["tables"][0]["sizes"]]
    with pytest.raises(UnderstudyError, match="does not have columns and levels of its codebook"):
        load_model(bomb(place, tmp_path, "model.json", json.dumps(facts).encode()))


def test_measurements_beside_rows_are_bounded_too(tmp_path, monkeypatch):
    """Ten million equal numbers are some kB of Parquet; and a name of a megabyte may be meant a thousand times."""
    model = tmp_path / "m.us"
    us.synthesize(
        TABLE, BOOK, rows=5, method="marginals", epsilon=2.0, delta=1e-6, out=tmp_path / "r", save_model=model
    )
    with zipfile.ZipFile(model) as archive:
        members = {one: archive.read(one) for one in archive.namelist()}
    table = pq.read_table(io.BytesIO(members["measurements.parquet"]))
    lines, many = table.num_rows, 10_000_000
    numbers = pa.ListArray.from_arrays(pa.array([0, *[many] * lines], pa.int32()), np.zeros(many, dtype=np.int64))
    names = pa.array([["x" * 1_000_000] * 3 for _ in range(lines)])
    for place, column, words in ((6, numbers, "more than its codebook allows"), (0, names, "other columns than")):
        content = io.BytesIO()
        pq.write_table(table.set_column(place, table.schema.field(place), column), content, compression="zstd")
        path = bomb(tmp_path, tmp_path, "measurements.parquet", content.getvalue(), of=model.name)
        assert path.stat().st_size < 100_000
        read: list[int] = []  # bytes of what was unpacked; tracemalloc and Arrow's threads get in each other's way

        def noted(*given, _read=pq.read_table, _into=read, **more):
            _into.append((unpacked := _read(*given, **more)).nbytes)
            return unpacked

        with monkeypatch.context() as seen, pytest.raises(UnderstudyError, match=words):
            seen.setattr(pq, "read_table", noted)
            load_model(path)
        assert (len(read) == 0) == (place == 6) and sum(read) < 3_000_000
        (tmp_path / "r" / "measurements.parquet").write_bytes(content.getvalue())
        assert any(words in problem for problem in us.verify(tmp_path / "r").problems)
        edited = json.loads((tmp_path / "r" / "manifest.json").read_text(encoding="utf-8"))
        edited["files"]["measurements.parquet"] = digest_of(tmp_path / "r" / "measurements.parquet")
        (tmp_path / "r" / "manifest.json").write_text(json.dumps(edited), encoding="utf-8")
        with pytest.raises(UnderstudyError, match=words):
            open_release(tmp_path / "r")


def test_an_archive_larger_than_the_disk_is_not_unpacked(tmp_path, monkeypatch):
    path = tmp_path / "data.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("data.csv", b"sex,age,ward\n" + b"F,3,A\n" * 100_000)
    usage = type("Usage", (), {"free": 1000})
    monkeypatch.setattr("shutil.disk_usage", lambda _path: usage)
    with pytest.raises(UnderstudyError, match="has no room"):
        us.open(path, BOOK).count([["sex"]])


# Who may read what is written


def modes(path: Path) -> set[int]:
    return {stat.S_IMODE(one.stat().st_mode) for one in [path, *path.rglob("*")]}


@pytest.mark.parametrize("umask", [0o000, 0o077])
def test_readers_are_those_that_are_meant_whatever_the_umask(tmp_path, umask, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = os.umask(umask)
    try:
        BOOK.save("book.toml")
        us.synthesize(TABLE, BOOK, rows=30, method="laplace", epsilon=1.0, out="release", formats=["csv"])
        us.synthesize(
            TABLE, BOOK, rows=30, method="laplace", epsilon=1.0, out="again", save_model="model.us", account=None
        )
        us.passport("release")
        us.sign("release", new_key="key")
        holes = TABLE.set_column(2, "ward", [[None if row % 7 == 0 else "A" for row in range(len(TABLE))]])
        book = Codebook(columns=(*BOOK.columns[:2], Categorical(name="ward", levels=("A", "B"), missing="?")))
        us.impute(holes, book, files=2, out="completed", seed=1)
        us.evaluate(TABLE, "release", BOOK, out="report.html")
    finally:
        os.umask(before)
    assert modes(Path("release")) == {0o755, 0o644}
    assert modes(Path("completed")) == {0o700, 0o600}
    for name in ("report.html", "key", "model.us", "book.toml"):
        assert modes(Path(name)) == {0o600}, name
    assert modes(Path("key.pub")) == {0o644}


# Terminal escapes


EVIL = "se\x1b]0;evil\x07\x1b[31mx\x9b2J\u202e"


def test_nothing_that_is_printed_steers_a_terminal(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("d.csv").write_text(f"{EVIL},b\nF,1\nM,2\n", encoding="utf-8")
    said = []
    for words in (
        ("codebook", "draft", "d.csv", "-o", "b.toml"),
        ("codebook", "show", "b.toml"),
        ("codebook", "show", "b.toml", "--json"),
        ("codebook", "check", "d.csv", "-c", f"no{EVIL}"),
        ("codebook", "check", f"no{EVIL}.csv", "-c", "b.toml"),
        ("quote", "-c", "b.toml", "-m", EVIL, "--epsilon", "1", "-n", "3"),
        (f"x{EVIL}",),
        ("quote", f"--epsilon{EVIL}", "1"),
    ):
        call(*words)
        heard = capsys.readouterr()
        said.append(heard.out + heard.err)
    everything = "".join(said)
    assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(everything)
    assert "\\x1b]0;evil" in said[1] and "\\u001b]0;evil" in said[2]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("nobody_defined_this", NameError),
        ("assert False, 'a slip'", AssertionError),
        ("from understudy.codebook import nothing_of_that_name", ImportError),
        ("Codebook.nothing_of_that_name", AttributeError),
        ("loading.nothing_of_that_name", AttributeError),
    ],
)
def test_a_slip_of_ours_is_no_damaged_file(text, kind):
    """As raised by a module of this package; no content of a file can cause it."""
    from understudy.errors import DataError
    from understudy.loading import loading

    ours = compile(text, str(Path(us.__file__).with_name("slipped.py")), "exec")
    theirs = compile(text, "parser.py", "exec")
    names = {"Codebook": Codebook, "loading": sys.modules["understudy.loading"]}
    with pytest.raises(kind), loading("x.json", "the file", remedy="copy it again.", error=DataError):
        exec(ours, names)
    with pytest.raises(DataError), loading("x.json", "the file", remedy="copy it again.", error=DataError):
        exec(theirs, names)


@pytest.mark.parametrize("text", ["None.get", "[].get('x')", "{}['x']", "int('x')", "Codebook(colums=1)", "1 / 0"])
def test_what_a_damaged_file_does_to_our_code_is_a_sentence(text):
    from understudy.errors import DataError
    from understudy.loading import loading

    ours = compile(text, str(Path(us.__file__).with_name("read.py")), "exec")
    with pytest.raises(DataError, match="copy it"), loading("x", "the file", remedy="copy it.", error=DataError):
        exec(ours, {"Codebook": Codebook})


def bombed(path: Path, name: str, others: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for one, inside in (others | {name: bytes(80_000_000)}).items():
            archive.writestr(one, inside)
    assert path.stat().st_size < 200_000
    return path


def test_what_tells_the_kind_of_an_archive_is_bounded(tmp_path):
    """Looked at before anybody reads the table: 80 MB in some ten kB."""
    zipped = bombed(tmp_path / "data.zip", "mimetype", {"data.csv": b"sex\nF\n"})
    workbook = bombed(tmp_path / "data.xlsx", "docProps/core.xml", {"xl/workbook.xml": b"<x/>"})
    tracemalloc.start()
    assert file_kind(zipped) == ZIP and file_kind(workbook) == WORKBOOK
    with pytest.raises(UnderstudyError, match="unpack to more than 4 MiB"):
        us.open(workbook, BOOK)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 20_000_000


@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_data_behind_other_words_are_never_waited_for(place, targets, tmp_path, alarm, kind):
    """Whether a public table is the confidential one is asked before either is opened; patterns are followed."""
    assert targets
    data, other = tmp_path / "data.csv", tmp_path / "other.csv"
    for path in (data, other):
        os.mkfifo(path) if kind == "pipe" else path.symlink_to("/dev/zero")
    for public in (other, place / "data.csv"):
        refuse_same(data, public, "a prior")
        refuse_same(public, data, "a prior")
    for address in (tmp_path / "*.csv", f"{data}?delimiter=;"):  # no path of a file, but it leads to one
        with pytest.raises(UnderstudyError, match="only plain files"):
            us.open(str(address), BOOK)
    with pytest.raises(UnderstudyError):
        us.answer(data, BOOK, "count", epsilon=1.0, release=place / "release")
