"""Parameters that many use cases share are described here, once; `help()` shows them with the others."""

import inspect
import re
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

SHARED = {
    "data": "Path, address or table.",
    "book": "Codebook, or the path of one.",
    "rows": "Synthetic rows to draw; a public number.",
    "method": "Name of a method (``us.METHODS``) whose options follow by name, a recipe such as ``us.Marginals(...)``, "
    "or what\n    ``us.read_recipe`` read from a file.",
    "unknown": "Values outside the codebook: ``error``, ``missing``, ``other``, ``other-or-missing``, or ``clamp`` "
    "(numbers and dates beyond their bounds become the bound).",
    "table": "Table in a database.",
    "seed": "Reproducible, for simulation: what is made is then not private.",
    "report": "Called with step, done and total.",
}
UseCase = TypeVar("UseCase", bound=Callable[..., Any])
_PARAMETERS = re.compile(r"(?<=Parameters\n----------\n)(.*?)(?=\n\n|\Z)", re.S)


def documented(use_case: UseCase) -> UseCase:
    """Complete the help of a use case."""
    use_case.__doc__ = completed(inspect.getdoc(use_case) or "", inspect.signature(use_case).parameters)
    return use_case


def completed(text: str, names: Iterable[str]) -> str:
    """A docstring whose parameters stand in the order of ``names``, with shared ones that it leaves out."""
    own = re.split(r"\n(?=\S)", _PARAMETERS.findall(text)[0])
    by_name = {name.strip(" *"): entry for entry in own for name in entry.partition("\n")[0].split(",")}
    shared = {name: f"{name}\n    {words}" for name, words in SHARED.items()}
    entries = dict.fromkeys(by_name.get(name) or shared[name] for name in names)
    return _PARAMETERS.sub(lambda _: "\n".join(entries), text)
