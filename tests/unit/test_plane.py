"""The plane of risk and utility: points, frontier, the corner of a board, and one sentence of advice."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import understudy as us
from understudy.codebook import Categorical, Codebook, Role
from understudy.evaluate.board import Board
from understudy.evaluate.rumap.aside import GAIN, Parted
from understudy.evaluate.rumap.drawn_plane import axes_in_words, plane_figure
from understudy.evaluate.rumap.make import map_page
from understudy.evaluate.rumap.pair_errors import kept, pair_errors
from understudy.evaluate.rumap.plane import advice, frontier, plane, proven_gain, spots
from understudy.mechanisms.stream import Stream
from understudy.sources import open_source

BOARD = Board(usable_pairs=0.8, attack_gain=0.05, most_epsilon=5.0, share_error=0.03)
BOOK = Codebook(
    columns=(
        *(Categorical(name=name, levels=tuple("abcdefgh")) for name in "xyz"),
        Categorical(name="ill", levels=tuple("0123"), role=Role.SENSITIVE),
    )
)


def people(rows, seed):
    rng = np.random.default_rng(seed)
    columns = {name: rng.choice(list("abcdefgh"), rows) for name in "xyz"}
    return pa.table({**columns, "ill": rng.choice(list("0123"), rows)})


def run(method, epsilon, *, right, gain=0.0, error=0.001, total=None, repeat=1):
    """One run of which a share of the pairs stays right, and in which an attack gained so much."""
    return {
        "method": method,
        "epsilon": epsilon,
        "repeat": repeat,
        "total_epsilon": epsilon if total is None else total,
        "total_delta": 0.0,
        "total_neighbours": "replace-one",
        "refused": None,
        "measures": {f"{GAIN}membership": gain, f"{GAIN}membership (error)": error},
        "pair_errors": [0.01 if k < 100 * right else 0.2 for k in range(100)],
    }


def document(*runs, methods=("marginals", "pegs")):
    return {"methods": list(methods), "runs": list(runs), "best_errors": [0.0]}


def said(*runs, board=BOARD):
    return advice(spots(document(*runs), board), board)


def test_advice_names_the_stretch_that_is_accepted():
    runs = [run("marginals", e, right=right) for e, right in ((0.1, 0.1), (0.5, 0.85), (1.0, 0.9), (2.0, 0.95))]
    runs += [run("marginals", 8.0, right=1.0), run("pegs", 1.0, right=0.2), run("pegs", 4.0, right=0.9)]
    assert said(*runs) == "At these thresholds: marginals at epsilon 0.5 to 2; pegs at epsilon 4."
    broken = [run("marginals", e, right=right) for e, right in ((0.5, 0.9), (1.0, 0.1), (2.0, 0.9))]
    assert said(*broken) == "At these thresholds: marginals at epsilon 0.5 and 2."


def test_advice_says_what_is_nearest_and_why():
    near = run("marginals", 1.0, right=0.7)
    assert said(near, run("pegs", 1.0, right=0.1)) == (
        "No method here is acceptable: nearest is marginals at epsilon 1, but 70 % of the pairs stay right where 80 % "
        "must."
    )
    leaking = run("marginals", 1.0, right=1.0, gain=0.3)
    assert "attacks may gain 30.2 points where 5 are allowed" in said(leaking)
    assert "epsilon 20 where 5 is allowed" in said(run("marginals", 20.0, right=1.0))
    free = {**run("marginals", None, right=1.0), "total_epsilon": None}
    assert "it promises nothing" in said(free)
    assert said() == "Risk was not measured, so there is no advice."


def test_a_point_is_judged_by_what_is_sure():
    """By the upper end of the interval over all attacks, or by what its epsilon proves."""
    wide = run("marginals", 1.0, right=1.0, gain=0.0, error=0.1)
    (spot,) = spots(document(wide), BOARD)
    assert spot.risk == 0 and spot.risk_at_most == pytest.approx(0.196, abs=1e-3) and spot.faults(BOARD)
    strict = run("marginals", 0.05, right=1.0, gain=0.0, error=0.1)
    (spot,) = spots(document(strict), BOARD)
    assert spot.risk_at_most == proven_gain(0.05, 0.0, "replace-one") < 0.05 and not spot.faults(BOARD)
    four = [run("marginals", 1.0, right=1.0, error=0.1, repeat=k) for k in range(4)]
    assert spots(document(*four), BOARD)[0].risk_at_most == pytest.approx(0.098, abs=1e-3), "repeats narrow it"
    hidden = run("marginals", 1.0, right=1.0, gain=0.01)
    hidden["measures"] |= {f"{GAIN}other": 0.0, f"{GAIN}other (error)": 0.2}
    (spot,) = spots(document(hidden), BOARD)
    assert spot.attack == "membership" and spot.risk_at_most > 0.3, "the other attack is known badly"


def test_a_person_and_another_in_their_place_are_two_steps_of_adding_and_removing():
    """All guesses of randomized response on one of two tables: what is gained is reached and never passed."""
    for epsilon in (0.1, 1.0, 3.0):
        keep = np.exp(2 * epsilon) / (1 + np.exp(2 * epsilon))  # 2 eps between the two, eps from each to neither
        assert keep - (1 - keep) == pytest.approx(proven_gain(epsilon, 0.0, "add-remove"))
        assert proven_gain(epsilon, 1e-3, "add-remove") > proven_gain(2 * epsilon, 1e-3, "replace-one")
    of_people = {**run("marginals", 0.05, right=1.0, error=0.1), "total_neighbours": "add-remove-person"}
    (spot,) = spots(document(of_people), BOARD)
    assert spot.proven is None and spot.risk_at_most > 0.19, "records were set aside, not persons"


points = st.lists(st.tuples(st.floats(0, 1), st.floats(0, 0.5)), min_size=1, max_size=12)


@settings(deadline=None)
@given(points)
def test_the_frontier_beats_everything(values):
    runs = [run("marginals", 1.0 + k, right=u, gain=g) for k, (u, g) in enumerate(values)]
    all_spots = spots(document(*runs), BOARD)
    best = frontier(all_spots)
    for one in best:
        assert not any(o.utility >= one.utility and o.risk_at_most < one.risk_at_most for o in all_spots)
    for spot in all_spots:
        assert any(b.utility >= spot.utility and b.risk_at_most <= spot.risk_at_most for b in best)


def test_a_release_that_copies_rows_gains_and_one_of_other_people_does_not():
    """Differences from theory: standard errors of two rates, eight of them."""
    table = people(1500, 1)
    parted = Parted.of(open_source(table, BOOK), 0.3, Stream.seeded(1))
    copied = parted.gains(parted.kept, quasi=(), sensitive=("ill",))
    fresh = parted.gains(open_source(people(1500, 2), BOOK), quasi=(), sensitive=("ill",))
    names = [name for name in copied if not name.endswith(")")]
    assert len(names) == 2
    for name in names:
        assert copied[name] > 8 * copied[f"{name} (error)"]
        assert abs(fresh[name]) < 8 * fresh[f"{name} (error)"]


def test_pairs_that_stay_right():
    table = open_source(people(400, 1), BOOK)
    assert set(pair_errors(table, table)) == {0.0} and len(pair_errors(table, table)) == 6
    assert kept(pair_errors(table, open_source(people(400, 2), BOOK)), 1.0) == 1.0
    one = Codebook(columns=(BOOK.column("x"),))
    lone = open_source(people(50, 1).select(["x"]), one)
    assert pair_errors(lone, lone) == [0.0], "a table of one column has no pairs"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plane")
    (folder / "board.toml").write_text('attack_gain = 0.5\nusable_pairs = 0.001\ndecided_by = "The <board>"\n')
    return us.rumap(
        people(300, 1),
        BOOK,
        200,
        (0.5, 2.0),
        folder / "map",
        methods=("laplace", "bayesian-bootstrap"),
        repeat=2,
        seed=1,
        board=folder / "board.toml",
    )


def test_a_map_has_a_plane(made):
    doc = made.document
    assert [(p["method"], p["epsilon"], p["runs"]) for p in doc["plane"]["points"]] == [
        ("laplace", 0.5, 2),
        ("laplace", 2.0, 2),
        ("bayesian-bootstrap", None, 2),
    ]
    page = made.files[-1].read_text()
    assert doc["plane"]["advice"] in page and "set by The &lt;board&gt;" in page
    assert "<script" not in page and page.index('id="plane"') < page.index("Appendix: single measures")
    for point in doc["plane"]["points"]:
        assert f"{100 * point['utility']:.1f} %" in page
    other = {**doc, "plane": {**plane(doc, Board()), "why_not": None}}
    assert map_page(other) != page, "another board draws another corner from the same runs"


def test_without_records_set_aside_there_is_no_advice(tmp_path):
    made = us.rumap(
        people(120, 1), BOOK, 40, (1.0,), tmp_path / "map", methods=("laplace",), repeat=1, seed=1, set_aside=0.0
    )
    doc = made.document
    assert doc["plane"]["points"] == [] and plane_figure(doc) is None
    assert ("Risk", "Not measured: no record was set aside.") in axes_in_words(doc)
    assert "there is no advice" in made.files[-1].read_text()


def test_a_faulty_board_is_refused_before_anything_runs(tmp_path):
    (tmp_path / "board.toml").write_text("attack_gain = 7\nattack = 1\n")
    with pytest.raises(us.errors.ParameterError) as fault:
        us.rumap(people(50, 1), BOOK, 40, (1.0,), tmp_path / "map", board=tmp_path / "board.toml")
    assert "attack_gain" in str(fault.value) and "'attack'" in str(fault.value)
    assert not (tmp_path / "map").exists()
