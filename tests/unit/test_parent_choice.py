"""Parents by every word: what each reads, what it costs, and what it refuses."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest

from understudy.blocks.choosing import (
    CHOICES,
    DeclaredParents,
    FullParents,
    InformationParents,
    NoParents,
    PrivateParents,
    RandomParents,
    parent_choice,
)
from understudy.codebook import Categorical, Codebook
from understudy.errors import CodebookError, DataError, ParameterError
from understudy.mechanisms.selection_scores import conditional_entropy_score, mutual_information
from understudy.mechanisms.stream import Stream
from understudy.privacy import ApproxDP, Neighbours, NoFormal, PureDP
from understudy.sources import EncodedSource
from understudy.sources.base import Source
from understudy.synth import SBHG, GibbsSampler, PeGS, PeGSReset, SBHGGauss

AR, RO = Neighbours.ADD_REMOVE, Neighbours.REPLACE
SIZES = (2, 3, 4, 2, 3)
NAMES = tuple("abcde")
ROWS = 2000


def book_of(parents=None):
    parents = parents or {}
    return Codebook(
        columns=tuple(
            Categorical(name=name, levels=tuple(map(str, range(size))), parents=parents.get(name))
            for name, size in zip(NAMES, SIZES, strict=True)
        )
    )


BOOK = book_of()


class Unread(Source):
    """A table that must not be looked at."""

    def __init__(self, book=BOOK):
        super().__init__(codebook=book, account=None)

    def count(self, cliques, report=None):
        raise AssertionError("the data were read")


@pytest.fixture(scope="module")
def source():
    """Columns that follow each other: b copies a mostly, c mixes a and e, d is noise."""
    stream = Stream.seeded(31)

    def record():
        a, e = stream.below(2), stream.below(3)
        b = a if stream.below(10) else 2
        c = (a + e) % 4 if stream.below(8) else stream.below(4)
        return a, b, c, stream.below(2), e

    codes = np.array([record() for _ in range(ROWS)], dtype=np.uint8)
    return EncodedSource(codebook=BOOK, columns=[np.ascontiguousarray(column) for column in codes.T])


def made(word, **options):
    given = {"count": 2, "neighbours": AR, "pick_epsilon": 0.5, "public_rows": ROWS, **options}
    return parent_choice(word, **given)


# --- words -----------------------------------------------------------------------------------------------------------


def test_every_word_stands_for_one_choice():
    kinds = {
        "declared": DeclaredParents,
        "private": PrivateParents,
        "mutual-information": InformationParents,
        "random": RandomParents,
        "full": FullParents,
    }
    assert set(CHOICES) == set(kinds)
    for word, kind in kinds.items():
        assert type(made(word)) is kind
        assert made(word).describe()["choice"] == word
    assert made(None) == DeclaredParents()
    assert made({"a": ("b",)}) == DeclaredParents(overrides={"a": ("b",)})
    assert made(NoParents()) == NoParents()
    with pytest.raises(ParameterError, match="declared, private, mutual-information, random, full"):
        made("clever")


@pytest.mark.parametrize("word", ["declared", "random", "full", None])
def test_what_reads_nothing_costs_nothing(word):
    choice = made(word)
    assert choice.entries(BOOK) == []
    chosen = choice.choose(Unread(), Stream.from_system())
    assert tuple(chosen) == NAMES
    for name, parents in chosen.items():
        assert name not in parents
        assert len(set(parents)) == len(parents)


def test_declared_parents_come_from_the_book_or_the_caller():
    book = book_of({"c": ("a", "e"), "d": ()})
    chosen = DeclaredParents(overrides={"a": ("d",)}).choose(Unread(book), Stream.seeded(1))
    assert chosen == {"a": ("d",), "b": ("a", "e"), "c": ("a", "e"), "d": (), "e": ("d", "c")}
    with pytest.raises(CodebookError, match="'z'"):
        DeclaredParents(overrides={"a": ("z",)}).check(book)
    with pytest.raises(ParameterError, match="each once"):
        DeclaredParents(overrides={"a": ("a",)}).check(book)


def test_full_and_no_parents():
    full = FullParents().choose(Unread(), Stream.seeded(1))
    assert full["b"] == ("a", "c", "d", "e")
    assert NoParents().choose(Unread(), Stream.seeded(1)) == dict.fromkeys(NAMES, ())


def test_random_parents_are_public():
    """The same for everybody, whatever the data and the stream; other salts give others, and every column its turn."""
    chosen = RandomParents(count=2).choose(Unread(), Stream.from_system())
    assert chosen == RandomParents(count=2).choose(Unread(), Stream.from_system())
    assert all(len(parents) == 2 for parents in chosen.values())
    salted = [RandomParents(count=2, salt=salt).choose(Unread(), Stream.seeded(1)) for salt in range(300)]
    assert len({tuple(item.items()) for item in salted}) > 290
    for name in NAMES:
        seen = Counter(parent for item in salted for parent in item[name])
        assert set(seen) == set(NAMES) - {name}
        # Binomial(300, 1/2) within 150 +- 60: Hoeffding's exp(-2 60^2 / 300) = 4e-11 on each side
        assert all(abs(count - 150) <= 60 for count in seen.values())


def test_raw_mutual_information_ends_the_promise(source):
    choice = made("mutual-information")
    entry = choice.entries(BOOK)[0]
    assert isinstance(entry.guarantee, NoFormal)
    assert "mutual information on the raw data" in entry.guarantee.why
    assert choice.choose(source, Stream.seeded(1))["b"][0] == "a"
    for recipe in (
        SBHG(epsilon=1.0, delta=1e-6, parents="mutual-information"),
        SBHGGauss(epsilon=1.0, delta=1e-6, parents="mutual-information"),
        PeGS(alpha=1.0, parents="mutual-information"),
    ):
        total = recipe.quote(BOOK, 10).total
        assert isinstance(total, NoFormal)
        assert "raw data" in total.why


@pytest.mark.parametrize("word", ["private", "random", "mutual-information"])
@pytest.mark.parametrize("count", [0, 5, 6, -1, True, 1.5])
def test_there_are_fewer_parents_than_columns(word, count):
    with pytest.raises(ParameterError, match="parent_count") as refusal:
        made(word, count=count).check(BOOK)
    assert "1 to 4" in str(refusal.value)
    for cls in (SBHG, SBHGGauss):
        with pytest.raises(ParameterError, match="parent_count"):
            cls(epsilon=1.0, delta=1e-6, parents=word, parent_count=count, public_rows=ROWS).quote(BOOK, 10)


def test_the_baseline_refuses_a_private_choice():
    with pytest.raises(ParameterError, match="use mutual-information"):
        GibbsSampler(parents="private")


# --- private ---------------------------------------------------------------------------------------------------------


def greedy(source, count, score, per_row):
    """The best parents one by one, with what chance alone would score taken off."""
    chosen = dict.fromkeys(NAMES, ())
    for _, name in itertools.product(range(count), NAMES):
        found = []
        for other in NAMES:
            if other in (name, *chosen[name]):
                continue
            columns = (*chosen[name], other, name)
            table = source.count([columns])[0].open().to_grid()
            keys = math.prod(table.shape[:-1])
            chance = (table.shape[-1] - 1) * (keys - 1) / 2
            found.append((score(table) - chance / (per_row or 1), other))
        chosen[name] += (max(found)[1],)
    return chosen


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize(
    ("relation", "score", "per_row"), [(AR, conditional_entropy_score, None), (RO, mutual_information, ROWS)]
)
def test_with_a_huge_epsilon_the_best_candidates_are_chosen(source, relation, score, per_row, count):
    """At epsilon 1e6 a rival that is behind by x in units of the sensitivity wins with probability e^-(1e6 x / 2)."""
    choice = PrivateParents(count=count, epsilon=1e6, public_rows=ROWS, neighbours=relation, per_cell=1)
    steps = []
    chosen = choice.choose(source, Stream.from_system(), lambda *step: steps.append(step))
    assert chosen == greedy(source, count, score, per_row)
    assert steps[-1] == ("choosing parents", 5 * count, 5 * count)


def test_candidates_that_would_leave_too_few_records_per_key_are_not_considered(source):
    choice = PrivateParents(count=3, epsilon=0.1, public_rows=ROWS, neighbours=AR, per_cell=ROWS / 6)
    size = dict(zip(NAMES, SIZES, strict=True))
    for _ in range(20):
        chosen = choice.choose(source, Stream.from_system())
        assert all(math.prod(size[parent] for parent in parents) <= 6 for parents in chosen.values())
    nobody = PrivateParents(count=2, epsilon=0.1, public_rows=ROWS, neighbours=AR, per_cell=ROWS)
    assert nobody.choose(source, Stream.seeded(1)) == dict.fromkeys(NAMES, ())
    assert nobody.entries(BOOK)[0].event.selections == 10  # paid for whether or not there is a candidate


@pytest.mark.parametrize("relation", [AR, RO])
@pytest.mark.parametrize("stated", [ROWS - 1, 1000, 30])
def test_a_public_size_that_the_data_contradict_is_refused_without_a_count(source, relation, stated):
    choice = PrivateParents(count=1, epsilon=0.1, public_rows=stated, neighbours=relation, per_cell=1)
    with pytest.raises(DataError, match=f"{stated:,} records") as refusal:
        choice.choose(source, Stream.seeded(1))
    assert str(ROWS) not in str(refusal.value).replace(",", "")
    assert "state the publicly known size" in str(refusal.value)


def test_an_upper_bound_is_enough_under_add_remove_only(source):
    above = {"count": 1, "epsilon": 0.1, "public_rows": ROWS + 500, "per_cell": 1}
    assert PrivateParents(**above, neighbours=AR).choose(source, Stream.seeded(1))
    with pytest.raises(DataError, match="exactly 2,500 records"):
        PrivateParents(**above, neighbours=RO).choose(source, Stream.seeded(1))


@pytest.mark.parametrize("rows", [None, 0, 1, True, 10.0, "10"])
def test_a_private_choice_needs_the_public_size(rows):
    with pytest.raises(ParameterError, match="public_rows"):
        made("private", public_rows=rows).check(BOOK)
    with pytest.raises(ParameterError, match="public_rows"):
        SBHG(epsilon=1.0, delta=1e-6, public_rows=rows).quote(BOOK, 10)


def test_the_price_of_a_private_choice_is_its_picks(source):
    entry = made("private", count=3).entries(BOOK)[0]
    assert entry.guarantee == PureDP(epsilon=15 * 0.5, neighbours=AR)
    assert entry.stage == "parents"
    assert "the table is known to have at most 2,000 records" in entry.assumptions
    replaced = made("private", neighbours=RO).entries(BOOK)[0]
    assert "the table is known to have exactly 2,000 records" in replaced.assumptions


# --- PeGS with a private choice --------------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", [PeGS, PeGSReset])
@pytest.mark.parametrize("relation", [AR, RO])
def test_pegs_pays_for_its_private_parents(cls, relation, source):
    options = {"block_size": 5} if cls is PeGSReset else {}
    common = {"alpha": 3.0, "delta": 1e-6, "neighbours": relation, **options}
    chosen = cls(**common, parents="private", selection_epsilon=0.75, public_rows=ROWS)
    plain = cls(**common)
    entries = chosen.quote(BOOK, 50).ledger.entries
    assert [entry.stage for entry in entries] == ["parents", "rows"]
    assert entries[0].guarantee.epsilon <= 0.75
    assert math.isclose(entries[0].guarantee.epsilon, 0.75, rel_tol=1e-12)
    more, less = (recipe.quote(BOOK, 50) for recipe in (chosen, plain))
    assert math.isclose(more.pure.epsilon, less.pure.epsilon + 0.75, rel_tol=1e-12)
    assert less.total.epsilon < more.total.epsilon <= less.total.epsilon + 0.75 * (1 + 1e-6)
    fitted = chosen.fit(source)
    assert fitted.quote(50) == more
    assert fitted.sample(50).manifest.ledger == more.ledger
    assert not any("parents of every column" in text for text in more.ledger.assumptions)
    assert any("parents of every column" in text for text in less.ledger.assumptions)


@pytest.mark.parametrize("cls", [PeGS, PeGSReset])
@pytest.mark.parametrize("delta", [None, 1e-6])
@pytest.mark.parametrize("target", [1.0, pytest.param(5.0, marks=pytest.mark.long)])
def test_a_whole_file_target_includes_the_choice_of_parents(cls, delta, target):
    options = {"block_size": 5} if cls is PeGSReset else {}
    recipe = cls(
        epsilon=target,
        rows=200,
        delta=delta,
        parents="private",
        selection_epsilon=0.4 * target,
        public_rows=ROWS,
        **options,
    )
    total = recipe.quote(BOOK, 200).total
    assert isinstance(total, PureDP if delta is None else ApproxDP)
    assert target * (1 - 1e-4) <= total.epsilon <= target
    alone = cls(epsilon=target, rows=200, delta=delta, **options)
    assert recipe.alpha_used(BOOK) > alone.alpha_used(BOOK)  # less is left for the rows


def test_pegs_needs_a_price_for_private_parents():
    with pytest.raises(ParameterError, match="needs a price"):
        PeGS(alpha=1.0, parents="private", public_rows=100)
    with pytest.raises(ParameterError, match="selection_epsilon"):
        PeGS(alpha=1.0, parents="private", public_rows=100, selection_epsilon=0.0)
