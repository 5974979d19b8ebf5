"""The command reference in docs/ is what the commands say, and every option of a recipe has a flag."""

import importlib.util
from dataclasses import fields
from pathlib import Path

import pytest

from understudy.cli.options import RECIPE_OPTIONS
from understudy.synth.registry import METHODS

ROOT = Path(__file__).parents[2]


def test_reference_is_fresh():
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "reference" / "generate.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.TARGET.read_text(encoding="utf-8") == module.render(), "stale: run `make docs`"


@pytest.mark.parametrize("name", METHODS)
def test_every_option_of_a_method_has_a_flag(name):
    wanted = {field.name for field in fields(METHODS[name])} - {"rows"}
    assert wanted <= set(RECIPE_OPTIONS)


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
