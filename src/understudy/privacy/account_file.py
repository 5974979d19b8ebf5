"""The file behind an account: a chain of lines in SQLite, each with the digest of all before it.

Opening an account is one line, and so is every reservation, commit, cancellation, claim, plan and look. Nothing is
ever changed or deleted, and what an account is follows from its lines alone. A flipped bit breaks the chain at the line
it hit, which is then named; a larger cap never comes out of it.

Every operation opens its own connection and closes it, so that an account may be used by several threads,
forked or pickled without sharing a handle (SQLite forbids carrying one across a fork).
"""

import hashlib
import json
import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from understudy.errors import AccountError

SCHEMA_VERSION = 2
_APPLICATION_ID = 0x556E6473  # "Unds": how a file says whose it is (SQLite header, offset 68)

# No line is ever changed or deleted: the triggers hold even against a bug of ours or a hand with the sqlite3 shell,
# and the chain finds what got past them.
_SCHEMA = f"""
PRAGMA application_id = {_APPLICATION_ID};
PRAGMA user_version = {SCHEMA_VERSION};
CREATE TABLE lines (
    number INTEGER PRIMARY KEY CHECK (number > 0),
    kind TEXT NOT NULL,
    body TEXT NOT NULL,
    digest TEXT NOT NULL
);
CREATE TRIGGER lines_stay BEFORE UPDATE ON lines
BEGIN SELECT RAISE(ABORT, 'a line of an account never changes'); END;
CREATE TRIGGER lines_last BEFORE DELETE ON lines
BEGIN SELECT RAISE(ABORT, 'a line of an account is never deleted'); END;
"""


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
        self._digest = ""
        self.all: list[Line] = []
        for place, (number, kind, text, digest) in enumerate(_rows(connection), start=1):
            self._digest = _next_digest(self._digest, place, kind, text)
            if number != place or digest != self._digest:
                raise AccountError(_broken(path, place, kind, text))
            self.all.append(Line(number=number, kind=kind, body=json.loads(text)))
        if not self.all:
            raise AccountError(f"`{path}` has no cap in it; the account is damaged. Restore a complete copy.")
        if identity is not None and self.all[0].body.get("identity") != identity:
            raise AccountError(
                f"`{path}` holds another account than the one that was opened there: it was replaced since. Put the "
                "first one back, or open the account again and begin anew."
            )

    @property
    def digest(self) -> str:
        """The digest of the last line, which speaks for all."""
        return self._digest

    def append(self, kind: str, **body: Any) -> None:
        """One line more; it is on disk when the block of :func:`writing` has ended."""
        number, text = len(self.all) + 1, _text(body)
        self._digest = _next_digest(self._digest, number, kind, text)
        self._connection.execute("INSERT INTO lines VALUES (?, ?, ?, ?)", (number, kind, text, self._digest))
        self.all.append(Line(number=number, kind=kind, body=body))


def _rows(connection: sqlite3.Connection) -> list[tuple[int, str, str, str]]:
    found: list[tuple[int, str, str, str]] = connection.execute(
        "SELECT number, kind, body, digest FROM lines ORDER BY number"
    ).fetchall()
    return found


def _text(body: Mapping[str, Any]) -> str:
    return json.dumps(body, ensure_ascii=False, sort_keys=True)


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
        handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
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
    os.close(handle)
    try:
        path.chmod(0o600)  # a strict umask may have taken bits that the owner needs
        with _translated(path, 0.0), closing(_connect(path, 0.0)) as connection:
            connection.execute("PRAGMA journal_mode = DELETE")
            connection.executescript(f"BEGIN IMMEDIATE; {_SCHEMA}")
            _begin(connection, terms)
            connection.execute("COMMIT")
    except BaseException:
        path.unlink(missing_ok=True)  # we made it a moment ago and nothing was ever charged to it
        raise


def _begin(connection: sqlite3.Connection, terms: Mapping[str, Any]) -> None:
    text = _text(terms)
    connection.execute("INSERT INTO lines VALUES (1, 'opened', ?, ?)", (text, _next_digest("", 1, "opened", text)))


@contextmanager
def reading(path: Path, patience: float, identity: str | None = None) -> Iterator[Lines]:
    """The lines as they are at one moment; with ``identity``, of no other account."""
    with _opened(path, patience) as connection:
        connection.execute("BEGIN")
        yield Lines(path, connection, identity)


@contextmanager
def writing(path: Path, patience: float, identity: str | None = None) -> Iterator[Lines]:
    """The lines for their only writer until the block ends, which commits when it ends well.

    BEGIN IMMEDIATE takes the write lock before the balance is read; with a plain BEGIN two processes could
    read the same balance and both spend it.
    """
    with _opened(path, patience) as connection:
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield Lines(path, connection, identity)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


@contextmanager
def _opened(path: Path, patience: float) -> Iterator[sqlite3.Connection]:
    """A connection to a file that says it is an account of this version."""
    if not path.is_file():
        fault = "is not a file" if path.exists() else "does not exist"
        raise AccountError(
            f"`{path}` {fault}, so there is no account to charge. "
            "Check the path, or create the account once with its cap: `understudy account create`."
        )
    with _translated(path, patience), closing(_connect(path, patience)) as connection:
        if _version(path, connection) < SCHEMA_VERSION:
            _bring_up(path, connection)
        yield connection


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
    from understudy.privacy.account_of_version_1 import lines_of_version_1

    connection.execute("BEGIN IMMEDIATE")
    try:
        if _version(path, connection) < SCHEMA_VERSION:  # another process may have been first
            terms, rest = lines_of_version_1(connection)
            connection.execute("DROP TABLE charges")
            connection.execute("DROP TABLE terms")
            for command in _commands(_SCHEMA):
                connection.execute(command)
            _begin(connection, terms)
            lines = Lines(path, connection)
            for kind, body in rest:
                lines.append(kind, **body)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _commands(script: str) -> Iterator[str]:
    """One statement at a time: ``executescript`` would commit what was begun."""
    command = ""
    for line in script.splitlines():
        command += line + "\n"
        if sqlite3.complete_statement(command):
            yield command
            command = ""


def _not_an_account(path: Path) -> str:
    return (
        f"`{path}` is not an account file (no understudy mark in it); charging it would protect nothing. "
        "Check the path, or create an account under another name."
    )


@contextmanager
def _translated(path: Path, patience: float) -> Iterator[None]:
    """Turn SQLite's errors into sentences with a remedy."""
    try:
        yield
    except sqlite3.Error as error:
        raise AccountError(_sentence(path, patience, error)) from error


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
