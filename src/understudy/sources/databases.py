"""Tables that stay where they are: PostgreSQL and Spark, through Ibis."""

import os
import re
import shutil
import socket
import sys
import uuid
import warnings
import weakref
from pathlib import Path
from typing import Any

from understudy.errors import DataError
from understudy.extras import need
from understudy.sources.addresses import Address, parse_address
from understudy.sources.faults import engine_errors

_CONNECT_SECONDS = 10
_MASTERS = ("local", "spark://", "yarn", "k8s://")
_NAMES = re.compile(r'"((?:[^"]|"")+)"|([^."]+)')


def open_database(address: str, table: str | None) -> tuple[Any, Any, str]:
    """(connection, table, label) of an address; reads no row."""
    where = parse_address(address, table)
    return _open_postgres(where) if where.kind == "postgresql" else _open_spark(where)


def _open_postgres(where: Address) -> tuple[Any, Any, str]:
    need("psycopg", extra="postgres", what="PostgreSQL")
    import ibis
    import psycopg

    if "table" not in where.options:
        raise DataError(
            f"the address of PostgreSQL database {where.database!r} names no table; add ?table=SCHEMA.TABLE."
        )
    schema, name = _schema_and_table(where.options["table"])
    options = {key: value for key, value in where.options.items() if key != "table"}
    options.setdefault("connect_timeout", str(_CONNECT_SECONDS))
    options.setdefault("application_name", "understudy")
    known = {"host": where.host, "port": where.port, "user": where.user, "dbname": where.database}
    settings = {**{key: value for key, value in known.items() if value}, **options}
    with engine_errors(where.label), warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        client = psycopg.connect(autocommit=True, **settings)
        connection = ibis.postgres.from_connection(client)
        weakref.finalize(connection, client.close)
        try:
            inside = None if schema is None else (connection.current_catalog, schema)
            opened = connection.table(name, database=inside)
        except ibis.common.exceptions.TableNotFound:
            raise DataError(
                f"there is no table {where.options['table']!r} in PostgreSQL database {where.database!r}, or you may "
                "not see it; check the name (SCHEMA.TABLE, case counts) and your rights."
            ) from None
    return connection, opened, where.label


def _schema_and_table(text: str) -> tuple[str | None, str]:
    """``schema.table`` or ``table``; names with a point in them stand in double quotes."""
    names = [quoted.replace('""', '"') if quoted else bare for quoted, bare in _NAMES.findall(text)]
    if not 1 <= len(names) <= 2:
        raise DataError(f"the table {text!r} is not a name; write TABLE or SCHEMA.TABLE.")
    return (names[0] if len(names) == 2 else None), names[-1]


def is_spark(what: Any) -> bool:
    """Whether something is a Spark session or data frame."""
    return type(what).__module__.startswith("pyspark.")


def open_spark_object(what: Any, table: str | None) -> tuple[Any, Any, str]:
    """A Spark session with a table or path, or a Spark data frame."""
    if hasattr(what, "createOrReplaceTempView"):
        return _as_table(what.sparkSession, what, "the Spark data frame")
    if not hasattr(what, "sql"):
        raise DataError(f"a {type(what).__name__} cannot be opened; give a SparkSession and a table, or a data frame.")
    if table is None:
        raise DataError("a Spark session holds many tables; name one with `table`, or give a path.")
    where = Address(kind="spark", host="", options={"path" if "/" in table else "table": table})
    return _read(what, where)


def _open_spark(where: Address) -> tuple[Any, Any, str]:
    if ("table" in where.options) == ("path" in where.options):
        raise DataError("a Spark address names one table or one path: add ?table=DB.TABLE or ?path=FILE.parquet.")
    return _read(spark_session(where.host or None), where)


def _read(session: Any, where: Address) -> tuple[Any, Any, str]:
    with engine_errors(where.label):
        if "table" in where.options:
            frame = session.table(where.options["table"])
        else:
            path = where.options["path"]
            is_text = Path(path).suffix.lower() in {".csv", ".gz", ".tsv"}
            frame = session.read.csv(path, header=True, quote='"', escape='"') if is_text else session.read.load(path)
    return _as_table(session, frame, where.label)


def _as_table(session: Any, frame: Any, label: str) -> tuple[Any, Any, str]:
    import ibis

    with engine_errors(label):
        name = f"understudy_source_{uuid.uuid4().hex}"
        frame.createOrReplaceTempView(name)  # a name for it, not a copy
        connection = ibis.pyspark.from_connection(session)
        return connection, connection.table(name), label


def spark_session(master: str | None = None) -> Any:
    """The session of this process, or a new one; ``master`` as Spark spells it, by default what its settings say."""
    need("pyspark", extra="spark", what="Spark, besides Java (for example `apt-get install default-jre-headless`),")
    from pyspark.sql import SparkSession

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
