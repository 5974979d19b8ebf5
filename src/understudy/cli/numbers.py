"""Numbers as a person types them."""

import typer

from understudy.parameters import number_of


def whole_number(text: str) -> int:
    """A whole number, or a sentence that quotes what was written instead (defaults come as numbers)."""
    read: int | str = number_of(str(text), int)
    if isinstance(read, str):
        raise typer.BadParameter(f"{_cut(text)} is not a whole number; write digits only, for example 1000.")
    return read


def number(text: str) -> float:
    """A number, or a sentence that quotes what was written instead."""
    read: float | str = number_of(str(text))
    if isinstance(read, str):
        raise typer.BadParameter(f"{_cut(text)} is not a number; write it like 0.5 or 1e-6.")
    return read


def _cut(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:60]}…")
