"""No block of code in the documentation that nobody runs: each is of a known kind, or says why it is not run."""

import json
import tomllib

import pytest
from blocks import ALL, DATA, KINDS, OUTPUT, blocks_of

DOCTESTED = ("README.md", "docs/", "src/")
"""Where pytest collects `>>>` from Markdown (`testpaths` in pyproject.toml)."""


def test_there_are_blocks_to_check():
    assert len(ALL) > 60
    assert sum(block.language == "python" for block in ALL) > 40
    assert sum(block.is_shell for block in ALL) > 15


def test_every_block_is_of_a_known_kind():
    strange = [f"{block.place}: {block.language!r}" for block in ALL if block.language not in KINDS]
    assert not strange, f"blocks may be {', '.join(map(repr, KINDS))}; teach tests/docs how to run others: {strange}"


@pytest.mark.parametrize("block", [b for b in ALL if b.language == "python"], ids=lambda b: b.place)
def test_python_is_a_doctest(block):
    first = next((line for line in block.text.splitlines() if line.strip()), "")
    assert first.lstrip().startswith(">>>"), f"{block.place}: write it with >>> and its output, so that it runs"
    assert block.page.startswith(DOCTESTED), f"{block.place}: pytest does not look for doctests there"
    assert block.text.endswith("\n"), f"{block.place}: end it with an empty line, or the fence is taken for output"


@pytest.mark.parametrize("block", [b for b in ALL if b.language in DATA], ids=lambda b: b.place)
def test_data_can_be_read(block):
    value = tomllib.loads(block.text) if block.language == "toml" else json.loads(block.text)
    assert value
    if block.language == "toml" and value.get("format") == 1 and "columns" in value:
        from understudy.codebook import Codebook
        from understudy.errors import CodebookError

        try:
            Codebook.from_toml(block.text)
        except CodebookError as reason:  # an excerpt may rest on columns that are not shown
            assert "no column" in str(reason) or "is not a column" in str(reason), f"{block.place}: {reason}"


@pytest.mark.parametrize("block", [b for b in ALL if b.language in OUTPUT], ids=lambda b: b.place)
def test_output_holds_no_commands(block):
    """`text` is for what a program prints; a command hidden in it would not be run."""
    for line in block.text.splitlines():
        assert not line.startswith(("understudy ", "$ ", ">>> ", "make ", "python ")), f"{block.place}: {line}"


LEFT_OUT = [(block.place, block.not_run) for block in ALL if block.not_run] + [
    (f"{block.place}, {line!r}", why) for block in ALL for line, why in block.lines_not_run
]


def test_what_is_not_run_says_why():
    assert all(len(why.split()) >= 3 for _, why in LEFT_OUT)
    assert len(LEFT_OUT) <= 14, "documentation that cannot be run should stay the exception"


@pytest.mark.parametrize(("place", "why"), LEFT_OUT)
def test_list_of_what_is_not_run(place, why):
    pytest.skip(f"group documentation, {place}: {why}")


def test_a_new_kind_of_block_would_be_noticed():
    [block] = blocks_of(
        '<!-- not run, "understudy serve": it answers until stopped -->\n```ruby\nputs 1\n```\n', "new.md"
    )
    assert block.language not in KINDS
    assert block.lines_not_run == (("understudy serve", "it answers until stopped"),)
    with pytest.raises(AssertionError, match="nothing closes"):
        blocks_of("```sh\nunderstudy methods\n", "new.md")
