"""PostgreSQL: it encodes and counts where the rows are.

It evaluates an expression as often as it is written and raises where others give null, so it gets functions of its own
that read each value once and never meet one that they could stumble over.
"""

import io
import sys
import warnings
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import ibis
import ibis.expr.datatypes as kinds
import numpy as np
import pyarrow as pa
from ibis.expr import operations

from understudy.codebook import Number
from understudy.errors import DataError
from understudy.extras import need
from understudy.sources.engines.bench import Bench
from understudy.sources.engines.dialect import GuardedDialect, finite_day, temporary_name
from understudy.sources.engines.kind import Address, Engine, Found, schema_and_table

_CONNECT_SECONDS = 10
_ONE_STATE = "BEGIN ISOLATION LEVEL REPEATABLE READ"
_BELOW_DOMAINS = """
WITH RECURSIVE below(name, kind, type, next, modifier) AS (
    SELECT a.attname, t.oid, t.typtype, t.typbasetype, t.typtypmod
    FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
    WHERE c.relname = %(table)s AND a.attnum > 0 AND NOT a.attisdropped AND t.typtype = 'd'
    AND CASE WHEN %(schema)s::text IS NULL THEN pg_catalog.pg_table_is_visible(c.oid) ELSE n.nspname = %(schema)s END
    UNION ALL SELECT below.name, t.oid, t.typtype, t.typbasetype, coalesce(nullif(t.typtypmod, -1), below.modifier)
    FROM below JOIN pg_catalog.pg_type t ON t.oid = below.next WHERE below.type = 'd'
) SELECT name, pg_catalog.format_type(kind, modifier) FROM below WHERE type <> 'd'
"""
"""What columns hold whose type is a domain: a name of their own for a type and what its values must keep to."""


@ibis.udf.scalar.builtin  # type: ignore[untyped-decorator]
def array_position(levels: kinds.Array[kinds.String], text: str) -> int:  # type: ignore[empty-body]
    """Place of a text among others, counted from 1; null when it is not there."""


@ibis.udf.scalar.builtin  # type: ignore[untyped-decorator]
def width_bucket(number: float, edges: kinds.Array[kinds.Float64]) -> int:  # type: ignore[empty-body]
    """How many of the ascending edges lie at or below a number."""


@ibis.udf.scalar.builtin(name="floor")  # type: ignore[untyped-decorator]
def _floor_of(number: float) -> float:  # type: ignore[empty-body]
    """As a float, so that nothing overflows."""


@ibis.udf.scalar.builtin(name="sha256")  # type: ignore[untyped-decorator]
def _sha256_of_bytes(octets: bytes) -> bytes:  # type: ignore[empty-body]
    """As bytes, whose order is that of their digits."""


@ibis.udf.scalar.builtin  # type: ignore[untyped-decorator]
def convert_to(text: str, encoding: str) -> bytes:  # type: ignore[empty-body]
    """A text in an encoding, whatever that of the database."""


class _PostgresDialect(GuardedDialect):
    def sha256(self, text: Any) -> Any:
        return _sha256_of_bytes(convert_to(text, "UTF8"))

    def bytewise(self, text: Any) -> Any:
        return convert_to(text, "UTF8")

    def present(self, value: Any) -> Any:
        """Decimals know NaN, and money passes for one; enumerations pass for texts but cannot be compared with one."""
        kind = value.type()
        if kind.is_decimal():
            return operations.Cast(value, to=kinds.decimal).to_expr().nullif(ibis.literal("NaN").cast("decimal"))
        if kind.is_string():
            return operations.Cast(value, to=kinds.string).to_expr()  # `cast` would see nothing to do
        return super().present(value)

    def float_text(self, value: Any) -> Any:
        """It spells whole floats without a point by itself."""
        return value.cast("string")

    def is_whole(self, number: Any) -> Any:
        return number == _floor_of(number)

    def is_day(self, value: Any) -> Any:
        return finite_day(super().is_day(value))

    def _place_of_text(self, levels: Sequence[str], spelled: Any) -> Any:
        return array_position(ibis.literal(list(levels)), spelled) - 1

    def bin(self, column: Number, number: Any) -> Any:
        edges = column.float_edges
        inner = list(edges[1:-1])
        if column.closed == "left":
            code = width_bucket(number, ibis.literal(inner, "array<float64>"))
        else:  # edges at or above the number, counted from the other side
            downward = ibis.literal([-edge for edge in reversed(inner)], "array<float64>")
            code = len(inner) - width_bucket(-number, downward)
        if not inner:
            code = ibis.literal(0, "int64")
        return number.between(edges[0], edges[-1]).ifelse(code.cast("int64"), ibis.null("int64"))


class PostgresBench(Bench):
    """A temporary table where one may be made; otherwise every question encodes again, in one transaction that sees
    one state, and GROUPING SETS count all tables at once.
    """

    def _make(self, report: Any) -> Any:
        if report:
            report("reading", 0, 100)
        encoding = self.connection.compile(self.expression)
        if not _may_make_tables(self.connection):
            self._run(f"SELECT count(*) FROM ({encoding}) AS t")  # may it be read at all?
            return self.expression
        self._run(f'CREATE TEMPORARY TABLE "{self.name}" AS {encoding}')  # one statement, which workers may share
        self._run(f'ANALYZE "{self.name}"')  # or the planner sorts where it could hash
        if report:
            report("reading", 100, 100)
        return self.connection.table(self.name)

    def _run(self, statement: str) -> None:
        with self.connection.con.cursor() as cursor:
            cursor.execute(statement)

    @property
    def has_table(self) -> bool:
        """Whether codes are kept."""
        return self.codes is not self.expression

    def fetch(self, expression: Any) -> pa.Table:
        """COPY, which is many times faster than fetching rows into Python."""
        names = list(expression.columns)
        return self._copy(self.connection.compile(expression), names)

    def _copy(self, sql: str, names: Sequence[str]) -> pa.Table:
        from pyarrow import csv

        gathered = io.BytesIO()
        with self.connection.con.cursor() as cursor, cursor.copy(f"COPY ({sql}) TO STDOUT (FORMAT csv)") as copy:
            for block in copy:
                gathered.write(block)
        if not gathered.tell():
            return pa.table({name: pa.array([], pa.int64()) for name in names})
        gathered.seek(0)
        whole = dict.fromkeys(names, pa.int64())
        return csv.read_csv(
            gathered,
            read_options=csv.ReadOptions(column_names=list(names)),
            parse_options=csv.ParseOptions(ignore_empty_lines=False),  # the sum of no rows, which is null
            convert_options=csv.ConvertOptions(column_types=whole),
        )

    def count(self, sets: Sequence[Sequence[str]]) -> Iterator[pa.Table]:
        """One GROUP BY each over the codes, or all of them in one query that encodes on the way."""
        self.encode()
        if self.has_table:
            yield from super().count(sets)
            return
        keys = sorted({key for columns in sets for key in columns}, key=lambda key: int(key[1:]))
        listed = ", ".join(f"({', '.join(columns)})" for columns in sets)
        marks = ", ".join(f"GROUPING({key}) AS g{key}" for key in keys)
        sql = (
            f"WITH codes AS MATERIALIZED ({self.connection.compile(self.expression)}) "
            f"SELECT {', '.join(keys)}, {marks}, count(*) AS n FROM codes GROUP BY GROUPING SETS ({listed})"
        )
        cells = self._copy(sql, [*keys, *(f"g{key}" for key in keys), "n"])
        absent = {key: cells.column(f"g{key}").to_numpy() for key in keys}
        for columns in sets:
            rows = np.ones(cells.num_rows, dtype=bool)
            for key in keys:
                rows &= absent[key] == (key not in columns)
            yield cells.filter(pa.array(rows)).select([*columns, "n"])

    @contextmanager
    def held(self, key: str) -> Iterator[Any]:
        """In a temporary table, filled by COPY: the log of the server shows statements, not what is copied.

        Where no temporary table may be made the text stands in the query. The promise does not rest on its secrecy.
        """
        import psycopg

        if not _may_make_tables(self.connection):
            yield ibis.literal(key)
            return
        name = temporary_name("key")
        self._run(f'CREATE TEMPORARY TABLE "{name}" (key text)')
        with self.connection.con.cursor() as cursor, cursor.copy(f'COPY "{name}" FROM STDIN') as copy:
            copy.write_row((key,))
        try:
            yield self.connection.table(name).key.as_scalar()
        finally:
            with suppress(psycopg.Error):  # a lost connection dropped it
                self._run(f'DROP TABLE "{name}"')

    def free(self) -> None:
        """Drop the temporary table; a lost connection has dropped it already."""
        import psycopg

        with suppress(psycopg.Error):
            if self.has_table:
                super().free()
        self.codes = None

    @classmethod
    @contextmanager
    def one_state(cls, connection: Any, made: "list[Bench]") -> Iterator[None]:
        """One transaction, which sees the database as it was when the first table was read."""
        if not _may_make_tables(connection):  # all that this connection does is one transaction
            yield
            return
        client = connection.con
        client.execute(_ONE_STATE)
        try:
            yield
        except BaseException:
            with suppress(Exception):  # of a lost connection; what is raised says so
                client.rollback()
            raise
        client.commit()


def _may_make_tables(connection: Any) -> bool:
    """Whether the server lets us keep codes. Where it does not, from now on everything is one transaction, so that
    questions that are asked one after the other see one state of the tables.
    """
    known: bool | None = connection.__dict__.get("understudy_may_make_tables")
    if known is None:
        (known,) = connection.con.execute(
            "SELECT has_database_privilege(current_database(), 'TEMP') AND NOT pg_is_in_recovery() "
            "AND current_setting('transaction_read_only') = 'off'"
        ).fetchone()
        connection.__dict__["understudy_may_make_tables"] = known
        if not known:
            connection.con.execute(f"{_ONE_STATE} READ ONLY")
    return bool(known)


class _Postgres(Engine):
    name = "postgres"
    title = "PostgreSQL"
    ibis_name = "postgres"
    schemes = ("postgresql", "postgres")
    example = "postgresql://USER@HOST/DB?table=SCHEMA.TABLE"
    options = frozenset(
        {
            "table", "host", "port", "user", "dbname", "service", "passfile", "sslmode", "sslcert", "sslkey",
            "sslrootcert", "connect_timeout", "application_name", "target_session_attrs", "krbsrvname", "gssencmode",
        }
    )  # fmt: skip
    password_from = "PGPASSWORD or ~/.pgpass"
    secrets = ("PGPASSWORD", "PGSSLPASSWORD")
    bench = PostgresBench
    dialect = _PostgresDialect()
    remedies = (
        (
            (
                "server closed the connection",
                "terminating connection",
                "connection is lost",
                "the connection is closed",
                "consuming input failed",
                "connection not open",
                "shutting down",
            ),
            "The database went away while it was asked; nothing was released. Run again when it is back.",
        ),
        (
            ("connection refused", "could not translate host name", "timeout expired"),
            "Is the server running, and may it be reached from here?",
        ),
        (
            ("permission denied", "authentication", "no password supplied"),
            "Check your user name and rights; a password comes from PGPASSWORD or ~/.pgpass.",
        ),
    )

    def failures(self) -> tuple[type[BaseException], ...]:
        psycopg = sys.modules.get("psycopg")
        return () if psycopg is None else (psycopg.Error,)

    def open(self, where: Address) -> Found:
        need("psycopg", extra="postgres", what="PostgreSQL")
        import psycopg

        if "table" not in where.options:
            raise DataError(
                f"the address of PostgreSQL database {where.database!r} names no table; add ?table=SCHEMA.TABLE."
            )
        schema, name = schema_and_table(where.options["table"])
        options = {key: value for key, value in where.options.items() if key != "table"}
        options.setdefault("connect_timeout", str(_CONNECT_SECONDS))
        options.setdefault("application_name", "understudy")
        known = {"host": where.host, "port": where.port, "user": where.user, "dbname": where.database}
        settings = {**{key: value for key, value in known.items() if value}, **options}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            client = psycopg.connect(autocommit=True, **settings)
            connection = ibis.postgres.from_connection(client)
            weakref.finalize(connection, client.close)
            try:
                inside = None if schema is None else (connection.current_catalog, schema)
                opened = connection.table(name, database=inside)
            except ibis.common.exceptions.TableNotFound:
                raise DataError(
                    f"there is no table {where.options['table']!r} in PostgreSQL database {where.database!r}, or you "
                    "may not see it; check the name (SCHEMA.TABLE, case counts) and your rights."
                ) from None
        return Found(connection, _below_domains(connection, opened, schema, name), where.label)


def _below_domains(connection: Any, opened: Any, schema: str | None, name: str) -> Any:
    """The table, its domains taken for the types that they rest on: the server treats their values so."""
    from ibis.backends.sql.datatypes import PostgresType

    known = opened.schema()
    if not any(kind.is_unknown() for kind in known.types):
        return opened
    named = {"table": name, "schema": schema}
    resting = {
        column: PostgresType.from_string(spelled)
        for column, spelled in connection.con.execute(_BELOW_DOMAINS, named).fetchall()
        if column in known and known[column].is_unknown()
    }
    whole = ibis.schema({**dict(known.items()), **resting})
    return opened.op().copy(schema=whole).to_expr()


ENGINE = _Postgres()
