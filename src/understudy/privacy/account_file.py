"""The SQLite file under an account: made with care, opened with suspicion, and never left half written.

Every operation opens its own connection and closes it, so that an account may be used by several threads,
forked or pickled without sharing a handle (SQLite forbids carrying one across a fork).
"""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from understudy.errors import AccountError

__all__ = ["SCHEMA_VERSION", "create_file", "reading", "writing"]

SCHEMA_VERSION = 1
_APPLICATION_ID = 0x556E6473  # "Unds": how a file says whose it is (SQLite header, offset 68)

# A charge moves once, from held to committed or cancelled, and is never deleted or repriced: the triggers
# hold even against a bug of ours or a hand with the sqlite3 shell.
_SCHEMA = f"""
BEGIN IMMEDIATE;
PRAGMA application_id = {_APPLICATION_ID};
PRAGMA user_version = {SCHEMA_VERSION};
CREATE TABLE terms (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    dataset TEXT NOT NULL,
    epsilon REAL NOT NULL CHECK (epsilon > 0),
    delta REAL NOT NULL CHECK (delta >= 0 AND delta < 1),
    neighbours TEXT NOT NULL,
    composition TEXT NOT NULL,
    renyi_order REAL CHECK (renyi_order > 1),
    created TEXT NOT NULL,
    CHECK ((composition = 'renyi') = (renyi_order IS NOT NULL)),
    CHECK (composition <> 'renyi' OR delta > 0)
);
CREATE TABLE charges (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    reserved TEXT NOT NULL,
    settled TEXT,
    label TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('held', 'committed', 'cancelled')),
    ledger TEXT NOT NULL,
    delta REAL CHECK (delta > 0 AND delta < 1),
    cost TEXT NOT NULL,
    total TEXT NOT NULL,
    release_id TEXT,
    CHECK ((state = 'committed') = (release_id IS NOT NULL)),
    CHECK ((state = 'held') = (settled IS NULL))
);
CREATE TRIGGER terms_stay BEFORE UPDATE ON terms
BEGIN SELECT RAISE(ABORT, 'the cap of an account never changes'); END;
CREATE TRIGGER terms_last BEFORE DELETE ON terms
BEGIN SELECT RAISE(ABORT, 'the cap of an account is never deleted'); END;
CREATE TRIGGER charges_last BEFORE DELETE ON charges
BEGIN SELECT RAISE(ABORT, 'a charge is never deleted'); END;
CREATE TRIGGER charges_settle_once BEFORE UPDATE ON charges
WHEN OLD.state <> 'held' OR NEW.number <> OLD.number OR NEW.ledger <> OLD.ledger OR NEW.delta IS NOT OLD.delta
  OR NEW.cost <> OLD.cost OR NEW.total <> OLD.total OR NEW.reserved <> OLD.reserved OR NEW.label <> OLD.label
BEGIN SELECT RAISE(ABORT, 'a charge is settled once and never repriced'); END;
"""


def create_file(path: Path, terms: tuple[str, float, float, str, str, float | None, str]) -> None:
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
            connection.executescript(_SCHEMA)
            connection.execute("INSERT INTO terms VALUES (1, ?, ?, ?, ?, ?, ?, ?)", terms)
            connection.execute("COMMIT")
    except BaseException:
        path.unlink(missing_ok=True)  # we made it a moment ago and nothing was ever charged to it
        raise


@contextmanager
def reading(path: Path, patience: float) -> Iterator[sqlite3.Connection]:
    """A connection whose reads all see one state of the account."""
    with _opened(path, patience) as connection:
        connection.execute("BEGIN")
        yield connection


@contextmanager
def writing(path: Path, patience: float) -> Iterator[sqlite3.Connection]:
    """A connection that is the only writer until the block ends, and commits when it ends well.

    BEGIN IMMEDIATE takes the write lock before the balance is read; with a plain BEGIN two processes could
    read the same balance and both spend it.
    """
    with _opened(path, patience) as connection:
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield connection
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
        _identify(path, connection)
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


def _identify(path: Path, connection: sqlite3.Connection) -> None:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application != _APPLICATION_ID:
        raise AccountError(_not_an_account(path))
    if version != SCHEMA_VERSION:
        raise AccountError(
            f"`{path}` has account schema version {version}; this understudy reads version {SCHEMA_VERSION} "
            "only, because a misread charge could overspend. Use the version of understudy that wrote it."
        )


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
