"""Tables of the pages that list what is in the repository: rooms, folders of tests, extras, links of the README."""

import re
import tomllib

from copies import ROOT

from understudy.evaluate.risk.scores import METRICS as RISKS
from understudy.evaluate.utility import METRICS as UTILITY
from understudy.version import __version__

ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
OURS_ALONE = {"dev", "docs"}
"""Extras for whoever works on Understudy."""


def test_every_room_and_every_folder_of_tests_has_a_line():
    source = ROOT / "src" / "understudy"
    rooms = {path.name for path in source.iterdir() if (path / "__init__.py").is_file()}
    small = {path.stem for path in source.glob("[a-z]*.py")}
    assert {name for name in rooms if f"| `{name}/` |" not in ARCHITECTURE} == set()
    assert {name for name in small if f"`{name}`" not in ARCHITECTURE} == set()
    table = ARCHITECTURE[ARCHITECTURE.index("\n## Tests\n") :]
    folders = {path.name for path in (ROOT / "tests").iterdir() if any(path.glob("test_*.py"))}
    assert len(folders) > 15 and {name for name in folders if f"`tests/{name}`" not in table} == set()


def test_files_that_the_architecture_names_are_there():
    named = set(re.findall(r"`((?:[a-z_]+/)+[a-z_]+\.(?:py|toml|md))(?:::\w+)?`", ARCHITECTURE))
    places = (ROOT, ROOT / "src", ROOT / "src" / "understudy", ROOT / "tests", ROOT / "docs")
    assert len(named) > 40
    assert {name for name in named if not any((place / name).exists() for place in places)} == set()


def test_the_page_on_installing_has_every_extra():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    assert {name for name in extras if f"| `{name}` |" not in page} == OURS_ALONE


def test_the_page_on_evaluation_has_every_metric():
    page = (ROOT / "docs" / "methods" / "evaluation.md").read_text(encoding="utf-8")
    for metrics, heading in ((UTILITY, "\n## Utility\n"), (RISKS, "\n## Risk\n")):
        table = page[page.index(heading) :].partition("\n```")[0]
        assert len(metrics) > 10 and {name for name in metrics if f"`{name}`" not in table} == set()


def test_the_readme_is_short_and_leads_to_things_that_are_there():
    assert len(README.splitlines()) <= 120
    links = [link for link in re.findall(r"\]\(([^)#]+)", README) if "://" not in link]
    assert len(links) > 40 and [link for link in links if not (ROOT / link).exists()] == []
    for target in ("make demo", "make test", "make studio"):
        assert target in README


def test_the_change_log_begins_with_this_version():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(r"^## (\S+) \(\d{4}-\d\d-\d\d\)$", text, flags=re.MULTILINE)[1] == __version__
