"""Long work that goes on whatever becomes of the page: one folder of files for each job.

::

    .studio/jobs/NONCE/      0700; made once, so that a form that is sent twice starts one job
        request.json         what is asked, by whom and when (JSON with a digest, see `kept.py`)
        lock                 held by the process that works; free as soon as it is gone, however it went
        pid                  of that process
        cancel               somebody asked it to stop
        progress.jsonl       steps, as the work reports them
        charge               number of the charge, written as soon as the account has it (JSON with a digest)
        result.json          how it ended; appears whole (JSON with a digest)

None of these is ever a link that leads out of the root: such a one counts as missing. Nothing else is kept: another
studio on the same root finds the same jobs, running or not. What an account was charged is read from the account, never
guessed. Work whose request is damaged may be any work on any data set: it keeps its number from being given again, and
holds up whatever it may be making.
"""

import datetime as dt
import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from understudy.errors import ParameterError, UnderstudyError
from understudy.facade import releases
from understudy.files import Access, make_folders, make_scratch, open_lock, refuse_special, write_file
from understudy.studio.kept import keep, kept
from understudy.studio.texts import texts
from understudy.studio.workspace import OutsideRootError, Root

if TYPE_CHECKING:
    from understudy.privacy.account import Charge

PAYING = ("synthesize",)
"""Kinds of work that an account is charged for; it only remembers the others."""
FOLDER = Path(".studio") / "jobs"
RELEASING = ("synthesize", "anonymize")
"""Kinds of work that make the next release of a data set: one at a time, or two would have one number."""
KEPT = 100
"""Folders of finished work that are kept for each data set."""
NONCE = re.compile(r"[0-9a-f]{32}")
REQUEST, PROGRESS, RESULT = "request.json", "progress.jsonl", "result.json"
LOCK, PID, CANCEL, CHARGE = "lock", "pid", "cancel", "charge"


class JobState(StrEnum):
    """Where a job stands."""

    RUNNING = "running"
    DONE = "done"
    REFUSED = "refused"
    CANCELLED = "cancelled"
    FAILED = "failed"
    """By a mistake of ours."""
    KILLED = "killed"
    """Its process is gone and left no result."""


class ChargeFact(StrEnum):
    """What the account says about a job."""

    FREE = "free"
    """Work of a kind that no account pays for."""
    NOTHING = "nothing"
    GIVEN_BACK = "given-back"
    HELD = "held"
    COMMITTED = "committed"
    UNKNOWN = "unknown"


@dataclass(frozen=True, kw_only=True)
class Step:
    """How far one step of the work is."""

    name: str
    done: int
    total: int
    began: float
    """Seconds since 1970."""
    last: float
    first: int = 0
    """How much was done when it was reported first: that took time before it began to be told."""

    @property
    def share(self) -> float:
        """Of the step that is done."""
        return min(1.0, self.done / self.total) if self.total else 0.0

    @property
    def seconds_left(self) -> float | None:
        """At the speed so far; None while nothing was done since it was reported first."""
        if self.done <= self.first or self.share == 1:
            return None
        return (self.last - self.began) * (self.total - self.done) / (self.done - self.first)


@dataclass(frozen=True, kw_only=True)
class Job:
    """One piece of work, as its folder tells."""

    root: Path
    nonce: str

    @property
    def folder(self) -> Path:
        """Where its files are."""
        return self.root / FOLDER / self.nonce

    def file(self, name: str) -> Path:
        """One of its files, to be read; where a link leads out of the root, or to a pipe, there is no such file."""
        try:
            place = Root(self.root.resolve()).path(FOLDER, self.nonce, name)
            refuse_special(place)
        except (OutsideRootError, OSError) as reason:
            raise FileNotFoundError(str(reason)) from None
        return place

    @property
    def request(self) -> dict[str, Any]:
        """What was asked: ``kind``, ``arguments``, ``about``, ``by`` and ``when``."""
        return self._read(REQUEST)

    @property
    def is_readable(self) -> bool:
        """Whether it is known what was asked; nothing else is known where the file is damaged."""
        return bool(self.request)

    @property
    def kind(self) -> str:
        """The use case."""
        return str(self.request.get("kind", ""))

    @property
    def arguments(self) -> dict[str, Any]:
        """Of the use case."""
        given = self.request.get("arguments")
        return given if isinstance(given, dict) else {}

    @property
    def result(self) -> dict[str, Any]:
        """What came of it; empty while it runs, or where it was killed."""
        return self._read(RESULT)

    def _read(self, name: str) -> dict[str, Any]:
        """One of its files; empty where it is not there, or nothing that was written here."""
        try:
            return kept(self.file(name))
        except OSError:  # a link to elsewhere
            return {}

    @property
    def state(self) -> JobState:
        """Running as long as its lock is held."""
        with suppress(OSError):
            if _is_held(self.file(LOCK)):
                return JobState.RUNNING
        ended = self.result.get("state")  # read after the lock: a job writes its result before it lets go
        return JobState(ended) if ended in list(JobState) else JobState.KILLED  # or somebody wrote into the file

    @property
    def waited(self) -> int:
        """Seconds since it was asked for, in steps of five."""
        try:
            begun = dt.datetime.fromisoformat(self.request["when"])
        except (KeyError, ValueError, TypeError):  # somebody cleans up just now, or wrote into the file
            return 0
        return max(0, int((dt.datetime.now(dt.UTC) - begun).total_seconds()) // 5 * 5)

    def steps(self) -> list[Step]:
        """Every step that was reported, in order."""
        steps: dict[str, Step] = {}
        with suppress(OSError):
            for line in self.file(PROGRESS).read_bytes().splitlines():
                if (told := _reported(line)) is not None:
                    known = steps.get(told.name, told)
                    steps[told.name] = replace(told, began=known.began, first=known.first)
        return list(steps.values())

    def cancel(self) -> None:
        """Ask it to stop, as Ctrl-C does: what nobody saw is given back."""
        if self.state is not JobState.RUNNING:
            return
        write_file(self.folder / CANCEL, "", Access.OWNER)  # read by a worker that only begins
        with suppress(OSError, ValueError):
            os.kill(int(self.file(PID).read_text(encoding="ascii")), signal.SIGINT)

    @property
    def is_stopping(self) -> bool:
        """Whether somebody asked it to stop."""
        return (self.folder / CANCEL).exists()

    def charge_fact(self) -> ChargeFact:
        """Whether it was charged, as the account says now."""
        if not self.is_readable:
            return ChargeFact.UNKNOWN
        account = self.arguments.get("account")
        if account is None or self.kind not in PAYING:
            return ChargeFact.FREE
        try:
            opened = releases.open_account(self.root / account)
            if self.is_noted:
                number = self._read(CHARGE).get("number")
                return _FACTS[next(charge for charge in opened.history() if charge.number == number).state.value]
            theirs = self._charges_of_nobody(account)
        except (UnderstudyError, OSError, ValueError, KeyError, StopIteration):
            return ChargeFact.UNKNOWN
        state = self.state
        if state is JobState.KILLED and any(charge.state.value == "held" for charge in theirs):
            return ChargeFact.HELD  # killed between the charge and its note
        # what ended well has noted what it paid; the note of other work may be lost, or was never written
        return ChargeFact.UNKNOWN if theirs or state is JobState.DONE else ChargeFact.NOTHING

    def _charges_of_nobody(self, account: str) -> "list[Charge]":
        """Charges that were made while this work went on, as far as that is known, and that no other work noted."""
        begun, ended = dt.datetime.fromisoformat(self.request["when"]), float("inf")
        with suppress(OSError):
            ended = self.file(RESULT).stat().st_mtime
        others = {
            job._read(CHARGE).get("number")
            for job in _jobs_of(self.root)
            if job.nonce != self.nonce and job.arguments.get("account") == account  # each account counts from the first
        }
        return [
            charge
            for charge in releases.charges_since(self.root / account, begun)
            if charge.number not in others and dt.datetime.fromisoformat(charge.when).timestamp() <= ended
        ]

    @property
    def is_noted(self) -> bool:
        """Whether something stands where the number of its charge is noted, readable or not."""
        return os.path.lexists(self.folder / CHARGE)


def _reported(line: bytes) -> Step | None:
    """A line of progress; the last one may be half written, and whoever wrote into the file said nothing."""
    try:
        told = json.loads(line)
        at, done, total = (told[name] for name in ("at", "done", "total"))
        is_told = isinstance(done, int) and isinstance(total, int) and isinstance(at, int | float)
        is_told = is_told and all(0 <= one < _MOST_TOLD for one in (at, done, total))
        return Step(name=str(told["step"]), done=done, total=total, began=at, last=at, first=done) if is_told else None
    except (ValueError, LookupError, TypeError, RecursionError):
        return None


_MOST_TOLD = 10**15
"""No moment and no number of anything that is done is larger."""
_FACTS = {"held": ChargeFact.HELD, "committed": ChargeFact.COMMITTED, "cancelled": ChargeFact.GIVEN_BACK}
_children: list["subprocess.Popen[bytes]"] = []


def start(
    root: Path, nonce: str, *, kind: str, arguments: Mapping[str, Any], about: str, by: str, **more: Any
) -> tuple[Job, bool]:
    """Start the work of a form, once: the same form again finds the job that is there. Whether it was started now.

    Paths in ``arguments`` are seen from the root, where the work is done. ``about`` is the data set, ``by`` a name;
    ``more`` is kept with the request.
    """
    if not NONCE.fullmatch(nonce):
        raise ParameterError(texts("common")["no_form_number"])
    Root(root.resolve()).path(FOLDER)  # nothing is written behind a link that leads out
    _children[:] = [child for child in _children if child.poll() is None]
    clean_up(root)
    job = Job(root=root, nonce=nonce)
    make_folders(job.folder.parent)
    half = make_scratch(job.folder)
    when = dt.datetime.now(dt.UTC).replace(microsecond=0).isoformat()  # accounts write down whole seconds
    request = {"kind": kind, "arguments": dict(arguments), "about": about, "by": by, "when": when, **more}
    keep(half / REQUEST, request)
    lock = open_lock(half / LOCK)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)  # the child inherits it: at no moment does the job look dead
        try:
            half.rename(job.folder)  # refused where there is such a job: a folder that is not empty
        except OSError:
            shutil.rmtree(half)
            return job, False
        _children.append(_spawned(job, lock))
    finally:
        os.close(lock)
    return job, True


def _spawned(job: Job, lock: int) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        # -P: nothing that lies in the root is imported
        [sys.executable, "-P", "-m", "understudy.studio.worker", str(job.folder.absolute()), str(lock)],
        cwd=job.root,
        env=child_environment(),
        pass_fds=[lock],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C on the studio's terminal is not for the job
    )


def child_environment() -> dict[str, str]:
    """For a process of ours: the understudy that runs here, wherever it was started."""
    here = str(Path(__file__).parents[2])
    return {**os.environ, "PYTHONPATH": os.pathsep.join([here, *_absolute_paths()])}


def _absolute_paths() -> list[str]:
    return [str(Path(path).absolute()) for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]


def find(root: Path, nonce: str) -> Job | None:
    """The job of this name, if there is one."""
    job = Job(root=root, nonce=nonce)
    with suppress(FileNotFoundError):
        if NONCE.fullmatch(nonce) and job.file(REQUEST).is_file():
            return job
    return None


def all_jobs(root: Path, *, about: str | None = None, kinds: Collection[str] = ()) -> list[Job]:
    """Those of a root, or about one data set, of all kinds or of some; the latest first.

    Work whose request is damaged may be any of them.
    """

    def is_meant(job: Job) -> bool:
        asked = job.request
        return not asked or ((about is None or asked.get("about") == about) and (not kinds or job.kind in kinds))

    return sorted(filter(is_meant, _jobs_of(root)), key=_asked_at, reverse=True)


def releasing(root: Path, about: str) -> Job | None:
    """The work that makes the next release of a data set right now, if there is any."""
    known = all_jobs(root, about=about, kinds=RELEASING)
    return next((job for job in known if job.state is JobState.RUNNING), None)


def _asked_at(job: Job) -> float:
    with suppress(OSError):
        return job.file(REQUEST).stat().st_mtime
    return 0.0  # somebody cleans up just now


def clean_up(root: Path, *, spare: int = KEPT) -> int:
    """Remove folders of old work, and return how many: of each data set the newest ``spare`` stay.

    Work that runs stays, and work whose account entry is open or cannot be read: its folder is what tells people that
    a price counts as spent though nothing was finished.
    """
    removed = 0
    newest: dict[str, int] = {}
    for job in all_jobs(root):
        about = str(job.request.get("about"))
        newest[about] = newest.get(about, 0) + 1
        if newest[about] <= spare or job.state is JobState.RUNNING:
            continue
        if job.charge_fact() in (ChargeFact.HELD, ChargeFact.UNKNOWN):
            continue
        shutil.rmtree(job.folder, ignore_errors=True)
        removed += 1
    return removed


def _jobs_of(root: Path) -> Iterator[Job]:
    with suppress(OSError):
        for folder in (root / FOLDER).iterdir():
            if (job := find(root, folder.name)) is not None:
                yield job


def _is_held(path: Path) -> bool:
    """Whether another process holds the lock. Asked with a shared lock, so that two who ask do not see each other."""
    try:
        lock = path.open("rb")
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        lock.close()
    return False
