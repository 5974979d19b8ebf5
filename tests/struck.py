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
from understudy.privacy.account import Account, ChargeState
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


def charge_after(account, point: Point, blow: str, *, seen_early: bool = False) -> ChargeState:
    """The state of its one charge, held against the policy."""
    (charge,) = account.history()
    assert charge.state in expected(point, blow, seen_early=seen_early)
    if charge.state is ChargeState.CANCELLED:
        assert charge.digest is None
    return charge.state


def striking(monkeypatch, point: Point, blow: str) -> list[Point]:
    """Strike whatever pays next at one point; the list says whether it was struck."""
    struck: list[Point] = []

    def reached(_payment, where):
        if where is point and not struck:
            struck.append(where)
            raise BLOWS[blow]

    monkeypatch.setattr(Payment, "reached", reached)
    monkeypatch.delenv("UNDERSTUDY_TRACEBACK", raising=False)
    return struck


GRID = [(name, point, blow) for name in COMMANDS for point in Point for blow in BLOWS]


def strike(prepared, tmp_path, monkeypatch, name, point, blow):
    """Run a command, strike it at one point, and hold the account against the policy."""
    words, folder = COMMANDS[name], shutil.copytree(prepared, tmp_path / "f")
    struck = striking(monkeypatch, point, blow)
    code, said = call(folder, words)
    assert struck == [point] and code != 0, said
    seen_early = "--engine" in words or "wishes" in words
    state = charge_after(account_of(words, folder), point, blow, seen_early=seen_early)
    assert not (folder / "out").exists()  # it appears after the last point
    if state is not ChargeState.CANCELLED and blow == "interrupt":
        assert "charged" in said
    assert not list(folder.glob(".out-unfinished-*"))


POINTS_AND_BLOWS = [(point, blow) for point in Point for blow in BLOWS]


def strike_job(prepared, tmp_path, monkeypatch, point, blow):
    """The same for a job of the studio: what its page says of the charge is what the account says."""
    from understudy.studio import jobs, kept, worker

    root = shutil.copytree(prepared, tmp_path / "root")
    job = jobs.Job(root=root, nonce="0" * 32)
    job.folder.mkdir(parents=True)
    recipe = {"method": "laplace", "epsilon": 1.0, "rows": 50}
    asked = {"data": "data.parquet", "book": "book.toml", "out": "out", "account": "a.account", **recipe}
    request = {"kind": "synthesize", "arguments": asked, "about": "d", "by": "A", "when": "2026-01-01T00:00:00+00:00"}
    kept.keep(job.folder / jobs.REQUEST, request)
    monkeypatch.setattr("os.register_at_fork", lambda **_: None)  # the worker is this process here
    monkeypatch.setattr("signal.signal", lambda *_: None)
    struck = striking(monkeypatch, point, blow)
    with contextlib.chdir(root):
        worker.main(job.folder, -1)
    assert struck == [point], job.result
    state = charge_after(Account.open(root / "a.account"), point, blow)
    assert job.charge_fact() is jobs.ChargeFact(_FACTS[state])
    ends = {"interrupt": {jobs.JobState.CANCELLED}, "refusal": {jobs.JobState.REFUSED}, "bug": {jobs.JobState.FAILED}}
    assert job.state in ends.get(blow, {jobs.JobState.REFUSED, jobs.JobState.FAILED}), job.result
    assert not (root / "out").exists() and not list(root.glob(".out-unfinished-*"))


_FACTS = {ChargeState.HELD: "held", ChargeState.COMMITTED: "committed", ChargeState.CANCELLED: "given-back"}
