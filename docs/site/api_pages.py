"""The Python reference, read from the docstrings without importing what they describe."""

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

from understudy.facade.documented import completed

ROOMS = (
    ("errors", "What can go wrong"),
    ("codebook", "What a table may hold"),
    ("privacy", "What was promised and what was paid"),
    ("sources", "Where counts come from"),
    ("mechanisms", "All privacy randomness"),
    ("blocks", "Statistical building blocks"),
    ("samplers", "Blocks to rows"),
    ("release", "A table and its manifest"),
    ("synth", "Recipes and their registry"),
    ("datasets", "Simulated tables"),
    ("evaluate", "Utility, risk, reports, audits"),
    ("anonymize", "k-anonymity and its kin"),
    ("commute", "Origin-destination tables"),
    ("reconstruct", "Individual values from averages"),
    ("trees", "Risk scores"),
    ("service", "Scores over HTTP"),
    ("facade", "One function per use case"),
)
"""Every room that is called from Python, in the order of the walls (the command line has a reference of its own)."""

Named = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def api_pages(package: Path) -> dict[str, str]:
    """One page per room, and an index with the names of `understudy` itself."""
    pages = {f"reference/api/{room}.md": room_page(package, room, about) for room, about in ROOMS}
    pages["reference/api/index.md"] = index_page(package)
    return pages


def index_page(package: Path) -> str:
    """What `import understudy as us` offers, each with the room it lives in."""
    tree = ast.parse((package / "__init__.py").read_text(encoding="utf-8"))
    tables = {
        node.targets[0].id: ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and isinstance(node.value, ast.Dict)
    }
    where = {name: (home, tables["_CALLED"].get(name, name)) for name, home in tables["_HOME"].items()}
    del where["datasets"]  # a room, listed below
    where |= {name: (home, name) for name, home in _recipes(package)}
    lines = [
        "# Python",
        "",
        "Written at build time from the docstrings. Everyday names hang on the package itself; the rooms below hold",
        "the rest, and each room imports only from rooms above it.",
        "",
        *_prose(ast.get_docstring(tree) or ""),
        "",
        "| `us.` | room | says of itself |",
        "| --- | --- | --- |",
    ]
    for name, (module, original) in sorted(where.items(), key=lambda item: item[0].lower()):
        room = module.split(".")[1]
        anchor = "" if original.isupper() else f"#{original.lower()}"  # constants have no heading of their own
        lines.append(f"| [`{name}`]({room}.md{anchor}) | `{module}` | {_first_line(package, module, original)} |")
    lines += ["", "| room | |", "| --- | --- |", *(f"| [`{room}`]({room}.md) | {about} |" for room, about in ROOMS)]
    return "\n".join([*lines, ""])


def _recipes(package: Path) -> Iterator[tuple[str, str]]:
    """Classes of methods, which carry their facts, and the modules that hold them."""
    for path in sorted((package / "synth" / "methods").glob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            parts = node.body if isinstance(node, ast.ClassDef) else []
            targets = [part.target for part in parts if isinstance(part, ast.AnnAssign)]
            targets += [target for part in parts if isinstance(part, ast.Assign) for target in part.targets]
            if isinstance(node, ast.ClassDef) and any(getattr(target, "id", "") == "facts" for target in targets):
                yield node.name, ".".join(["understudy", *path.relative_to(package).with_suffix("").parts])


def _first_line(package: Path, module: str, name: str) -> str:
    place = package.joinpath(*module.split(".")[1:])
    files = [place.with_suffix(".py")] if place.with_suffix(".py").exists() else sorted(place.glob("*.py"))
    for path in files:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, Named) and node.name == name:
                return _inline((ast.get_docstring(node) or "").split("\n")[0]).replace("|", "\\|")
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id == name:
                return "Every recipe by its name."
    return ""


def room_page(package: Path, room: str, about: str) -> str:
    """All public names of one room, module by module."""
    lines = [f"# {room}", "", f"*{about}.*", ""]
    for path in _modules(package, room):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        shown = [
            node
            for node in tree.body
            if isinstance(node, Named) and not node.name.startswith("_") and ast.get_docstring(node)
        ]
        listed = _listed(tree)
        shown = [node for node in shown if listed is None or node.name in listed]
        if not shown and path.name == "__init__.py":
            lines += _prose(ast.get_docstring(tree) or "")
            continue
        if not shown:
            continue
        dotted = ".".join(["understudy", *path.relative_to(package).with_suffix("").parts]).removesuffix(".__init__")
        lines += [f"## {dotted}", "", *_prose(ast.get_docstring(tree) or ""), ""]
        for node in shown:
            lines += _entry(node)
    return "\n".join([*lines, ""])


def _modules(package: Path, room: str) -> list[Path]:
    single = package / f"{room}.py"
    return [single] if single.exists() else sorted((package / room).rglob("*.py"))


def _listed(tree: ast.Module) -> set[str] | None:
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "__all__":
            return {part.value for part in ast.walk(node.value) if isinstance(part, ast.Constant)}  # others are found
    return None


def _text(node: Named) -> str:
    """Its docstring; that of a use case with the parameters that many share."""
    text = ast.get_docstring(node) or ""
    if isinstance(node, ast.ClassDef) or "documented" not in map(ast.unparse, node.decorator_list):
        return text
    arguments = node.args
    names = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *filter(None, [arguments.kwarg])]
    return completed(text, [name.arg for name in names])


def _entry(node: Named) -> list[str]:
    if not isinstance(node, ast.ClassDef):
        return [
            f"### {node.name}",
            "",
            "```python",
            _signature(node),
            "```",
            "",
            *_prose(_text(node)),
            "",
        ]
    bases = ", ".join(ast.unparse(base) for base in node.bases)
    lines = [
        f"### {node.name}",
        "",
        "```python",
        f"class {node.name}({bases})" if bases else f"class {node.name}",
        "```",
        "",
    ]
    lines += [*_prose(ast.get_docstring(node) or ""), ""]
    fields = list(_fields(node))
    if fields:
        lines += ["| field | type | |", "| --- | --- | --- |", *fields, ""]
    for part in node.body:
        public = isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef) and not part.name.startswith("_")
        if public and ast.get_docstring(part):
            text = " ".join((ast.get_docstring(part) or "").split("\n\n")[0].split())
            lines += [f"- `{_signature(part, method=True)}`: {_inline(text)}"]
    return [*lines, ""]


def _fields(node: ast.ClassDef) -> Iterator[str]:
    """Annotated names of a class, with the text beneath each."""
    following = [*node.body[1:], None]
    for part, after in zip(node.body, following, strict=True):
        if (
            not isinstance(part, ast.AnnAssign)
            or not isinstance(part.target, ast.Name)
            or part.target.id.startswith("_")
        ):
            continue
        about = ""
        if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) and isinstance(after.value.value, str):
            about = _inline(" ".join(after.value.value.split()))
        kind = ast.unparse(part.annotation)  # a bar inside code does not end the cell
        preset = f" = `{ast.unparse(part.value)}`" if part.value is not None and _plain(part.value) else ""
        yield f"| `{part.target.id}` | `{kind}`{preset} | {about.replace('|', chr(92) + '|')} |"


def _plain(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant | ast.Tuple | ast.UnaryOp)


def _signature(node: ast.FunctionDef | ast.AsyncFunctionDef, *, method: bool = False) -> str:
    said = ast.unparse(node.args)
    if method:
        said = re.sub(r"^(self|cls)(, )?", "", said)
    back = f" -> {ast.unparse(node.returns)}" if node.returns is not None else ""
    if method and any(isinstance(mark, ast.Name) and mark.id == "property" for mark in node.decorator_list):
        return f"{node.name}{back}"
    return f"{node.name}({said}){back}"


def _inline(text: str) -> str:
    """One line of a docstring as Markdown: angle brackets outside code are text."""
    parts = re.sub(r":[a-z]+:(?=`)", "", text).replace("``", "`").split("`")
    return "`".join(
        part if odd % 2 else part.replace("<", "&lt;").replace("*", "\\*") for odd, part in enumerate(parts)
    )


def _plain_sections(lines: list[str]) -> Iterator[str]:
    """Sections of a docstring ("Parameters" over a line of hyphens) as plain words, their entries as a list."""
    in_list = False
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if line and not line.strip("-"):
            continue
        if following and not following.strip("-"):
            in_list = line in ("Parameters", "Returns")
            yield f"{line}:"
            yield ""
        elif in_list and line.startswith("    "):
            yield f"  {line.strip()}"
        else:
            yield f"- `{line}`:" if in_list and line else line


def _prose(text: str) -> list[str]:
    """A docstring as Markdown, its doctests as blocks."""
    lines: list[str] = []
    open_test = False
    for line in _plain_sections(inspect.cleandoc(text).split("\n")):
        starts = line.lstrip().startswith(">>>")
        if starts and not open_test:
            if lines and lines[-1].strip():
                lines.append("")
            lines.append("```pycon")
            open_test = True
        if open_test and not line.strip():
            lines += ["```", ""]
            open_test = False
            continue
        lines.append(line if open_test or line.startswith("    ") else _inline(line))
    if open_test:
        lines.append("```")
    return lines
