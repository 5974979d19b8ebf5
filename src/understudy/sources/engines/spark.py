"""Spark: its workers encode and count where the rows are.

Spark lists the files of a table once, when it is opened: what is added later is not read. It would read a file that was
written anew under the same name, wholly or in part, when numbers are encoded again or the codes of a lost worker are
made again. So size and time of every file are compared after each question, and a change is said.
"""

import hashlib
import logging
import os
import re
import shutil
import socket
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, unquote

import ibis
import pyarrow as pa

from understudy.errors import DataError
from understudy.extras import need
from understudy.sources.engines.bench import CHANGED, Bench
from understudy.sources.engines.dialect import NUMBER, Dialect, temporary_name
from understudy.sources.engines.kind import Address, Engine, Found
from understudy.sources.faults import engine_errors

_CONNECT_SECONDS = 10
_MASTERS = ("local", "spark://", "yarn", "k8s://")
_MOST_IN_A_BYTE = 127
_GONE = "Spark's Java process does not answer any more"


@ibis.udf.scalar.builtin  # type: ignore[untyped-decorator]
def sha2(text: str, bits: int) -> str:  # type: ignore[empty-body]
    """In hexadecimal digits."""


class _SparkDialect(Dialect):
    has_unsigned = False

    def kind_of_codes(self, largest: int) -> str:
        """A signed byte where it is enough: half the memory of the workers."""
        return "int8" if largest <= _MOST_IN_A_BYTE else super().kind_of_codes(largest)

    def sha256(self, text: Any) -> Any:
        return sha2(text, 256)

    def stages(self, values: Sequence[Any]) -> bool:
        return True

    def staged(self, table: Any) -> Any:
        """Behind a name: Spark would merge the two queries."""
        connection = table.get_backend()
        name = temporary_name("stage")
        connection._session.sql(connection.compile(table)).createOrReplaceTempView(name)
        return connection.table(name)

    def compares_floats(self, value: Any) -> bool:
        """Spark spells floats in its own way."""
        return bool(value.type().is_floating())

    def stripped(self, text: Any) -> Any:
        """By a pattern: its SQL reads the escapes for the rarer spaces as letters."""
        return text.re_replace(r"^\s+|\s+$", "")

    def kept(self, before: str) -> str:
        return before + "$1"

    def number_in(self, text: Any) -> Any:
        """It also reads 1d and 1f."""
        plain = self.stripped(text)
        return plain.re_search(NUMBER).ifelse(plain, ibis.null("string")).try_cast("float64")


class SparkBench(Bench):
    """A cached view: Spark keeps the codes on its workers, in memory or on their disks."""

    def __init__(self, connection: Any, expression: Any) -> None:
        super().__init__(connection, expression)
        self._files: list[str] = []
        self._first: Any = None
        with suppress(Exception):  # whose files may not be listed is not watched; other faults come later
            frame = connection._session.sql(connection.compile(expression))
            files = [_as_glob(unquote(path)) for path in frame.inputFiles()]
            if files:  # none where the table lies in no file, or where its codes are kept already
                self._first = self._state(files)
                self._files = files

    def _state(self, files: list[str]) -> Any:
        """Path, size and time of change of all files, by Spark itself, which reaches them; their bytes are not read."""
        listed = self.connection._session.read.format("binaryFile").load(files)
        return sorted(listed.select("path", "length", "modificationTime").toArrow().to_pylist(), key=str)

    @property
    def state(self) -> str:
        """A digest of path, size and time of all files as they were opened; empty where they are not watched."""
        return "" if self._first is None else hashlib.sha256(repr(self._first).encode()).hexdigest()

    def fetch(self, expression: Any) -> pa.Table:
        """The answer to one question, of the state that was opened."""
        answer = self.fetched(self.connection, expression)
        self.refuse_change()
        return answer

    def count(self, sets: Sequence[Sequence[str]]) -> Iterator[pa.Table]:
        """One GROUP BY each over the codes."""
        codes = self.encode()
        for keys in sets:
            yield self.fetched(self.connection, codes.group_by(list(keys)).aggregate(n=codes.count()))
        self.refuse_change()

    def refuse_change(self) -> None:
        """Raise unless the files are those that were opened."""
        from pyspark.errors import AnalysisException

        if not self._files:
            return
        try:
            now = self._state(self._files)
        except AnalysisException:  # one is gone
            now = None
        if now != self._first:
            raise DataError(CHANGED)

    def _make(self, report: Any) -> Any:
        from pyspark import StorageLevel

        session = self.connection._session
        encoded = session.sql(self.connection.compile(self.expression))
        # a condition of its own, or Spark would take codes that another source of these files keeps, however old
        self._frame = encoded.where(f"'{self.name}' = '{self.name}'")
        self._frame.persist(StorageLevel.MEMORY_AND_DISK)
        self._frame.createOrReplaceTempView(self.name)
        return self.connection.table(self.name)

    @staticmethod
    def fetched(connection: Any, expression: Any) -> pa.Table:
        """By Arrow, where Ibis would go through pandas."""
        return connection._session.sql(connection.compile(expression)).toArrow()

    @property
    def frame(self) -> Any:
        """The codes as a Spark data frame, for work that is sent to where they lie."""
        self.encode()
        return self._frame

    @contextmanager
    def held(self, key: str) -> Iterator[Any]:
        """In a frame of one row, whose values do not stand in the plans that Spark shows and logs."""
        session = self.connection._session
        name = temporary_name("key")
        session.createDataFrame([(key,)], "key string").createOrReplaceTempView(name)
        try:
            yield self.connection.table(name).key.as_scalar()
        finally:
            session.catalog.dropTempView(name)

    def free(self) -> None:
        """Let the workers forget the codes."""
        if self.codes is not None:
            self.connection._session.catalog.dropTempView(self.name)
            self._frame.unpersist()
            self.codes = None


def _as_glob(path: str) -> str:
    """A path that stands for itself where Spark looks for patterns.

    >>> _as_glob("file:/a[1]/b*.parquet")
    'file:/a\\\\[1\\\\]/b\\\\*.parquet'
    """
    return re.sub(r"([\\\[\]{}*?])", r"\\\1", path)


class _Spark(Engine):
    name = "spark"
    title = "Spark"
    ibis_name = "pyspark"
    schemes = ("spark",)
    example = "spark://HOST:PORT?table=T"
    options = frozenset({"table", "path"})
    password_from = "its own settings"
    bench = SparkBench
    dialect = _SparkDialect()
    remedies = (
        (
            ("sparkcontext was shut down", "answer from java side is empty", _GONE.lower()),
            "The database went away while it was asked; nothing was released. Run again when it is back.",
        ),
        (
            ("java_gateway_exited",),
            "Spark's own words stand above this line. Is it Java 17 or later, and are Spark's settings right?",
        ),
    )

    def failures(self) -> tuple[type[BaseException], ...]:
        """A driver whose Java side is gone gives plain connection errors."""
        if "pyspark" not in sys.modules:
            return ()
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException, PySparkRuntimeError

        return (PySparkException, PySparkRuntimeError, Py4JError, ConnectionError)

    def words(self, reason: BaseException) -> str:
        """A Java side that is gone is told in many ways, such as that it lacks a class that it had before."""
        from py4j.protocol import Py4JError, Py4JNetworkError

        text = str(reason)
        unanswered = type(reason) is Py4JError and text.startswith("An error occurred while") and "\n" not in text
        is_gone = isinstance(reason, Py4JNetworkError | ConnectionError) or "does not exist in the JVM" in text
        return _GONE if unanswered or is_gone else text

    def address(self, parts: SplitResult, options: Mapping[str, str]) -> Address:
        return self.at(_master(parts.netloc), options)

    def holds_secret(self, address: str, parts: SplitResult) -> bool:
        """Also in the path of a bucket."""
        return "@" in address

    def at(self, master: str, options: Mapping[str, str]) -> Address:
        """A table or a path on a master."""
        what = options.get("table") or options.get("path") or "a table"
        return Address(kind=self.name, label=f"{what} on Spark", host=master, options=dict(options))

    def open(self, where: Address) -> Found:
        if ("table" in where.options) == ("path" in where.options):
            raise DataError("a Spark address names one table or one path: add ?table=DB.TABLE or ?path=FILE.parquet.")
        return _read(spark_session(where.host or None), where)


def is_spark(what: Any) -> bool:
    """Whether something is a Spark session or data frame."""
    return type(what).__module__.startswith("pyspark.")


def spark_files(what: Any, table: str | None) -> list[str]:
    """Where the files lie that a data frame, or what a session calls ``table``, is read from; no row is read.

    There are none where Spark cannot tell: of a table without files, or of rows that it keeps in memory.
    """
    if table is not None and _is_path(table):
        return [table]
    with suppress(Exception):  # whoever reads the rows will say what is wrong
        frame = what if hasattr(what, "createOrReplaceTempView") else what.table(table)
        return [unquote(path) for path in frame.inputFiles()]
    return []


def open_spark_object(what: Any, table: str | None) -> Found:
    """A Spark session with a table or path, or a Spark data frame."""
    if hasattr(what, "createOrReplaceTempView"):
        return _as_table(what.sparkSession, what, "the Spark data frame")
    if not hasattr(what, "sql"):
        raise DataError(f"a {type(what).__name__} cannot be opened; give a SparkSession and a table, or a data frame.")
    if table is None:
        raise DataError("a Spark session holds many tables; name one with `table`, or give a path.")
    return _read(what, ENGINE.at("", {"path" if _is_path(table) else "table": table}))


def _is_path(table: str) -> bool:
    """Whether what was named as a table is a path; Spark itself has names with a path in them (parquet.`/a/b`)."""
    return "/" in table and re.match(r"\w+\.`", table) is None


def _master(netloc: str) -> str:
    """``local``, ``local[4]`` and ``yarn`` are masters by themselves; anything else is a stand-alone one."""
    if netloc in ("", "yarn") or netloc.startswith("local"):
        return "local[*]" if netloc == "local" else netloc
    return f"spark://{netloc}"


def _read(session: Any, where: Address) -> Found:
    with engine_errors(where.label):
        if "table" in where.options:
            frame = session.table(where.options["table"])
        else:
            path = where.options["path"]
            is_text = Path(path).suffix.lower() in {".csv", ".gz", ".tsv"}
            frame = _read_csv(session, path) if is_text else session.read.load(path)
    return _as_table(session, frame, where.label)


def _read_csv(session: Any, path: str) -> Any:
    """Row for row as every engine reads it: a value may hold line ends, and a row with fields too many or too few ends
    it. By itself Spark makes two rows of the one, and fills up or cuts the other."""
    reader = session.read.option("columnPruning", False)  # or only fields that are asked for would be counted
    return reader.csv(path, header=True, quote='"', escape='"', multiLine=True, mode="FAILFAST")


def _as_table(session: Any, frame: Any, label: str) -> Found:
    with engine_errors(label):
        name = temporary_name("source")
        frame.createOrReplaceTempView(name)  # a name for it, not a copy
        connection = ibis.pyspark.from_connection(session)
        return Found(connection, connection.table(name), label)


def _not_of_py4j(record: logging.LogRecord) -> bool:
    """The bridge to Java prints, by the root of all loggers, tracebacks of errors that it raises too."""
    return "py4j" not in Path(record.pathname).parts


def spark_session(master: str | None = None) -> Any:
    """The session of this process, or a new one; ``master`` as Spark spells it, by default what its settings say."""
    need("pyspark", extra="spark", what="Spark, besides Java (for example `apt-get install default-jre-headless`),")
    from pyspark.sql import SparkSession

    logging.getLogger().addFilter(_not_of_py4j)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # or workers take whichever Python they find
    active = SparkSession.getActiveSession()
    if active is not None:
        running = active.sparkContext.master
        if master is not None and running != master:
            raise DataError(
                f"this process works on the Spark master {running!r} already, not {master!r}; stop it first."
            )
        return active
    if master is not None:
        _refuse_master(master)
    _refuse_without_java()
    settings = {"sql.session.timeZone": "UTC", "ui.showConsoleProgress": "false", "log.level": "ERROR"}
    if master is None or master.startswith("local"):
        settings |= {"ui.enabled": "false", "driver.host": "127.0.0.1", "driver.bindAddress": "127.0.0.1"}
    builder = SparkSession.builder.appName("understudy")
    for name, value in settings.items():
        builder = builder.config(f"spark.{name}", value)
    if master is not None:
        builder = builder.master(master)
    with engine_errors(f"the Spark master {master or 'of the environment'}"):
        return builder.getOrCreate()


def _refuse_master(master: str) -> None:
    """A master that cannot be, or that nobody answers for: Spark itself would try for a minute and give no reason."""
    if not master.startswith(_MASTERS):
        raise DataError(
            f"{master!r} is not the name of a Spark master; write spark://HOST:PORT, yarn, k8s://HOST:PORT or local[2]."
        )
    if master == "yarn" and not {"HADOOP_CONF_DIR", "YARN_CONF_DIR"} & set(os.environ):
        raise DataError(
            "Spark finds the resource manager of `yarn` by the folder of its settings, and neither HADOOP_CONF_DIR nor "
            "YARN_CONF_DIR is set. Set one of them."
        )
    if not master.startswith("spark://"):
        return
    places = [_place(master, text) for text in master.removeprefix("spark://").split(",")]
    reasons = []
    for host, port in places:  # several where one may stand in for the other
        try:
            with socket.create_connection((host, port), timeout=_CONNECT_SECONDS):
                return
        except OSError as reason:
            reasons.append(f"{host}:{port}: {reason.strerror or reason}")
    raise DataError(
        f"the Spark master {master} cannot be reached ({'; '.join(reasons)}). Is it running, is the address right, and "
        "may it be reached from here?"
    )


def _place(master: str, text: str) -> tuple[str, int]:
    host, _, port = text.strip().rpartition(":")
    if not host or not port.isascii() or not port.isdigit() or not 0 < int(port) < 1 << 16:
        raise DataError(f"the Spark master {master!r} names no port; write spark://HOST:PORT, for example :7077.")
    return host.strip("[]"), int(port)


def _refuse_without_java() -> None:
    """Say so before Spark's start script does, in words of its own shell. Under `spark-submit` Java runs already."""
    if "PYSPARK_GATEWAY_PORT" in os.environ:
        return
    home = os.environ.get("JAVA_HOME")
    if shutil.which("java", path=str(Path(home) / "bin")) if home else shutil.which("java"):
        return
    lacking = (
        f"JAVA_HOME is {home!r}, where there is no bin/java"
        if home
        else "there is no `java` on the PATH, and JAVA_HOME is not set"
    )
    raise DataError(
        f"Spark runs on Java 17 or later, also on the machine that starts it, and {lacking}. Install Java (for example "
        "`apt-get install default-jre-headless`), or set JAVA_HOME to where it is."
    )


ENGINE = _Spark()
