"""Numbers as a person types them."""

import typer


def whole_number(text: str) -> int:
    """A whole number, or a sentence that quotes what was written instead (defaults come as numbers)."""
    try:
        if not str(text).isascii():  # Python would read the digits of every script, and a mistyped one among them
            raise ValueError
        return int(text)
    except ValueError:
        raise typer.BadParameter(f"{_cut(text)} is not a whole number; write digits only, for example 1000.") from None


def number(text: str) -> float:
    """A number, or a sentence that quotes what was written instead."""
    try:
        if not str(text).isascii():
            raise ValueError
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"{_cut(text)} is not a number; write it like 0.5 or 1e-6.") from None


def _cut(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:60]}…")
