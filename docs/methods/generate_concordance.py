"""Write docs/methods/concordance.md from the declarations in docs/methods/concordance/; `--check` only compares.

One TOML file per paper: every figure, table, theorem, algorithm, numbered equation and claim is one entry. An entry
says what the paper has there (`what`), where ours is (`see`, and `picture` in figures/), what to run (`run`), a verdict
and its reason (`why`); or `same`, for what repeats another paper's element. `numbered` says how far a kind is counted.
"""

import re
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
TARGET = HERE / "concordance.md"
PAPERS = ("pegs", "lugs", "sbhg", "onthemap", "dissertation")
VERDICTS = {
    "confirmed": "true here too, or proved",
    "corrected": "false as printed, true in the form given",
    "depends": "true in some settings, which the reason names",
    "refuted": "false, or not what we measured",
    "untested": "we could not tell",
    "no claim": "a definition, a drawing, an example: nothing to confirm",
}
INTRODUCTION = """# The papers, element by element

Five documents describe the systems that Understudy builds. This page lists every figure, table, theorem, algorithm,
numbered equation and main claim of theirs: what we have in its place, the command that makes or checks it, and whether
it held. The papers' own files are not available (California and Texas discharges, Medicare claims, the 2012 survey,
Minnesota's flows, the septic-shock cohort), so experiments run on simulated tables, the National Hospital Discharge
Survey 2010, Adult, a census excerpt and Rhode Island's flows. Nor could we recover settings that nobody published:
LUDIA's rank, iterations and constants, where SBHG cut its columns, the second α of OnTheMap.

Commands run in a clone of the repository. Those of `understudy` expect two simulated folders:
`understudy example -o example` and `understudy commute example -o town`. Experiments take minutes; `--quick` makes each
a smoke test, and `UNDERSTUDY_DATA` names the folder of real tables, which are left out where it is not set. Drawings
that only explain have no counterpart but our own method pages and the [architecture](../architecture.md). A test
requires that no element is left out, that every page, anchor and picture exists, and that every command runs.
"""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One element of one paper."""

    paper: str
    element: str
    what: str
    see: str
    verdict: str
    why: str
    run: str = ""
    picture: str = ""

    @property
    def anchor(self) -> str:
        """Of its row."""
        return f"{self.paper}-{re.sub(r'[^a-z0-9]+', '-', self.element.lower()).strip('-')}"


@dataclass(frozen=True, kw_only=True)
class Paper:
    """One document."""

    name: str
    title: str
    source: str
    pages: tuple[str, ...]
    numbered: dict[str, int]
    entries: tuple[Entry, ...]

    def expected(self) -> Iterator[str]:
        """Every element that the counts of the paper promise; "Figure 2" = 7 means figures 2.1 to 2.7."""
        for kind, count in self.numbered.items():
            mark = "." if kind[-1].isdigit() else " "
            yield from (f"{kind}{mark}{number}" for number in range(1, count + 1))


def load() -> dict[str, Paper]:
    """All papers, with what repeats another paper's element filled in."""
    papers: dict[str, Paper] = {}
    for name in PAPERS:
        given = tomllib.loads((HERE / "concordance" / f"{name}.toml").read_text(encoding="utf-8"))
        facts = {key: given.pop(key) for key in ("title", "source", "pages", "numbered")}
        entries = tuple(_entry(name, element, fields, papers) for element, fields in given.items())
        papers[name] = Paper(name=name, entries=entries, **(facts | {"pages": tuple(facts["pages"])}))
    return papers


def _entry(paper: str, element: str, fields: dict[str, str], papers: dict[str, Paper]) -> Entry:
    if "same" in fields:
        other, _, there = fields["same"].partition(": ")
        twin = next(entry for entry in papers[other].entries if entry.element == there)
        return Entry(**(vars(twin) | {"paper": paper, "element": element}))
    return Entry(paper=paper, element=element, **fields)


def render() -> str:
    """The page."""
    papers = load()
    parts = [INTRODUCTION, *_summary(papers), *_refuted(papers)]
    for paper in papers.values():
        parts += [f"\n## {paper.title}\n", f"*{paper.source}.* Pages: {', '.join(map(_page, paper.pages))}."]
        chapter = ""
        for number, entry in enumerate(paper.entries):
            here = re.search(r"(\d)\.\d", entry.element)
            if paper.name == "dissertation" and here and here[1] != chapter:
                chapter = here[1]
                parts += [f"\n### Chapter {chapter}\n", *_HEAD]
            elif number == 0:
                parts += ["", *_HEAD]
            parts.append(_row(entry))
    return "\n".join([*parts, ""])


_HEAD = ["| element | in the paper | ours | verdict | why |", "| --- | --- | --- | --- | --- |"]


def _summary(papers: dict[str, Paper]) -> list[str]:
    lines = ["| paper | " + " | ".join(VERDICTS) + " |", "| --- " * (len(VERDICTS) + 1) + "|"]
    for paper in papers.values():
        counts = [sum(entry.verdict == verdict for entry in paper.entries) for verdict in VERDICTS]
        lines.append(f"| [{paper.title}](#{paper.title.lower()}) | " + " | ".join(map(str, counts)) + " |")
    meanings = "; ".join(f"*{verdict}*: {meaning}" for verdict, meaning in VERDICTS.items())
    return [*lines, "", f"{meanings}."]


def _refuted(papers: dict[str, Paper]) -> list[str]:
    lines = ["\n## What did not hold\n"]
    for paper in papers.values():
        for entry in paper.entries:
            if entry.verdict == "refuted":
                lines.append(f"- [{paper.title}, {entry.element}](#{entry.anchor}): {entry.what}. {entry.why}")
    return lines


def _row(entry: Entry) -> str:
    ours = [_page(entry.see)]
    if entry.picture:
        ours.append(f"[picture](figures/{entry.picture})")
    if entry.run:
        ours.append(f"`{entry.run}`")
    verdict = f"**{entry.verdict}**" if entry.verdict in ("refuted", "corrected") else entry.verdict
    element = f'<a id="{entry.anchor}"></a>{entry.element}'
    cells = (element, entry.what, "<br>".join(ours), verdict, entry.why)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _page(link: str) -> str:
    """A link with the title of its page."""
    path = (HERE / link.partition("#")[0]).resolve()
    title = next(line[2:] for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("# "))
    return f"[{title.partition(':')[0]}]({link})"


if __name__ == "__main__":
    fresh = render()
    if "--check" in sys.argv:
        sys.exit(0 if TARGET.read_text(encoding="utf-8") == fresh else f"{TARGET.name} is stale; run `make docs`.")
    TARGET.write_text(fresh, encoding="utf-8")
