"""No element of the papers is left out; every page, anchor, picture and command of the concordance is there."""

import re
import shlex
from pathlib import Path
from xml.etree import ElementTree

import pytest
from concordance import COMMANDS, ENTRIES, METHODS, PAGE, PAPERS, ROOT, commands
from markdown.extensions.toc import slugify

from understudy.cli.app import main

SMALL = (("-n 1000", "-n 100"),)
"""Numbers that only make a run longer."""
KINDS = "Figure|Fig\\.|Table|Theorem|Lemma|Proposition|Definition|Remark|Algorithm|Equation|Case Study"
NUMBERED = re.compile(rf"({KINDS})s? \(?(\d+(?:\.\d+)*)")
TAGGED = re.compile(r"(?:\\quad|\\tag) ?[({]+(\d+(?:\.\d+)?)[)}]")
SHORTENED = {"Proposition 1", "Case Study 1", "Case Study 2"}
"""How two papers call their own Proposition 2.1 and case studies 1.2.1 and 1.2.2."""


def anchors(page: Path) -> set[str]:
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    titles = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    plain = (re.sub(r"[`*]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title)) for title in titles)
    return {slugify(title, "-") for title in plain}


def test_the_page_is_fresh():
    assert PAGE.TARGET.read_text(encoding="utf-8") == PAGE.render(), "stale: run `make docs`"


@pytest.mark.parametrize("paper", PAPERS.values(), ids=list(PAPERS))
def test_every_numbered_element_has_an_entry(paper):
    assert set(paper.expected()) <= {entry.element for entry in paper.entries}


@pytest.mark.data
@pytest.mark.parametrize("paper", PAPERS.values(), ids=list(PAPERS))
def test_the_text_of_the_paper_numbers_what_has_an_entry_and_nothing_else(paper, data_folder):
    place = data_folder.parent / "papers" / f"{paper.name}.txt"
    if not place.is_file():
        pytest.skip(f"group data: {place.name} is not beside the data")
    text = place.read_text(encoding="utf-8")
    found = {f"{kind.replace('Fig.', 'Figure')} {number}" for kind, number in NUMBERED.findall(text)}
    found |= {f"Equation {number}" for number in TAGGED.findall(text)}
    numbered = {entry.element for entry in paper.entries if not entry.element.startswith(("Section", "Appendix"))}
    assert found - SHORTENED == numbered


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.anchor)
def test_an_entry_says_everything_and_leads_somewhere(entry):
    assert entry.verdict in PAGE.VERDICTS
    assert entry.what and entry.why.endswith(".")
    assert entry.run or entry.verdict in ("no claim", "untested"), "a verdict needs a command that shows it"
    page, _, anchor = entry.see.partition("#")
    path = (METHODS / page).resolve()
    assert path.is_file() and path.is_relative_to(ROOT / "docs")
    assert not anchor or anchor in anchors(path), f"{page} has no heading {anchor}"
    if entry.picture:
        drawn = METHODS / "figures" / entry.picture
        assert ElementTree.parse(drawn).getroot().tag.endswith("svg")


def test_anchors_are_one_apiece_and_the_page_has_them_all():
    page = PAGE.TARGET.read_text(encoding="utf-8")
    assert len({entry.anchor for entry in ENTRIES}) == len(ENTRIES)
    assert all(f'<a id="{entry.anchor}"></a>' in page for entry in ENTRIES)
    assert all(f"\n## {paper.title}\n" in page for paper in PAPERS.values())


def test_two_clicks_lead_to_every_element():
    """One to the page, from the bar of every page of the site and from the README; one to the paper or the element."""
    bar = re.search(r"^nav:\n(.*)", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert bar is not None and re.search(r"^  - Papers: methods/concordance\.md$", bar[1], re.MULTILINE)
    assert "(docs/methods/concordance.md)" in (ROOT / "README.md").read_text(encoding="utf-8")
    page = PAGE.TARGET.read_text(encoding="utf-8")
    assert all(f"](#{paper.title.lower()})" in page for paper in PAPERS.values())


def test_every_picture_of_a_paper_is_shown_on_the_page_that_its_entry_names():
    for entry in ENTRIES:
        if entry.picture:
            page = (METHODS / entry.see.partition("#")[0]).resolve()
            assert f"figures/{entry.picture}" in page.read_text(encoding="utf-8"), f"{page.name}: {entry.picture}"


def test_named_tests_exist():
    """They are run by this very suite."""
    for words in commands("python", "-m", "pytest"):
        place, _, name = words[3].partition("::")
        text = (ROOT / place).read_text(encoding="utf-8")
        assert not name or re.search(rf"^def {name}\(", text, re.MULTILINE), words[3]


def test_no_command_is_of_another_kind():
    """Experiments are run by tests/long/test_concordance_experiments.py, the benchmark by `make bench`."""
    known = [*commands("understudy"), *commands("python", "-m", "pytest"), *commands("python", "-m", "experiments")]
    assert [words for words in COMMANDS if words not in known] == [["python", "-m", "benchmarks.lugs"]]
    assert (ROOT / "benchmarks" / "lugs.py").is_file()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The two simulated folders that the page speaks of, smaller."""
    place = tmp_path_factory.mktemp("concordance")
    _run(["example", "-o", f"{place}/example", "-n", "5000"])  # with fewer, SBHG sometimes has nothing to release
    _run(["commute", "example", "--workers", "600", "-o", f"{place}/town"])
    return place


def _run(words: list[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(words)
    assert not stop.value.code, shlex.join(words)


@pytest.mark.parametrize("words", commands("understudy"), ids=shlex.join)
def test_commands_of_the_program_run(words, folder, monkeypatch):
    monkeypatch.chdir(folder)
    line = shlex.join(words[1:])
    for long, short in SMALL:
        line = line.replace(long, short)
    _run(shlex.split(line))
