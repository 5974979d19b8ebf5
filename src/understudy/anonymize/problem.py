"""A table to be anonymised by full-domain generalisation, and what one choice of heights would make of it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from understudy.anonymize.cells import Cells
from understudy.anonymize.criteria import Closeness, Criterion, DistinctDiversity, Tree, uses_distance
from understudy.anonymize.hierarchy import Hierarchy
from understudy.anonymize.kernels import Packed, bad_classes, class_of, keys_of, pack
from understudy.errors import DataError, ParameterError

Node = tuple[int, ...]
"""A height for each quasi-identifier."""

_KEY_LIMIT = 1 << 62


@dataclass(frozen=True, kw_only=True, eq=False)
class NodeOutcome:
    """What one node of the lattice would release."""

    node: Node
    sizes: npt.NDArray[np.int64]
    """Rows of each class, before suppression."""
    bad: npt.NDArray[np.bool_]
    """Classes whose rows are suppressed."""
    cells: npt.NDArray[np.bool_]
    """Cells of the problem whose rows are suppressed."""
    suppressed: int
    too_small: int
    """Rows in classes below k alone: never more at a coarser node."""
    deleted: bool
    """Whether the suppressed rows cannot form a class of their own."""
    feasible: bool


@dataclass(frozen=True, kw_only=True, eq=False)
class Problem:
    """Counts of quasi-identifiers and sensitive columns, the hierarchies and what is asked."""

    quasi: tuple[str, ...]
    hierarchies: tuple[Hierarchy, ...]
    codes: npt.NDArray[np.int32]
    counts: npt.NDArray[np.int64]
    sensitive: npt.NDArray[np.int32]
    k: int
    criteria: tuple[Criterion, ...]
    packed: Packed
    share: float
    """Suppression limit, as a share of the rows."""
    delete: bool
    """Whether suppressed rows leave the table instead of staying with stars."""
    _scratch: dict[str, npt.NDArray[np.int64]] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        """Number of records."""
        return int(self.counts.sum())

    @property
    def allowed(self) -> int:
        """Rows that may be suppressed."""
        return math.floor(self.share * self.rows + 1e-9)

    @property
    def dims(self) -> tuple[int, ...]:
        """Number of heights of each quasi-identifier."""
        return tuple(hierarchy.height + 1 for hierarchy in self.hierarchies)

    @property
    def is_monotone(self) -> bool:
        """Whether a coarser node is feasible whenever a finer one is.

        Without suppression always (entropy is concave, distances are convex). With it, rows of a good class stay good
        for k and for distinct diversity; entropy, recursive diversity and closeness may be spoilt by bad rows
        that join.
        """
        return self.allowed == 0 or all(isinstance(criterion, DistinctDiversity) for criterion in self.criteria)

    def keys(self, node: Node, codes: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
        """One number per line of quasi-identifier codes: equal numbers, one class."""
        maps = [hierarchy.maps[height] for hierarchy, height in zip(self.hierarchies, node, strict=True)]
        radix = [hierarchy.groups(height) for hierarchy, height in zip(self.hierarchies, node, strict=True)]
        if math.prod(radix) >= _KEY_LIMIT:
            mapped = np.stack([mapping[codes[:, place]] for place, mapping in enumerate(maps)], axis=1)
            return _long_keys(mapped)
        offsets = np.cumsum([0, *(len(mapping) for mapping in maps[:-1])])
        keys = np.empty(len(codes), dtype=np.int64)
        keys_of(codes, np.concatenate(maps), offsets, np.array(radix, dtype=np.int64), keys)
        return keys

    def keys_beside(self, node: Node, cells: Cells) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Keys of the problem's own lines, and of those of a table, which can be compared."""
        places = [cells.place(name) for name in self.quasi]
        keys = self.keys(node, np.vstack([self.codes, cells.codes[:, places]]).astype(np.int32))
        return keys[: len(self.codes)], keys[len(self.codes) :]

    def steps_at(self, node: Node) -> dict[str, str]:
        """The step of every quasi-identifier at a node, by name."""
        return {
            name: hierarchy.names[height]
            for name, hierarchy, height in zip(self.quasi, self.hierarchies, node, strict=True)
        }

    def evaluate(self, node: Node) -> NodeOutcome:
        """Form the classes, suppress those that break a rule, and see whether the limit is kept."""
        keys = self.keys(node, self.codes)
        slots, owners, classes, sizes = self._tables(len(keys))
        owners[:] = -1
        number = class_of(keys, self.counts, slots, owners, classes, sizes)
        sizes = sizes[:number].copy()
        bad = sizes < self.k
        too_small = int(sizes[bad].sum())
        if too_small <= self.allowed:  # otherwise it is hopeless already
            bad = self.bad(classes, sizes, self.wholes())
        deleted = False
        feasible = int(sizes[bad].sum()) <= self.allowed
        while feasible and bad.any():
            out = bad[classes]
            if not self.delete and self.forms_class(out):
                break
            deleted = True
            if bad.all():
                feasible = False
            elif any(isinstance(criterion, Closeness) for criterion in self.criteria):
                again = bad | self.bad(classes, sizes, self.wholes(~out))
                if (again == bad).all():
                    break
                bad, deleted = again, False
                feasible = int(sizes[bad].sum()) <= self.allowed
            else:
                break
        return NodeOutcome(
            node=node,
            sizes=sizes,
            bad=bad,
            cells=bad[classes],
            suppressed=int(sizes[bad].sum()),
            too_small=too_small,
            deleted=deleted,
            feasible=feasible,
        )

    def is_hopeless(self, outcome: NodeOutcome) -> bool:
        """Whether this node and every finer one must fail."""
        return not outcome.feasible if self.is_monotone else outcome.too_small > self.allowed

    def wholes(self, kept: npt.NDArray[np.bool_] | slice = slice(None)) -> npt.NDArray[np.int64]:
        """Histogram of each sensitive column over the kept cells."""
        columns = self.sensitive.shape[1]
        histograms = np.zeros((max(columns, 1), int(self.packed.sizes.max())), dtype=np.int64)
        for place in range(columns):
            np.add.at(histograms[place], self.sensitive[kept, place], self.counts[kept])
        return histograms

    def forms_class(self, cells: npt.NDArray[np.bool_]) -> bool:
        """Whether the rows of some cells satisfy everything as one class."""
        total = np.array([self.counts[cells].sum()])
        return not self.bad(np.zeros(int(cells.sum()), np.int64), total, self.wholes(), cells)[0]

    def bad(
        self,
        classes: npt.NDArray[np.int64],
        sizes: npt.NDArray[np.int64],
        wholes: npt.NDArray[np.int64],
        cells: npt.NDArray[np.bool_] | slice = slice(None),
    ) -> npt.NDArray[np.bool_]:
        """Which classes of (some of the) cells are too small or break a criterion."""
        if not self.criteria:
            return sizes < self.k
        return bad_classes(classes, self.counts[cells], self.sensitive[cells], sizes, self.k, self.packed, wholes)

    def _tables(self, rows: int) -> tuple[npt.NDArray[np.int64], ...]:
        if not self._scratch:
            room = 1 << max(4, (2 * rows - 1).bit_length())
            self._scratch.update({name: np.empty(room, np.int64) for name in ("slots", "owners")})
            self._scratch.update({name: np.empty(rows, np.int64) for name in ("classes", "sizes")})
        return tuple(self._scratch[name] for name in ("slots", "owners", "classes", "sizes"))


def _long_keys(mapped: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
    """Equal lines to equal numbers where mixed radix would leave 64 bits. The numbers mean nothing else."""
    keys = np.zeros(len(mapped), dtype=np.int64)
    for place in range(mapped.shape[1]):
        keys = np.unique(keys * (int(mapped[:, place].max(initial=0)) + 1) + mapped[:, place], return_inverse=True)[1]
    return keys.astype(np.int64)


def check_quasi(names: Sequence[str]) -> tuple[str, ...]:
    """There must be something that an intruder knows."""
    if not names:
        raise ParameterError(
            "no quasi-identifier is declared, so that there is nothing to link by and nothing to protect; set "
            'role = "quasi-identifier" in the codebook for what an intruder may know, or name columns with `quasi`.'
        )
    return tuple(names)


def pose(
    cells: Cells,
    *,
    quasi: Sequence[str],
    hierarchies: Mapping[str, Hierarchy],
    k: int,
    criteria: Sequence[Criterion] = (),
    suppression: float,
    delete: bool = False,
) -> Problem:
    """Check the request against the table and lay it out for the search."""
    names = check_quasi(quasi)
    if k > cells.rows:
        raise DataError(f"`k` is {k:,} and the table has {cells.rows:,} rows; no class can be that large. Lower k.")
    sensitive = list(dict.fromkeys(criterion.column for criterion in criteria))
    if both := [name for name in sensitive if name in names]:
        raise ParameterError(
            f"column {both[0]!r} is asked to be a quasi-identifier and sensitive at once; within a class it has one "
            "value, so that no diversity is possible. Choose one role."
        )
    wide = cells.select([*names, *sensitive])
    trees = {
        criterion.column: tree_of(hierarchies[criterion.column])
        for criterion in criteria
        if uses_distance(criterion, "hierarchical")
    }
    sizes = [wide.column(name).size for name in sensitive]
    return Problem(
        quasi=names,
        hierarchies=tuple(hierarchies[name] for name in names),
        codes=np.ascontiguousarray(wide.codes[:, : len(names)]),
        counts=wide.counts,
        sensitive=np.ascontiguousarray(wide.codes[:, len(names) :]),
        k=k,
        criteria=tuple(criteria),
        packed=pack(tuple(criteria), sensitive, sizes, trees),
        share=float(suppression),
        delete=delete,
    )


def tree_of(hierarchy: Hierarchy) -> Tree:
    """The node of every level at every height; the last height is one root."""
    tree = hierarchy.maps.astype(np.int64)
    return tree if tree[-1].max() == 0 else np.vstack([tree, np.zeros((1, tree.shape[1]), dtype=np.int64)])
