"""Parts of the report and of the maps, by hand and by law."""

import json
import math
import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from understudy.codebook import Categorical, Codebook, Ordinal, Role
from understudy.errors import ParameterError, ReleaseError
from understudy.evaluate.board import Board
from understudy.evaluate.report.chain import chain_facts
from understudy.evaluate.report.gather import gather
from understudy.evaluate.report.page import report_page, strip
from understudy.evaluate.report.pairs import PairFacts, association, mosaics
from understudy.evaluate.rumap.journal import Journal
from understudy.evaluate.rumap.make import map_page
from understudy.evaluate.rumap.plan import Cell, Plan
from understudy.evaluate.rumap.plane import plane
from understudy.pages.drawings import Difference, difference_bars
from understudy.pages.numbers import plain
from understudy.pages.shell import script_json
from understudy.sources import open_source

BOOK = Codebook(
    columns=(
        Categorical(name="sex", levels=("F", "M"), role=Role.QUASI_IDENTIFIER),
        Ordinal(name="age", levels=("0", "20", "40", "60"), missing="NA"),
        Categorical(name="ill", levels=tuple("abcdefghijkl"), role=Role.SENSITIVE),
    ),
    title="tiny",
)


def table(rows: int, seed: int) -> pa.Table:
    rng = np.random.default_rng(seed)
    sex = rng.integers(0, 2, rows)
    age = np.minimum(sex + rng.integers(0, 4, rows), 4)
    ill = np.minimum(2 * age + rng.integers(0, 4, rows), 11)
    return pa.table(
        {
            "sex": [("F", "M")[k] for k in sex],
            "age": [("0", "20", "40", "60", None)[k] for k in age],
            "ill": ["abcdefghijkl"[k] for k in ill],
        }
    )


def test_association_by_hand():
    # chi-square / n = 1/4; minus (r-1)(k-1)/(n-1) = 1/79; over the corrected number of levels 2 - 1/79, less 1
    expected = math.sqrt((1 / 4 - 1 / 79) / (1 - 1 / 79))
    assert association(np.array([[30, 10], [10, 30]])) == pytest.approx(expected, rel=1e-12)
    assert association(np.array([[50, 0, 0], [0, 50, 0], [0, 0, 50]])) == pytest.approx(1.0)
    assert math.isnan(association(np.array([[5, 5], [0, 0]]))), "a constant column has no association"


@given(arrays(np.int64, (3, 4), elements=st.integers(0, 30)), st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_association_does_not_depend_on_the_order_of_levels(counts, random):
    rows, columns = random.sample(range(3), 3), random.sample(range(4), 4)
    first, moved, turned = association(counts), association(counts[rows][:, columns]), association(counts.T)
    assert (math.isnan(first) and math.isnan(moved) and math.isnan(turned)) or (
        first == pytest.approx(moved, abs=1e-9) and first == pytest.approx(turned, abs=1e-9) and 0 <= first <= 1
    )


def test_rare_levels_of_a_mosaic_are_put_together_and_nobody_is_lost():
    real, synthetic = (open_source(table(400, seed), BOOK) for seed in (1, 2))
    pair = PairFacts(columns=("sex", "ill"), real=0.5, synthetic=0.4, distance=0.1)
    [found] = mosaics(real, synthetic, [pair], most=4)
    assert found.labels[0] == ("F", "M") and len(found.labels[1]) == 8 and found.labels[1][-1] == "other levels"
    assert found.real.sum() == found.synthetic.sum() == 400
    assert found.real.shape == (2, 8)


@pytest.fixture(scope="module")
def document():
    real, synthetic, held = (open_source(table(rows, seed), BOOK) for rows, seed in ((600, 1), (300, 2), (200, 3)))
    found = gather(real, synthetic, risk="quick", holdout=held, target="age")
    return json.loads(json.dumps(found.to_dict(), allow_nan=False))


def test_identical_tables_are_perfect_and_lie_left_of_everything():
    source = open_source(table(300, 5), BOOK)
    found = gather(source, open_source(table(300, 5), BOOK), risk="none", target="age")
    values = {line.label: line.value for line in found.headlines}
    assert values["Shares of levels"] == values["Pairs of columns"] == values["Connections between columns"] == 0
    assert found.models[0].real.estimates.tolist() == found.models[0].synthetic.estimates.tolist()
    assert all(line.bootstrap is None or line.bootstrap > 0 for line in found.headlines)


def test_without_a_sensitive_column_the_report_says_that_nothing_was_attacked():
    plain = Codebook(columns=tuple(replace(column, role=Role.OTHER) for column in BOOK.columns))
    real, synthetic = open_source(table(200, 5), plain), open_source(table(200, 6), plain)
    said = "No attack guessed at anything"
    assert any(said in note for note in gather(real, synthetic, risk="quick").notes)
    assert not any(said in note for note in gather(real, synthetic, risk="none").notes)
    assert not any(said in note for note in gather(real, synthetic, risk="quick", target="age").notes)


def test_maps_say_in_words_what_a_figure_would_not():
    doc = {
        "created": "2024-05-31T13:21:53+00:00", "understudy": "0", "warning": "w", "stand_in": None, "title": "",
        "methods": ["marginals"], "meaning": {"marginals": "whole file"}, "epsilons": [0.5, 1.0], "rows": 10,
        "repeat": 1, "planned": 2, "finished": 2, "measures": ["marginal_mse", "coefficient: y ~ a: a[T.x: y]"],
        "references": {},
        "coefficients": {"coefficient: y ~ a: a[T.x: y]": 2.0}, "refused": [],
        "plane": {**plane({"methods": [], "runs": [], "best_errors": [0.0]}, Board()), "why_not": "nobody asked"},
        "set_aside": 0.0,
        "runs": [
            {"method": "marginals", "epsilon": e, "repeat": 0, "total_epsilon": e,
             "measures": {"marginal_mse": 1e-5, "coefficient: y ~ a: a[T.x: y]": 1.0}}
            for e in (0.5, 1.0)
        ],
    }  # fmt: skip
    page = map_page(doc)
    assert 'id="price"' not in page and "Epsilon on this page is that of the whole file" in page
    assert "There is no curve of wrong guesses" in page and "2024-05-31 13:21 UTC" in page and "epsilon 0.5, 1;" in page
    drawn = page.split('id="coefficients-0-0"')[1].split("</figure>")[0]
    assert "a = x: y" in drawn and "0.5</td>" in drawn, "terms down the side, where long names have room"
    doc["meaning"], doc["measures"] = {"marginals": "per synthetic record"}, [*doc["measures"], "mode_attack: a"]
    page = map_page(doc)
    assert 'id="price"' in page and "There is no curve of wrong guesses" not in page


def test_every_figure_is_drawn_in_the_page_and_has_its_table(document):
    page = report_page(document)
    for key in (
        "attacks",
        "worst-shares",
        "worst-cells",
        "worst-associations",
        "coefficients-0",
        "classifier",
        "column-0",
    ):
        figure = page.split(f'<figure id="{key}"')[1].split("</figure>")[0]
        root = ET.fromstring(figure[figure.index("<svg") : figure.index("</svg>") + 6])
        assert root[0].tag == "title" and root[0].text and root[1].tag == "desc" and root[1].text, "it can be spoken"
        assert "<th scope=" in figure, "every figure has its table"
    assert page.count("<figure ") == page.count('class="drawing"')


def test_the_page_needs_nothing_from_outside_and_no_script(document):
    page = report_page(document)
    assert "default-src 'none'" in page and "http://" not in page and "https://" not in page
    assert "<script" not in page and "script-src" not in page
    assert not re.search(r"\d\.\d*e-\d\d", words_of(page)), "no number with an exponent"


def words_of(page: str) -> str:
    """The verdicts, captions and figures; nothing of it is random."""
    return re.sub(r"<style.*?</style>", "", page, flags=re.S)


def test_statements_are_spelled_without_exponents():
    assert plain("delta = 1e-06; except with probability 2.5e-07.") == (
        "delta = 0.000001; except with probability 0.00000025."
    )


@pytest.mark.parametrize(("columns", "most"), [(15, 500_000), pytest.param(50, 2_000_000, marks=pytest.mark.long)])
def test_the_page_stays_small(columns, most):
    levels = tuple(f"level number {k}" for k in range(12))
    book = Codebook(columns=tuple(Categorical(name=f"a column {k}", levels=levels) for k in range(columns)))
    rng = np.random.default_rng(columns)

    def rows():
        return pa.table({name: np.array(levels)[rng.integers(0, 12, 300)] for name in book.names})

    found = gather(open_source(rows(), book), open_source(rows(), book), risk="none")
    assert 50_000 < len(report_page(found.to_dict()).encode()) < most


def test_nothing_in_a_label_can_leave_its_place():
    assert (
        "<" not in script_json({"a": "</script><!--"})
        and json.loads(script_json({"a": "</script>"}))["a"] == "</script>"
    )
    drawn = difference_bars([Difference(label="<a href='x'>y</a>", value=1.0)], title="<b>")
    assert "<a " not in drawn and "<b>" not in drawn


def test_the_strip_puts_the_better_value_to_the_left():
    def place(value, goal):
        line = {"value": value, "perfect": 1.0 if goal == "maximize" else 0.0, "bootstrap": 0.5, "independent": None}
        drawn = strip({**line, "worst": None, "low": None, "high": None})
        return float(drawn.rsplit('d="M', 1)[1].split(",")[0])

    assert place(0.1, "minimize") < place(0.3, "minimize")
    assert place(0.9, "maximize") < place(0.7, "maximize")


def test_drift_within_blocks_is_seen(tmp_path):
    book = Codebook(columns=(Categorical(name="x", levels=("a", "b")),))
    pq.write_table(pa.table({"x": ["a", "a", "b"] * 50}), tmp_path / "t.parquet")
    found = chain_facts(str(tmp_path / "t.parquet"), book, {"x": np.array([9, 1])}, 3)
    assert found["distance"] == pytest.approx([0.1, 0.1, 0.9])
    assert chain_facts(str(tmp_path / "t.parquet"), book, {"x": np.array([9, 1])}, 1) is None


def test_a_plan_knows_what_epsilon_means():
    plan = Plan(methods=("pegs", "laplace", "gibbs"), epsilons=(1.0, 2.0), rows=10, repeat=2, per_record=True)
    assert [plan.meaning(m) for m in plan.methods] == ["per synthetic record", "whole file", "no promise"]
    assert len(plan.cells()) == 2 * (2 + 2 + 1)
    assert plan.recipe("pegs", 1.0).epsilon_per_record == 1.0 and plan.recipe("laplace", 1.0).epsilon == 1.0
    whole = Plan(methods=("pegs",), epsilons=(1.0,), rows=10, repeat=1)
    assert whole.recipe("pegs", 1.0).quote(BOOK, 10).total.epsilon <= 1.0
    with pytest.raises(ParameterError, match="repeat"):
        Plan(methods=("pegs",), epsilons=(1.0,), rows=10, repeat=0)


def test_a_journal_remembers_finished_runs_only(tmp_path):
    first = Journal(tmp_path / "j", {"rows": 1})
    cell = Cell(method="pegs", epsilon=1.0, repeat=1)
    first.add(cell, {"measures": {"a": 1.0}, "refused": None})
    with (tmp_path / "j" / "runs.jsonl").open("a") as file:
        file.write('{"method": "pe')
    again = Journal(tmp_path / "j", {"rows": 1})
    assert list(again.runs) == [cell]
    again.add(Cell(method="pegs", epsilon=None, repeat=2), {"measures": {"b": 2.0}, "refused": "no"})
    assert len(Journal(tmp_path / "j", {"rows": 1}).runs) == 2
    rows = pq.read_table(again.write_parquet()).to_pylist()
    assert [(row["epsilon"], row["a"], row["b"], row["refused"]) for row in rows] == [
        (None, None, 2.0, "no"),
        (1.0, 1.0, None, None),
    ]
    with pytest.raises(ReleaseError, match="rows differ"):
        Journal(tmp_path / "j", {"rows": 2})
