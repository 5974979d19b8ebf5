"""Spark that cannot be had is told in one sentence, before a price is paid and before Java is waited for."""

import contextlib
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="group spark: pyspark is not installed")

from understudy.errors import DataError, ReleaseError
from understudy.sources.engines import spark
from understudy.sources.faults import _first_sentence
from understudy.synth.workers import SparkWorkers, workers_for


@pytest.fixture(autouse=True)
def no_session(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever another test of this process has running."""
    from pyspark.sql import SparkSession

    monkeypatch.setattr(SparkSession, "getActiveSession", staticmethod(lambda: None))
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)


@pytest.fixture
def closed_port() -> Iterator[int]:
    """A port that is taken and does not listen: nobody else can open it meanwhile."""
    with contextlib.closing(socket.socket()) as held:
        held.bind(("127.0.0.1", 0))
        yield int(held.getsockname()[1])


def test_a_driver_without_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(DataError, match=r"Java 17 or later.*no `java` on the PATH.*Install Java"):
        spark.spark_session("local[1]")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(ReleaseError, match=r"JAVA_HOME is .*no bin/java.*set JAVA_HOME"):
        workers_for("spark", master="local[1]")


def test_java_is_not_looked_for_under_spark_submit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    spark._refuse_without_java()


def test_a_master_that_nobody_answers_for(closed_port: int) -> None:
    with pytest.raises(DataError, match=rf"spark://127\.0\.0\.1:{closed_port} cannot be reached .*refused.*running"):
        spark.spark_session(f"spark://127.0.0.1:{closed_port}")


def test_one_of_two_masters_is_enough(closed_port: int) -> None:
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as master:
        spark._refuse_master(f"spark://127.0.0.1:{closed_port},127.0.0.1:{master.getsockname()[1]}")


@pytest.mark.parametrize(
    "master", ["spark://host", "spark://host:", "spark://:7077", "spark://host:x", "spark://h:70770"]
)
def test_a_master_without_a_port(master: str) -> None:
    with pytest.raises(DataError, match=r"names no port; write spark://HOST:PORT"):
        spark.spark_session(master)


@pytest.mark.parametrize("master", ["spak://host:7077", "host:7077", "", "mesos://host:5050"])
def test_a_master_that_is_none(master: str) -> None:
    with pytest.raises(DataError, match=r"is not the name of a Spark master; write spark://HOST:PORT, yarn"):
        spark.spark_session(master)


@pytest.mark.parametrize("master", ["local", "local[2]", "local-cluster[2,1,1024]", "yarn", "k8s://https://host:6443"])
def test_other_masters_are_for_spark_to_find(master: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("YARN_CONF_DIR", "somewhere")
    spark._refuse_master(master)


def test_yarn_without_its_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HADOOP_CONF_DIR", "YARN_CONF_DIR"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(DataError, match="neither HADOOP_CONF_DIR nor YARN_CONF_DIR is set"):
        spark.spark_session("yarn")


def test_a_connect_session_is_refused_before_anything_is_drawn() -> None:
    session = type("SparkSession", (), {"__module__": "pyspark.sql.connect.session"})()
    with pytest.raises(ReleaseError, match="Spark Connect session"):
        SparkWorkers(session=session)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            "An error occurred while calling None.x.\n: java.lang.IllegalStateException: Cannot call methods.\n\tat x",
            "Cannot call methods.",
        ),
        (
            "An error occurred while calling o1.x.\n: java.lang.NullPointerException\n\tat x",
            "java.lang.NullPointerException.",
        ),
        ("An error occurred while calling o1.x", "An error occurred while calling o1.x."),
        ("[TABLE_OR_VIEW_NOT_FOUND] no\nmore", "[TABLE_OR_VIEW_NOT_FOUND] no."),
        ("", "the engine gave no reason."),
    ],
)
def test_what_java_said_is_told_and_not_where(said: Any, told: str) -> None:
    assert _first_sentence(said) == told
