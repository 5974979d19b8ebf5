"""A person's word goes into the file; nothing else in the file changes."""

import datetime as dt
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from understudy.codebook import Codebook
from understudy.codebook.declare import declare_text
from understudy.errors import CodebookError, ParameterError
from understudy.facade.book_edits import edit_column, remove_rule
from understudy.facade.codebooks import declare

DAY = dt.date(2020, 1, 1)
DRAFT = """\
# notes of the registrar
format = 1  # the first

# about a
[[columns]]
name = "a"  # as on the form
kind = "categorical"
levels = [
  "x",  # [[columns]] is no header here
  "y",
]
origin = "drafted"
# still about a

# about b
[[columns]]
name = "b"
kind = "ordinal"
levels = ["1", "2"]
origin = "drafted"

[columns.attestation]
by = "B. Old"  # retired
source = "memo"
on = 2001-01-01

[[columns.hierarchy]]
name = "all"
groups = { any = ["1", "2"] }

[[columns]]
name = "id"
kind = "text"
role = "identifier"
origin = "drafted"
# the end
"""
SAID = {"by": 'A. "Ann" Meyer', "source": "form 7\nline 2", "on": dt.date(2024, 5, 1)}


def comments(text: str) -> list[str]:
    return [line[line.index("#") :] for line in text.splitlines() if "#" in line]


def test_declare_adds_a_table_and_keeps_everything_else() -> None:
    said = declare_text(DRAFT, columns=None, **SAID)  # type: ignore[arg-type]
    book = Codebook.from_toml(said)
    assert book.is_public
    word = book.column("a").attestation
    assert word is not None
    assert (word.by, word.source, word.on) == (SAID["by"], SAID["source"], SAID["on"])
    kept = book.column("b").attestation
    assert kept is not None
    assert kept.by == "B. Old"  # nobody speaks for somebody else without naming the column
    assert [line for line in said.splitlines() if line in DRAFT.splitlines()] != []
    added = [line for line in said.splitlines() if line not in DRAFT.splitlines()]
    seen = f'of = "{book.column("a").content}"'
    assert added == ['by = "A. \\"Ann\\" Meyer"', 'source = "form 7\\nline 2"', "on = 2024-05-01", seen]
    assert comments(said) == comments(DRAFT)
    assert said.index("[columns.attestation]") < said.index("# still about a")


def test_declare_replaces_an_earlier_attestation() -> None:
    said = declare_text(DRAFT, columns=["b"], **SAID)  # type: ignore[arg-type]
    word = Codebook.from_toml(said).column("b").attestation
    assert word is not None
    assert word.by == SAID["by"]
    assert comments(said) == comments(DRAFT)
    assert Codebook.from_toml(said).unattested == ("a",)
    assert declare_text(said, columns=["b"], **SAID) == said  # type: ignore[arg-type]


@pytest.mark.parametrize("change", [lambda t: t.replace("\n", "\r\n"), lambda t: t.rstrip("\n"), lambda t: "\n\n" + t])
def test_declare_keeps_the_layout(change: object) -> None:
    text = change(DRAFT)  # type: ignore[operator]
    said = declare_text(text, columns=None, **SAID)  # type: ignore[arg-type]
    assert ("\r\n" in text) == ("\r\n" in said)
    assert said.count("\r\n") in (0, said.count("\n"))
    assert Codebook.from_toml(said).is_public


def test_a_file_from_windows_keeps_its_line_ends(tmp_path: Path) -> None:
    """Every edit reads the file itself, and not a text that Python has made of it."""
    book = tmp_path / "book.toml"
    rule = '\n\n# why\n[[constraints]]\nkind = "impossible"\nname = "never"\ncells = {a = ["x"], b = ["2"]}\n'
    book.write_bytes((DRAFT.rstrip() + rule).replace("\n", "\r\n").encode())
    changes: list[Callable[[], object]] = [
        lambda: declare(book, everything=True, by="B. New", source="memo"),
        lambda: edit_column(book, "a", {"description": "as on the form"}),
        lambda: remove_rule(book, "never"),
    ]
    for change in changes:
        before = book.read_bytes()
        change()
        said = book.read_bytes()
        assert said != before and said.count(b"\r\n") == said.count(b"\n")


def test_declare_in_inline_tables() -> None:
    column = '{name = "a", kind = "categorical", levels = ["x", "y"], origin = "drafted"}'
    text = f"format = 1\ncolumns = [\n  {column}, # hm\n]\n"
    said = declare_text(text, columns=["a"], **SAID)  # type: ignore[arg-type]
    assert "# hm" in said
    assert tomllib.loads(said)["columns"][0]["attestation"]["by"] == SAID["by"]


def test_declare_refusals() -> None:
    with pytest.raises(CodebookError, match="no column 'nope'"):
        declare_text(DRAFT, columns=["nope"], **SAID)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="`by` is ' '"):
        declare_text(DRAFT, columns=None, by=" ", source="x", on=DAY)
    with pytest.raises(ParameterError, match="`source` is ''"):
        declare_text(DRAFT, columns=None, by="x", source="", on=DAY)
    with pytest.raises(ParameterError, match="list of names"):
        declare_text(DRAFT, columns="a", by="x", source="x", on=DAY)
    with pytest.raises(ParameterError, match="`on` is"):
        declare_text(DRAFT, columns=None, by="x", source="x", on=dt.datetime(2020, 1, 1))
    with pytest.raises(CodebookError, match="not valid TOML"):
        declare_text("=", columns=None, by="x", source="x", on=DAY)
