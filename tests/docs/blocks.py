"""Every fenced block of every Markdown file, and what is to be done with it.

A comment above a block says what cannot be run, and why:

    <!-- not run: needs a Spark cluster -->
    <!-- not run, "understudy serve": answers until it is stopped; tests/service does this -->
"""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
SHELL = ("", "sh", "bash", "console")
DATA = ("toml", "json")
OUTPUT = ("text",)
KINDS = (*SHELL, *DATA, *OUTPUT, "python", "r")
MEASURED = "benchmarks/RESULTS.md"
"""Written by `make bench`: its plain blocks are what was measured, not commands."""

FENCE = re.compile(r"^(?P<indent>\s*)(?P<mark>`{3,}|~{3,})(?P<language>\S*)\s*$")
NOT_RUN = re.compile(r"^\s*<!-- not run(?:, \"(?P<line>[^\"]+)\")?: (?P<why>.+?) -->\s*$")


@dataclass(frozen=True, kw_only=True)
class Block:
    """One fenced block."""

    page: str
    line: int
    language: str
    text: str
    not_run: str = ""
    lines_not_run: tuple[tuple[str, str], ...] = ()

    @property
    def place(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def is_shell(self) -> bool:
        return self.language in SHELL and self.page != MEASURED


def pages() -> list[Path]:
    """Every Markdown file of the repository."""
    there = [*ROOT.glob("*.md"), ROOT / MEASURED]
    for folder in ("docs", "src", "experiments", "tests"):
        there += (ROOT / folder).rglob("*.md")
    return sorted(set(there))


def blocks(path: Path) -> list[Block]:
    """The blocks of one file."""
    name = path.relative_to(ROOT).as_posix()
    return blocks_of(path.read_text(encoding="utf-8"), name)


def blocks_of(text: str, name: str) -> list[Block]:
    """The blocks of one text."""
    found: list[Block] = []
    lines = text.split("\n")
    start, inside, remarks = 0, None, []
    for number, line in enumerate(lines):
        fence = FENCE.match(line)
        if inside is None:
            if fence:
                start, inside = number, fence
            elif remark := NOT_RUN.match(line):
                remarks.append(remark)
            elif line.strip() and not line.startswith("<!--"):  # marks for other programs may stand between
                remarks = []
        elif fence and fence["mark"] == inside["mark"] and not fence["language"]:
            whole = [remark["why"] for remark in remarks if not remark["line"]]
            found.append(
                Block(
                    page=name,
                    line=start + 1,
                    language=inside["language"],
                    text="\n".join(lines[start + 1 : number]),
                    not_run=whole[0] if whole else "",
                    lines_not_run=tuple((remark["line"], remark["why"]) for remark in remarks if remark["line"]),
                )
            )
            inside, remarks = None, []
    if inside is not None:
        raise AssertionError(f"{name}:{start + 1} opens a block that nothing closes")
    return found


ALL = [block for path in pages() for block in blocks(path)]
