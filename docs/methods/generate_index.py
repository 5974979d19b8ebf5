"""Write docs/methods/index.md from the facts that the methods themselves carry; `--check` only compares."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
TARGET = Path(__file__).with_name("index.md")
PROOFS = "src/understudy/mechanisms/proofs/"
INTRODUCTION = """# Every method: what was claimed, what is true, and how to check it

Written by `make docs` from the registry (`understudy methods --all --json`). A test requires that
every file named here exists, that the proofs of a method are those that its releases cite, and that every proof is used
by some method.

- **Route** N: noise once, rows are free. S: every drawn row costs. call: every answer costs. none: no promise.
- **Neighbours** AR: one record more or less. RO: one record changes, their number is public. Origin: one worker's
  origin changes inside a public destination. A `[unit]` in the codebook turns record into person for all synthetic
  tables (`group_of_records.md`).
- **Paper's claim**: *holds*, *holds with conditions*, *unsound*, *no claim* (a baseline) or *our own*. For an
  unsound claim the table says what to use instead.
- **Public** is what must be public besides the choice of method, settings and number of rows.
  [The promise](promise.md) says what no method covers.

[Which method?](../which.md) leads to one by a few questions. [The papers, element by element](concordance.md) has a
verdict on each of their tables, figures, equations and claims.
"""
_RELATIONS = {"add-remove": "AR", "replace-one": "RO", "origin-in-destination": "Origin", "add-remove-person": "AR"}


def render() -> str:
    """All tables."""
    from understudy.facade.methods import method_facts

    parts = [INTRODUCTION]
    for room, methods in method_facts().items():
        parts.append(f"## {room}\n")
        parts.append(
            "| method | route | neighbours | promise | must be public | paper's claim | verdict | what is true |"
        )
        parts.append("| --- | --- | --- | --- | --- | --- | --- | --- |")
        for one in methods:
            relations = ", ".join(_RELATIONS[relation.value] for relation in one.neighbours) or "none"
            instead = f" Instead: {one.instead}." if one.instead else ""
            sound = f"**{one.sound}**" if one.sound == "unsound" else one.sound
            cells = (
                f"[`{one.name}`]({_link(one.page)})",
                one.route,
                relations,
                one.guarantee,
                one.public,
                f"{one.paper}: {one.paper_claim}",
                sound,
                one.truth + instead,
            )
            parts.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
        parts.append("\n| method | proof | exact test | audit |")
        parts.append("| --- | --- | --- | --- |")
        for one in methods:
            files = (
                [PROOFS + name for name in one.proofs],
                list(one.exact_tests),
                list(one.audits),
            )
            listed = (" ".join(f"[{Path(path).stem}]({_link(path)})" for path in some) or "none" for some in files)
            parts.append(f"| `{one.name}` | " + " | ".join(listed) + " |")
        parts.append("")
    return "\n".join(parts)


def _link(path: str) -> str:
    """From this folder."""
    if path.startswith("docs/methods/"):
        return path.removeprefix("docs/methods/")
    return f"../{path.removeprefix('docs/')}" if path.startswith("docs/") else f"../../{path}"


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT / "src"))
    fresh = render()
    if "--check" in sys.argv:
        sys.exit(0 if TARGET.read_text(encoding="utf-8") == fresh else f"{TARGET.name} is stale; run `make docs`.")
    TARGET.write_text(fresh, encoding="utf-8")
