"""`understudy audit` refutes a recipe that lies, does not refute ours, and says so by its exit code.

A true promise is refuted with probability below 1e-6 per audit (Clopper-Pearson at miss = 1e-6, on runs that had no say
in the choice of the event). That a lie is found is a matter of power: the margins below are worked out at z = 5.
"""

import json
import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.csv as pv
import pytest

from understudy.cli.app import main
from understudy.codebook import Categorical, Codebook
from understudy.errors import DataError, ParameterError, RefusalError
from understudy.evaluate.audit import LEAST_RUNS, audit, epsilon_bound, neighbouring
from understudy.mechanisms.stream import Stream
from understudy.privacy import Neighbours
from understudy.sources import EncodedSource
from understudy.synth import LaplaceHistogram, PeGS, make_recipe
from understudy.synth.registry import METHODS

BOOK = Codebook(columns=tuple(Categorical(name=name, levels=("x", "y", "z")) for name in "ab"))
RECORDS = [(0, 0)] * 12 + [(0, 1)] * 5 + [(1, 0)] * 3


def source(records=RECORDS, book=BOOK):
    codes = np.array(records, dtype=np.uint8)
    return EncodedSource(codebook=book, columns=[codes[:, i].copy() for i in range(codes.shape[1])])


@dataclass(frozen=True, kw_only=True)
class Liar(LaplaceHistogram):
    """States an epsilon of a tenth of what it pays."""

    name: ClassVar[str] = "liar"

    def quote(self, book, rows, *, secure=True):
        honest = LaplaceHistogram(epsilon=self.epsilon / 10, neighbours=self.neighbours)
        return honest.quote(book, rows, secure=secure)

    def perturb(self, source, stream, report):
        return replace(super().perturb(source, stream, report), entries=())


@dataclass(frozen=True, kw_only=True)
class Leaky(PeGS):
    """Draws with a thousandth of the virtual records that it prices."""

    name: ClassVar[str] = "leaky"

    def fit(self, source, *, stream=None, report=None):
        return PeGS(alpha=self.alpha / 1000).fit(source, stream=stream, report=report)


@pytest.mark.parametrize("relation", [Neighbours.ADD_REMOVE, Neighbours.REPLACE])
def test_a_liar_is_refuted(relation):
    """Pays 5, states 0.5. The canary's noisy count is 1 or more with probability .99 or .0067 of 300 test runs:
    z = 5 bounds of both give ln(.94 / .09) = 2.3, far above 0.5."""
    found = audit(Liar(epsilon=5.0, neighbours=relation), source(), rows=1, runs=600, stream=Stream.seeded(1))
    assert found.refuted and found.bound > 1.5
    assert found.epsilon == pytest.approx(0.5) and "REFUTED" in found.sentence
    assert found.canary == {"a": "z", "b": "z"}
    assert found.trials == 300 and sum(found.hits) <= 600


def test_a_route_s_liar_is_refuted():
    """Prices alpha 60 and draws with 0.06: the canary (z, z) is alone in its contexts, so that a row whose other
    column is z draws z with 1.06/1.18 = .90 instead of one third; a third of 20 rows start there."""
    recipe = Leaky(alpha=60.0, parents={"a": ("b",), "b": ("a",)})
    found = audit(recipe, source(), rows=20, runs=600, stream=Stream.seeded(2))
    assert found.epsilon < 0.7
    assert found.refuted, found.sentence


HONEST = {
    "laplace": {"epsilon": 1.0},
    "sba": {"epsilon": 1.0, "delta": 0.01},
    "pegs": {"alpha": 2.0},
    "pegs-rs": {"alpha": 2.0, "block_size": 2},
    "marginal-bootstrap": {"alpha": 2.0},
    "sbhg": {"epsilon": 1.0, "delta": 0.01, "public_rows": 20, "parent_count": 1},
    "sbhg-gauss": {"epsilon": 1.0, "delta": 0.01, "public_rows": 20, "parent_count": 1},
    "privbayes": {"epsilon": 1.0, "public_rows": 20},
}
"""Methods that promise differential privacy, but for pmi, whose many fits take too long here; marginals has its own."""


def test_every_method_that_promises_is_audited():
    from understudy.synth.facts import FACTS

    assert set(HONEST) | {"marginals", "pmi"} == {name for name, facts in FACTS.items() if facts.neighbours}


@pytest.mark.parametrize("canary", ["rare", pytest.param("common", marks=pytest.mark.long)])
@pytest.mark.parametrize("method", HONEST)
def test_ours_are_not_refuted(method, canary):
    found = audit(
        make_recipe(method, **HONEST[method]), source(), rows=2, runs=200, canary=canary, stream=Stream.seeded(3)
    )
    assert not found.refuted, found.sentence
    assert 0 <= found.bound <= found.epsilon
    json.dumps(found.to_dict(), allow_nan=False)


@pytest.mark.parametrize(
    ("method", "options"),
    [("contingency", {}), ("gibbs", {}), ("bayesian-bootstrap", {}), ("lugs", {"l": 1.2})],
)
def test_methods_without_an_epsilon_have_nothing_to_refute(method, options):
    with pytest.raises(RefusalError, match="nothing to refute"):
        audit(make_recipe(method, **options), source(), rows=2, runs=40)


@pytest.mark.parametrize("method", ["laplace", "pegs"])
def test_ours_are_not_refuted_when_one_record_is_replaced(method):
    recipe = make_recipe(method, **HONEST[method], neighbours=Neighbours.REPLACE)
    found = audit(recipe, source(), rows=2, runs=300, stream=Stream.seeded(4))
    assert found.neighbours is Neighbours.REPLACE and not found.refuted


@pytest.mark.long
def test_the_audit_has_teeth():
    """Laplace noise of epsilon 2 on the canary's cell: P(count >= 1) = 1 - q/(1+q) = .88 with it and .12 without; 1,000
    test runs, bounds of z = 5 and luck of as much: ln((.88 - .10) / (.12 + .10)) = 1.26."""
    found = audit(LaplaceHistogram(epsilon=2.0), source(), rows=1, runs=2_000, stream=Stream.seeded(5))
    assert 1.2 < found.bound <= 2.0
    assert "noisy count" in found.event or "learned" in found.event


def test_bound_and_reach():
    assert epsilon_bound((0, 0), 100, delta=0.0, miss=1e-6) == 0
    assert epsilon_bound((100, 0), 100, delta=0.0, miss=1e-6) == pytest.approx(
        math.log((5e-7) ** (1 / 100) / (1 - (5e-7) ** (1 / 100)))
    )
    assert epsilon_bound((50, 1), 100, delta=0.9, miss=1e-6) == 0
    assert epsilon_bound((90, 5), 100, delta=0.1, miss=1e-6) < epsilon_bound((90, 5), 100, delta=0.0, miss=1e-6)
    weak = audit(LaplaceHistogram(epsilon=50.0), source(), rows=1, runs=LEAST_RUNS, stream=Stream.seeded(6))
    assert not weak.refuted and "could not have failed" in weak.sentence


def test_neighbours_differ_by_the_canary_only():
    for canary in ("rare", "common", {"a": "y", "b": "y"}):
        person, other, (left, right) = neighbouring(source(), neighbours=Neighbours.ADD_REMOVE, canary=canary)
        assert len(left) == len(RECORDS) and len(right) == len(left) - 1
        assert sorted(map(tuple, left)) == sorted([*map(tuple, right), tuple(person)])
    person, other, (left, right) = neighbouring(source(), neighbours=Neighbours.REPLACE, canary="common")
    assert len(left) == len(right) == len(RECORDS)
    assert sorted([*map(tuple, left), tuple(other)]) == sorted([*map(tuple, right), tuple(person)])


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda: audit(LaplaceHistogram(epsilon=1.0), source(), rows=1, runs=3), ParameterError, "runs"),
        (lambda: audit(LaplaceHistogram(epsilon=1.0), source(), rows=1, runs=50, miss=0.0), ParameterError, "miss"),
        (lambda: audit(make_recipe("contingency"), source(), rows=1, runs=50), RefusalError, "nothing to refute"),
        (lambda: audit(PeGS(alpha=1.0), source([(0, 0)]), rows=1, runs=50), DataError, "1 row"),
        (lambda: audit(PeGS(alpha=1.0), source(), rows=1, runs=50, canary="odd"), ParameterError, "'rare', 'common'"),
        (lambda: audit(PeGS(alpha=1.0), source(), rows=1, runs=50, canary={"c": "x"}), ParameterError, "names c"),
        (lambda: audit(PeGS(alpha=1.0), source(), rows=1, runs=50, canary={"a": "w"}), ParameterError, "does not know"),
        (
            lambda: neighbouring(source(), neighbours=Neighbours.REPLACE, canary={"a": "x", "b": "x"}),
            ParameterError,
            "commonest record",
        ),
        (
            lambda: audit(make_recipe("sba", epsilon=0.1, delta=1e-9), source(), rows=1, runs=50),
            RefusalError,
            "drew nothing",
        ),
    ],
)
def test_bad_input_is_one_sentence(call, error, said):
    with pytest.raises(error, match=said) as caught:
        call()
    assert "\n" not in str(caught.value)


@pytest.fixture
def run(capsys):
    def go(*words):
        capsys.readouterr()
        with pytest.raises(SystemExit) as stop:
            main([str(word) for word in words])
        said = capsys.readouterr()
        return int(stop.value.code or 0), said.out, said.err

    return go


@pytest.fixture
def files(tmp_path):
    data, book = tmp_path / "data.csv", tmp_path / "book.toml"
    levels = np.array(["x", "y", "z"])
    codes = np.array(RECORDS)
    pv.write_csv(pa.table({"a": levels[codes[:, 0]], "b": levels[codes[:, 1]]}), data)
    BOOK.save(book)
    return data, book


def test_the_command_passes_an_honest_method(run, files):
    data, book = files
    words = ("audit", data, "-c", book, "-n", 2, "--runs", 60)
    code, out, _ = run(*words, "-m", "laplace", "--epsilon", 1)
    assert code == 0 and "Not refuted" in out and "canary: a=z, b=z" in out
    code, out, _ = run(*words, "-m", "pegs", "--alpha", 1, "--canary", "a=y", "--canary", "b=y", "--json")
    found = json.loads(out)
    assert code == 0 and found["refuted"] is False and found["canary"] == {"a": "y", "b": "y"}
    assert found["stated"]["delta"] == 0 and found["runs"] == 60


def test_the_command_fails_loudly_on_a_liar(run, files, monkeypatch):
    data, book = files
    monkeypatch.setitem(METHODS, "liar", Liar)
    words = ("audit", data, "-c", book, "-m", "liar", "--epsilon", 5, "-n", 1, "--runs", 300)  # see above
    code, out, _ = run(*words)
    assert code == 3 and "REFUTED" in out
    code, out, _ = run(*words, "--json")
    assert code == 3 and json.loads(out)["refuted"] is True


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("-m", "contingency", "--runs", 60), 1, "nothing to refute"),
        (("-m", "laplace", "--epsilon", 1, "--runs", 5), 2, "--runs is 5"),
        (("-m", "laplace", "--epsilon", 1, "--runs", 60, "--canary", "rarest"), 2, "COLUMN=VALUE"),
        (("-m", "laplace", "--runs", 60), 2, "needs --epsilon"),
        (("-m", "laplce", "--epsilon", 1, "--runs", 60), 2, "Did you mean"),
    ],
)
def test_the_command_explains_itself(run, files, words, code, said):
    data, book = files
    got, out, err = run("audit", data, "-c", book, "-n", 1, *words)
    assert got == code and said in " ".join((out + err).split())
