"""Small faults that a person might make: every place of a module where one fits, each with a name that lasts.

A mutant is named by its function and by what became of one expression, not by a line: so a list of them outlives edits
elsewhere in the file. Messages, annotations, docstrings and assertions are left alone: they hold no promise.
"""

import ast
import copy
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Pow: ast.Mult,
    ast.Mod: ast.Mult, ast.LShift: ast.RShift, ast.RShift: ast.LShift, ast.BitOr: ast.BitAnd, ast.BitAnd: ast.BitOr,
}  # fmt: skip
_SPEAKING = ast.JoinedStr | ast.Assert | ast.Import | ast.ImportFrom
_FUNCTION = ast.FunctionDef | ast.AsyncFunctionDef
_SILENT = {"__repr__", "__str__"}


@dataclass(frozen=True)
class Mutant:
    """One fault in one module."""

    module: str
    """Path below ``src/understudy``."""
    place: str
    """Class and function, or ``module``."""
    change: str
    make: Callable[[], str]
    """Writes the source; thousands of mutants are named, and only some are made."""
    is_inside: bool
    """Whether it lies inside a function."""
    is_constant: bool
    """Whether it lies in the value of a constant of the module, such as ``LIMIT = 2``."""
    is_compiled: bool
    """Whether it lies in a Numba kernel."""

    @property
    def source(self) -> str:
        """The whole module with the fault in it."""
        return self.make()

    @property
    def name(self) -> str:
        return f"{self.module}: {self.place}: {self.change}"


def _faults(node: ast.AST) -> Iterator[ast.AST]:
    """What may stand in the place of a node."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _COMPARISONS:
        yield ast.Compare(node.left, [_COMPARISONS[type(node.ops[0])]()], node.comparators)
    elif isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
        if not any(isinstance(side, ast.Constant) and isinstance(side.value, str) for side in (node.left, node.right)):
            yield ast.BinOp(node.left, _ARITHMETIC[type(node.op)](), node.right)
    elif isinstance(node, ast.AugAssign) and type(node.op) in _ARITHMETIC:
        yield ast.AugAssign(node.target, _ARITHMETIC[type(node.op)](), node.value)
    elif isinstance(node, ast.BoolOp):
        yield ast.BoolOp(ast.And() if isinstance(node.op, ast.Or) else ast.Or(), node.values)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        yield node.operand
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield ast.Constant(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        yield ast.Constant(node.value + 1)
    elif isinstance(node, ast.Raise) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)):
        if not ast.unparse(node).startswith("super()"):  # without it a function has other variables: no live one fits
            yield ast.Pass()
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("min", "max"):
        yield ast.Call(ast.Name("max" if node.func.id == "min" else "min", ast.Load()), node.args, node.keywords)


@dataclass(frozen=True)
class _Where:
    """Where a walk through a module is."""

    names: tuple[str, ...] = ()
    is_inside: bool = False
    is_constant: bool = False
    is_compiled: bool = False

    def into(self, field: str, parent: ast.AST, child: ast.AST) -> "_Where":
        """One step down."""
        inside = self.is_inside or (field == "body" and isinstance(parent, _FUNCTION))
        if not isinstance(child, _FUNCTION | ast.ClassDef):
            constant = isinstance(parent, ast.Module) and _names_a_constant(child)
            return replace(self, is_inside=inside, is_constant=self.is_constant or constant)
        kernel = any("kernel" in ast.unparse(mark) for mark in child.decorator_list)
        return _Where((*self.names, child.name), is_inside=inside, is_compiled=self.is_compiled or kernel)


def _names_a_constant(statement: ast.AST) -> bool:
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    is_plain = isinstance(statement, ast.Assign | ast.AnnAssign) and isinstance(targets[0], ast.Name)
    return is_plain and not isinstance(statement.value, ast.Call | ast.Lambda)


def _places(node: ast.AST, where: _Where) -> Iterator[tuple[ast.AST, str, int | None, ast.AST, _Where]]:
    """Every node below one, with its parent and field; nothing that only speaks."""
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        for number, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if not isinstance(child, ast.AST) or isinstance(child, _SPEAKING):
                continue
            if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
                continue
            if isinstance(child, _FUNCTION) and child.name in _SILENT:
                continue
            below = where.into(field, node, child)
            yield node, field, number, child, below
            if not isinstance(child, ast.Raise):  # removed as a whole, or left as it is
                yield from _places(child, below)


def mutants_of(path: Path, module: str) -> Iterator[Mutant]:
    """All of a module, in the order of its lines."""
    return mutants_of_text(path.read_text(encoding="utf-8"), module)


def mutants_of_text(text: str, module: str) -> Iterator[Mutant]:
    """All of a module that is given by its text."""
    tree = ast.parse(text)
    seen = Counter[tuple[str, str]]()
    for parent, field, number, child, where in list(_places(tree, _Where())):
        for fault in _faults(child):
            change = f"{_short(child)} -> {_short(fault)}"
            place = ".".join(where.names) or "module"
            seen[place, change] += 1
            again = seen[place, change]
            yield Mutant(
                module=module,
                place=place,
                change=change if again == 1 else f"{change} ({again})",
                make=partial(_with, tree, parent, field, number, child, fault),
                is_inside=where.is_inside,
                is_constant=where.is_constant,
                is_compiled=where.is_compiled,
            )


def told_by_functions(path: Path) -> str:
    """The source with a call at the beginning of every function that says its name: which test runs which function."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for _, _, _, child, where in list(_places(tree, _Where())):
        if isinstance(child, _FUNCTION) and not where.is_compiled:
            call = ast.Call(ast.Name("__seen__", ast.Load()), [ast.Constant(".".join(where.names))], [])
            child.body.insert(1 if ast.get_docstring(child) is not None else 0, ast.Expr(call))
    return ast.unparse(ast.fix_missing_locations(tree))


def _short(node: ast.AST) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 100 else f"{text[:60]} ... {text[-35:]}"


def _with(tree: ast.AST, parent: ast.AST, field: str, number: int | None, child: ast.AST, fault: ast.AST) -> str:
    """The whole source with the fault in place; the tree is as before afterwards."""
    value = getattr(parent, field)
    try:
        if number is None:
            setattr(parent, field, fault)
        else:
            value[number] = fault
        return ast.unparse(ast.fix_missing_locations(copy.deepcopy(tree)))
    finally:
        if number is None:
            setattr(parent, field, value)
        else:
            value[number] = child
