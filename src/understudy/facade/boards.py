"""The limits of a board, set before a report is opened."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from understudy.evaluate.board import Board


def read_board(path: str | Path | None = None) -> Board:
    """The limits of a file, or the public defaults; ``.lines()`` names each, with its source."""
    from understudy.evaluate import board

    return board.Board() if path is None else board.read_board(path)


def save_board(path: str | Path, limits: dict[str, Any], *, by: str, on: dt.date | None = None) -> Board:
    """Write limits down as a `board.toml`, with who set them and when; all faults are told at once."""
    import tomlkit

    from understudy.evaluate import board
    from understudy.files import scratch_beside
    from understudy.release.folders import check_replaced, replace_file

    target = Path(path)
    decided = {**limits, "decided_by": by, "decided_on": (on or dt.datetime.now(dt.UTC).date()).isoformat()}
    text = tomlkit.dumps({name: value for name, value in decided.items() if value is not None})
    check_replaced(target, what="the limits")
    half = replace_file(scratch_beside(target), text, what="the limits")
    try:
        read = board.read_board(half)
        half.replace(target)
    finally:
        half.unlink(missing_ok=True)
    return read
