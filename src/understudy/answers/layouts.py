"""How the score and the information of a model are laid out as numbers that a record moves by little.

*Joint*: every scaled term is spread over two or three nodes that add up to 1, a record over all combinations of nodes,
which add up to 1 too; products of terms are sums over combinations. *Plain*: every product by itself. A record moves
the first by 1 in all, however many products there are, but each product then gathers the noise of all combinations: few
terms are measured jointly, many by themselves, and public numbers decide.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from understudy.answers.design import Design

Floats = npt.NDArray[np.float64]
MOST_COMBINATIONS = 2_187
_INFORMATION, _SQUARES = 0.55, 0.3
"""Weights of the information and of the squared response beside those of the score, which matters most."""
_TYPICAL = 0.1
"""Squared size of a scaled coefficient, for comparing how loud layouts are."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Layout(ABC):
    """What one record adds, as numbers within public bounds, and how products are read off the sums."""

    design: Design
    squares_wanted: bool
    """Whether the spread of the response is measured too, for an interval for the population."""

    @property
    def is_linear(self) -> bool:
        """Whether the response itself takes the place of what is left of it."""
        return self.design.kind == "linear"

    @property
    @abstractmethod
    def width(self) -> int:
        """Numbers of a record."""

    @abstractmethod
    def spans(self, residual: float) -> tuple[float, float]:
        """Most that their absolute values, and their squares, add up to; ``residual`` bounds what is left."""

    @abstractmethod
    def numbers(self, terms: Floats, left: Floats, chance: Floats) -> Floats:
        """Of records with these scaled terms: what is left of the response, and for logistic models the chance."""

    @property
    @abstractmethod
    def information(self) -> Floats:
        """Terms x terms x numbers: weights by which sums give the information."""

    @property
    @abstractmethod
    def score(self) -> Floats:
        """Terms x numbers."""

    @property
    @abstractmethod
    def squares(self) -> Floats:
        """Numbers: the sum of squared responses; 0 where it is not measured."""

    @cached_property
    def loudness(self) -> float:
        """Mean variance of a score at typical coefficients, for noise of variance 1 on every number."""
        information = (self.information**2).sum(axis=(1, 2)) * _TYPICAL
        return float(((self.score**2).sum(axis=1) + information).mean())


@dataclass(frozen=True, kw_only=True, eq=False)
class Plain(Layout):
    """Every distinct product by itself."""

    @cached_property
    def pairs(self) -> dict[tuple[int, int], int]:
        """For each pair of terms the number that holds its product; pairs whose product is always 0 are not in it.

        The square of a sign is that of the intercept, and the square of a dummy the dummy itself.
        """
        design, entries, last = self.design, {(0, 0): 0}, 0
        factor = {at: place for place, own in enumerate(design.slices) for at in range(own.start, own.stop)}
        for i in range(design.size):
            for j in range(max(i, 1), design.size):
                if i == j and design.signs[factor[j]]:
                    entries[(j, j)] = 0
                elif i > 0 and design.exclusive[factor[j]] and factor[i] == factor[j]:
                    if i == j:
                        entries[(j, j)] = entries[(0, j)]
                else:
                    last += 1
                    entries[(i, j)] = last
        return entries

    @cached_property
    def products(self) -> int:
        """Numbers of the information."""
        return max(self.pairs.values()) + 1

    @property
    def width(self) -> int:
        """Products, scores and the square."""
        return self.products + self.design.size + self.squares_wanted

    def spans(self, residual: float) -> tuple[float, float]:
        """Of factors of which one term, or all of them, may be 1."""
        widths = [
            1 if exclusive else own.stop - own.start
            for own, exclusive in zip(self.design.slices, self.design.exclusive, strict=True)
        ]
        own = sum(
            0.0 if exclusive or sign else width * (width + 1) / 2
            for width, exclusive, sign in zip(widths, self.design.exclusive, self.design.signs, strict=True)
        )
        across = sum(widths[i] * widths[j] for i in range(len(widths)) for j in range(i + 1, len(widths)))
        products, terms = 1.0 + sum(widths) + own + across, 1.0 + sum(widths)
        square = _SQUARES if self.squares_wanted else 0.0
        return (
            _INFORMATION * products + residual * terms + square,
            _INFORMATION**2 * products + residual**2 * terms + square**2,
        )

    def numbers(self, terms: Floats, left: Floats, chance: Floats) -> Floats:
        """Products, scores and the square."""
        curved = np.ones(len(left)) if self.is_linear else 4 * chance * (1 - chance)
        numbers = np.zeros((len(left), self.width))
        for (i, j), entry in self.pairs.items():
            numbers[:, entry] = _INFORMATION * curved * terms[:, i] * terms[:, j]
        numbers[:, self.products : self.products + self.design.size] = terms * left[:, None]
        if self.squares_wanted:
            numbers[:, -1] = _SQUARES * left**2
        return numbers

    @cached_property
    def information(self) -> Floats:
        """One number each."""
        weights = np.zeros((self.design.size, self.design.size, self.width))
        each = 1 / (_INFORMATION * (1.0 if self.is_linear else 4.0))
        for (i, j), entry in self.pairs.items():
            weights[i, j, entry] = weights[j, i, entry] = each
        return weights

    @cached_property
    def score(self) -> Floats:
        """One number each."""
        weights = np.zeros((self.design.size, self.width))
        places = np.arange(self.design.size)
        weights[places, self.products + places] = 1.0
        return weights

    @cached_property
    def squares(self) -> Floats:
        """The last number."""
        weights = np.zeros(self.width)
        if self.squares_wanted:
            weights[-1] = 1 / _SQUARES
        return weights


_THREE = {"one": (1.0, 1.0, 1.0), "value": (-1.0, 0.0, 1.0), "square": (1.0, -1.0, 1.0)}
"""Of the nodes (1-t)^2, 2t(1-t) and t^2 of u = 2t - 1: what gives 1, u and u^2."""
_TWO = {"one": (1.0, 1.0), "value": (-1.0, 1.0), "square": (1.0, 1.0)}
"""Of the nodes 1-t and t, where u is -1 or 1, or its square is not asked for."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Joint(Layout):
    """All combinations of nodes."""

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Nodes of each factor; several numbers of one factor are factors of their own."""
        sizes: list[int] = []
        for own, exclusive, sign in zip(self.design.slices, self.design.exclusive, self.design.signs, strict=True):
            width = own.stop - own.start
            sizes += [width + 1] if exclusive else [2 if sign else 3] * width
        return tuple(sizes)

    @property
    def _response(self) -> int:
        return 3 if self.is_linear and self.squares_wanted else 2

    @property
    def width(self) -> int:
        """Combinations, each with the nodes of the response, or what is left of it above and below."""
        return int(np.prod(self.sizes, dtype=np.int64)) * self._response

    def spans(self, residual: float) -> tuple[float, float]:
        """Nodes are never negative and add up to 1; what is left is in one of two places."""
        return (1.0, 1.0) if self.is_linear else (residual, residual**2)

    def _nodes(self, terms: Floats) -> list[Floats]:
        nodes = []
        for own, exclusive, sign in zip(self.design.slices, self.design.exclusive, self.design.signs, strict=True):
            block = terms[:, own]
            if exclusive:
                nodes.append(np.column_stack([1 - block.sum(axis=1), block]))
            else:
                nodes += [_spread(column, 2 if sign else 3) for column in block.T]
        return nodes

    def numbers(self, terms: Floats, left: Floats, chance: Floats) -> Floats:
        """The product of all nodes."""
        response = (
            _spread(left, self._response)
            if self.is_linear
            else np.column_stack([np.maximum(-left, 0.0), np.maximum(left, 0.0)])
        )
        numbers = np.ones((len(left), 1))
        for own in (*self._nodes(terms), response):
            numbers = (numbers[:, :, None] * own[:, None, :]).reshape(len(left), -1)
        return numbers

    def _weights(self, powers: dict[int, str], response: tuple[float, ...]) -> Floats:
        """Of the product of some terms (``value`` or ``square``) with something of the response."""
        weights: Floats = np.ones(1)
        for own, exclusive, sign in zip(self.design.slices, self.design.exclusive, self.design.signs, strict=True):
            width = own.stop - own.start
            if exclusive:
                asked = [place - own.start + 1 for place in powers if own.start <= place < own.stop]
                each = np.ones(width + 1) if not asked else np.zeros(width + 1)
                if len(asked) == 1:  # two dummies of one factor are never 1 together
                    each[asked[0]] = 1.0
                weights = np.asarray(np.kron(weights, each), dtype=np.float64)
            else:
                for place in range(own.start, own.stop):
                    nodes = (_TWO if sign else _THREE)[powers.get(place, "one")]
                    weights = np.asarray(np.kron(weights, nodes), dtype=np.float64)
        return np.asarray(np.kron(weights, response), dtype=np.float64)

    @cached_property
    def information(self) -> Floats:
        """Of a logistic model by what is left above and below: at the right chances its mean is 2p(1-p)."""
        size = self.design.size
        one = (1.0,) * self._response if self.is_linear else (0.5, 0.5)
        weights = np.zeros((size, size, self.width))
        for i in range(size):
            for j in range(i, size):
                powers = {i: "square"} if i == j else {i: "value", j: "value"}
                powers.pop(0, None)  # the intercept is 1
                weights[i, j] = weights[j, i] = self._weights(powers, one)
        return weights

    @cached_property
    def score(self) -> Floats:
        """Terms times the response, or times what is left."""
        value = _THREE["value"] if self._response == 3 else _TWO["value"]
        return np.stack(
            [self._weights({} if place == 0 else {place: "value"}, value) for place in range(self.design.size)]
        )

    @cached_property
    def squares(self) -> Floats:
        """The response squared."""
        return self._weights({}, _THREE["square"]) if self._response == 3 else np.zeros(self.width)


def _spread(values: Floats, nodes: int) -> Floats:
    """A value in [-1, 1] over its nodes."""
    share = (values + 1) / 2
    if nodes == 2:
        return np.column_stack([1 - share, share])
    return np.column_stack([(1 - share) ** 2, 2 * share * (1 - share), share**2])


def layouts_of(design: Design, *, squares_wanted: bool) -> list[Layout]:
    """Those that are worth comparing."""
    joint = Joint(design=design, squares_wanted=squares_wanted)
    small = np.prod([float(size) for size in joint.sizes]) * joint._response <= MOST_COMBINATIONS
    plain = Plain(design=design, squares_wanted=squares_wanted)
    return [plain, joint] if small else [plain]
