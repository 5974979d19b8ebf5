"""One way a command is given something wrong, and what it must say about it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["MISTAKE", "REFUSED", "Case", "cases"]

REFUSED, MISTAKE = 1, 2
"""Exit codes: the answer is no; the request needs mending."""


@dataclass(frozen=True)
class Case:
    """``words`` as typed, with @names standing for files of the workbench; ``says`` is all in the one sentence."""

    name: str
    words: tuple[str, ...]
    code: int
    says: tuple[str, ...]
    files: Mapping[str, bytes | Callable[[Path], None]] = field(default_factory=dict)
    """Written into the folder in which the command runs, beforehand."""
    env: Mapping[str, str] = field(default_factory=dict)
    told: bool = False
    """Whether standard output may hold the answer "no" (`verify`, `codebook check`); else it stays empty."""


def cases(command: str, *rows: tuple) -> list[Case]:  # type: ignore[type-arg]
    """(name, further words, code, says[, files[, env]]): cases of one command, named after it."""
    made = []
    for name, more, code, says, *rest in rows:
        files, env = (*rest, {}, {})[:2]
        said = (says,) if isinstance(says, str) else says
        made.append(
            Case(
                f"{command}: {name}",
                (*command.split(), *(more.split("|") if more else ())),
                code,
                said,
                files or {},
                env or {},
            )
        )
    return made
