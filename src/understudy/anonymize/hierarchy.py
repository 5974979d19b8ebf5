"""A generalisation hierarchy: every value of a column sent to coarser and coarser groups, as a tree."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from understudy.anonymize.cells import STAR, base_texts, levelled
from understudy.codebook import Column
from understudy.errors import CodebookError, ParameterError

AS_IT_STANDS = "as it stands"
"""The step at the foot of every hierarchy."""

_SHOWN = 5


@dataclass(frozen=True, kw_only=True, eq=False)
class Hierarchy:
    """Height 0 is the column as it stands; at each further height groups are joined.

    ``maps[h][code]`` is the group of a code at height h, ``labels[h]`` the names of the groups. The missing level keeps
    a group of its own, the last one, until everything is ``*``.
    """

    column: Column
    names: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    """Names of the groups at each height, without the missing one."""
    maps: npt.NDArray[np.int32]

    @property
    def height(self) -> int:
        """Number of steps above the column as it stands."""
        return len(self.names) - 1

    def groups(self, height: int) -> int:
        """Number of groups at a height, the missing one included."""
        return int(self.maps[height].max()) + 1

    def has_missing(self, height: int) -> bool:
        """Whether missing values still form a group of their own at this height."""
        code = self.column.missing_code
        return code is not None and int(self.maps[height][code]) == len(self.labels[height])

    def at(self, height: int) -> Column:
        """The column as it is released at this height."""
        if height == 0:
            return self.column
        return levelled(self.column, self.labels[height], missing=self.has_missing(height))

    def find(self, step: int | str) -> int:
        """The height of a step, given by its name or number."""
        if isinstance(step, str) and step in self.names:
            return self.names.index(step)
        if isinstance(step, int) and not isinstance(step, bool) and 0 <= step <= self.height:
            return step
        raise ParameterError(
            f"column {self.column.name!r} cannot be generalised to {step!r}; its steps are "
            f"{', '.join(f'{h} ({name})' for h, name in enumerate(self.names))}."
        )

    def up_to(self, step: int | str) -> "Hierarchy":
        """The hierarchy without the steps above this one."""
        end = self.find(step) + 1
        return replace(self, names=self.names[:end], labels=self.labels[:end], maps=self.maps[:end])


def build(column: Column, steps: Sequence[tuple[str, Sequence[str]]], *, top: bool = True) -> Hierarchy:
    """A hierarchy from the group of every value (without the missing one) at each step, finest first.

    ``top`` adds a last step that sends everything to ``*``, unless the steps end there already.

    >>> from understudy.codebook import Categorical
    >>> place = Categorical(name="zip", levels=("75217", "75211", "76101"))
    >>> build(place, [("three digits", ("752**", "752**", "761**"))]).names
    ('as it stands', 'three digits', '*')
    """
    proper = column.proper_levels
    faults = []
    for (before, finer), (after, coarser) in pairwise(steps):
        if torn := _torn(finer, coarser):
            faults.append(
                f"step {after!r} parts what step {before!r} has joined ({', '.join(torn)}): that is not a tree. "
                "Send all of one group to one group."
            )
    names, labels, maps = [AS_IT_STANDS], [tuple(base_texts(column))], [np.arange(column.size, dtype=np.int32)]
    for name, proper_groups in steps:
        groups = list(proper_groups)
        if len(groups) == proper and column.special:  # a special code is no number: it stays alone until all are *
            groups += [STAR if set(groups) == {STAR} else text for text in column.special]
        assert len(groups) == proper + len(column.special)
        distinct = tuple(dict.fromkeys(groups))
        code = {label: place for place, label in enumerate(distinct)}
        mapping = [code[label] for label in groups]
        if column.missing is not None:
            mapping.append(0 if distinct == (STAR,) else len(distinct))
            if column.missing in distinct:
                faults.append(
                    f"step {name!r} has a group called {column.missing!r}, which is also the token of missing values; "
                    "rename the group."
                )
        names.append(name)
        labels.append(distinct)
        maps.append(np.array(mapping, dtype=np.int32))
    if top and column.size > 1 and (int(maps[-1].max()) > 0 or len(maps) == 1):
        names.append(STAR)
        labels.append((STAR,))
        maps.append(np.zeros(column.size, dtype=np.int32))
    if faults:
        plural = "fault" if len(faults) == 1 else "faults"
        raise CodebookError(f"the hierarchy of column {column.name!r} has {len(faults)} {plural}:", faults)
    return Hierarchy(column=column, names=tuple(names), labels=tuple(labels), maps=np.stack(maps))


def _torn(finer: Sequence[str], coarser: Sequence[str]) -> list[str]:
    """Groups of the finer step that the coarser one splits, with the two groups they end in."""
    parent: dict[str, str] = {}
    torn: dict[str, str] = {}
    for group, above in zip(finer, coarser, strict=True):
        if parent.setdefault(group, above) != above:
            torn.setdefault(group, f"{group!r} goes to {parent[group]!r} and {above!r}")
    return list(torn.values())[:_SHOWN]
