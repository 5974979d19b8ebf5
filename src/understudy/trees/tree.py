"""One binary tree over codes: which codes of which feature go right, and the number of the leaf reached."""

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from understudy.codec import to_plain
from understudy.trees.features import MOST_CODES, CodeMatrix

Leaves = npt.NDArray[np.intp]


@dataclass(frozen=True, kw_only=True)
class Tree:
    """Nodes in an array; node 0 is the root and children come after their parent.

    ``feature[i]`` is the place of the feature that node ``i`` asks about, or -1 for a leaf. Codes in ``yes_codes[i]``
    go to ``yes[i]``, all others to ``no[i]``. Leaves are numbered in order of appearance.
    """

    feature: tuple[int, ...]
    yes_codes: tuple[tuple[int, ...], ...]
    no: tuple[int, ...]
    yes: tuple[int, ...]
    gain: tuple[float | None, ...] = ()
    """Alpha-gain of each split, where it may be shown."""

    def __post_init__(self) -> None:
        nodes = len(self.feature)
        lists = (self.yes_codes, self.no, self.yes, *((self.gain,) if self.gain else ()))
        if nodes == 0 or any(len(each) != nodes for each in lists):
            raise ValueError("the lists of a tree differ in length")
        children: list[int] = []
        for node, feature in enumerate(self.feature):
            if feature < 0:
                continue
            pair = (self.no[node], self.yes[node])
            if not all(node < child < nodes for child in pair):
                raise ValueError(f"node {node} of a tree has a child out of place")
            if not all(0 <= code < MOST_CODES for code in self.yes_codes[node]):
                raise ValueError(f"node {node} of a tree asks about a code that no byte holds")
            children.extend(pair)
        if sorted(children) != list(range(1, nodes)):
            raise ValueError("some node of a tree has no parent, or two")

    @cached_property
    def leaf_number(self) -> tuple[int, ...]:
        """Number of the leaf at each node, -1 at splits."""
        numbers, following = [], 0
        for feature in self.feature:
            numbers.append(following if feature < 0 else -1)
            following += feature < 0
        return tuple(numbers)

    @property
    def leaves(self) -> int:
        """How many leaves there are."""
        return sum(asked < 0 for asked in self.feature)

    @cached_property
    def depths(self) -> tuple[int, ...]:
        """Number of questions asked before each node."""
        depths = [0] * len(self.feature)
        for node, feature in enumerate(self.feature):
            if feature >= 0:
                depths[self.no[node]] = depths[self.yes[node]] = depths[node] + 1
        return tuple(depths)

    @property
    def depth(self) -> int:
        """Most questions asked on any way down."""
        return max(self.depths)

    @cached_property
    def _arrays(self) -> tuple[Leaves, npt.NDArray[np.intp], npt.NDArray[np.bool_], Leaves]:
        says_yes = np.zeros((len(self.feature), MOST_CODES), dtype=np.bool_)
        for node, codes in enumerate(self.yes_codes):
            says_yes[node, list(codes)] = True
        children = np.array([self.no, self.yes], dtype=np.intp).T
        numbers = np.array(self.leaf_number, dtype=np.intp)
        return np.array(self.feature, dtype=np.intp), children, says_yes, numbers

    def leaf_of(self, codes: CodeMatrix) -> Leaves:
        """Leaf number of every row."""
        feature, children, says_yes, numbers = self._arrays
        at = np.zeros(len(codes), dtype=np.intp)
        rows = np.arange(len(codes))
        for _ in range(self.depth):
            asked_feature = feature[at]
            inner = asked_feature >= 0
            answer = says_yes[at, codes[rows, np.maximum(asked_feature, 0)]].astype(np.intp)
            at = np.where(inner, children[at, answer], at)
        return numbers[at]

    def to_dict(self) -> dict[str, Any]:
        """As plain data; gains only where there are some."""
        plain = {each.name: to_plain(getattr(self, each.name)) for each in fields(self)}
        if not self.gain:
            del plain["gain"]
        return plain
