"""Every documented shell command is run as it stands, page by page, on small tables with the columns it names."""

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from blocks import ALL, ROOT, Block
from stages import STAGES, patients

from understudy.cli.app import app, main

PAGES = sorted({block.page for block in ALL if block.is_shell and not block.not_run})
EXPECTED = re.compile(r"exit code (\d+)")
SMALLER = {
    "README.md": (("--runs 2000", "--runs 40"),),
    "docs/guide/evaluate.md": (
        ("0.1,0.5,1,5,10,50,100", "1,10"),
        ("--repeat 5", "--repeat 2"),
        ("--rows 1000", "--rows 200"),
    ),
    "docs/guide/commute.md": (("example -o town", "example --workers 600 -o town"),),
    "docs/start/aggregates.md": (("--group patzip --group MDC", "--group MDC"), ("--epsilons 1,10", "--epsilons 1")),
    "docs/start/geographer.md": (("--workers 4000", "--workers 600"),),
    "docs/guide/histories.md": (("-n 20000", "-n 400"),),
    "docs/start/statistician.md": (("--repeat 5", "--repeat 2"),),
    "docs/start/privacy.md": (("--runs 2000", "--runs 40"),),
    "docs/which.md": (("example -n 2000", "example -n 600"),),
}
"""Numbers that only make a run longer, and what stands in for them here. Everything else is run to the letter."""


SAID = {"docs/guide/first-release.md"}
"""Pages that show what the commands above say: each line of it must be there."""


def shown_after(block: Block) -> list[str]:
    """The lines of output that a page shows between this block and the next commands."""
    if block.page not in SAID:
        return []
    lines: list[str] = []
    for other in (each for each in ALL if each.page == block.page and each.line > block.line):
        if other.is_shell:
            break
        lines += other.text.splitlines() if other.language == "text" else []
    return lines


def commands(block: Block) -> list[tuple[list[str], int, str | None]]:
    """Words, expected exit code and where the output goes, for each command of a block."""
    found = []
    for line in block.text.replace("\\\n", " ").splitlines():
        said = line.strip().removeprefix("$ ")
        if not said or said.startswith("#") or any(said.startswith(prefix) for prefix, _ in block.lines_not_run):
            continue
        for long, short in SMALLER.get(block.page, ()):
            said = said.replace(long, short)
        inside = "\0"  # a shell begins a remark where a word begins; shlex does so inside of words too
        split = shlex.split(re.sub(r"(?<=\S)#", inside, said), comments=True)
        words = [word.replace(inside, "#") for word in split]
        expected = EXPECTED.search(line)
        output = words[words.index(">") + 1] if ">" in words else None
        found.append((words[: words.index(">")] if output else words, int(expected[1]) if expected else 0, output))
    return found


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    """One command in a folder of its own, in this process: starting Python for each would cost a second apiece."""
    monkeypatch.chdir(tmp_path)
    key: list[str] = []

    def go(words: list[str]) -> tuple[int, str, str]:
        capsys.readouterr()
        with pytest.raises(SystemExit) as stop:
            main([key[-1] if word == "KEYID" and key else word for word in words[1:]])
        said = capsys.readouterr()
        if made := re.search(r"^id (\w+), scopes", said.out, re.MULTILINE):
            key.append(made[1])
        return int(stop.value.code or 0), said.out, said.err

    return go


def check_elsewhere(words: list[str], place: str) -> None:
    """Commands of the workshop are not run here, but what they name must exist."""
    if words[0] == "make":
        targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
        assert set(words[1:]) <= set(targets), f"{place}: no such target in the Makefile"
    elif words[:2] == ["python", "-m"] and words[2].split(".")[0] in ("experiments", "benchmarks"):
        module = ROOT.joinpath(*words[2].split("."))
        assert module.is_dir() or module.with_suffix(".py").exists(), f"{place}: {words[2]} does not exist"
        if len(words) > 3 and "." not in words[2] and not words[3].startswith("-"):
            listed = (ROOT / words[2] / "__main__.py").read_text(encoding="utf-8")
            assert f'"{words[3]}"' in listed, f"{place}: {words[2]} knows no {words[3]}"
    elif words[0] == "spark-submit":
        check_submitted(words[1:], place)
    elif words[0] == "spark-class":
        assert words[1].startswith("org.apache.spark.deploy."), f"{place}: {words[1]} is not started so"
    else:
        raise AssertionError(
            f"{place}: {words[0]!r} is no command that this test can run; mark it `not run`, with a reason"
        )


SUBMIT = {
    "--master", "--deploy-mode", "--num-executors", "--executor-cores", "--properties-file", "--archives", "--files",
    "--conf",
}  # fmt: skip
"""Options of `spark-submit` that pages use, each with one value."""


def check_submitted(words: list[str], place: str) -> None:
    """No cluster is here: options of Spark are known ones, and what is submitted is a command that can be read."""
    while words[0].startswith("--"):
        option, value, *words = words
        assert option in SUBMIT, f"{place}: {option} of spark-submit is not among {sorted(SUBMIT)}"
        assert option != "--conf" or re.fullmatch(r"spark\.[A-Za-z0-9._]+=\S+", value), f"{place}: {value}"
    script, command, *rest = words
    assert Path(script).name == "submit.py", f"{place}: {script} is not what the page submits"
    group: Any = typer.main.get_command(app)
    group.commands[command].make_context(command, rest)  # fails where an option is unknown or lacks its value


@pytest.mark.parametrize("page", PAGES)
def test_commands_of_a_page(page, run, tmp_path):
    shown = [block for block in ALL if block.page == page and block.is_shell]
    stage = STAGES.get(page, lambda folder, number: patients(folder) if number == 0 else None)
    for number, block in enumerate(shown):
        stage(tmp_path, number)
        if block.not_run:
            continue
        heard = ""
        for words, expected, output in commands(block):
            if words[0] != "understudy":
                check_elsewhere(words, block.place)
                continue
            code, said, complaint = run(words)
            assert "Traceback" not in complaint
            assert code == expected, f"{block.place}: {shlex.join(words)} ended with {code}\n{complaint or said}"
            heard += said + complaint
            if output:
                Path(output).write_text(said, encoding="utf-8")
        for line in shown_after(block):
            assert " ".join(line.split()) in " ".join(heard.split()), f"{block.place}: {line!r} is not said\n{heard}"


def test_each_line_of_what_no_other_tool_has_is_shown_by_its_commands(run, tmp_path):
    """From the README alone, in a folder of its own; what answers until it is stopped is only begun."""
    text = (ROOT / "README.md").read_text(encoding="utf-8").partition("\n## What no other tool has\n")[2]
    before, *lines = text.partition("\n## ")[0].replace("| --- | --- |\n", "").split("\n| ")
    (first,) = re.findall(r"`([^`]+)`", before)
    assert run(shlex.split(first))[0] == 0
    table = [line.split(" | ") for line in lines[1:]]
    assert len(table) == 12
    for what, shown in table:
        spans = [span for span in re.findall(r"`([^`]+)`", shown) if not (ROOT / span).is_dir()]
        assert spans, f"nothing shows: {what}"
        for words in map(shlex.split, spans):
            if words[0] == "echo":
                (tmp_path / words[3]).write_text(words[1] + "\n", encoding="utf-8")
            elif words[0] != "understudy":
                check_elsewhere(words, what)
            elif words[1] == "studio":
                group: Any = typer.main.get_command(app)
                group.commands["studio"].make_context("studio", words[2:])
            elif words[1] == "mcp":  # nobody speaks to it, so it ends when it has begun
                begun = [sys.executable, "-m", *words]
                subprocess.run(begun, cwd=tmp_path, stdin=subprocess.DEVNULL, timeout=300, check=True)
            else:
                code, said, complaint = run(words)
                assert code == 0, f"{what}: {shlex.join(words)} ended with {code}\n{complaint or said}"
                if words[-1] == "unpaid":
                    assert "no formal privacy guarantee" in said and "drafted from the data" in said
