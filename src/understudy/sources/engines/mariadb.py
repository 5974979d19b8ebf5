"""MariaDB: it encodes and counts where the rows are.

Ibis writes the SQL; its own connection to this family of servers needs a driver that is compiled on the spot, so the
statements are sent by PyMySQL, which is plain Python. Four things differ from other servers:

- Texts are compared by a collation that takes ``a`` for ``A`` and ignores spaces at the end. Every text is therefore
  read in a binary collation that pads nothing.
- ``0000-00-00`` is a date there and none anywhere else: it is no day, and a value that the codebook does not know.
- A statement that fills a table locks the rows it reads, and reads newer ones than its own transaction sees, unless
  each statement sees a state of its own (READ COMMITTED). So codes are made by one such statement. Where no temporary
  table may be made, all questions are asked in one transaction with a consistent snapshot instead.
- Tables that InnoDB does not keep have no snapshots, and views do not tell what they read: then the server compares
  what it reads with what it read first, and a change is said.
"""

import configparser
import json
import os
import re
import sys
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import ibis
import ibis.expr.datatypes as kinds
import ibis.expr.schema as schemas
import pyarrow as pa
import sqlglot.expressions as sge
from ibis.backends.sql import SQLBackend, compilers
from ibis.common.exceptions import TableNotFound
from ibis.expr import operations

from understudy.codebook import Number
from understudy.codebook.readings import BLANKS, LOWER, UPPER
from understudy.errors import DataError
from understudy.extras import need
from understudy.sources.engines.bench import CHANGED, Bench
from understudy.sources.engines.dialect import GuardedDialect, temporary_name
from understudy.sources.engines.kind import Address, Engine, Found, schema_and_table

_CONNECT_SECONDS = 10
_COLLATION = "utf8mb4_nopad_bin"
_OLDEST = (10, 6)
_SETTINGS = (
    "sql_mode = 'STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_UNSIGNED_SUBTRACTION,NO_ENGINE_SUBSTITUTION'",
    "time_zone = '+00:00'",  # a moment in time is the day that it is in Greenwich
    "div_precision_increment = 30",
    "join_cache_level = 8",  # joins of codes by hashing, not row by row
)
_NOT_TEXT = frozenset({"binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob"})
_TEXT = frozenset(
    {"char", "varchar", "tinytext", "text", "mediumtext", "longtext", "enum", "set", "json", "uuid", "inet4", "inet6",
     "time"}
)  # fmt: skip
_WHOLE = {"tinyint": "int8", "smallint": "int16", "mediumint": "int32", "int": "int32", "bigint": "int64"}
_STORED = {
    "int8": "TINYINT", "int16": "SMALLINT", "int32": "INT", "int64": "BIGINT", "uint8": "TINYINT UNSIGNED",
    "uint16": "SMALLINT UNSIGNED", "uint32": "INT UNSIGNED", "uint64": "BIGINT UNSIGNED", "float64": "DOUBLE",
}  # fmt: skip
_ODD = re.compile("[\x00-\x08\x0b-\x1f\x7f]")
_BLANK = r"[ \t\n\r\x0b\x0c]"
"""What :data:`understudy.codebook.readings.SPACES` holds, as a pattern that spells the rarer ones."""
_FOLDS_ALIKE = r"[^\x{00}-\x{12F}\x{131}-\x{17F}\x{386}-\x{3AA}\x{3AC}-\x{3CE}\x{400}-\x{42E}\x{430}-\x{45F}]"
"""Characters about which the server's own small letters may differ from ours."""


@ibis.udf.scalar.builtin  # type: ignore[untyped-decorator]
def understudy_text(text: str) -> str:  # type: ignore[empty-body]
    """The same text, to be compared by its bytes."""


@ibis.udf.scalar.builtin  # type: ignore[untyped-decorator]
def understudy_place(text: str, levels: str) -> int:  # type: ignore[empty-body]
    """Place of a text among others, counted from 1; 0 when it is not there."""


@ibis.udf.scalar.builtin  # type: ignore[untyped-decorator]
def understudy_item(place: int, items: str) -> int:  # type: ignore[empty-body]
    """The number at a place, counted from 1."""


@ibis.udf.scalar.builtin  # type: ignore[untyped-decorator]
def understudy_reached(number: float, edges: str) -> int:  # type: ignore[empty-body]
    """How many of the ascending edges lie at or below a number."""


@ibis.udf.scalar.builtin  # type: ignore[untyped-decorator]
def understudy_folded(text: str) -> str:  # type: ignore[empty-body]
    """In lower case, letter by letter as everywhere."""


@ibis.udf.scalar.builtin  # type: ignore[untyped-decorator]
def regexp_replace(text: str, pattern: str, new: str) -> str:  # type: ignore[empty-body]
    """Every match of a pattern replaced."""


@ibis.udf.scalar.builtin(name="floor")  # type: ignore[untyped-decorator]
def _floor_of(number: float) -> float:  # type: ignore[empty-body]
    """As a float."""


@ibis.udf.scalar.builtin  # type: ignore[untyped-decorator]
def sha2(text: str, bits: int) -> str:  # type: ignore[empty-body]
    """In hexadecimal digits."""


@ibis.udf.scalar.builtin  # type: ignore[untyped-decorator]
def substring_index(text: str, mark: str, count: int) -> str:  # type: ignore[empty-body]
    """What stands before so many marks; counted from the end where it is negative."""


@ibis.udf.scalar.builtin  # type: ignore[untyped-decorator]
def to_days(day: kinds.Date) -> int:  # type: ignore[empty-body]
    """Days since the year 0."""


@ibis.udf.scalar.builtin  # type: ignore[untyped-decorator]
def from_days(days: int) -> kinds.Date:
    """The day of such a number."""


@ibis.udf.scalar.builtin  # type: ignore[untyped-decorator]
def last_day(day: kinds.Date) -> kinds.Date:
    """The last day of its month; null where there is no such month."""


def _folding(inner: str) -> str:
    """Letter by letter, for the few texts that hold a letter about which servers differ; as SQL, for it is nested so
    deep that a parser would give up."""
    for upper, lower in zip(UPPER, LOWER, strict=True):
        inner = f"REPLACE({inner}, '{upper}', '{lower}')"
    return inner


def _literal(item: Any) -> Any:
    """A value in a query; the server does not know all the escapes for odd characters that are written otherwise."""
    if isinstance(item, str) and _ODD.search(item):
        return sge.Cast(
            this=sge.HexString(this=item.encode().hex()),
            to=sge.DataType.build("CHAR CHARACTER SET utf8mb4", dialect="mysql"),
        )
    return sge.convert(item)


class _Compiler(type(compilers.mysql.compiler)):  # type: ignore[misc]
    """Ibis' own for this family, with functions that take a list."""

    __slots__ = ()

    def visit_ScalarUDF(self, op: Any, **arguments: Any) -> Any:  # noqa: N802 - Ibis looks for this name
        given = list(arguments.values())
        name = op.__func_name__
        if name == "understudy_text":
            text = sge.Cast(this=given[0], to=sge.DataType.build("CHAR CHARACTER SET utf8mb4", dialect="mysql"))
            return sge.Collate(this=text, expression=sge.Var(this=_COLLATION))
        if name == "understudy_folded":
            rare = self.if_(given[0].rlike(sge.convert(_FOLDS_ALIKE)), 1, 0)
            raw = sge.Var(this=_folding(given[0].sql(self.dialect)))
            return self.if_(rare.eq(1), raw, self.f.lower(given[0].copy()))
        if name in ("understudy_place", "understudy_item", "understudy_reached"):
            listed = [_literal(item) for item in json.loads(op.args[1].value)]
            function = {"understudy_place": "FIELD", "understudy_item": "ELT", "understudy_reached": "INTERVAL"}[name]
            return sge.Anonymous(this=function, expressions=[given[0], *listed])
        return super().visit_ScalarUDF(op, **arguments)

    def visit_Cast(self, op: Any, *, arg: Any, to: Any) -> Any:  # noqa: N802
        """Whole numbers of any width; the table that keeps them has the narrow types."""
        if to.is_integer():
            kind = sge.DataType.Type.UBIGINT if to.is_unsigned_integer() else sge.DataType.Type.BIGINT
            return sge.Cast(this=arg, to=sge.DataType(this=kind))
        return super().visit_Cast(op, arg=arg, to=to)

    def visit_NonNullLiteral(self, op: Any, *, value: Any, dtype: Any) -> Any:  # noqa: N802
        return _literal(value) if dtype.is_string() else super().visit_NonNullLiteral(op, value=value, dtype=dtype)

    def visit_Equals(self, op: Any, *, left: Any, right: Any) -> Any:  # noqa: N802
        """Texts are compared by their bytes as they are, so that a join can use its hash."""
        return left.eq(right)

    def visit_SQLQueryResult(self, op: Any, *, query: str, schema: Any, source: Any) -> Any:  # noqa: N802
        """The query as it was written: it was made by this very compiler."""
        return sge.Subquery(this=sge.Var(this=query))


class _Backend(SQLBackend):  # type: ignore[misc]
    """What of Ibis' backend is needed here, without its driver."""

    name = "mysql"
    compiler = _Compiler()

    def __init__(self) -> None:
        super().__init__()
        self.con: Any = None
        self.has_snapshots = True
        """Whether a transaction sees one state of every table that was opened."""
        self.may_make_tables: bool | None = None
        self.read_first: list[tuple[str, str]] = []
        """Where nothing holds the tables below others to one state: how their digests are asked for, and the variables
        of the session that have them."""

    @property
    def version(self) -> str:
        return str(self.con.get_server_info())

    def list_tables(self, *, like: str | None = None, database: Any = None) -> list[str]:
        raise NotImplementedError

    def create_table(self, name: str, /, obj: Any = None, **options: Any) -> Any:
        raise NotImplementedError

    def _get_schema_using_query(self, query: str) -> Any:
        raise NotImplementedError

    def _register_in_memory_table(self, op: Any) -> None:
        raise NotImplementedError  # lists stand in the query

    def disconnect(self) -> None:
        self.con.close()

    def rows(self, statement: str, values: Any = None) -> list[tuple[Any, ...]]:
        """Whatever a statement answers."""
        with self.con.cursor() as cursor:
            cursor.execute(statement, values)
            return list(cursor.fetchall())

    def get_schema(self, name: str, *, catalog: str | None = None, database: str | None = None) -> Any:
        """The server itself finds the table, by its own rules about capital letters."""
        import pymysql

        table = sge.table_(name, db=database, quoted=True).sql("mysql")
        try:
            columns = self.rows(f"SHOW COLUMNS FROM {table}")
        except (pymysql.err.ProgrammingError, pymysql.err.OperationalError) as reason:
            if reason.args[0] in (1049, 1103, 1146):
                raise TableNotFound(name) from reason
            raise
        kept = self.rows(
            "SELECT ENGINE FROM information_schema.TABLES WHERE TABLE_NAME = %s "
            "AND TABLE_SCHEMA = COALESCE(%s, DATABASE())",
            (name, database),
        )
        self.has_snapshots = self.has_snapshots and kept != [] and all(engine == "InnoDB" for (engine,) in kept)
        return schemas.Schema({field: _type_of(spelled, null == "YES") for field, spelled, null, *_ in columns})

    def temporary(self, name: str, schema: Any) -> Any:
        """A table of our own, whose types are known."""
        return operations.DatabaseTable(name, schema=schema, source=self, namespace=operations.Namespace()).to_expr()

    @contextmanager
    def _safe_raw_sql(self, query: Any, **_: Any) -> Iterator[Any]:
        with self.con.cursor() as cursor:
            cursor.execute(query if isinstance(query, str) else query.sql("mysql"))
            yield cursor

    def drop_table(self, name: str, /, *, database: Any = None, force: bool = False) -> None:
        """Only ever one of our own."""
        self.rows(f"DROP TEMPORARY TABLE IF EXISTS `{name}`")

    def arrow(self, statement: str, schema: Any) -> pa.Table:
        """The answer to a statement; sums come as decimals."""
        columns = list(zip(*self.rows(statement), strict=True)) or [()] * len(schema)
        arrays = []
        for values, kind in zip(columns, schema.types, strict=True):
            made = int if kind.is_integer() else float if kind.is_floating() else bool if kind.is_boolean() else None
            plain = values if made is None else [None if value is None else made(value) for value in values]
            arrays.append(pa.array(plain, type=kind.to_pyarrow()))
        return pa.Table.from_arrays(arrays, schema=schema.to_pyarrow())

    def to_pyarrow(self, expr: Any, /, **_: Any) -> Any:
        """Of counts and sums, which is all that is ever asked for."""
        table = expr.as_table()
        return expr.__pyarrow_result__(self.arrow(self.compile(table), table.schema()))


def _type_of(spelled: str, nullable: bool) -> kinds.DataType:
    """The type of a column, from what the server calls it; what nobody knows is refused by whoever reads it."""
    found = re.match(r"[a-z0-9]+", spelled.lower())
    word = found[0] if found else ""
    if word in _WHOLE:
        kind = _WHOLE[word]
        return kinds.dtype(f"u{kind}" if "unsigned" in spelled else kind, nullable=nullable)
    if word == "decimal":
        digits = re.search(r"\((\d+),(\d+)\)", spelled)
        return kinds.Decimal(int(digits[1]), int(digits[2]), nullable=nullable) if digits else kinds.Decimal()
    if word in _TEXT:
        return kinds.String(nullable=nullable)
    if word in _NOT_TEXT:
        return kinds.Binary(nullable=nullable)
    known: dict[str, kinds.DataType] = {
        "bit": kinds.uint64, "year": kinds.uint16, "float": kinds.float32, "double": kinds.float64, "date": kinds.date,
        "datetime": kinds.timestamp, "timestamp": kinds.timestamp,
    }  # fmt: skip
    return known.get(word, kinds.unknown)(nullable=nullable)


class _MariaDialect(GuardedDialect):
    has_unsigned = True

    def sha256(self, text: Any) -> Any:
        return sha2(text, 256)

    def present(self, value: Any) -> Any:
        """Texts by their bytes; bits, and numbers that are shown with zeros before them, as plain numbers."""
        kind = value.type()
        if kind.is_unknown() or kind.is_binary():
            raise DataError(
                f"column {value.get_name()!r} holds {'bytes' if kind.is_binary() else 'values of a type'} that nobody "
                "here can read as a text, a number or a day; leave the column out of the codebook, or give a view "
                "that turns it into one."
            )
        if kind.is_string() and not isinstance(value.op(), understudy_text(ibis.literal("")).op().__class__):
            return understudy_text(value)
        if kind.is_unsigned_integer():
            return operations.Cast(value, to=kinds.uint64).to_expr()
        return value

    def stages(self, values: Sequence[Any]) -> bool:
        """Where numbers and days are read off texts, which takes patterns: once, and not again for every bin."""
        return any(value.type().is_string() for value in values)

    def staged(self, table: Any) -> Any:
        """With a limit that no table reaches: without one the server would merge the two queries."""
        connection = table.get_backend()
        return connection.sql(f"{connection.compile(table)} LIMIT 18446744073709551615", schema=table.schema())

    def finite(self, number: Any) -> Any:
        """There is neither NaN nor infinity."""
        return number

    def is_whole(self, number: Any) -> Any:
        return number == _floor_of(number)

    def float_text(self, value: Any) -> Any:
        fits = self.is_whole(value) & (value.abs() < 2.0**63)
        return fits.ifelse(value.cast("int64").cast("string"), value.cast("string"))

    def compares_floats(self, value: Any) -> bool:
        """It spells very small and very large ones in its own way."""
        return bool(value.type().is_float64())

    def _place_of_text(self, levels: Sequence[str], spelled: Any) -> Any:
        return understudy_place(spelled, json.dumps(list(levels))).nullif(0) - 1

    def item_of(self, items: Sequence[int], place: Any) -> Any:
        item = understudy_item(place + 1, json.dumps(list(items)))
        return operations.Cast(item, to=kinds.Int64(nullable=False)).to_expr()

    def stripped(self, text: Any) -> Any:
        return regexp_replace(text, f"^{_BLANK}+|{_BLANK}+$", "")

    def tidy(self, text: Any) -> Any:
        return self.stripped(regexp_replace(text, f"[{BLANKS}]", " "))

    def folded(self, text: Any) -> Any:
        return understudy_folded(text)

    def replaced(self, text: Any, pattern: str, new: str) -> Any:
        return regexp_replace(text, pattern, new)

    def bin(self, column: Number, number: Any) -> Any:
        edges = column.float_edges
        inner = list(edges[1:-1])
        if not inner:
            code = ibis.literal(0, "int64")
        elif column.closed == "left":
            code = understudy_reached(number, json.dumps(inner))
        else:  # edges at or above the number, counted from the other side
            code = len(inner) - understudy_reached(-number, json.dumps([-edge for edge in reversed(inner)]))
        return number.between(edges[0], edges[-1]).ifelse(code, ibis.null("int64"))

    def is_day(self, value: Any) -> Any:
        """A date may have month 0 or day 31 of February; such a one is no day."""
        day = value if value.type().is_date() else value.date()
        exists = (day.day() >= 1) & (day.day() <= last_day(day).day()) & (day.year() >= 1)
        return exists.ifelse(day, ibis.null("date"))

    def ordinal(self, day: Any) -> Any:
        return to_days(day) - 366

    def day_after(self, start: Any, days: Any) -> Any:
        return from_days(days.cast("int64") + (start.toordinal() + 365))

    def parts_of_day(self, day: Any) -> tuple[Any, Any, Any]:
        middle = substring_index(substring_index(day, "-", 2), "-", -1)
        year, of_month = substring_index(day, "-", 1), substring_index(day, "-", -1)
        return year.cast("int64"), middle.cast("int64"), of_month.cast("int64")


class MariaBench(Bench):
    """A temporary table of small integers where one may be made; otherwise every question encodes again."""

    _first: tuple[str, str] | None = None
    """How the digest of what it reads is asked for, and the variable that has that of what was read first."""

    def _make(self, report: Any) -> Any:
        if report:
            report("reading", 0, 100)
        encoding = self.connection.compile(self.expression)
        if not _may_make_tables(self.connection):
            self._remember(encoding)
            return self.expression
        schema = self.expression.schema()
        typed = [f"`{name}` {_STORED[str(kind).lstrip('!')]}" for name, kind in schema.items() if _is_stored(kind)]
        listed = f"({', '.join(typed)}) " if typed else ""
        self.connection.rows(
            f"CREATE TEMPORARY TABLE `{self.name}` {listed}ENGINE = Aria TRANSACTIONAL = 0 "
            f"DEFAULT CHARACTER SET utf8mb4 COLLATE {_COLLATION} AS {encoding}"
        )
        if report:
            report("reading", 100, 100)
        return self.connection.temporary(self.name, schema)

    @staticmethod
    def fetched(connection: Any, expression: Any) -> pa.Table:
        """By our own reading of the answer."""
        return connection.arrow(connection.compile(expression), expression.schema())

    def fetch(self, expression: Any) -> pa.Table:
        """The answer to one question about counts, of the state that was read first."""
        answer = self.fetched(self.connection, expression)
        self._refuse_other_state()
        return answer

    def count(self, sets: Sequence[Sequence[str]]) -> Iterator[pa.Table]:
        """One GROUP BY each over the codes, or all of them in one statement, which sees one state."""
        self.encode()
        if self.codes is not self.expression:
            yield from super().count(sets)
            return
        widest = max(map(len, sets))
        branches = []
        for place, keys in enumerate(sets):
            blank = ["0"] * (widest - len(keys))
            listed = ", ".join(f"{key} AS k{number}" for number, key in enumerate([*keys, *blank]))
            branches.append(f"SELECT {place} AS s, {listed}, COUNT(*) AS n FROM codes GROUP BY {', '.join(keys)}")
        names = ["s", *(f"k{number}" for number in range(widest)), "n"]
        cells = self.connection.arrow(
            f"WITH codes AS ({self.connection.compile(self.expression)}) {' UNION ALL '.join(branches)}",
            schemas.Schema(dict.fromkeys(names, kinds.int64)),
        )
        self._refuse_other_state()
        of_set = cells.column("s").to_numpy()
        for place, keys in enumerate(sets):
            mine = cells.filter(pa.array(of_set == place))
            yield pa.table({**{key: mine.column(f"k{at}") for at, key in enumerate(keys)}, "n": mine.column("n")})

    def _remember(self, encoding: str) -> None:
        """What is read first, as a digest that stays in the session; nothing to do where a snapshot is held."""
        if self.connection.has_snapshots:
            self.connection.rows(f"SELECT COUNT(*) FROM ({encoding}) AS t LIMIT 1")  # may it be read at all?
            return
        whole = ", ".join(f"COALESCE(`{name}`, '-')" for name in self.expression.columns)
        number = f"CAST(CONV(LEFT(SHA1(CONCAT_WS(',', {whole})), 15), 16, 10) AS UNSIGNED)"
        self._first = (
            f"SELECT CONCAT(COUNT(*), ':', COALESCE(SUM({number}), 0)) FROM ({encoding}) AS t",
            f"@{self.name}",
        )
        self.connection.rows(f"SET {self._first[1]} = ({self._first[0]})")

    def _refuse_other_state(self) -> None:
        """What this reads, and what is below it, is still what was read first."""
        if self.codes is None or self.codes is not self.expression:
            return
        for digest, first in dict.fromkeys([*self.connection.read_first, *([self._first] if self._first else [])]):
            ((same,),) = self.connection.rows(f"SELECT ({digest}) <=> {first} AS same")
            if not same:
                raise DataError(CHANGED)

    def refuse_change(self) -> None:
        """Without a table of codes, by the digest of what was read first."""
        self._refuse_other_state()
        super().refuse_change()

    @classmethod
    @contextmanager
    def one_state(cls, connection: Any, made: list[Bench]) -> Iterator[None]:
        """Where every question encodes again, those that come later are held to this state too."""
        with super().one_state(connection, made):
            yield
        connection.read_first = [bench._first for bench in made if isinstance(bench, MariaBench) and bench._first]

    def free(self) -> None:
        """Drop the temporary table; a lost connection has dropped it already."""
        import pymysql

        with suppress(pymysql.Error):
            if self.codes is not self.expression:
                super().free()
        self.codes = None


def _is_stored(kind: Any) -> bool:
    return str(kind).lstrip("!") in _STORED


def _may_make_tables(connection: Any) -> bool:
    """Whether codes may be kept. Where not, everything from now on is one transaction, which sees one state."""
    import pymysql

    if connection.may_make_tables is None:
        name = temporary_name("probe")
        try:
            connection.rows(f"CREATE TEMPORARY TABLE `{name}` (x TINYINT) ENGINE = Aria TRANSACTIONAL = 0")
            connection.rows(f"DROP TEMPORARY TABLE `{name}`")
            connection.may_make_tables = True
        except pymysql.Error as reason:
            if reason.args[0] not in (1044, 1046, 1142, 1227, 1290, 1792, 1836):
                raise
            connection.may_make_tables = False
            connection.rows("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            connection.rows("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")
    return bool(connection.may_make_tables)


class _MariaDB(Engine):
    name = "mariadb"
    title = "MariaDB"
    ibis_name = "mysql"
    schemes = ("mariadb", "mysql")
    example = "mariadb://USER@HOST/DB?table=T"
    options = frozenset(
        {"table", "host", "socket", "defaults_file", "ssl_ca", "ssl_cert", "ssl_key", "connect_timeout"}
    )
    password_from = "MYSQL_PWD or ~/.my.cnf"
    secrets = ("MYSQL_PWD",)
    bench = MariaBench
    dialect = _MariaDialect()
    remedies = (
        (
            ("lost connection to mysql server", "mysql server has gone away", "server shutdown in progress",
             "connection was killed", "packet sequence number wrong", "already closed"),
            "The database went away while it was asked; nothing was released. Run again when it is back.",
        ),
        (
            ("can't connect to mysql server",),
            "Is the server running, and may it be reached from here?",
        ),
        (
            ("access denied", "command denied"),
            "Check your user name and rights; a password comes from MYSQL_PWD or ~/.my.cnf.",
        ),
    )  # fmt: skip

    def failures(self) -> tuple[type[BaseException], ...]:
        pymysql = sys.modules.get("pymysql")
        return () if pymysql is None else (pymysql.Error,)

    def words(self, reason: BaseException) -> str:
        """Without the number of the error, and without a value that the server may quote."""
        said = str(reason.args[-1]) if reason.args and str(reason.args[-1]) else "the connection was already closed"
        return re.sub(r"value: '.*'", "value", said, flags=re.DOTALL)

    def address(self, parts: Any, options: Mapping[str, str]) -> Address:
        if "socket" in options and parts.hostname:
            raise DataError("the address names a host and a socket; give one of them.")
        return super().address(parts, options)

    def open(self, where: Address) -> Found:
        need("pymysql", extra="mariadb", what="MariaDB")
        if "table" not in where.options:
            raise DataError(f"the address of MariaDB database {where.database!r} names no table; add ?table=TABLE.")
        schema, name = schema_and_table(where.options["table"])
        connection = _connected(where, where.database or schema)
        try:
            opened = connection.table(
                name, database=None if schema is None else (schema,)
            )  # as one name, points and all
        except TableNotFound:
            raise DataError(
                f"there is no table {where.options['table']!r} in MariaDB database {where.database!r}, or you may not "
                "see it; check the name (TABLE or DATABASE.TABLE, case may count) and your rights."
            ) from None
        return Found(connection, opened, where.label)


def _connected(where: Address, database: str | None) -> Any:
    """A connection with settings of its own, whatever those of the server are."""
    import pymysql

    options = where.options
    known = {
        "host": where.host, "port": where.port, "user": where.user, "database": database,
        "unix_socket": options.get("socket"), "password": os.environ.get("MYSQL_PWD"),
    }  # fmt: skip
    settings: dict[str, Any] = {key: value for key, value in known.items() if value}
    settings |= {key: options[key] for key in ("ssl_ca", "ssl_cert", "ssl_key") if key in options}
    if "ssl_ca" in options:
        settings |= {"ssl_verify_cert": True, "ssl_verify_identity": True}
    seconds = options.get("connect_timeout", str(_CONNECT_SECONDS))
    if not seconds.isdecimal() or not 1 <= int(seconds) <= 3600:
        raise DataError(f"the address sets connect_timeout to {seconds!r}; it must be a whole number from 1 to 3600.")
    socket = options.get("socket")
    if socket is not None and not Path(socket).is_socket():
        raise DataError(f"{where.label} cannot be read: there is no socket {socket!r}. Is the server running?")
    own = Path(options.get("defaults_file", "~/.my.cnf")).expanduser()
    if own.is_file():
        settings["read_default_file"] = str(own)
    elif "defaults_file" in options:
        raise DataError(f"there is no file {str(own)!r}, which the address names as defaults_file.")
    try:
        client = pymysql.connect(
            autocommit=True, charset="utf8mb4", collation=_COLLATION, connect_timeout=int(seconds), **settings
        )
    except configparser.Error as reason:
        said = str(reason).splitlines()[0]
        raise DataError(f"{str(own)!r} cannot be read as an option file of MariaDB ({said}).") from None
    except OSError as reason:
        raise DataError(f"{where.label} cannot be read: {reason.strerror or reason}. Is the server running?") from None
    connection = _Backend()
    connection.con = client
    weakref.finalize(connection, _close, client)
    _refuse_others(client.get_server_info())
    for setting in _SETTINGS:
        connection.rows(f"SET SESSION {setting}")
    connection.rows("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
    with suppress(pymysql.Error):  # for those who may: temporary tables need not reach a replica
        connection.rows("SET SESSION sql_log_bin = 0")
    return connection


def _close(client: Any) -> None:
    with suppress(Exception):  # nobody is left to be told
        client.close()


def _refuse_others(version: str) -> None:
    """Servers on which nobody has tried this: other members of the family differ in collations, patterns and locks."""
    found = re.search(r"(\d+)\.(\d+)\.\d+-MariaDB", version)
    if found is None:
        raise DataError(
            f"the server is {version!r}, which is not MariaDB; counting was never tried there. Bring the table into "
            "MariaDB, PostgreSQL or a file."
        )
    if (int(found[1]), int(found[2])) < _OLDEST:
        raise DataError(f"the server is MariaDB {found[1]}.{found[2]}; it must be 10.6 or newer.")


ENGINE = _MariaDB()
