"""k, l and t against an independent library, in an environment of its own (`make pycanon`): group pycanon.

What pycanon 1.3 does differently and is therefore not compared: it cuts entropy l down to a whole number, and its
recursive (c, l) sorts the counts from the smallest on, where the definition starts from the largest.
"""

import json
import math
import os
import subprocess
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pv
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import understudy as us
from understudy.anonymize import (
    Closeness,
    DistinctDiversity,
    EntropyDiversity,
    FullDomain,
    Mondrian,
    Recipe,
    Rule,
    anonymize,
    measure,
)
from understudy.codebook import Categorical, Codebook, Ordinal, Role

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def pycanon():
    """Ask pycanon about a table."""
    python = Path(os.environ.get("UNDERSTUDY_PYCANON", ROOT / ".venv-pycanon" / "bin" / "python"))
    if not python.is_file():
        pytest.skip("group pycanon: no environment with pycanon; `make pycanon` makes one")
    script = Path(__file__).with_name("pycanon_worker.py")
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([str(python), str(script)], **pipes) as worker:  # hanging up ends it

        def ask(table, quasi, sensitive, order):
            columns = {name: table.column(name).to_pylist() for name in (*quasi, sensitive)}
            asked = {"columns": columns, "quasi": list(quasi), "sensitive": sensitive, "order": list(order)}
            worker.stdin.write(json.dumps(asked) + "\n")
            worker.stdin.flush()
            return json.loads(worker.stdout.readline())

        yield ask


def same(pycanon, table, quasi, sensitive, order):
    criteria = [
        DistinctDiversity(column=sensitive, l=1),
        EntropyDiversity(column=sensitive, l=1),
        Closeness(column=sensitive, t=1, distance="equal"),
        Closeness(column=sensitive, t=1, distance="ordered"),
    ]
    ours = measure(table, quasi=quasi, criteria=criteria, orders={sensitive: order})
    theirs = pycanon(table, quasi, sensitive, order)
    distinct, entropy, equal, ordered = (value for _, value in ours.achieved)
    assert ours.k == theirs["k"]
    assert distinct == theirs["distinct"]
    assert theirs["entropy"] in (math.floor(entropy - 1e-9), math.floor(entropy + 1e-9))
    assert equal == pytest.approx(theirs["equal"], abs=1e-9)
    assert ordered == pytest.approx(theirs["ordered"], abs=1e-9)
    return ours


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(
        st.tuples(st.sampled_from("abc"), st.sampled_from("xy"), st.sampled_from("pqrs")), min_size=1, max_size=40
    )
)
def test_random_tables(pycanon, rows):
    table = pa.table({name: [row[place] for row in rows] for place, name in enumerate(("first", "second", "s"))})
    same(pycanon, table, ("first", "second"), "s", "pqrs")


@pytest.mark.parametrize("step", [FullDomain(k=4, suppression=0.1), Mondrian(k=4)], ids=["full-domain", "mondrian"])
def test_released_discharges(pycanon, step):
    source = us.open(us.datasets.discharges(rows=1200, seed=9), us.datasets.discharges_codebook())
    quasi = ("sex", "pay", "patzip")
    release = anonymize(source, Recipe(steps=(step,), quasi=quasi)).release
    filled = release.table.set_column(
        release.table.column_names.index("sex"), "sex", release.table.column("sex").fill_null("NA")
    )
    ours = same(pycanon, filled, quasi, "charge", release.codebook.column("charge").levels)
    assert ours.k >= 4


@pytest.mark.data
@pytest.mark.parametrize("kind", ["full-domain", "mondrian"])
def test_adult_with_the_hierarchies_of_arx(pycanon, data_folder, kind):
    folder = data_folder / "arx_adult"
    table = pv.read_csv(folder / "adult.csv.gz", parse_options=pv.ParseOptions(delimiter=";"))
    quasi = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation")
    columns = []
    for name in table.column_names:
        levels = np.unique([str(value) for value in table.column(name).to_pylist()])
        role = Role.QUASI_IDENTIFIER if name in quasi else Role.SENSITIVE
        columns.append((Ordinal if name == "age" else Categorical)(name=name, levels=tuple(levels.tolist()), role=role))
    rules = {name: Rule(arx=folder / f"adult_hierarchy_{name}.csv") for name in quasi}
    criteria = (
        EntropyDiversity(column="salary-class", l=1.3),
        Closeness(column="salary-class", t=0.5, distance="equal"),
    )
    step = (
        FullDomain(k=5, suppression=0.05, criteria=criteria)
        if kind == "full-domain"
        else Mondrian(k=5, criteria=criteria)
    )
    made = anonymize(us.open(table, Codebook(columns=tuple(columns))), Recipe(steps=(step,), hierarchies=rules))
    ours = same(pycanon, made.release.table, quasi, "salary-class", ("<=50K", ">50K"))
    assert ours.k >= 5
    assert ours.achieved[1][1] >= 1.3 and ours.achieved[2][1] <= 0.5 + 1e-12
