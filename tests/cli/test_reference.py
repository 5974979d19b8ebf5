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
