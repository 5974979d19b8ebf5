"""Decision diagrams of allowed combinations against tables that are laid out in full."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.codebook.diagrams import Diagram, moves_of, reduced

PLACE = {column: column for column in range(4)}


@st.composite
def tables(draw):
    """Some of four columns in their order, and which of their combinations are allowed."""
    columns = tuple(sorted(draw(st.sets(st.integers(0, 3), min_size=1))))
    seed = draw(st.integers(0, 2**32 - 1))
    share = draw(st.sampled_from([0.0, 0.3, 0.8, 1.0]))
    allowed = np.random.default_rng(seed).random([SIZES[column] for column in columns]) < share
    return columns, allowed


SIZES = (2, 3, 4, 2)


def diagram(columns, allowed):
    return Diagram(columns=columns, moves=moves_of(allowed), rules=frozenset())


def laid_out(found):
    """The table of a diagram, one combination at a time."""
    shape = [SIZES[column] for column in found.columns]
    return found.holds([own.ravel() for own in np.indices(shape)]).reshape(shape)


def over_all(columns, allowed):
    return np.broadcast_to(allowed.reshape([SIZES[c] if c in columns else 1 for c in range(4)]), SIZES)


@given(tables(), tables(), st.permutations(range(4)))
@settings(deadline=None)
def test_a_diagram_is_its_table_whatever_is_done_to_it(first, second, order):
    one, two = diagram(*first), diagram(*second)
    assert (laid_out(one) == first[1]).all()
    assert one.allows_all == first[1].all() and one.allows_none == (not first[1].any())
    both = one.joined(two, PLACE, most=1000)
    assert (over_all(both.columns, laid_out(both)) == over_all(*first) & over_all(*second)).all()
    if len(both.columns) > 1:
        assert (laid_out(both.without_last()) == laid_out(both).any(axis=-1)).all()
    place = {column: when for when, column in enumerate(order)}
    turned = both.arranged(place)
    assert list(turned.columns) == sorted(both.columns, key=place.__getitem__)
    axes = [both.columns.index(column) for column in turned.columns]
    assert (laid_out(turned) == laid_out(both).transpose(axes)).all()


@given(tables(), tables())
@settings(deadline=None)
def test_equal_sets_have_equally_many_states(first, second):
    """No diagram has a state too many: each is as small as the one made from the whole table."""
    both = diagram(*first).joined(diagram(*second), PLACE, most=1000)
    smallest = moves_of(laid_out(both))
    assert [layer.shape for layer in both.moves] == [layer.shape for layer in smallest]
    assert [layer.shape for layer in reduced(both.moves)] == [layer.shape for layer in smallest]
