"""What was seen in the rows, kept beside the data set: no screen reads the rows itself.

Each kind of look is made by a process of its own (`looking.py`), so that a huge or broken file cannot take the studio
down or fill its memory. The result is a file of mode 0600 under ``.looks/``, with a key that says which rows and which
codebook it was made from.
"""

import contextlib
import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from understudy.errors import ParameterError
from understudy.files import refuse_special
from understudy.studio.kept import keep, kept
from understudy.studio.texts import texts
from understudy.studio.workspace import Dataset, file_of, private_folder, write_private

KINDS = ("rows", "draft", "columns", "rules", "persons", "answers", "accepted", "parted", "taken", "divided")
"""Looks; the last five also write: into the codebook what a person answered, or which people were kept back."""
_WRITING = ("draft", "answers", "accepted", "parted", "taken", "divided")
_NEEDS_BOOK = ("columns", "rules", "persons")
_starting = threading.Lock()
_DIES_AFTER = 3600
"""Seconds after which a look is taken for dead whose process has not started, or cannot be told from others."""


@dataclass(frozen=True, kw_only=True)
class Look:
    """One look at the rows: missing, under way, or done."""

    kind: str
    is_running: bool = False
    is_stale: bool = False
    """Whether rows or codebook have changed since."""
    problem: str = ""
    """Why it could not be made."""
    seen: Any = None
    """What it found; None where there is nothing yet."""


def find_look(own: Dataset, kind: str) -> Look:
    """The newest look of a kind."""
    running = _is_running(own, kind)
    found = kept(look_file(own, kind, "json"))
    if not found:
        return Look(kind=kind, is_running=running)
    return Look(
        kind=kind,
        is_running=running,
        is_stale=found["key"] != key_of(own, kind),
        problem=found.get("problem", ""),
        seen=found.get("seen"),
    )


def look_file(own: Dataset, kind: str, ending: str) -> Path:
    """A file of a look, to be read; a link that leads out of the folder of the data set is refused."""
    return own.path(".looks", f"{kind}.{ending}")


def is_looking(own: Dataset) -> bool:
    """Whether anything is under way."""
    return any(_is_running(own, kind) for kind in KINDS)


def is_writing(own: Dataset) -> bool:
    """Whether somebody is at it who writes the codebook in the end, from what it was in the beginning."""
    return any(_is_running(own, kind) for kind in _WRITING)


def looking_for(own: Dataset) -> float:
    """Seconds since those who look began; 0 where nobody does."""
    begun = []
    for kind in KINDS:
        with contextlib.suppress(OSError, ValueError, IndexError):
            begun.append(int(_marker(own, kind)[1]))
    return max(0.0, time.time() - min(begun)) if begun and is_looking(own) else 0.0


def start_look(own: Dataset, *kinds: str, given: Any = None) -> None:
    """Begin to look, one kind after the other, unless somebody is looking already; ``given`` is for the first."""
    own.data  # noqa: B018 - refuses an address that leads out of the root
    folder = private_folder(own.looks)
    with _starting:
        if is_looking(own):
            raise ParameterError(texts("common")["busy"])
        # the marker stands before the process does: a page that is asked for now must not start a second one
        for kind in kinds:
            write_private(folder / f"{kind}.running", f"0 {time.time():.0f}")
    if given is not None:
        keep(folder / f"{kinds[0]}.given", given)
    else:
        (folder / f"{kinds[0]}.given").unlink(missing_ok=True)  # of a look that was killed before it began
    (folder / f"{kinds[0]}.json").unlink(missing_ok=True)  # later kinds are as they were, until their turn comes
    words = [sys.executable, "-m", "understudy.studio.looking", str(own.root.folder), own.name, *kinds]
    process = subprocess.Popen(
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        start_new_session=True,
    )
    for kind in kinds:
        write_private(folder / f"{kind}.running", f"{process.pid} {time.time():.0f}")
    threading.Thread(target=_reap, args=(process, folder, kinds), daemon=True).start()


def stop_looks(own: Dataset) -> None:
    """End whoever is looking; answers that were not written yet are not written."""
    pids = {pid for kind in KINDS if (pid := _pid_of(own, kind))}
    for pid in pids:
        with contextlib.suppress(OSError):
            os.killpg(pid, signal.SIGKILL)  # it leads a group of its own, see start_look
    for kind in KINDS:
        (own.looks / f"{kind}.running").unlink(missing_ok=True)
        (own.looks / f"{kind}.given").unlink(missing_ok=True)


def _reap(process: subprocess.Popen[bytes], folder: Path, kinds: tuple[str, ...]) -> None:
    """A child that ended must not look alive; one that was killed has left its markers behind, which go now."""
    process.wait()
    with contextlib.suppress(OSError):
        for kind in kinds:
            marker = folder / f"{kind}.running"
            if marker.is_file() and marker.read_text().split()[0] == str(process.pid):  # not that of a later look
                marker.unlink(missing_ok=True)


def keep_look(own: Dataset, kind: str, key: str, **content: Any) -> None:
    """Write down what was seen."""
    folder = private_folder(own.looks)
    keep(folder / f"{kind}.json", {"key": key, **content})
    (folder / f"{kind}.running").unlink(missing_ok=True)


def _marker(own: Dataset, kind: str) -> list[str]:
    place = look_file(own, kind, "running")
    refuse_special(place)  # a pipe would be waited for
    return place.read_text(encoding="ascii").split()


def _pid_of(own: Dataset, kind: str) -> int | None:
    """Who is looking: None for nobody, 0 for a process that is just being started."""
    try:
        pid, since = map(int, _marker(own, kind))
    except (OSError, ValueError):
        return None
    told = _is_ours(own, pid) if pid else None
    if told is None:  # not started yet, or the system does not say what the process is
        return None if time.time() - since > _DIES_AFTER else pid
    return pid if told else None


def _is_ours(own: Dataset, pid: int) -> bool | None:
    """Whether the process is alive and looks at this data set, however long; None if it lives and hides what it is.

    A number may have gone to another process meanwhile.
    """
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    place = Path(f"/proc/{pid}")
    try:
        words = (place / "cmdline").read_bytes().split(b"\0")
        if not any(words):  # one that ended and waits to be noticed, or one that begins right now
            return False if (place / "stat").read_bytes().rpartition(b")")[2].split()[0] == b"Z" else None
    except OSError:
        return None
    ours = [b"understudy.studio.looking", os.fsencode(own.root.folder), own.name.encode()]
    return any(words[place : place + 3] == ours for place in range(len(words)))


def _is_running(own: Dataset, kind: str) -> bool:
    return _pid_of(own, kind) is not None


def key_of(own: Dataset, kind: str) -> str:
    """A digest of what a look depends on: address, size and time of the files, and what the codebook says."""
    from understudy.studio.stored_books import load_book, tables_of

    address = own.data
    facts: list[Any] = [address, own.table]
    place = Path(file_of(address))
    with contextlib.suppress(OSError):
        for each in sorted(place.iterdir()) if place.is_dir() else [place]:
            stat = each.stat()
            facts += [stat.st_size, stat.st_mtime_ns]
    if kind in _NEEDS_BOOK and own.codebook.is_file():
        book = load_book(own)
        parts = tables_of(book)
        facts += [[table, *(column.content for column in part.written)] for table, part in parts.items()]
        if kind == "rules":  # rules that the codebook has are not proposed: one that was taken back may be again
            facts += [[rule.content for rule in part.constraints] for part in parts.values()]
            facts += [rule.content for rule in getattr(book, "rules", ())]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:32]
