"""A paying command struck at one point of its payment, and the account held against the policy."""

import contextlib
import errno
import io
import shutil
from pathlib import Path

import pytest
from paying_commands import COMMANDS, account_of

from understudy.cli.app import main
from understudy.errors import RefusalError
from understudy.privacy.account import ChargeState
from understudy.privacy.transaction import Payment, Point

FULL = OSError(errno.ENOSPC, "No space left on device")
LOST = ConnectionResetError("the answer never came")
BLOWS = {
    "interrupt": KeyboardInterrupt(),
    "full disk": FULL,
    "refusal": RefusalError("nothing can be drawn"),
    "bug": IndexError("list index out of range"),
    "lost answer": LOST,
}


def call(folder: Path, words: str) -> tuple[int, str]:
    said = io.StringIO()
    with (
        contextlib.chdir(folder),
        contextlib.redirect_stdout(said),
        contextlib.redirect_stderr(said),
        pytest.raises(SystemExit) as stop,
    ):
        main(words.split())
    return int(stop.value.code or 0), " ".join(said.getvalue().split())


def expected(point: Point, blow: str, *, seen_early: bool) -> set[ChargeState]:
    """What the policy says, in its own words."""
    if point is Point.RESERVED:
        return {ChargeState.CANCELLED}  # nothing was drawn
    if point is Point.COMMITTED:
        return {ChargeState.COMMITTED}
    shown = point is Point.COMMITTING or (seen_early and point is Point.DRAWN)
    if shown:  # parts on a disk, and how long several tries took, may be seen; a commit may have arrived
        return {ChargeState.HELD, ChargeState.COMMITTED}
    # only the moment of an interrupt says nothing about what was drawn
    return {ChargeState.CANCELLED} if blow == "interrupt" else {ChargeState.COMMITTED}


GRID = [(name, point, blow) for name in COMMANDS for point in Point for blow in BLOWS]


def strike(prepared, tmp_path, monkeypatch, name, point, blow):
    """Run a command, strike it at one point, and hold the account against the policy."""
    words, folder = COMMANDS[name], shutil.copytree(prepared, tmp_path / "f")
    struck = []

    def reached(_payment, where):
        if where is point and not struck:
            struck.append(where)
            raise BLOWS[blow]

    monkeypatch.setattr(Payment, "reached", reached)
    monkeypatch.delenv("UNDERSTUDY_TRACEBACK", raising=False)
    code, said = call(folder, words)
    assert struck == [point] and code != 0, said
    charges = account_of(words, folder).history()
    assert len(charges) == 1 and charges[0].state in expected(
        point, blow, seen_early="--engine" in words or "wishes" in words
    ), said
    assert not (folder / "out").exists()  # it appears after the last point
    if charges[0].state is ChargeState.CANCELLED:
        assert charges[0].digest is None
    if charges[0].state is not ChargeState.CANCELLED and blow == "interrupt":
        assert "charged" in said
    assert not list(folder.glob(".out-unfinished-*"))
