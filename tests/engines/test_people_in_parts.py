"""Large releases that protect people: capped where the records lie, paid once, resumed at no other price."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import understudy as us
from tests.engines.part_tables import REASONS, Explodes, rows_of
from understudy.codebook import Categorical, Codebook, PersonUnit, Role, Text
from understudy.errors import ReleaseError
from understudy.privacy.account import ChargeState
from understudy.privacy.guarantees import Neighbours
from understudy.release.verify import verify_release
from understudy.synth.ranged import synthesize_parts
from understudy.synth.workers import SparkWorkers

BOOK = Codebook(
    columns=(
        Text(name="patient", role=Role.IDENTIFIER),
        Categorical(name="a", levels=("x", "y")),
        Categorical(name="b", levels=("u", "v", "w")),
    ),
    unit=PersonUnit(id="patient", cap=2),
)


def stays(rows: int = 3000) -> pa.Table:
    rng = np.random.default_rng(5)
    a = rng.integers(0, 2, rows)
    return pa.table(
        {
            "patient": [f"p{k}" for k in rng.integers(0, rows // 5, rows)],
            "a": np.array(["x", "y"])[a],
            "b": np.array(["u", "v", "w"])[(a + rng.integers(0, 2, rows)) % 3],
        }
    )


PRIVATE = {"parents": "private", "parent_count": 1, "selection_epsilon": 0.1, "public_rows": 3000}


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("marginals", {"epsilon": 1.0, "delta": 1e-6}),
        ("pegs", {"alpha": 1.0, "delta": 1e-6}),
        ("pegs", {"alpha": 1.0, "delta": 1e-6, **PRIVATE}),
    ],
    ids=["marginals", "pegs", "pegs with private parents"],
)
def test_a_resumed_run_costs_a_person_what_was_quoted(method: str, options: dict[str, Any], tmp_path: Path) -> None:
    recipe = us.make_recipe(method, **options)
    account = us.Account.create(
        tmp_path / "a", dataset="t", epsilon=1e9, delta=0.5, neighbours=Neighbours.ADD_REMOVE_PERSON
    )
    work: dict[str, Any] = {"rows": 300, "out": tmp_path / "r", "part_rows": 100, "account": account}
    REASONS.append(OSError("power cut"))
    with pytest.raises(ReleaseError, match="power cut"):
        synthesize_parts(stays(), BOOK, recipe, workers=Explodes(count=1), **work)
    release = synthesize_parts(stays(), BOOK, recipe, **work)
    total = release.manifest.total
    assert total.neighbours is Neighbours.ADD_REMOVE_PERSON  # type: ignore[union-attr]
    assert total == recipe.quote(BOOK, 300).total
    [charge] = account.history()
    assert charge.state == ChargeState.COMMITTED
    said = json.loads((tmp_path / "r" / "manifest.json").read_text())["parameters"]["per_person"]
    assert said["records"] == 2
    assert {name: said[name] for name in said if name != "records"} == {
        name: options[name] for name in said if name != "records"
    }
    assert verify_release(tmp_path / "r").problems == ()
    assert rows_of(tmp_path / "r").num_rows == 300


@pytest.mark.java
def test_plugs_caps_people_where_the_records_lie(spark: Any, tmp_path: Path) -> None:
    """One person has 4,000 records of a = y, everybody else one of a = x: uncapped, y would be as common as x."""
    rows = pa.table(
        {
            "patient": ["many"] * 4000 + [f"p{k}" for k in range(4000)],
            "a": ["y"] * 4000 + ["x"] * 4000,
            "b": ["u"] * 8000,
        }
    )
    pq.write_table(rows, tmp_path / "t.parquet")
    release = synthesize_parts(
        spark.read.parquet(str(tmp_path / "t.parquet")),
        BOOK,
        us.PLUGS(l=1.05, partitions=2, sweeps=5),
        rows=2000,
        out=tmp_path / "r",
        part_rows=1000,
        workers=SparkWorkers(session=spark),
    )
    assert release.manifest.parameters["per_person"] == {"records": 2}
    drawn = rows_of(tmp_path / "r")
    assert drawn.num_rows == 2000 and drawn.column_names == ["a", "b"]
    # a block of a single level is mixed with the uniform law until its entropy is ln 1.05, which gives y about 0.01
    assert np.mean(np.array(drawn.column("a").to_pylist()) == "y") < 0.1
    assert verify_release(tmp_path / "r").problems == ()
