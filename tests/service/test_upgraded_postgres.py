"""A database of version 0.1.0 in PostgreSQL: its own rows, in the tables that it had."""

import base64
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import create_engine, insert, select, text

from understudy.errors import UnderstudyError
from understudy.service import Budgets, KeyBook, Store
from understudy.service.amounts import Amount
from understudy.service.projects import Projects
from understudy.service.secret import ENVIRONMENT
from understudy.service.tables import cap_changes, meta, schema

UPGRADES = Path(__file__).parents[1] / "upgrades"
ADDED = {"version_0_1_0": ("delta",), "first_service": ("dataset", "delta")}


def earlier_database(made: str, url: str) -> None:
    """What the file in SQLite holds, as an earlier server would have kept it in PostgreSQL."""
    engine = create_engine(url.replace("postgresql://", "postgresql+psycopg://", 1))
    with closing(sqlite3.connect(UPGRADES / made / "service.db")) as file, engine.begin() as connection:
        file.row_factory = sqlite3.Row
        names = {name for (name,) in file.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        tables = [table for table in schema.sorted_tables if table.name in names]
        assert len(tables) == len(names)
        schema.create_all(connection, tables)
        for column in ADDED[made]:
            connection.execute(text(f'ALTER TABLE {cap_changes.name} DROP COLUMN "{column}"'))
        for table in tables:
            for row in file.execute(f"SELECT * FROM {table.name}"):
                connection.execute(insert(table).values(**dict(row)))
        counted = f"pg_get_serial_sequence('{cap_changes.name}', 'number')"
        connection.execute(text(f"SELECT setval({counted}, (SELECT max(number) FROM {cap_changes.name}))"))
    engine.dispose()


@pytest.mark.parametrize("made", sorted(ADDED))
def test_it_is_brought_up_with_every_charge(made, postgres_url, monkeypatch):
    monkeypatch.setenv(ENVIRONMENT, base64.b64encode(bytes(range(32))).decode())
    facts = json.loads((UPGRADES / made / "facts.json").read_text())
    earlier_database(made, postgres_url)
    for _ in range(2):  # brought up once, and then as it is
        with Store.open(postgres_url) as store:
            known, budgets = KeyBook(store).check(facts["key"]), Budgets(store)
            assert known is not None and known.key_id == facts["key_id"]
            of_key, of_model = budgets.balances(facts["key_id"])[facts["model_id"]]
            assert of_key.spent == of_model.spent == 1_500_000_000 and not budgets.faults()
            budgets.set_cap(facts["model_id"], 6.0)
            with store.reading() as connection:
                assert connection.execute(select(meta.c.text).where(meta.c.name == "schema")).scalar() == "2"
    with Store.open(postgres_url) as store:
        Budgets(store).charge(facts["key_id"], facts["model_id"], [b"4" * 32])
        with pytest.raises(UnderstudyError):  # 2.0 are granted, and all of them spent now
            Budgets(store).charge(facts["key_id"], facts["model_id"], [b"5" * 32])
        projects = Projects(store)
        projects.set_data_cap("stays", Amount.cap(1.0, 1e-9), account="a" * 32)
        projects.create("readmission", "stays", Amount.cap(1.0))
        assert projects.faults() == []


def test_a_newer_one_is_refused_and_left_as_it_is(postgres_url, monkeypatch):
    monkeypatch.setenv(ENVIRONMENT, base64.b64encode(bytes(range(32))).decode())
    earlier_database("first_service", postgres_url)
    engine = create_engine(postgres_url.replace("postgresql://", "postgresql+psycopg://", 1))
    with engine.begin() as connection:
        connection.execute(text("UPDATE understudy_meta SET text = '3' WHERE name = 'schema'"))
    with pytest.raises(UnderstudyError, match=r"version 3; this understudy reads versions up to 2"):
        Store.open(postgres_url)
    with engine.connect() as connection:
        kept = text(
            "SELECT count(*) FROM information_schema.columns "
            "WHERE table_schema = current_schema() AND table_name = 'understudy_cap_changes' AND column_name = 'delta'"
        )
        assert connection.execute(kept).scalar() == 0
        assert connection.execute(text("SELECT text FROM understudy_meta WHERE name = 'schema'")).scalar() == "3"
    engine.dispose()
