"""A survey weight: how many people of the population a record stands for. Public knowledge only."""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from understudy.codebook.columns import Column
from understudy.codebook.numbers import Number


def weight_faults(name: str, columns: Mapping[str, Column]) -> list[str]:
    """A weight is a number column of the model with positive bounds and no missing level."""
    column = columns.get(name)
    if column is None:
        return [f"weight is {name!r}, which is not a column of the codebook; describe it as a number with edges."]
    if not isinstance(column, Number) or not column.is_modelled:
        return [
            f"weight is {name!r}, a {column.kind} column; a survey weight is a number whose edges bound it. Give it "
            'kind = "continuous" or "integer" and edges.'
        ]
    faults = []
    if column.special:
        return [f"weight is {name!r}, which has special codes that are no weights; take those rows out first."]
    if column.edges[0] <= 0:
        faults.append(
            f"weight is {name!r}, whose edges start at {float(column.edges[0]):g}; a weight of 0 or less stands for "
            "nobody. Start the edges above 0."
        )
    if column.missing is not None:
        faults.append(
            f"weight is {name!r}, which may be missing; a record without a weight stands for an unknown number of "
            "people. Drop missing and fill the gaps."
        )
    return faults


def bin_weights(column: Number) -> tuple[Fraction, ...]:
    """The weight that each bin stands for: the middle of the values that it holds; the last one is the largest."""
    return tuple((first + Fraction(width - 1, 2)) * column.step for first, width in column.grids)


def finer(column: Number, steps: int) -> Number:
    """The weight in narrower bins, about ``steps`` in all, none narrower than the precision: so near to the weights
    themselves that their middles may stand for them. Public like the column.

    >>> from understudy.codebook import Integer
    >>> weight = Integer(name="w", edges=(Fraction(1), Fraction(3), Fraction(9)))
    >>> [str(middle) for middle in bin_weights(weight)]
    ['3/2', '6']
    >>> [str(middle) for middle in bin_weights(finer(weight, 1024))]
    ['1', '2', '3', '4', '5', '6', '7', '8', '9']
    """
    pieces = max(2, steps // column.proper_levels)
    return replace(replace(column, shape="measured", pieces=pieces).fine, name=column.name)
