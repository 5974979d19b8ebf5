"""What is printed finds no place, or the current folder is gone: one sentence, and the right exit code."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import understudy as us


@pytest.fixture(scope="module")
def book(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("outputs") / "book.toml"
    us.datasets.discharges_codebook().save(path)
    return path


def shell(command: str, **settings) -> subprocess.CompletedProcess[str]:
    command = command.replace("understudy", f"'{sys.executable}' -m understudy")
    return subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, **settings)


@pytest.mark.parametrize("how", ["", " --json"])
def test_a_closed_output_is_no_mistake_of_ours(book, how):
    ended = shell(f"understudy codebook show '{book}'{how} >&-")
    assert ended.returncode == 0 and ended.stderr == ""
    assert shell(f"understudy codebook show nothing.toml{how} >&- 2>&-").returncode == 2


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_is_told_in_one_sentence(book):
    for how in ("", " --json"):
        ended = shell(f"understudy codebook show '{book}'{how} >/dev/full")
        assert ended.returncode == 141 and ended.stderr.count("error:") == 1
        assert "cannot be written (No space left on device)" in ended.stderr and "paid for" in ended.stderr
    wrong = shell("understudy codebook show nothing.toml --json >/dev/full")
    assert wrong.returncode == 2 and "there is no codebook at" in wrong.stderr and "Traceback" not in wrong.stderr


def test_a_reader_who_leaves_is_no_refusal(book):
    ended = shell(f"understudy codebook show '{book}' | exec true; echo ${{PIPESTATUS[0]}}")
    assert ended.stdout.strip() in ("141", "0") and ended.stderr == ""  # 0 where all of it fits into the pipe at once
    assert shell("understudy --help | exec true; echo ${PIPESTATUS[0]}").stdout.strip() != "1"


def test_letters_that_a_terminal_lacks_are_spelled(book, tmp_path):
    poor = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    for name in ("über", os.fsdecode(b"\xff")):
        wrong = shell(f"understudy recipe '{name}' --json", env=poor, cwd=tmp_path)
        assert wrong.returncode == 2 and "cannot be read" in json.loads(wrong.stdout)["error"]["message"]
    assert shell("understudy methods", env=poor).returncode == 0


def test_a_current_folder_that_is_gone_and_a_name_that_is_too_long(tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    ended = shell(f"cd '{gone}' && rmdir '{gone}' && understudy account show a.account")
    assert ended.returncode == 2 and "the current folder was removed" in ended.stderr
    long = shell(f"understudy verify {'a' * 300} --json")
    assert long.returncode == 2 and "longer than this system allows" in json.loads(long.stdout)["error"]["message"]
