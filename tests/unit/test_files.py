"""Files are written in one way: whole, for the readers they are meant for, and never through what is no file."""

import ast
import os
import stat
import threading
from pathlib import Path

import pytest

import understudy
from understudy.files import Access, append_to, make_empty, make_folder, make_scratch, settle, write_file

SRC = Path(understudy.__file__).parent

WRITING = {
    "write_text",
    "write_bytes",
    "mkstemp",
    "mkdtemp",
    "NamedTemporaryFile",
    "mkdir",
    "makedirs",
    "touch",
    "chmod",
}
"""Names of functions that make files and folders or change their readers."""
MODES = set("wax+")
OPENING = {
    "cli/endings.py": "standard output of a program that nobody reads any more",
    "sources/csv_files.py": "plain copies in a temporary folder",
    "sources/archives.py": "a member of an archive in a temporary folder",
    "sources/engines/sqlite.py": "a copy of the columns of a query in a temporary folder",
}
"""Files that open others for writing in a scratch folder of their own (0700)."""


def other_ways(path: Path) -> list[str]:
    """Calls that write files in another way than through ``understudy.files``."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call):
            continue
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        given = [*node.args, *(word.value for word in node.keywords if word.arg == "mode")]
        modes = [
            a.value for a in given if isinstance(a, ast.Constant) and isinstance(a.value, str) and len(a.value) <= 3
        ]
        opened = name in ("open", "fdopen", "GzipFile") and any(MODES & set(mode) for mode in modes)
        low_level = ast.unparse(node.func) == "os.open" or (
            name in ("replace", "rename") and "os." in ast.unparse(node.func)
        )
        if name in WRITING or opened or low_level:
            found.append(f"{path.relative_to(SRC)}:{node.lineno} {ast.unparse(node.func)}")
    return found


def test_nobody_writes_files_in_another_way():
    found = {str(path.relative_to(SRC)): other_ways(path) for path in sorted(SRC.rglob("*.py"))}
    assert found.pop("files.py"), "the walk sees nothing any more"
    assert {name: calls for name, calls in found.items() if calls and name not in OPENING} == {}
    assert all(found[name] for name in OPENING)


@pytest.fixture(params=[0o000, 0o022, 0o077, 0o777])
def umask(request):
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_modes_are_said_and_not_left_to_the_umask(tmp_path, umask):
    for access, file, folder in ((Access.OWNER, 0o600, 0o700), (Access.EVERYBODY, 0o644, 0o755)):
        assert mode(write_file(tmp_path / f"{file:o}", "x", access)) == file
        assert mode(make_folder(tmp_path / f"{folder:o}", access)) == folder
        scratch = make_scratch(tmp_path / "r")
        assert mode(scratch) == 0o700
        (scratch / "inner").mkdir()
        (scratch / "inner").chmod(0o700)
        for place in (scratch, scratch / "inner"):
            write_file(place / "f", b"", Access.OWNER)
        settle(scratch, access)
        assert {mode(scratch), mode(scratch / "inner")} == {folder}
        assert {mode(scratch / "f"), mode(scratch / "inner" / "f")} == {file}
    assert mode(write_file(tmp_path / "new", "x")) == 0o600
    make_empty(tmp_path / "db")
    append_to(tmp_path / "log", b"line\n")
    append_to(tmp_path / "log", b"line\n")
    assert mode(tmp_path / "db") == mode(tmp_path / "log") == 0o600
    assert (tmp_path / "log").read_bytes() == b"line\n" * 2


def test_a_file_that_is_replaced_keeps_its_readers(tmp_path):
    path = write_file(tmp_path / "book.toml", "one", Access.EVERYBODY)
    path.chmod(0o640)
    write_file(path, "two\r\nlines\n")
    assert (mode(path), path.read_bytes()) == (0o640, b"two\r\nlines\n")


def special(tmp_path: Path) -> list[Path]:
    aim, link, pipe = tmp_path / "aim", tmp_path / "link", tmp_path / "pipe"
    aim.write_text("kept")
    link.symlink_to(aim)
    os.mkfifo(pipe)
    return [link, pipe, Path("/dev/null")]


def test_links_pipes_and_devices_are_not_written_to(tmp_path):
    for path in special(tmp_path):
        for write in (lambda p: write_file(p, "x"), lambda p: append_to(p, b"x")):
            with pytest.raises(OSError, match="only plain files"):
                write(path)
        with pytest.raises(FileExistsError):
            make_empty(path)
    assert (tmp_path / "aim").read_text() == "kept"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["aim", "link", "pipe"]
    (tmp_path / "folder").mkdir()
    (tmp_path / "to").symlink_to(tmp_path / "folder")
    with pytest.raises(FileExistsError):
        make_folder(tmp_path / "to", exist_ok=True)
    scratch = make_scratch(tmp_path / "r")
    (scratch / "evil").symlink_to("/etc/passwd")
    with pytest.raises(OSError, match="symbolic link"):
        settle(scratch, Access.EVERYBODY)


def test_a_failure_leaves_the_earlier_file_and_nothing_else(tmp_path, monkeypatch):
    path = write_file(tmp_path / "a", "before")

    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="space"):
        write_file(path, "after")
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("a", "before")]


def test_a_new_file_replaces_nothing_even_in_a_race(tmp_path):
    done: list[str] = []
    start = threading.Barrier(8)

    def write(text: str) -> None:
        start.wait()
        try:
            write_file(tmp_path / "key", text, Access.OWNER, new=True)
            done.append(text)
        except FileExistsError:
            pass

    threads = [threading.Thread(target=write, args=(str(n),)) for n in range(8)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert [(tmp_path / "key").read_text()] == done
    assert [p.name for p in tmp_path.iterdir()] == ["key"]


def test_a_file_system_without_hard_links(tmp_path, monkeypatch):
    def none(*_args):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", none)
    path = write_file(tmp_path / "key", "one", new=True)
    with pytest.raises(FileExistsError):
        write_file(path, "two", new=True)
    assert path.read_text() == "one"


def test_names_of_scratch_files_cannot_be_guessed(tmp_path):
    """Somebody who may write to the folder prepares every name that earlier versions used."""
    aim = tmp_path / "aim"
    aim.write_text("kept")
    for name in (".book.toml.unfinished", ".book.toml", ".plan.json", "book.toml~"):
        (tmp_path / name).symlink_to(aim)
    write_file(tmp_path / "book.toml", "new")
    assert (tmp_path / "book.toml").read_text() == "new" and aim.read_text() == "kept"
