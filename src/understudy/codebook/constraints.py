"""What the rules of a codebook allow: whether a row may exist, and which levels may follow the beginning of a row.

The rules are joined column by column, from the last one of an order to the first, and what a column leaves possible for
those before it becomes a rule of its own (adaptive consistency: Dechter and Pearl 1987). Afterwards a row can be drawn
in that order without ever getting stuck: each column has at least one level that fits what was drawn and can be
completed. Codes that no rule tells apart are treated as one class, and combinations are kept as diagrams
(``diagrams.py``), so that neither thousands of levels nor dozens of columns in one rule cost much.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from understudy.codebook.clauses import Clause, clause_of, order_clause
from understudy.codebook.columns import Column, repeated_in
from understudy.codebook.diagrams import Diagram, Moves, TooLarge, followed, reduced
from understudy.codebook.rules import Order, Rule
from understudy.errors import CodebookError, ParameterError

Codes = npt.NDArray[np.integer]
Bools = npt.NDArray[np.bool_]
_MOST_CELLS = 1 << 24
"""Moves of a diagram at one column."""


class _Unsatisfiable(Exception):
    """Nothing is allowed."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Choices:
    """Sets of levels of one column. ``levels[i, c]`` says whether set ``i`` holds code ``c``."""

    levels: Bools

    @cached_property
    def runs(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """The sets as runs of codes: set ``i`` is runs ``starts[i]`` to ``starts[i + 1]``, each [low, high)."""
        padded = np.zeros((len(self.levels), self.levels.shape[1] + 2), dtype=np.int8)
        padded[:, 1:-1] = self.levels
        change = np.diff(padded, axis=1)
        which, low = np.nonzero(change == 1)
        _, high = np.nonzero(change == -1)
        starts = np.searchsorted(which, np.arange(len(self.levels) + 1))
        return starts.astype(np.int64), low.astype(np.int64), high.astype(np.int64)


@dataclass(frozen=True, kw_only=True, eq=False)
class Step:
    """How one column may go on from the columns drawn before it."""

    column: int
    reads: tuple[int, ...]
    moves: Moves
    """For each column read, the next state by state and code; the last state is the number of the set."""
    choices: Choices

    def sets(self, row: Sequence[Codes]) -> npt.NDArray[np.int64]:
        """For each row the number of the set of levels that its column may take; ``row`` holds all columns."""
        if not self.reads:
            return np.zeros(len(row[self.column]), dtype=np.int64)
        return followed(self.moves, [row[place] for place in self.reads])


class Allowed:
    """All rules of a codebook, compiled. ``None`` as a step means that a column is free."""

    def __init__(self, columns: Sequence[Column], rules: Sequence[Rule], extra: Sequence[Clause] = ()) -> None:
        self._columns = tuple(columns)
        self._rules = tuple(rules)
        self._extra = tuple(extra)
        position = {column.name: place for place, column in enumerate(columns)}
        named = {column.name: column for column in columns}
        clauses = [(clause_of(rule, named), frozenset([number])) for number, rule in enumerate(rules)]
        clauses += Orders(columns, rules).implied(named)
        clauses += [(clause, frozenset()) for clause in extra]
        self._classes = _common_classes(columns, [clause for clause, _ in clauses])
        self._diagrams = tuple(
            Diagram(columns=places, moves=self._on_classes(clause, places), rules=origin)
            for clause, origin in clauses
            for places in [tuple(position[name] for name in clause.columns)]
        )
        self._plans: dict[tuple[int, ...], tuple[Step | None, ...]] = {}
        self._left: dict[tuple[int, ...], list[Diagram]] = {}

    def __bool__(self) -> bool:
        return bool(self._diagrams)

    def within(self, choice: Mapping[str, Sequence[int]]) -> "Allowed":
        """The same rules in a part of the domain: some columns hold only these codes."""
        extra = []
        for name, codes in choice.items():
            column = next(column for column in self._columns if column.name == name)
            inside = np.zeros(column.size, dtype=np.int64)
            inside[list(codes)] = 1
            extra.append(Clause(columns=(name,), classes=(inside,), moves=(np.array([[0, 1]]),)))
        narrowed = Allowed(self._columns, self._rules, (*self._extra, *extra))
        try:
            narrowed._eliminate(range(len(self._columns)), len(self._columns))
        except _Unsatisfiable:
            names = " and ".join(choice)
            raise ParameterError(f"no row with these values of {names} satisfies the rules of the codebook.") from None
        return narrowed

    def _on_classes(self, clause: Clause, places: Sequence[int]) -> Moves:
        """The clause on the common classes of its columns."""
        layers = []
        for place, own, layer in zip(places, clause.classes, clause.moves, strict=True):
            _, first = np.unique(self._classes[place], return_index=True)
            layers.append(layer[:, own[first]])
        return reduced(layers)

    @cached_property
    def tied(self) -> tuple[tuple[int, ...], ...]:
        """Groups of columns that rules tie together, each in codebook order; columns without a rule are left out."""
        groups: list[set[int]] = []
        for diagram in self._diagrams:
            joined = set(diagram.columns)
            for group in [group for group in groups if group & joined]:
                joined |= group
                groups.remove(group)
            groups.append(joined)
        return tuple(sorted(tuple(sorted(group)) for group in groups))

    def fits(self, row: Sequence[Codes]) -> Bools:
        """Which rows break no rule."""
        good = np.ones(len(row[0]), dtype=bool)
        for diagram in self._diagrams:
            good &= diagram.holds([self._classes[place][row[place]] for place in diagram.columns])
        return good

    def completable(self, row: Sequence[Codes], order: Sequence[int], number: int) -> Bools:
        """Which rows can be completed after the first ``number`` columns of an order."""
        steps = self.plan(order)
        good = np.ones(len(row[0]), dtype=bool)
        for column in order[:number]:
            step = steps[column]
            if step is not None:
                good &= step.choices.levels[step.sets(row), row[column]]
        return good

    def checks(self) -> list[tuple[tuple[int, ...], Moves]]:
        """Columns of every rule, and its moves by their classes, for samplers that check single changes."""
        return [(diagram.columns, diagram.moves) for diagram in self._diagrams]

    @property
    def classes(self) -> tuple[npt.NDArray[np.int64], ...]:
        """Class of every code of every column."""
        return self._classes

    def plan(self, order: Sequence[int]) -> tuple[Step | None, ...]:
        """For each column, in codebook order, how it goes on when columns are drawn in ``order``."""
        key = tuple(order)
        if key not in self._plans:
            try:
                buckets, _ = self._eliminate(key, len(key))
            except _Unsatisfiable:
                raise CodebookError(*conflict(self._columns, self._rules)) from None
            steps: list[Step | None] = [None] * len(self._columns)
            for column, diagram in buckets.items():
                steps[column] = self._step(column, diagram)
            self._plans[key] = tuple(steps)
        return self._plans[key]

    def possible(self, columns: Sequence[int]) -> Bools:
        """Which combinations of codes of these columns occur in some allowed row."""
        first = sorted(columns)
        shape = [self._columns[place].size for place in first]
        mask = np.ones(shape, dtype=bool)
        for group in self.tied:
            for diagram in self._left_for(tuple(place for place in first if place in group)):
                places = diagram.columns
                codes = np.ix_(*(self._classes[place] for place in places))
                own = diagram.holds(np.broadcast_arrays(*codes))
                mask &= own.reshape([shape[axis] if place in places else 1 for axis, place in enumerate(first)])
        return mask.transpose([first.index(place) for place in columns])

    def _left_for(self, columns: tuple[int, ...]) -> list[Diagram]:
        """What is left of the rules for some columns of one tied group, once all others are projected out."""
        if columns and columns not in self._left:
            group = next(group for group in self.tied if columns[0] in group)
            rules_of = {place: sum(place in diagram.columns for diagram in self._diagrams) for place in group}
            # what few rules speak about goes first: often nothing is left of a rule after that
            others = sorted((place for place in group if place not in columns), key=lambda place: -rules_of[place])
            self._left[columns] = self._eliminate((*columns, *others), len(others))[1]
        return self._left.get(columns, [])

    def _eliminate(self, order: Sequence[int], number: int) -> tuple[dict[int, Diagram], list[Diagram]]:
        """Join and project out the last ``number`` columns of an order; the joined diagrams, and what is left.

        Rules about other columns than those of the order are left out.
        """
        place = {column: when for when, column in enumerate(order)}
        waiting = [diagram.arranged(place) for diagram in self._diagrams if diagram.columns[0] in place]
        buckets: dict[int, Diagram] = {}
        for column in reversed(order[len(order) - number :] if number else ()):
            ending_here = [diagram for diagram in waiting if diagram.columns[-1] == column]
            if not ending_here:
                continue
            waiting = [diagram for diagram in waiting if diagram.columns[-1] != column]
            joined = self._join(ending_here, place)
            buckets[column] = joined
            if joined.allows_none:
                raise _Unsatisfiable
            if len(joined.columns) > 1 and not (rest := joined.without_last()).allows_all:
                waiting.append(rest)
        return buckets, waiting

    def _join(self, diagrams: Sequence[Diagram], place: Mapping[int, int]) -> Diagram:
        joined = diagrams[0]
        try:
            for diagram in diagrams[1:]:
                joined = joined.joined(diagram, place, most=_MOST_CELLS)
        except TooLarge as reason:
            columns, rules = reason.args
            tied = ", ".join(self._columns[column].name for column in columns)
            titles = "; ".join(self._rules[number].title for number in sorted(rules))
            raise CodebookError(
                f"the rules ({titles}) tie {tied} together in more than {_MOST_CELLS:,} combinations that must be told "
                "apart; use fewer rules between them, or coarser columns."
            ) from None
        return joined

    def _step(self, column: int, diagram: Diagram) -> Step | None:
        if diagram.allows_all:
            return None
        reads = diagram.columns[:-1]
        return Step(
            column=column,
            reads=reads,
            moves=tuple(moves[:, self._classes[place]] for moves, place in zip(diagram.moves, reads, strict=False)),
            choices=Choices(levels=np.ascontiguousarray(diagram.moves[-1][:, self._classes[column]].astype(np.bool_))),
        )


def _common_classes(columns: Sequence[Column], clauses: Sequence[Clause]) -> tuple[npt.NDArray[np.int64], ...]:
    """Codes of a column that all clauses treat alike share a class."""
    told_apart: dict[str, list[npt.NDArray[np.int64]]] = {column.name: [] for column in columns}
    for clause in clauses:
        for name, classes in zip(clause.columns, clause.classes, strict=True):
            told_apart[name].append(classes)
    common = []
    for column in columns:
        stacked = np.stack([np.zeros(column.size, dtype=np.int64), *told_apart[column.name]])
        _, joint = np.unique(stacked, axis=1, return_inverse=True)
        common.append(joint.reshape(-1).astype(np.int64))
    return tuple(common)


class Orders:
    """All order rules together: which column lies how many steps below which other, through any chain."""

    def __init__(self, columns: Sequence[Column], rules: Sequence[Rule]) -> None:
        self.rules = [(number, rule) for number, rule in enumerate(rules) if isinstance(rule, Order)]
        self.gaps: dict[tuple[str, str], int] = {}
        self.origin: dict[tuple[str, str], frozenset[int]] = {}
        for number, rule in self.rules:
            self._keep((rule.low, rule.high), rule.gap, frozenset([number]))
        names = sorted({name for pair in self.gaps for name in pair})
        for middle in names:  # the longest chain between any two (Floyd and Warshall)
            for low in names:
                for high in names:
                    if (low, middle) in self.gaps and (middle, high) in self.gaps:
                        gap = self.gaps[low, middle] + self.gaps[middle, high]
                        if self.gaps.get((low, high), -1) < gap and (low != high or (low, high) not in self.gaps):
                            self._keep((low, high), gap, self.origin[low, middle] | self.origin[middle, high])
        place = {column.name: number for number, column in enumerate(columns)}
        below = {name: sum((low, name) in self.gaps for low in names) for name in names}
        self.order = tuple(sorted(names, key=lambda name: (below[name], place[name])))
        """Lower columns before higher ones."""

    def _keep(self, pair: tuple[str, str], gap: int, origin: frozenset[int]) -> None:
        if self.gaps.get(pair, -1) < gap:
            self.gaps[pair], self.origin[pair] = gap, origin

    @property
    def circle(self) -> frozenset[int]:
        """Numbers of the rules of some circle, or nothing."""
        return next((self.origin[low, high] for low, high in self.gaps if low == high), frozenset())

    def implied(self, columns: Mapping[str, Column]) -> list[tuple[Clause, frozenset[int]]]:
        """Clauses for the pairs that only a chain compares."""
        declared = {(rule.low, rule.high): rule.gap for _, rule in self.rules}
        return [
            (order_clause(columns[low], columns[high], gap), self.origin[low, high])
            for (low, high), gap in self.gaps.items()
            if low != high and gap > declared.get((low, high), -1)
        ]


def conflict(columns: Sequence[Column], rules: Sequence[Rule]) -> tuple[str, list[str]]:
    """Rules that contradict each other, none of which could be left out: a sentence and the rules in words."""
    kept = list(rules)
    for rule in rules:
        fewer = [kept_rule for kept_rule in kept if kept_rule is not rule]
        if not _satisfiable(columns, fewer):
            kept = fewer
    sentence = f"no row satisfies {'this rule' if len(kept) == 1 else f'these {len(kept)} rules together'}; change one:"
    return sentence, [f"{rule.title}" + (f" ({rule.words()})" if rule.name else "") for rule in kept]


def _satisfiable(columns: Sequence[Column], rules: Sequence[Rule]) -> bool:
    allowed = Allowed(columns, rules)
    try:
        allowed._eliminate(range(len(columns)), len(columns))
    except _Unsatisfiable:
        return False
    return True


def rule_faults(columns: Sequence[Column], rules: Sequence[Rule]) -> list[str]:
    """Everything wrong with the rules of a codebook; ``columns`` are those that rules may speak about."""
    named = {column.name: column for column in columns}
    faults = []
    for rule in rules:
        names = rule.columns
        if strange := [name for name in names if name not in named]:
            faults.append(
                f"rule {rule.title!r} speaks about {strange[0]!r}, which is not a column of the model; choose among "
                f"{', '.join(named)}."
            )
        elif len(set(names)) < len(names) and not isinstance(rule, Order):
            faults.append(f"rule {rule.title!r} names a column twice; name each once.")
        else:
            faults.extend(rule.faults(named))
    faults += [
        f"two rules are called {title!r}; name each differently." for title in repeated_in([r.title for r in rules])
    ]
    if faults:
        return faults
    circle = Orders(columns, rules).circle
    if circle:
        orders = "; ".join(rules[number].words() for number in sorted(circle))
        return [f"the orders {orders} run in a circle, so no such row exists, or all are equal; drop one of them."]
    try:
        satisfiable = _satisfiable(columns, rules)
    except CodebookError as reason:
        return [str(reason)]
    if satisfiable:
        return []
    sentence, which = conflict(columns, rules)
    return [f"{sentence} {'; '.join(which)}."]
