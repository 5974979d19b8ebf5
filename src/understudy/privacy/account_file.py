"""The file behind an account: a chain of lines in SQLite, each with the digest of all before it.

Opening an account is one line, and so is every reservation, commit, cancellation, claim, plan and look. Nothing is
ever changed or deleted, and what an account is follows from its lines alone. A flipped bit breaks the chain at the line
it hit, which is then named; a larger cap never comes out of it.

Every operation opens its own connection and closes it, so that an account may be used by several threads,
forked or pickled without sharing a handle (SQLite forbids carrying one across a fork).
"""

import hashlib
import json
import sqlite3
import uuid
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from understudy.errors import AccountError
from understudy.files import make_empty
from understudy.loading import loading

SCHEMA_VERSION = 2
_APPLICATION_ID = 0x556E6473  # "Unds": how a file says whose it is (SQLite header, offset 68)

# No line is ever changed or deleted: the triggers hold even against a bug of ours or a hand with the sqlite3 shell,
# and the chain finds what got past them.
_SCHEMA = (
    f"PRAGMA application_id = {_APPLICATION_ID}",
    f"PRAGMA user_version = {SCHEMA_VERSION}",
    """CREATE TABLE lines (
    number INTEGER PRIMARY KEY CHECK (number > 0),
    kind TEXT NOT NULL,
    body TEXT NOT NULL,
    digest TEXT NOT NULL
)""",
    """CREATE TRIGGER lines_stay BEFORE UPDATE ON lines
BEGIN SELECT RAISE(ABORT, 'a line of an account never changes'); END""",
    """CREATE TRIGGER lines_last BEFORE DELETE ON lines
BEGIN SELECT RAISE(ABORT, 'a line of an account is never deleted'); END""",
)


@dataclass(frozen=True, kw_only=True)
class Line:
    """Something that happened to an account."""

    number: int
    kind: str
    body: Mapping[str, Any]


class Lines:
    """The whole chain, checked, and the pen that writes its next line."""

    def __init__(self, path: Path, connection: sqlite3.Connection, identity: str | None = None) -> None:
        self._connection = connection
        self.digest = ""
        """Of the last line, which speaks for all."""
        self.all: list[Line] = []
        rows = connection.execute("SELECT number, kind, body, digest FROM lines ORDER BY number").fetchall()
        for place, (number, kind, text, digest) in enumerate(rows, start=1):
            self.digest = _next_digest(self.digest, place, kind, text)
            if number != place or digest != self.digest:
                raise AccountError(_broken(path, place, kind, text))
            self.all.append(Line(number=number, kind=kind, body=json.loads(text)))
        if not self.all:
            raise AccountError(f"`{path}` has no cap in it; the account is damaged. Restore a complete copy.")
        if identity is not None and self.all[0].body.get("identity") != identity:
            raise AccountError(
                f"`{path}` holds another account than the one that was opened there: it was replaced since. Put the "
                "first one back, or open the account again and begin anew."
            )

    def append(self, kind: str, **body: Any) -> None:
        """One line more; it is on disk when the block of :func:`writing` has ended."""
        line = Line(number=len(self.all) + 1, kind=kind, body=body)
        self.digest = _insert(self._connection, self.digest, line)
        self.all.append(line)


def _insert(connection: sqlite3.Connection, before: str, line: Line) -> str:
    text = json.dumps(line.body, ensure_ascii=False, sort_keys=True)
    digest = _next_digest(before, line.number, line.kind, text)
    connection.execute("INSERT INTO lines VALUES (?, ?, ?, ?)", (line.number, line.kind, text, digest))
    return digest


def _next_digest(before: str, number: int, kind: str, text: str) -> str:
    return hashlib.sha256("\n".join([before, str(number), str(kind), str(text)]).encode()).hexdigest()


def _broken(path: Path, place: int, kind: Any, text: Any) -> str:
    try:
        when = json.loads(text).get("when", "an unknown time")
    except (ValueError, TypeError, AttributeError):
        when = "an unknown time"
    return (
        f"`{path}` was changed outside understudy: its line {place} ({str(kind)[:20]!r}, of {str(when)[:32]}) is not "
        "the one that was written, so what has been spent cannot be known and nothing may be released. Restore a copy "
        "that holds every charge; do not start a new account for the same data."
    )


def create_file(path: Path, terms: Mapping[str, Any]) -> None:
    """Write a new account file, for its owner only (0600); an existing file is never touched."""
    try:
        make_empty(path)
    except FileExistsError:
        raise AccountError(
            f"`{path}` exists already; an account is never overwritten, because its charges would be lost. "
            "Open it, or choose another file name for another data set."
        ) from None
    except OSError as error:
        raise AccountError(
            f"`{path}` cannot be created ({error.strerror}); an account needs a folder that exists and that "
            "this user may write to. Make the folder or choose another one."
        ) from error
    try:
        with closing(_connect(path, 0.0)) as connection:
            connection.execute("PRAGMA journal_mode = DELETE")
            with connection:
                connection.execute("BEGIN IMMEDIATE")
                _begin(connection, terms)
    except BaseException as error:
        path.unlink(missing_ok=True)  # we made it a moment ago and nothing was ever charged to it
        if isinstance(error, sqlite3.Error):
            raise AccountError(_sentence(path, 0.0, error)) from error
        raise


def _begin(connection: sqlite3.Connection, terms: Mapping[str, Any]) -> None:
    for command in _SCHEMA:
        connection.execute(command)
    _insert(connection, "", Line(number=1, kind="opened", body=terms))


@contextmanager
def open_lines(path: Path, patience: float, identity: str | None = None, *, write: bool) -> Iterator[Lines]:
    """The lines as they are at one moment, of no other account than ``identity``.

    With ``write`` nobody else writes until the block ends, which commits when it ends well: BEGIN IMMEDIATE takes the
    write lock before the balance is read; with a plain BEGIN two processes could read the same balance and both spend
    it.
    """
    if path.is_symlink():
        raise AccountError(
            f"`{path}` is a symbolic link, and what is behind it may be exchanged; name the file of the account itself."
        )
    if not path.is_file():
        fault = "is not a file" if path.exists() else "does not exist"
        raise AccountError(
            f"`{path}` {fault}, so there is no account to charge. "
            "Check the path, or create the account once with its cap: `understudy account create`."
        )
    if (names := path.stat().st_nlink) > 1:
        # SQLite finds what an interrupted charge left behind by the name of the file; under another name it would go
        # on without, and the first name would later undo the charges made in between
        raise AccountError(
            f"`{path}` is one of {names} names of one file (hard links), and a charge that is interrupted under one of "
            "them is not seen under the others. Keep one name and remove the others; make copies instead."
        )
    try:
        with sound(path):
            opened = _connect(path, patience)
        with closing(opened) as connection:
            with sound(path):
                if _version(path, connection) < SCHEMA_VERSION:
                    _bring_up(path, connection)
            with connection:  # commits, or rolls back whatever is raised
                with sound(path):
                    connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
                    lines = Lines(path, connection, identity)
                yield lines
    except sqlite3.Error as error:
        raise AccountError(_sentence(path, patience, error)) from error


@contextmanager
def sound(path: Path) -> Iterator[None]:
    """What an account holds that nobody wrote; errors of SQLite have sentences of their own."""
    remedy = "restore a copy that holds every charge; do not start a new account for the same data."
    failed: list[sqlite3.Error] = []
    with loading(path, "the account", remedy=remedy, error=AccountError):
        try:
            yield
        except sqlite3.Error as error:
            failed.append(error)
    if failed:
        raise failed[0]


def _connect(path: Path, patience: float) -> sqlite3.Connection:
    # mode=rw: a mistyped path must not become an empty account with a full budget.
    connection = sqlite3.connect(
        path.absolute().as_uri() + "?mode=rw", uri=True, timeout=patience, isolation_level=None
    )
    # Rollback journal (DELETE), not WAL: an account is written a few times a day, so WAL's speed buys
    # nothing, and WAL keeps committed charges in a second file that a copy or a backup forgets, and needs
    # memory shared by all processes, which a network file system does not give. In DELETE mode the commit
    # *is* the unlinking of the journal, so FULL can lose the last commit to a power cut (the journal comes
    # back and undoes a charge whose release is out); EXTRA is FULL plus a sync of the folder.
    connection.execute("PRAGMA synchronous = EXTRA")
    return connection


def _version(path: Path, connection: sqlite3.Connection) -> int:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application != _APPLICATION_ID:
        raise AccountError(_not_an_account(path))
    if version not in (1, SCHEMA_VERSION):
        raise AccountError(
            f"`{path}` has account schema version {version}; this understudy reads versions 1 and {SCHEMA_VERSION} "
            "only, because a misread charge could overspend. Use the version of understudy that wrote it."
        )
    return int(version)


def _bring_up(path: Path, connection: sqlite3.Connection) -> None:
    """An account of version 1 becomes a chain of lines, once: every charge, in the order of its reservation."""
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        if _version(path, connection) < SCHEMA_VERSION:  # another process may have been first
            terms, *_ = _rows(connection, "terms")
            charges = _rows(connection, "charges ORDER BY number")
            connection.execute("DROP TABLE charges")
            connection.execute("DROP TABLE terms")
            _begin(connection, {"identity": uuid.uuid4().hex, **{name: terms[name] for name in _TERMS_1}})
            lines = Lines(path, connection)
            for charge in charges:
                kept = {name: charge[name] for name in ("label", "ledger", "delta", "cost", "total")}
                lines.append("reserved", charge=charge["number"], when=charge["reserved"], **kept)
                if charge["state"] != "held":
                    settled = {"when": charge["settled"], "release": charge["release_id"]}
                    lines.append(charge["state"], charge=charge["number"], **settled)


_TERMS_1 = ("dataset", "epsilon", "delta", "neighbours", "composition", "renyi_order", "created")


def _rows(connection: sqlite3.Connection, table: str) -> list[dict[str, Any]]:
    """A table of version 1: there was one of terms and one of charges."""
    cursor = connection.execute(f"SELECT * FROM {table}")
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def _not_an_account(path: Path) -> str:
    return (
        f"`{path}` is not an account file (no understudy mark in it); charging it would protect nothing. "
        "Check the path, or create an account under another name."
    )


def _sentence(path: Path, patience: float, error: sqlite3.Error) -> str:
    code = getattr(error, "sqlite_errorcode", None)  # absent when Python's own wrapper complains
    primary = None if code is None else code & 0xFF  # extended codes keep the cause in the low byte
    sentences = {
        sqlite3.SQLITE_BUSY: (
            f"`{path}` has been locked by another process for more than {patience:g} seconds, so nothing was "
            "changed in it and nothing may be released. Wait for that process to finish and try again."
        ),
        sqlite3.SQLITE_READONLY: (
            f"`{path}` is read-only for this user; a charge must be on disk before anything is released. "
            "Make the file and its folder writable, or ask its owner to run this."
        ),
        sqlite3.SQLITE_CANTOPEN: (
            f"`{path}` cannot be opened; this user must be able to read and write the file, and to write to "
            "its folder (SQLite keeps a journal there). Check the permissions of both."
        ),
        sqlite3.SQLITE_NOTADB: _not_an_account(path),
        sqlite3.SQLITE_CORRUPT: (
            f"`{path}` is damaged, so what has been spent cannot be known and nothing may be released. "
            "Restore a copy that holds every charge; do not start a new account for the same data."
        ),
        sqlite3.SQLITE_FULL: (
            f"the disk that holds `{path}` is full, so the charge was not recorded and nothing may be "
            "released. Free some space and try again."
        ),
    }
    otherwise = (
        f"`{path}` could not be read or written ({error}), so nothing may be released. "
        "Check the file and the disk it is on, then try again."
    )
    return sentences.get(primary, otherwise) if primary is not None else otherwise
