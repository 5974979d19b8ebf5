"""Help texts are shown as they are written, and commands stand where a person looks for them."""

import json
import subprocess
import sys

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from understudy.cli.app import PANELS, app


def shown(*words: str) -> str:
    """The help of a command, its lines joined and its boxes taken off."""
    text = CliRunner().invoke(app, [*words, "--help"], env={"COLUMNS": "100", "TERMINAL_WIDTH": "100"}).output
    return " ".join(text.replace("│", " ").split())


@pytest.mark.parametrize(
    ("words", "bracketed"),
    [
        (("synth", "--method", "marginals"), "[unit]"),
        (("quote", "--method", "pegs"), "[unit]"),
        (("reconstruct", "files"), "FILE:GROUP:FIGURE[:OPTIONS]"),
        (("keys", "create"), "[default: score, budget]"),
    ],
)
def test_square_brackets_are_text(words, bracketed):
    assert bracketed in shown(*words)


def leaves(command, words=()):
    below = getattr(command, "commands", {})
    return [(words, command)] if not below else [leaf for n, c in below.items() for leaf in leaves(c, (*words, n))]


@pytest.mark.parametrize(
    ("words", "command"),
    leaves(get_command(app)),
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_every_command_answers_machines_and_explains_every_option(words, command):
    options = {option.name: option for option in command.params}
    assert "json" in options
    assert all(option.help for option in command.params if option.name != "help")


def test_every_command_stands_in_a_panel():
    text = shown()
    places = [text.index(f"─ {panel} ─") for panel in PANELS]
    assert list(PANELS) == ["Make", "Look", "Guard", "Serve"] and places == sorted(places)
    assert "─ Commands ─" not in text


def test_synthesis_from_python_loads_no_evaluation():
    script = (
        "import json, sys, understudy as us\n"
        "import pyarrow as pa\n"
        "from understudy.codebook import Categorical, Codebook\n"
        "book = Codebook(columns=(Categorical(name='a', levels=('x', 'y')),))\n"
        "us.synthesize(pa.table({'a': ['x', 'y'] * 50}), book, rows=5, method='laplace', epsilon=1.0)\n"
        "print(json.dumps(sorted(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=True)
    loaded = json.loads(done.stdout)
    rooms = {"understudy.evaluate", "understudy.anonymize", "understudy.commute", "understudy.trees", "understudy.cli"}
    assert not rooms & set(loaded)
    assert not {"sklearn", "jinja2", "statsmodels"} & set(loaded)
