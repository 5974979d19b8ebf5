"""The page about operations says what the benchmark measured, what the program ends with, and what it reads."""

import re
from pathlib import Path

from understudy.cli import endings

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "guide" / "operations.md").read_text(encoding="utf-8")


def test_the_table_is_the_one_that_was_measured():
    table = PAGE.split("<!-- operations table: begin -->\n")[1].split("<!-- operations table: end -->")[0]
    results = (ROOT / "benchmarks" / "RESULTS.md").read_text(encoding="utf-8").split("## operations\n", 1)[1]
    assert "synth" in table and table.strip().replace("```text", "```") in results


def test_every_exit_code_is_told():
    told = {int(code) for code in re.findall(r"(?m)^\| (\d+) \|", PAGE)}
    known = {endings.NO, endings.MEND, endings.OURS, endings.INTERRUPTED, endings.UNREAD, endings.TERMINATED}
    assert told == known | {0, 3}


def test_every_variable_is_told():
    sources = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    read = set(re.findall(r"UNDERSTUDY_[A-Z_]+[A-Z]", sources))
    assert read and all(f"`{name}`" in PAGE for name in read), read
