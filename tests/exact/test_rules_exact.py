"""Draws that rules of the codebook narrow, on tiny domains: exact laws, every pair of neighbours, no bound broken."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from enumeration import AR, RO, World, neighbours_of, records_of, renyi, small_book, tables_up_to, world, worst_ratio

from understudy.codebook import Determines, Implies, Impossible
from understudy.codebook.constraints import Choices
from understudy.mechanisms.dirichlet import draw_renyi
from understudy.mechanisms.prediction import PerturbedPrediction, draw_predicted, to_units, unit_bits
from understudy.mechanisms.stream import Stream
from understudy.samplers.within import draw_within
from understudy.synth import PeGS, PeGSReset

RULES = {
    "impossible": ((2, 3), (Impossible(cells=(("a", ("a0",)), ("b", ("b1", "b2")))),)),
    "implies": ((3, 2), (Implies(when=(("b", ("b1",)),), then=(("a", ("a0", "a2")),)),)),
    "determines": ((3, 2), (Determines(column="a", sets="b", groups=(("b0", ("a0", "a1")), ("b1", ("a2",)))),)),
}


def narrowed(law, prior, inside):
    """(n_j + a_j A/A_S) / (N_S + A): the law of the proof, from those of the whole cell and of the prior alone.

    ``law`` and ``prior`` are integer weights on one denominator.
    """
    real = [weight - virtual for weight, virtual in zip(law, prior, strict=True)]
    mass, kept = sum(prior), sum(p for p, ok in zip(prior, inside, strict=True) if ok)
    total = sum(n for n, ok in zip(real, inside, strict=True) if ok) + mass
    return tuple(
        (n + Fraction(p * mass, kept)) / total if ok else Fraction(0)
        for n, p, ok in zip(real, prior, inside, strict=True)
    )


class Ruled:
    """As ``World``, with every draw held to the rules."""

    def __init__(self, recipe, book, table):
        fitted = recipe.fit(_source(book, table), stream=Stream.seeded(1))
        self.plain = World.of(fitted)
        self.steps = book.allowed.plan(range(len(book.names)))
        self.weights = []
        for secret in fitted.blocks.tables:
            opened = secret.open()
            cells = np.diff(opened.cumulative.astype(object), axis=1, prepend=0).tolist()
            named = range(len(cells) - 1) if opened.keys is None else opened.keys.tolist()
            self.weights.append((dict(zip(named, cells[:-1], strict=True)), cells[-1]))

    def law(self, column, record, *, visited=False):
        cells, prior = self.weights[column]
        key = self.plain.keys[column][record]
        cell = prior if visited else cells.get(key, prior)
        step = self.steps[column]
        if step is None:
            return narrowed(cell, prior, [True] * len(cell))
        inside = step.choices.levels[step.sets([np.array([code]) for code in record])[0]]
        return narrowed(cell, prior, inside.tolist())

    def sweep(self, seed):
        laws = {seed: Fraction(1)}
        for column in range(len(self.steps)):
            after = {}
            for record, chance in laws.items():
                for level, share in enumerate(self.law(column, record)):
                    if share:
                        moved = (*record[:column], level, *record[column + 1 :])
                        after[moved] = after.get(moved, 0) + chance * share
            laws = after
        return laws

    def block(self, seed, size):
        laws = {}
        self._walk(seed, 0, (frozenset(),) * len(self.steps), (), Fraction(1), size, laws)
        return laws

    def _walk(self, state, column, visited, made, chance, size, laws):
        if column == len(self.steps):
            made, column = (*made, state), 0
            if len(made) == size:
                laws[made] = laws.get(made, 0) + chance
                return
        key = self.plain.keys[column][state]
        law = self.law(column, state, visited=key in visited[column])
        marked = (*visited[:column], visited[column] | {key}, *visited[column + 1 :])
        for level, share in enumerate(law):
            if share:
                moved = (*state[:column], level, *state[column + 1 :])
                self._walk(moved, column + 1, marked, made, chance * share, size, laws)


def _source(book, table):
    from enumeration import source_of

    return source_of(book, table)


def ruled_book(name):
    sizes, rules = RULES[name]
    return replace(small_book(*sizes), constraints=rules)


def pairs(book, recipe, most, relation, law):
    found = {table: law(Ruled(recipe, book, table)) for table in tables_up_to(book, most)}
    for table, left in found.items():
        for other in neighbours_of(book, table, relation):
            if other in found:
                yield left, found[other]


@pytest.mark.parametrize("relation", [AR, RO])
@pytest.mark.parametrize("alpha", [0.25, 1.0])
@pytest.mark.parametrize("name", RULES)
def test_the_price_holds_where_rules_narrow_the_draws(name, alpha, relation):
    """Data may break the rules; no output does, and no ratio exceeds the price, which is that without rules."""
    book = ruled_book(name)
    recipe = PeGS(alpha=alpha, neighbours=relation)
    price = recipe.quote(book, 1).pure.epsilon
    assert price == recipe.quote(replace(book, constraints=()), 1).pure.epsilon
    seeds = records_of(book)
    worst = Fraction(1)
    for left, right in pairs(book, recipe, 3, relation, lambda ruled: {seed: ruled.sweep(seed) for seed in seeds}):
        for seed in seeds:
            worst = max(worst, worst_ratio(left[seed], right[seed]))
            reached = [np.array(column) for column in zip(*left[seed], strict=True)]
            assert book.allowed.fits(reached).all()
    assert worst > 1
    assert math.log(worst) <= price


@pytest.mark.parametrize("relation", [AR, RO])
@pytest.mark.parametrize("name", RULES)
def test_renyi_divergence_holds_where_rules_narrow_the_draws(name, relation):
    book = ruled_book(name)
    recipe = PeGS(alpha=1.0, neighbours=relation)
    event = recipe.event(recipe.priors(book), 1)
    seeds = records_of(book)
    laws = list(pairs(book, recipe, 3, relation, lambda ruled: {seed: ruled.sweep(seed) for seed in seeds}))
    for order in (2, 5):
        worst = max(renyi(left[seed], right[seed], order) for left, right in laws for seed in seeds)
        assert 0 < worst <= event.renyi(np.array([float(order)]))[0]


@pytest.mark.parametrize("relation", [AR, RO])
def test_the_price_of_a_block_holds_where_rules_narrow_the_draws(relation):
    book = ruled_book("determines")
    recipe = PeGSReset(alpha=1.0, block_size=2, neighbours=relation)
    price = recipe.quote(book, 2).pure.epsilon
    seeds = [(0, 0), (2, 0)]
    worst = Fraction(1)
    for left, right in pairs(book, recipe, 2, relation, lambda ruled: {seed: ruled.block(seed, 2) for seed in seeds}):
        worst = max(worst, *(worst_ratio(left[seed], right[seed]) for seed in seeds))
    assert worst > 1
    assert math.log(worst) <= price


def test_renormalising_alone_would_break_the_renyi_curve():
    """Two levels left of 25, alpha 1, no record or one: 2/3 against 1/2 costs more than a draw from 25 levels."""
    alpha, order = Fraction(1), 2
    with_record, without = (Fraction(2, 3), Fraction(1, 3)), (Fraction(1, 2), Fraction(1, 2))
    tempting = renyi(dict(enumerate(with_record)), dict(enumerate(without)), order)
    allowed = draw_renyi(((alpha, 25),), np.array([float(order)]))[0]
    assert tempting > allowed
    ours = narrowed([2] + [1] * 24, [1] * 25, [True, True] + [False] * 23)
    prior = narrowed([1] * 25, [1] * 25, [True, True] + [False] * 23)
    assert ours[:2] == (Fraction(27, 52), Fraction(25, 52))
    assert renyi(dict(enumerate(ours[:2])), dict(enumerate(prior[:2])), order) <= allowed


@pytest.mark.parametrize("virtual", [True, False])
def test_draws_within_a_set_are_those_of_big_integers(virtual):
    """The compiled loop against Python integers on the same words, also when the words run out in mid-row."""
    generator = np.random.default_rng(5)
    levels, rows = 7, 400
    weights = generator.integers(0, 1 << 40, (4, levels)).astype(np.uint64)
    weights[1] = 0  # a bare row: route N only
    weights[3] = generator.integers(1, 1 << 38, levels)
    if virtual:
        weights[:3] += weights[3]
    sets = generator.integers(0, 3, rows)
    inside = np.array([[1, 1, 0, 0, 1, 0, 1], [0, 0, 0, 1, 0, 0, 0], [1] * 7], dtype=bool)
    outside = (~inside * weights[3]).sum(axis=1, dtype=np.uint64) * np.uint64(virtual)
    slots = generator.integers(0, 4, rows)
    out, stage, done, words_used = np.full(rows, -1), np.zeros(1, dtype=np.int64), 0, []
    while done < rows:
        words = generator.integers(0, 1 << 64, 3, dtype=np.uint64)
        done, used = draw_within(
            slots, sets, *Choices(levels=inside).runs, np.cumsum(weights, axis=1, dtype=np.uint64),
            outside, 3 if virtual else -1, words, 0, out, done, stage,
        )  # fmt: skip
        words_used += words[:used].tolist()
    stream = iter(words_used)
    expected = [_by_hand(weights, slots[row], inside[sets[row]], virtual, stream) for row in range(rows)]
    assert out.tolist() == expected
    assert next(stream, None) is None


def _by_hand(weights, slot, inside, virtual, words):
    kept = [int(w) if ok else 0 for w, ok in zip(weights[slot], inside, strict=True)]
    lost = sum(int(w) for w, ok in zip(weights[3], inside, strict=True) if not ok) if virtual else 0
    if sum(kept) + lost == 0:
        kept = [int(ok) for ok in inside]
    pick = _below(sum(kept) + lost, words)
    if pick >= sum(kept):
        kept = [int(w) if ok else 0 for w, ok in zip(weights[3], inside, strict=True)]
        pick = _below(sum(kept), words)
    for level, weight in enumerate(kept):
        if pick < weight:
            return level
        pick -= weight
    raise AssertionError


def _below(bound, words):
    """Lemire: the high half of word times bound, redrawn in the biased sliver."""
    while True:
        product = next(words) * bound
        if product % 2**64 >= 2**64 % bound:
            return product >> 64


def test_predictions_within_rules_stay_within_the_price():
    """Any two predictions, held to two of three levels: the exact laws, and their ratio."""
    alpha, levels = Fraction(1, 2), 3
    inside = np.array([True, False, True])
    price = PerturbedPrediction(alpha=alpha, levels=(levels,), draws=1, neighbours=AR).guarantee().epsilon
    bits = unit_bits(alpha, levels)

    def law(prediction):
        held = np.where(inside, prediction, 0.0)
        held = held if held.sum() > 0 else inside.astype(float)
        units = to_units(held[None, :], bits=bits)[0].tolist()
        chances = [(Fraction(u, 1 << bits) + alpha) / (1 + levels * alpha) for u in units]
        return {j: chances[j] + chances[1] / 2 for j in (0, 2)}

    predictions = [np.array(p) for p in ([1.0, 0, 0], [0, 0, 1.0], [0, 1.0, 0], [0.2, 0.5, 0.3])]
    worst = max(worst_ratio(law(left), law(right)) for left in predictions for right in predictions)
    assert worst > 1
    assert math.log(worst) <= price
    drawn = draw_predicted(
        np.tile(predictions[3], (200_000, 1)),
        alpha=alpha,
        stream=Stream.seeded(3),
        inside=np.tile(inside, (200_000, 1)),
    )
    assert set(drawn.tolist()) == {0, 2}
    expected = float(law(predictions[3])[0])
    # z = 7: a false alarm has probability below 1e-11
    assert abs((drawn == 0).mean() - expected) < 7 * math.sqrt(expected * (1 - expected) / 200_000)


def test_the_sampler_draws_from_the_law_of_the_proof():
    """A sweep of the real sampler against the exact law; z = 7 over at most 9 cells."""
    book, table, rows = ruled_book("implies"), ((0, 0), (1, 1), (2, 1), (2, 1), (1, 0)), 200_000
    recipe = PeGS(alpha=0.5)
    law = {}
    for seed in records_of(book):  # uniform seeds within the rules: the first column free, the second as it allows
        chance = _seed_chance(book, seed)
        for record, share in Ruled(recipe, book, table).sweep(seed).items() if chance else ():
            law[record] = law.get(record, 0) + chance * share
    assert sum(law.values()) == 1
    fitted = recipe.fit(_source(book, table), stream=Stream.seeded(11))
    codes = fitted._draw(rows, fitted.quote(rows).ledger)
    for record, chance in law.items():
        seen = float(np.logical_and.reduce([column == code for column, code in zip(codes, record, strict=True)]).mean())
        assert abs(seen - float(chance)) < 7 * math.sqrt(float(chance) * (1 - float(chance)) / rows)
    assert world(recipe, replace(book, constraints=()), table).sweep((0, 0)) != Ruled(recipe, book, table).sweep((0, 0))


def _seed_chance(book, seed):
    chance, row = Fraction(1), [np.array([code]) for code in seed]
    for column, step in enumerate(book.allowed.plan(range(len(seed)))):
        inside = np.ones(book.sizes[column], dtype=bool) if step is None else step.choices.levels[step.sets(row)[0]]
        if not inside[seed[column]]:
            return Fraction(0)
        chance /= int(inside.sum())
    return chance
