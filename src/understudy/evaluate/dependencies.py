"""Apparent dependencies between columns, proposed as rules to the person who holds the data.

All of it is read from confidential counts of pairs of columns, without a price. So nothing here may be written anywhere
but on the holder's screen, and a rule that is accepted from here is drafted: no promise rests on it until a person
names a public source. A cell is taken for forbidden where it is empty, or nearly, and independent columns would have
put at least ``LEAST`` records there, which happens by chance once in e^20 such cells.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, permutations

import numpy as np
import numpy.typing as npt

from understudy.codebook import Codebook, Column, Determines, Implies, Impossible, Levelled, Number, Order, Origin, Rule
from understudy.codebook.clauses import clause_of
from understudy.evaluate.opened import Counts, open_grids
from understudy.evaluate.utility.tables import tables_of_width
from understudy.sources.base import Report, Source
from understudy.sources.broken_rules import count_unordered
from understudy.sources.files import Opened

LEAST = 20.0
"""Expected records of a forbidden cell, or expected breaches of a rule, at least."""
_SLACK = 1 / 500
"""Share of the expected records that may be there all the same: real tables have slips of the pen."""
SLIPS = 1 / 1000
"""Share of all rows that may break a map or an order."""
_BEYOND_CHANCE = 0.1
"""Breaches of a map, as a share of those that chance would make, at most."""
_MODE = 0.5
_FIXES, _NEVER, _BOTH, _ORDER = "fixes", "never together", "never both present", "order"
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """One apparent dependency. Everything in it but the rule is confidential."""

    id: str
    form: str
    rule: Rule
    support: int
    """Rows that the rule speaks about."""
    exceptions: int
    """Rows that break it all the same."""
    expected: float
    """Rows that would break it if the columns had nothing to do with each other."""

    @property
    def words(self) -> str:
        """The rule in words."""
        return self.rule.words()

    @property
    def needs_map(self) -> bool:
        """Whether it contains a map, which needs a public table or a price."""
        return isinstance(self.rule, Determines)

    @property
    def if_wrong(self) -> str:
        """What it would mean to accept it and be wrong."""
        if self.needs_map:
            return (
                "a wrong map puts every synthetic row in the wrong place, and a map read from the data shows who "
                "stands where in it"
            )
        told = f"no release will have any, and the rule tells readers that none of these {self.support:,} rows was one"
        if not self.exceptions:
            return f"if such rows can exist, {told}"
        there = "1 such row is there" if self.exceptions == 1 else f"{self.exceptions:,} such rows are there"
        return f"{there}; {told}"


def pair_grids(
    source: Source, report: Report | None = None, pairs: Sequence[tuple[str, ...]] | None = None
) -> dict[tuple[str, str], Counts]:
    """Counts of every pair of columns of the model that is not too large, or of these."""
    chosen = tables_of_width(source.codebook, 2) if pairs is None else pairs
    two = [(first, second) for first, second in chosen]
    return dict(zip(two, open_grids(source, two, report), strict=True))


def propose_rules(source: Source, *, opened: Opened | None = None, report: Report | None = None) -> list[Proposal]:
    """Everything that looks like a rule, the one that would be broken most often first; declared ones are left out."""
    return rules_from(source.codebook, pair_grids(source, report), opened)


def rules_from(book: Codebook, grids: Mapping[tuple[str, str], Counts], opened: Opened | None = None) -> list[Proposal]:
    """The same from counts of pairs. With ``opened``, orders are checked on the numbers themselves."""
    maps = _maps(book, grids)
    mapped = {frozenset(pair) for pair in maps}
    proposals = [_map_proposal(book, grids, pair) for pair in _nearest(maps)]
    blocks = [
        block for pair, grid in grids.items() if frozenset(pair) not in mapped for block in _blocks(book, pair, grid)
    ]
    proposals += [*_panels(book, grids, blocks), *_orders(book, grids, opened)]
    allowed = _already(book, grids)
    proposals = [proposal for proposal in proposals if not _is_known(book, proposal, allowed)]
    return sorted(proposals, key=lambda proposal: (-proposal.expected, proposal.id))


def _proposal(form: str, rule: Rule, *, support: int, exceptions: int, expected: float) -> Proposal:
    name = hashlib.sha256(rule.content.encode()).hexdigest()[:5]
    return Proposal(id=name, form=form, rule=rule, support=support, exceptions=exceptions, expected=expected)


def order_proposal(rule: Order, *, support: int, exceptions: int, expected: float) -> Proposal:
    """An order that was found elsewhere than in counts of pairs."""
    return _proposal(_ORDER, rule, support=support, exceptions=exceptions, expected=expected)


def _pair(grids: Mapping[tuple[str, str], Counts], first: str, second: str) -> Counts:
    return grids[first, second] if (first, second) in grids else grids[second, first].T


# X fixes Y


def _maps(book: Codebook, grids: Mapping[tuple[str, str], Counts]) -> dict[tuple[str, str], float]:
    """Ordered pairs of which the first column fixes the second, with the breaches that chance would make."""
    maps = {}
    for pair in grids:
        for first, second in permutations(pair):
            x, y = book.column(first), book.column(second)
            if not isinstance(x, Levelled) or not isinstance(y, Levelled):
                continue
            grid = _pair(grids, first, second)[: x.proper_levels, : y.proper_levels]
            rows = int(grid.sum())
            if rows == 0:
                continue
            exceptions, expected = _off_the_map(grid)
            # a column that hardly varies would seem to be fixed by any other
            if exceptions <= min(SLIPS * rows, _BEYOND_CHANCE * expected) and expected >= LEAST:
                maps[first, second] = expected
    return maps


def _off_the_map(grid: Counts) -> tuple[int, float]:
    """Rows whose second value is not the usual one of their first value, and how many chance would make."""
    rows = int(grid.sum())
    repeats = rows - np.count_nonzero(grid.sum(axis=1))
    return rows - int(grid.max(axis=1).sum()), float(repeats * (1 - grid.sum(axis=0).max() / rows))


def _nearest(maps: Mapping[tuple[str, str], float]) -> list[tuple[str, str]]:
    """Without those that follow from others: of columns that fix each other the first speaks for all."""
    names = list(dict.fromkeys(name for pair in maps for name in pair))
    head = {
        name: next((o for o in names if o == name or ((o, name) in maps and (name, o) in maps)), name) for name in names
    }
    kept = []
    for first, second in maps:
        if head[first] == head[second]:
            if first == head[first]:
                kept.append((first, second))
        elif first == head[first] and second == head[second]:
            between = [
                name
                for name in names
                if head[name] not in (head[first], head[second]) and (first, name) in maps and (name, second) in maps
            ]
            if not between:
                kept.append((first, second))
    return kept


def _map_proposal(book: Codebook, grids: Mapping[tuple[str, str], Counts], pair: tuple[str, str]) -> Proposal:
    first, second = (book.column(name) for name in pair)
    grid = _pair(grids, *pair)[: first.proper_levels, : second.proper_levels]
    groups: dict[str, list[str]] = {}
    for code in np.flatnonzero(grid.sum(axis=1)):
        groups.setdefault(second.labels[int(grid[code].argmax())], []).append(first.labels[int(code)])
    rule = Determines(
        column=first.name,
        sets=second.name,
        groups=tuple((group, tuple(levels)) for group, levels in groups.items()),
        free=tuple(first.labels[int(code)] for code in np.flatnonzero(grid.sum(axis=1) == 0)),
        origin=Origin.DRAFTED,
    )
    exceptions, expected = _off_the_map(grid)
    return _proposal(_FIXES, rule, support=int(grid.sum()), exceptions=exceptions, expected=expected)


# Values that never come together


@dataclass(frozen=True, kw_only=True, eq=False)
class _Block:
    """Codes of one column that never meet codes of another."""

    columns: tuple[str, str]
    codes: tuple[tuple[int, ...], tuple[int, ...]]
    support: int
    exceptions: int
    expected: float
    both_present: bool


def _views(column: Column, counts: Counts) -> Iterator[tuple[str, list[npt.NDArray[np.int64]]]]:
    """Ways to see a column, coarse ones first: is it there; is it the usual value; which level is it."""
    codes = np.arange(column.size)
    if column.missing_code is not None and counts[column.missing_code] and counts[: column.proper_levels].any():
        yield "present", [codes[: column.proper_levels], codes[column.proper_levels :]]
    if column.proper_levels > 2 and counts.max() >= _MODE * counts.sum():
        usual = int(counts.argmax())
        yield "usual", [codes[codes == usual], codes[codes != usual]]
    yield "levels", [codes[k : k + 1] for k in range(column.size)]


def _blocks(book: Codebook, pair: tuple[str, str], grid: Counts) -> Iterator[_Block]:
    """Forbidden blocks of a pair of columns, the coarsest first, each cell once."""
    first, second = (book.column(name) for name in pair)
    rows = int(grid.sum())
    if rows == 0:
        return
    margins = grid.sum(axis=1), grid.sum(axis=0)
    counts = grid.astype(np.float64)
    expected = np.outer(margins[0], margins[1]) / rows
    taken = np.zeros(grid.shape, dtype=bool)
    for kind_a, view_a in _views(first, margins[0]):
        for kind_b, view_b in _views(second, margins[1]):
            seen, likely = _merged(counts, view_a, view_b), _merged(expected, view_a, view_b)
            empty = (seen <= likely * _SLACK) & (likely >= LEAST)
            for some, others in _rectangles(empty) if empty.any() else ():
                a, b = np.concatenate([view_a[k] for k in some]), np.concatenate([view_b[k] for k in others])
                inside = np.ix_(a, b)
                left = float(expected[inside][~taken[inside]].sum())
                if left < LEAST:
                    continue
                taken[inside] = True
                yield _Block(
                    columns=pair,
                    codes=(tuple(map(int, a)), tuple(map(int, b))),
                    support=int(min(margins[0][a].sum(), margins[1][b].sum())),
                    exceptions=int(grid[inside].sum()),
                    expected=float(expected[inside].sum()),
                    both_present=kind_a == kind_b == "present" and 0 in some and 0 in others,
                )


def _merged(
    grid: npt.NDArray[np.float64], rows: Sequence[npt.NDArray[np.int64]], columns: Sequence[npt.NDArray[np.int64]]
) -> npt.NDArray[np.float64]:
    """Sums over the classes of two views; a view of single codes leaves its axis as it is."""
    if len(rows) < len(grid):
        grid = np.stack([grid[codes].sum(axis=0) for codes in rows])
    if len(columns) < grid.shape[1]:
        grid = np.stack([grid[:, codes].sum(axis=1) for codes in columns], axis=1)
    return grid


def _rectangles(empty: Bools) -> list[tuple[list[int], list[int]]]:
    """Rows with the same empty columns, together; or columns with the same empty rows, where those are fewer."""
    by_row: dict[bytes, list[int]] = {}
    by_column: dict[bytes, list[int]] = {}
    for place, own in enumerate(empty):
        by_row.setdefault(own.tobytes(), []).append(place)
    for place, own in enumerate(empty.T):
        by_column.setdefault(own.tobytes(), []).append(place)
    if len(by_row) <= len(by_column):
        return [(rows, np.flatnonzero(empty[rows[0]]).tolist()) for rows in by_row.values() if empty[rows[0]].any()]
    return [(np.flatnonzero(empty[:, own[0]]).tolist(), own) for own in by_column.values() if empty[:, own[0]].any()]


def _panels(book: Codebook, grids: Mapping[tuple[str, str], Counts], blocks: Sequence[_Block]) -> Iterator[Proposal]:
    """One proposal for many columns of one kind that one level of another column holds to one value."""
    panels: dict[tuple[str, tuple[int, ...], str], dict[int, _Block]] = {}
    for number, block in enumerate(blocks):
        for turned in (block, _turned(block)):
            if (kept := _left_label(book, turned)) is not None:
                panels.setdefault((turned.columns[0], turned.codes[0], kept), {})[number] = turned
    waiting = set(range(len(blocks)))
    for (name, codes, kept), own in sorted(panels.items(), key=lambda panel: -len(panel[1])):
        left = [number for number in own if number in waiting]
        if len(left) > 1:
            waiting -= set(left)
            yield _panel_proposal(book, grids, name, codes, kept, [own[number] for number in left])
    for block in (blocks[number] for number in sorted(waiting)):
        yield _proposal(
            _BOTH if block.both_present else _NEVER,
            _block_rule(book, block),
            support=block.support,
            exceptions=block.exceptions,
            expected=block.expected,
        )


def _turned(block: _Block) -> _Block:
    return _Block(
        columns=block.columns[::-1],
        codes=block.codes[::-1],
        support=block.support,
        exceptions=block.exceptions,
        expected=block.expected,
        both_present=block.both_present,
    )


def _left_label(book: Codebook, block: _Block) -> str | None:
    """The one value that the second column of a block has left, if it is one."""
    column = book.column(block.columns[1])
    left = set(_present(column)) - set(block.codes[1])
    return column.labels[left.pop()] if len(left) == 1 and column.missing_code not in block.codes[1] else None


def _present(column: Column) -> range:
    """Every code but the missing one, which follows them all: special codes are values, and a rule must name them."""
    return range(column.size if column.missing_code is None else column.missing_code)


def _panel_proposal(
    book: Codebook,
    grids: Mapping[tuple[str, str], Counts],
    name: str,
    codes: tuple[int, ...],
    kept: str,
    blocks: Sequence[_Block],
) -> Proposal:
    """All columns of the kind, also those too rare to tell, as long as they do not speak against it."""
    labels = {label for block in blocks for label in book.column(block.columns[1]).labels}
    then, exceptions, expected, support = [], 0, 0.0, 0
    for column in book.modelled:
        if column.name == name or not set(column.labels) <= labels or kept not in column.labels or column.size < 2:
            continue
        if (name, column.name) not in grids and (column.name, name) not in grids:
            continue  # too large together to be counted
        grid = _pair(grids, name, column.name)
        others = [code for code in _present(column) if column.labels[code] != kept]
        broken = int(grid[np.ix_(list(codes), others)].sum())
        likely = float(grid[list(codes)].sum() * grid[:, others].sum() / max(1, grid.sum()))
        if broken > _SLACK * likely:
            continue
        then.append((column.name, (kept,)))
        exceptions, expected, support = exceptions + broken, expected + likely, int(grid[list(codes)].sum())
    when = ((name, tuple(book.column(name).labels[code] for code in codes)),)
    rule = Implies(when=when, then=tuple(then), origin=Origin.DRAFTED)
    return _proposal(_NEVER, rule, support=support, exceptions=exceptions, expected=expected)


def _block_rule(book: Codebook, block: _Block) -> Rule:
    """In the shorter way: what never comes together, or what is left."""
    columns = [book.column(name) for name in block.columns]
    named = [tuple(c.labels[code] for code in codes) for c, codes in zip(columns, block.codes, strict=True)]
    for here, there in ((0, 1), (1, 0)):
        column = columns[there]
        left = tuple(column.labels[k] for k in _present(column) if k not in block.codes[there])
        if 0 < len(left) < len(named[there]) and column.missing_code not in block.codes[there]:
            when = ((columns[here].name, named[here]),)
            return Implies(when=when, then=((column.name, left),), origin=Origin.DRAFTED)
    return Impossible(
        cells=tuple((column.name, labels) for column, labels in zip(columns, named, strict=True)), origin=Origin.DRAFTED
    )


# Orders


def _orders(book: Codebook, grids: Mapping[tuple[str, str], Counts], opened: Opened | None) -> list[Proposal]:
    """Pairs of columns of one unit of which one is never above the other."""
    proposals = []
    for pair, grid in grids.items():
        for low, high in (pair, pair[::-1]):
            rule = Order(low=low, relation="<=", high=high, origin=Origin.DRAFTED)
            named = {name: book.column(name) for name in pair}
            if rule.faults(named):
                continue
            clause = clause_of(rule, named)
            counts = grid if low == pair[0] else grid.T
            codes = np.indices(counts.shape).reshape(2, -1)
            wrong = ~clause.allows([codes[0], codes[1]]).reshape(counts.shape)
            rows = int(counts.sum())
            likely = float((np.outer(counts.sum(axis=1), counts.sum(axis=0)) / max(1, rows))[wrong].sum())
            broken = int(counts[wrong].sum())
            if likely >= LEAST and broken <= SLIPS * rows:
                proposals.append(_proposal(_ORDER, rule, support=rows, exceptions=broken, expected=likely))
    return proposals if opened is None else _checked_orders(book, proposals, opened)


def _checked_orders(book: Codebook, proposals: Sequence[Proposal], opened: Opened) -> list[Proposal]:
    """Two numbers that share a bin can still be in the wrong order: those are compared themselves."""
    numbers = [p for p in proposals if isinstance(book.column(p.rule.columns[0]), Number)]
    pairs = [(book.column(p.rule.columns[0]), book.column(p.rule.columns[1])) for p in numbers]
    broken = dict(zip([p.id for p in numbers], count_unordered(opened, pairs), strict=True))
    checked = [replace(p, exceptions=broken.get(p.id, p.exceptions)) for p in proposals]
    return [proposal for proposal in checked if proposal.exceptions <= SLIPS * proposal.support]


# What is declared already


def _already(book: Codebook, grids: Mapping[tuple[str, str], Counts]) -> Mapping[tuple[str, str], Bools]:
    """Which pairs of codes the declared rules leave possible, of the pairs that they tie together."""
    if not book.constraints:
        return {}
    place = {name: number for number, name in enumerate(book.names)}
    tied = [set(group) for group in book.allowed.tied]
    return {
        pair: book.allowed.possible([place[pair[0]], place[pair[1]]])
        for pair in grids
        if any({place[pair[0]], place[pair[1]]} <= group for group in tied)
    }


def _is_known(book: Codebook, proposal: Proposal, allowed: Mapping[tuple[str, str], Bools]) -> bool:
    """Whether the declared rules forbid all that the proposal forbids."""
    if isinstance(proposal.rule, Order):
        return any(isinstance(rule, Order) and rule.columns == proposal.rule.columns for rule in book.constraints)
    return all(
        forbidden_by(proposal.rule, book, pair) is None
        or (pair in allowed and not (allowed[pair] & forbidden_by(proposal.rule, book, pair)).any())  # type: ignore[operator]
        for pair in combinations([name for name in book.names if name in proposal.rule.columns], 2)
    )


def forbidden_by(rule: Rule, book: Codebook, pair: tuple[str, str]) -> Bools | None:
    """The combinations of two columns that a rule forbids whatever the others hold; None where it forbids none."""
    first, second = (book.column(name) for name in pair)
    if isinstance(rule, Implies) and len(rule.then) > 1:
        when = rule.when[0][0] if len(rule.when) == 1 else None
        then = next((own for own in rule.then if own[0] in pair), None)
        if when not in pair or then is None:
            return None
        rule = Implies(when=rule.when, then=(then,))
    if set(rule.columns) != set(pair):
        return None
    clause = clause_of(rule, {first.name: first, second.name: second})
    codes = np.indices((first.size, second.size)).reshape(2, -1)
    ordered = [codes[pair.index(name)] for name in clause.columns]
    forbidden: Bools = ~clause.allows(ordered).reshape(first.size, second.size)
    return forbidden
