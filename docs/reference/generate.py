"""Write docs/reference/cli.md from the commands themselves; `--check` only compares."""

import os
import sys
from pathlib import Path

COMMANDS = (
    (),
    ("demo",),
    ("example",),
    ("methods",),
    ("codebook", "draft"),
    ("codebook", "split"),
    ("codebook", "template"),
    ("codebook", "check"),
    ("codebook", "review"),
    ("codebook", "rules"),
    ("codebook", "declare"),
    ("codebook", "show"),
    ("codebook", "cells"),
    ("quote",),
    ("forecast",),
    ("plan",),
    ("synth",),
    ("recipe",),
    ("draw",),
    ("impute",),
    ("count",),
    ("answer",),
    ("verify",),
    ("passport",),
    ("sign",),
    ("audit",),
    ("evaluate",),
    ("infer",),
    ("combine",),
    ("rumap",),
    ("diagnose",),
    ("anonymize", "run"),
    ("anonymize", "weigh"),
    ("anonymize", "risk"),
    ("anonymize", "verify"),
    ("anonymize", "report"),
    ("reconstruct",),
    ("reconstruct", "files"),
    ("reconstruct", "risk"),
    ("commute", "example"),
    ("commute", "quote"),
    ("commute", "synth"),
    ("commute", "evaluate"),
    ("commute", "map"),
    ("account", "create"),
    ("account", "show"),
    ("account", "history"),
    ("account", "forecast"),
    ("release", "supersede"),
    ("release", "withdraw"),
    ("train",),
    ("studio",),
    ("serve",),
    ("mcp",),
    ("keys", "create"),
    ("keys", "list"),
    ("keys", "revoke"),
    ("keys", "budget"),
    ("projects", "cap"),
    ("projects", "create"),
    ("projects", "change"),
    ("projects", "add"),
    ("projects", "list"),
    ("projects", "ledger"),
    ("review", "list"),
    ("review", "approve"),
    ("review", "decline"),
)
INTRODUCTION = (
    "Written by `make docs` from the commands themselves. Exit codes: 0 done; 1 refused (also: a release that "
    "does not verify, data that do not fit, a missing extra); 2 the request is wrong; 3 `audit` refuted a promise; 70 "
    "a bug in Understudy; 130 interrupted (Ctrl-C); 141 nobody read the output; 143 stopped by SIGTERM. See "
    "[operations](../guide/operations.md)."
)
TARGET = Path(__file__).with_name("cli.md")


def render() -> str:
    """Help texts of all commands, one section each."""
    os.environ |= {"TERMINAL_WIDTH": "100", "COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"}
    from typer.testing import CliRunner

    from understudy.cli.app import app
    from understudy.synth.registry import METHODS

    parts = ["# The command line", "", INTRODUCTION, ""]
    methods = [("synth", "--method", name) for name in METHODS]
    for words in [*COMMANDS, *methods]:
        result = CliRunner().invoke(app, [*words, "--help"])
        assert result.exit_code == 0, result.output
        text = "\n".join(line.rstrip() for line in result.output.strip().splitlines())
        parts += [f"## understudy {' '.join(words)}".rstrip(), "", "```text", text, "```", ""]
    return "\n".join(parts)


if __name__ == "__main__":
    fresh = render()
    if "--check" in sys.argv:
        sys.exit(0 if TARGET.read_text(encoding="utf-8") == fresh else f"{TARGET.name} is stale; run `make docs`.")
    TARGET.write_text(fresh, encoding="utf-8")
