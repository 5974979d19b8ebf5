"""Filled tables keep the rules, the numbers in order, and the detailed codes."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.codebook import Categorical, Codebook, Detail, Determines, Implies, Impossible, Integer, Order
from understudy.errors import RefusalError
from understudy.mechanisms.stream import Stream
from understudy.sources import open_source
from understudy.sources.check import check_table
from understudy.synth.filling import Filling

F = Fraction
DAYS = tuple(map(F, (0, 10, 20, 30)))
BOOK = Codebook(
    columns=(
        Categorical(name="sex", levels=("F", "M"), missing="NA"),
        Categorical(name="case", levels=("birth", "heart", "lung"), missing="NA"),
        Categorical(name="zip", levels=("z1", "z2", "z3"), missing="NA"),
        Categorical(name="county", levels=("c1", "c2"), missing="NA"),
        Integer(name="in", edges=DAYS, missing="NA"),
        Integer(name="out", edges=DAYS, missing="NA"),
        Integer(name="home", edges=DAYS, missing="NA"),
        Detail(
            name="code",
            detail_of="case",
            other="other",
            groups=(("birth", ("b1",)), ("heart", ("h1", "h2", "h3")), ("lung", ("l1",))),
            missing="NA",
        ),
    ),
    constraints=(
        Impossible(name="no births of men", cells=(("sex", ("M",)), ("case", ("birth",)))),
        Determines(column="zip", sets="county", groups=(("c1", ("z1", "z2")), ("c2", ("z3",)))),
        Order(low="in", relation="<", high="out"),
        Order(low="out", relation="<=", high="home"),
    ),
)
FILLING = Filling(engines="blocks", sweeps=2)


def whole(rows, seed=1):
    """Rows that keep every rule."""
    drawn = np.random.default_rng(seed)
    case = drawn.choice(["birth", "heart", "lung"], rows)
    zips = drawn.choice(["z1", "z2", "z3"], rows)
    start = drawn.integers(0, 28, rows)
    end = start + 1 + drawn.integers(0, 29 - start)
    code = {"birth": ["b1", "other"], "heart": ["h1", "h1", "h2"], "lung": ["l1"]}
    return {
        "sex": np.where(case == "birth", "F", drawn.choice(["F", "M"], rows)).tolist(),
        "case": case.tolist(),
        "zip": zips.tolist(),
        "county": np.where(zips == "z3", "c2", "c1").tolist(),
        "in": start.tolist(),
        "out": end.tolist(),
        "home": np.minimum(end + drawn.integers(0, 3, rows), 30).tolist(),
        "code": [str(drawn.choice(code[one])) for one in case],
    }


def holed(rows, share=0.3, seed=2):
    drawn = np.random.default_rng(seed)
    return pa.table({name: pa.array(v, mask=drawn.random(rows) < share) for name, v in whole(rows).items()})


def test_filled_rows_keep_every_rule_and_what_was_there():
    data = holed(600)
    assert check_table(data, BOOK) == []
    for release in FILLING.fit(open_source(data, BOOK), stream=Stream.seeded(3)).sample_many(files=2):
        made = release.table
        assert check_table(made, BOOK) == [] and made.column_names == list(data.column_names)
        for name in data.column_names:
            before, after = data[name].to_pylist(), made[name].to_pylist()
            assert all(old is None or old == new for old, new in zip(before, after, strict=True))
            assert None not in after
        assert len(release.manifest.warnings) == 1  # nothing was left alone


def test_a_detail_tells_its_coarse_level_and_is_drawn_given_it():
    data = pa.table({name: list(values) for name, values in whole(300).items()})
    case = [None if k % 2 else c for k, c in enumerate(data["case"].to_pylist())]
    code = [c if k % 2 else None for k, c in enumerate(data["code"].to_pylist())]
    data = data.set_column(1, "case", pa.array(case)).set_column(7, "code", pa.array(code))
    made = FILLING.fit(open_source(data, BOOK)).sample().table.to_pydict()
    parents = {"b1": "birth", "h1": "heart", "h2": "heart", "l1": "lung"}
    assert all(parents.get(c, k) == k for k, c in zip(made["case"], made["code"], strict=True))
    told = [(k, parents[c]) for k, c, was in zip(made["case"], code, case, strict=True) if c in parents and was is None]
    assert told and all(k == parent for k, parent in told)
    assert "h3" not in made["code"]  # nobody has it


def test_rows_that_break_a_rule_are_left_alone_and_reported():
    values = {name: v[:200] for name, v in whole(200).items()}
    values["sex"][0], values["case"][0], values["zip"][0], values["code"][0] = "M", "birth", None, "b1"
    values["in"][1], values["out"][1], values["home"][1], values["sex"][1] = 25, 22, None, None  # in one bin
    values["in"][2], values["out"][2] = 5, None
    values["home"][2] = 5  # nothing fits between
    values["case"][3], values["code"][3], values["zip"][3] = "heart", "l1", None
    release = FILLING.fit(open_source(pa.table(values), BOOK)).sample()
    made = release.table.to_pylist()
    assert made[0]["zip"] is None and made[1]["home"] is None and made[1]["sex"] is None and made[2]["out"] is None
    assert made[3]["zip"] is not None and made[3]["code"] == "l1"
    said = " ".join(release.manifest.warnings)
    assert "3 records break a rule" in said and "1 records have a detailed code" in said
    assert len(check_table(release.table, BOOK)) == len(check_table(pa.table(values), BOOK))


def test_a_gap_that_the_rules_demand_stays():
    """Only births have a length of stay at home here: others must not get one."""
    rule = Implies(name="no home", when=(("case", ("heart", "lung")),), then=(("home", ("NA",)),))
    book = replace(BOOK, constraints=(rule,))
    values = whole(200)
    values["home"] = [
        h if c == "birth" and k % 3 else None
        for k, (h, c) in enumerate(zip(values["home"], values["case"], strict=True))
    ]
    made = FILLING.fit(open_source(pa.table(values), book)).sample().table.to_pydict()
    assert all((home is None) == (case != "birth") for home, case in zip(made["home"], made["case"], strict=True))


def test_only_details_may_be_missing_and_nothing_may_be():
    values = whole(100)
    with pytest.raises(RefusalError, match="no value is missing"):
        FILLING.fit(open_source(pa.table(values), BOOK)).sample_many(files=1)
    values["code"][5] = None
    made = FILLING.fit(open_source(pa.table(values), BOOK)).sample().table.to_pydict()
    assert made["code"][5] is not None and made["code"][:5] == values["code"][:5]


def test_measured_numbers_are_filled_as_those_that_are_there():
    book = Codebook(
        columns=(
            Categorical(name="g", levels=("a", "b")),
            Integer(name="x", edges=DAYS, shape="measured", pieces=10, missing="NA"),
        )
    )
    data = pa.table({"g": ["a", "b"] * 150, "x": pa.array([7, 13, None] * 100)})
    made = FILLING.fit(open_source(data, book)).sample().table["x"].to_pylist()
    assert set(made) == {7, 13}


def broken(row):
    """Whether values that are there break a rule, by hand; a coarse level is there where its detail tells it."""
    case = row["case"] or {"b": "birth", "h": "heart", "l": "lung"}.get((row["code"] or "other")[0])
    start, end, home = row["in"], row["out"], row["home"]
    return (
        (row["sex"] == "M" and case == "birth")
        or (row["zip"] is not None and row["county"] is not None and (row["zip"] == "z3") != (row["county"] == "c2"))
        or (start is not None and end is not None and not start < end)
        or (end is not None and home is not None and not end <= home)
        or (start is not None and home is not None and not start < home)
    )


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([0.1, 0.5, 0.8]))
def test_no_filled_value_ever_breaks_a_rule(seed, share):
    """Whatever is missing: a row whose observed values are consistent is filled within the rules, one that is not is
    left exactly as it was."""
    drawn = np.random.default_rng(seed)
    values = whole(80, seed)
    for name in ("sex", "case", "in", "out", "home", "county"):  # some rows break something
        for row in np.flatnonzero(drawn.random(80) < 0.1):
            values[name][row] = values[name][int(drawn.integers(80))]
    data = pa.table({name: pa.array(v, mask=drawn.random(80) < share) for name, v in values.items()})
    if any(column.null_count in (0, 80) for column in data.columns):
        return
    made = Filling(engines="blocks", sweeps=1).fit(open_source(data, BOOK), stream=Stream.seeded(seed)).sample().table
    for before, after in zip(data.to_pylist(), made.to_pylist(), strict=True):
        assert all(old is None or old == after[name] for name, old in before.items())
        if broken(before):
            assert before == after
            continue
        assert not broken(after)
        if None in after.values():  # nothing fits between two numbers that stand
            assert {name for name in after if after[name] is None} & {"in", "out", "home"}
