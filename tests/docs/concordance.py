"""The declarations of docs/methods/concordance/, and the distinct commands that they name."""

import importlib.util
import shlex
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
METHODS = ROOT / "docs" / "methods"

_spec = importlib.util.spec_from_file_location("generate_concordance", METHODS / "generate_concordance.py")
assert _spec is not None and _spec.loader is not None
PAGE = importlib.util.module_from_spec(_spec)
sys.modules["generate_concordance"] = PAGE  # its dataclasses look themselves up there
_spec.loader.exec_module(PAGE)

PAPERS = PAGE.load()
ENTRIES = [entry for paper in PAPERS.values() for entry in paper.entries]
COMMANDS = [shlex.split(command) for command in dict.fromkeys(entry.run for entry in ENTRIES if entry.run)]


def commands(*start: str) -> list[list[str]]:
    """Those that begin with these words (the last one may be the beginning of a word)."""
    head, last = list(start[:-1]), start[-1]
    return [words for words in COMMANDS if words[: len(head)] == head and words[len(head)].startswith(last)]
