"""The command reference in docs/ is what the commands say, and every option of a recipe has a flag."""

import importlib.util
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from understudy.cli.app import app
from understudy.synth.registry import METHODS

ROOT = Path(__file__).parents[2]


def test_reference_is_fresh():
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "reference" / "generate.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.TARGET.read_text(encoding="utf-8") == module.render(), "stale: run `make docs`"


@pytest.mark.parametrize("name", METHODS)
def test_the_help_of_a_method_shows_all_its_options_and_no_others(name):
    from understudy.parameters import options_of

    text = CliRunner().invoke(app, ["synth", "--method", name, "--help"]).output
    flags = {
        cls: {option.flags.split("/")[0] for option in options_of(method).values()} for cls, method in METHODS.items()
    }
    shown = set(re.findall(r"--[a-z][a-z-]*", text))
    assert flags[name] - {"--rows"} <= shown
    assert not shown & (set().union(*flags.values()) - flags[name] - {"--rows"})


def test_without_a_method_the_help_says_how_to_see_more():
    text = CliRunner().invoke(app, ["synth", "--help"]).output
    assert "understudy methods" in text and "--alpha" not in text


@pytest.mark.parametrize("name", METHODS)
def test_every_method_is_documented(name):
    pages = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs" / "methods").glob("*.md"))
    assert f"`{name}`" in pages


def test_every_command_is_in_the_reference():
    """A command that nobody added to `COMMANDS` would have no reference."""
    from typer.main import get_command

    from understudy.cli.app import app

    def leaves(command, words=()):
        below = getattr(command, "commands", {})
        hidden = {name for name, child in below.items() if child.hidden}
        return (
            [words] if not below else [w for n, c in below.items() if n not in hidden for w in leaves(c, (*words, n))]
        )

    text = (ROOT / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")
    lacking = [words for words in leaves(get_command(app)) if f"\n## understudy {' '.join(words)}\n" not in text]
    assert not lacking, f"add them to COMMANDS in docs/reference/generate.py: {lacking}"
