"""PeGS with l (pegs.txt section 3.3B): the laws that values are drawn from are l-diverse, and rows follow them."""

import math
from collections import Counter, defaultdict
from fractions import Fraction

import pytest
from diverse_reference import weight_used
from enumeration import World, records_of, small_book, source_of
from mpmath import mp, mpf

import understudy as us
from understudy.errors import ParameterError
from understudy.mechanisms.diverse_weights import UNIFORM
from understudy.mechanisms.stream import Stream
from understudy.privacy import NoFormal
from understudy.privacy.guarantees import LDiverse
from understudy.synth import make_recipe

mp.dps = 40
SIZES = (2, 3, 4)
BOOK = small_book(*SIZES)  # every column is keyed by all the others
TABLE = [(0, 0, 0)] * 9 + [(0, 1, 2)] * 4 + [(1, 2, 3)] * 5 + [(1, 0, 1)] * 2 + [(0, 2, 2)]
PARENTS = {
    "declared": {},
    "chosen by hand": {"parents": {"a": (), "b": ("a",), "c": ("a", "b")}},
    "mutual-information": {"parents": "mutual-information", "parent_count": 1},
    "private": {"parents": "private", "parent_count": 1, "selection_epsilon": 3.0, "public_rows": 400},
    "hashed": {"key": "minhash", "key_space": 5},
}
ROWS = 40_000


def entropy(law):
    return -sum(mpf(p.numerator) / p.denominator * mp.log(mpf(p.numerator) / p.denominator) for p in law if p)


def fitted(*, table=TABLE, **options):
    return us.PeGS(**{"l": 1.5, **options}).fit(source_of(BOOK, table))


@pytest.mark.parametrize("ell", [1.2, 1.5, 2.0, {"a": 1.3, "b": 2.5, "c": 3.5}])
@pytest.mark.parametrize("parents", PARENTS)
def test_every_law_that_a_value_is_drawn_from_is_diverse(parents, ell):
    """Whatever was drawn before and wherever the chain began: all states of the tiny domain are tried."""
    made = fitted(l=ell, **PARENTS[parents])
    world = World.of(made)
    for column, name in enumerate(BOOK.names):
        asked = ell if isinstance(ell, float) else ell[name]
        for record in records_of(BOOK):
            assert entropy(world.law(column, record)) >= mp.log(mpf(asked)), (name, record)
    assert made.quote(10).total == LDiverse(l=ell if isinstance(ell, float) else 1.3)


@pytest.mark.parametrize("floor", [0.0, 2.0**-20, 0.1])
def test_no_key_is_smoothed_more_than_l_needs(floor):
    """Key by key the weights are those of the block alone, which `test_diversity_laws.py` holds to its least weight."""
    parents = {"a": ("b",), "b": ("a",), "c": ("a", "b")}
    made = fitted(parents=parents, floor=floor)
    world = World.of(made)
    for column, name in enumerate(BOOK.names):
        for record in records_of(BOOK):
            reads = [BOOK.position(parent) for parent in parents[name]]
            alike = [row for row in TABLE if all(row[place] == record[place] for place in reads)]
            counts = [sum(row[column] == level for row in alike) for level in range(SIZES[column])]
            _, virtual, shift = weight_used(counts, l=1.5, floor=floor)
            weights = [virtual + (0 if shift == UNIFORM else n << shift) for n in counts]
            assert world.law(column, record) == tuple(Fraction(weight, sum(weights)) for weight in weights)


@pytest.mark.parametrize("sweeps", [1, 2])
@pytest.mark.parametrize("parents", PARENTS)
def test_rows_follow_these_laws(parents, sweeps):
    """Within Bernstein's bound at L = 26: over 24 outcomes a false alarm has probability below 48 e^-26 < 1e-9."""
    made = fitted(sweeps=sweeps, **PARENTS[parents])
    world, law = World.of(made), defaultdict(Fraction)
    for start in records_of(BOOK):
        for reached, chance in world.sweeps(start, sweeps).items():
            law[reached] += chance / math.prod(SIZES)
    table = made.sample(ROWS).table
    seen = Counter(
        zip(*([int(value[1]) for value in table.column(name).to_pylist()] for name in BOOK.names), strict=True)
    )
    assert sum(law.values()) == 1 and set(seen) <= set(law)
    for outcome, chance in law.items():
        p = float(chance)
        assert abs(seen[outcome] - ROWS * p) <= math.sqrt(52 * ROWS * p * (1 - p)) + 52 / 3, outcome


def test_it_is_not_differential_privacy():
    """One more record makes an impossible value possible where the floor is 0."""
    alone = {"parents": {"a": (), "b": (), "c": ()}, "l": {"a": 1, "b": 2, "c": 1}, "floor": 0.0}
    table = [(0, 0, 0)] * 5 + [(0, 1, 0)] * 5
    before, after = (World.of(fitted(table=rows, **alone)).law(1, (0, 0, 0)) for rows in (table, [*table, (0, 2, 0)]))
    assert before == (Fraction(1, 2), Fraction(1, 2), 0)
    assert after == (Fraction(5, 11), Fraction(5, 11), Fraction(1, 11))


@pytest.mark.parametrize("parents", PARENTS)
def test_the_statement_says_what_it_is_and_is_not(parents):
    release = fitted(**PARENTS[parents]).sample(50)
    assert release.manifest.total == LDiverse(l=1.5)
    assert "This is not differential privacy and gives no bound on membership inference." in release.statement
    assert release.manifest.to_dict()["paper"]["l_by_column"] == dict.fromkeys(BOOK.names, 1.5)
    assert any("protects nothing here" in said for said in release.manifest.warnings) == (parents == "private")


def test_real_starts_and_seeded_streams_promise_nothing():
    from understudy.synth.seeds import RealSeeds

    total = us.PeGS(l=1.5, seeds=RealSeeds()).quote(BOOK, 5).total
    assert isinstance(total, NoFormal) and "real rows" in total.why
    seeded = us.PeGS(l=1.5).fit(source_of(BOOK, TABLE), stream=Stream.seeded(1)).quote(5).total
    assert isinstance(seeded, NoFormal) and "seed" in seeded.why


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"l": 1.5, "alpha": 1.0}, ("alpha, l", "exactly one")),
        ({"l": 1.5, "delta": 1e-6}, ("`delta` is 1e-06", "differential privacy", "Leave it out")),
        ({"l": 1.5, "rows": 10}, ("`rows` is 10",)),
        ({"l": 1.5, "prior": "ordinal"}, ("'ordinal'", "Leave the prior out")),
        ({"l": 0.5}, ("`l` is 0.5", "at least 1")),
        ({"l": 3}, ("'a'", "2 levels", "cap")),
        ({"l": {"a": 1.5}}, ("no value for b, c",)),
    ],
)
def test_what_l_cannot_go_with_is_refused(options, words):
    with pytest.raises(ParameterError) as refused:
        make_recipe("pegs", **options).quote(BOOK, 5)
    assert all(word in str(refused.value) for word in words), str(refused.value)


def test_few_levels_are_capped_on_request():
    assert us.PeGS(l=3, cap=True).quote(BOOK, 5).paper["capped"] == ["a"]
