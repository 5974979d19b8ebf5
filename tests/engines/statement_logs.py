"""The log of statements that a server keeps: what reaches a client is counts, or a test fails."""

import gc
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import sqlglot
from sqlglot import expressions as sql

_ENTRIES = {
    "postgres": (r"^@\d+ ", r"LOG:  (?:statement|execute [^:]*): (.*)"),
    "mysql": (r"^(?:\d{6}\s+[\d:]+)?\t\s*\d+ (?=[A-Z])", r"(?:Query|Execute|Prepare)\t(.*)"),
}
"""What stands between two entries, and how a statement stands in one."""
_OURS = re.compile(r"understudy_(?!probe)[a-z]+_[0-9a-f]{32}")
"""Tables that are made of the private ones, and not to see whether one may be made."""
_ANSWERS_NOTHING = re.compile(
    r"(?:SET (?:SESSION|@|NAMES|AUTOCOMMIT)|SHOW COLUMNS FROM |DROP TEMPORARY TABLE |START TRANSACTION|BEGIN|COMMIT"
    r"|ROLLBACK|CLOSE |DEALLOCATE )[^;]*|COPY \S+ FROM STDIN",
    re.IGNORECASE,
)
_FETCH = re.compile(r'FETCH FORWARD \d+ FROM "\w+"')
"""Rows of a cursor, whose query is looked at where it is declared."""
_WRAPPED = re.compile(r'COPY \((.*)\) TO STDOUT \(FORMAT csv\)|DECLARE "\w+" CURSOR FOR (.*)', re.DOTALL)
"""What stands around a query whose rows reach the client."""


class Logged(Protocol):
    """A server that writes down every statement."""

    dialect: Any
    """Of its statements, as sqlglot calls it."""

    @property
    def log(self) -> Path: ...


@contextmanager
def heard(server: Logged) -> Iterator[list[str]]:
    """Everything that any client sends inside; the list is filled at the end."""
    gc.collect()  # sources of earlier tests let their tables go now, not in the middle of this one
    before = server.log.stat().st_size
    statements: list[str] = []
    yield statements
    between, statement = _ENTRIES[server.dialect]
    text = server.log.read_bytes()[before:].decode("utf-8", "replace")
    entries = re.split(between, text, flags=re.MULTILINE)
    found = [re.match(statement, entry, re.DOTALL) for entry in entries]
    statements += [match[1].strip() for match in found if match]


def ours_in(statements: Sequence[str]) -> set[str]:
    """Names of tables that were made of the private ones."""
    return {name for text in statements for name in _OURS.findall(text)}


def sends_rows(statement: str, private: set[str], dialect: str) -> bool:
    """Whether a statement sends anything about the private tables to its client that is not a count."""
    if _ANSWERS_NOTHING.fullmatch(statement) or _FETCH.fullmatch(statement):
        return False
    wrapped = _WRAPPED.fullmatch(statement)
    # words that the parser does not know, and that change where rows are kept but not what is sent
    query = (wrapped[1] or wrapped[2] if wrapped else statement).replace("AS MATERIALIZED (", "AS (")
    tree = sqlglot.parse_one(query, dialect=dialect)
    if isinstance(tree, sql.Command):
        return True  # nobody can tell
    if isinstance(tree, sql.Create):
        return not tree.find(sql.TemporaryProperty)  # rows go into a temporary table of the database, to nobody
    if not {table.name for table in tree.find_all(sql.Table)} & private:
        return False
    if isinstance(tree, sql.Analyze | sql.Drop):
        return False
    return any(not isinstance(answer, sql.Select) or _is_no_count(answer) for answer in _answers(tree))


def _answers(tree: Any) -> list[Any]:
    """The queries whose rows reach the client."""
    return [*_answers(tree.left), *_answers(tree.right)] if isinstance(tree, sql.SetOperation) else [tree]


def _is_no_count(tree: sql.Select) -> bool:
    group = tree.args.get("group")
    grouped = {column.sql() for column in (group.find_all(sql.Column) if group else ())}
    places = [literal for literal in (group.expressions if group else ()) if isinstance(literal, sql.Literal)]
    grouped |= {tree.expressions[int(place.this) - 1].unalias().sql() for place in places}  # GROUP BY 1, 2
    for item in tree.expressions:
        bare = item.unalias()
        if isinstance(bare, sql.Literal | sql.NullSafeEQ | sql.Grouping) or bare.sql() in grouped:
            continue  # a mark of ours, whether two digests agree, or a cell of the table that is counted
        sums = list(bare.find_all(sql.AggFunc))
        if not sums or not all(isinstance(each, sql.Count | sql.Sum) for each in sums):
            return True
    return False
