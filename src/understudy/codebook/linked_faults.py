"""Everything that can be wrong in a codebook of linked tables, collected before anybody raises."""

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from understudy.codebook.columns import FINE_DATE, Column, Dates, attestation_faults, repeated_in
from understudy.codebook.constraints import Orders, rule_faults
from understudy.codebook.linked_rules import PREVIOUS, NothingAfter, is_previous, table_of
from understudy.codebook.rules import Order, Rule
from understudy.codebook.unit import MOST_RECORDS
from understudy.errors import CodebookError
from understudy.parameters import Whole

if TYPE_CHECKING:
    from understudy.codebook.linked import LinkedCodebook, LinkedTable

_NAME = re.compile(r"[A-Za-z0-9_-]+")
READING_RULES = ("first", "latest", "most frequent")


def linked_faults(book: "LinkedCodebook") -> list[str]:
    """All faults; those of rules only where the tables themselves are sound, because rules walk along them."""
    if not book.tables:
        return ["there are no [tables.NAME]; describe at least the table of the persons and one below it."]
    by_name = {table.name: table for table in book.tables}
    faults = [f"table {name!r} is described twice; keep one." for name in repeated_in([t.name for t in book.tables])]
    faults += _tree_faults(by_name)
    for table in by_name.values():
        faults += _own_faults(table)
        faults += _key_faults(table, {other.name: other for other in by_name.values() if other.parent == table.name})
        faults += _constant_faults(table, by_name)
    return faults or _rules_faults(book)


def _tree_faults(tables: "dict[str, LinkedTable]") -> list[str]:
    """One top table, parents that exist, no circle."""
    faults = []
    top = [table.name for table in tables.values() if table.parent is None]
    if len(top) > 1:
        faults.append(
            f"the tables {', '.join(top)} have no parent; exactly one may have none, the table of the persons. "
            "Give the others parent and parent_key."
        )
    for table in tables.values():
        if table.parent is not None and table.parent not in tables:
            faults.append(
                f"table {table.name!r} has the parent {table.parent!r}, which is not described; the tables are "
                f"{', '.join(tables)}."
            )
    circles = {frozenset(circle) for name in tables if (circle := _circle(name, tables))}
    for circle in sorted(map(sorted, circles)):
        faults.append(
            f"the tables {', '.join(circle)} are each other's parents in a circle, so no row of them belongs to a "
            "person; follow the parents up to the table of the persons."
        )
    return faults


def _circle(name: str, tables: "dict[str, LinkedTable]") -> list[str]:
    """The tables of the circle that ``name`` itself lies on, or none."""
    walked = [name]
    while (parent := tables[walked[-1]].parent) in tables:
        assert parent is not None
        if parent in walked:
            return walked if parent == name else []
        walked.append(parent)
    return []


def _own_faults(table: "LinkedTable") -> list[str]:
    where = f"table {table.name!r}"
    faults = []
    if not _NAME.fullmatch(table.name) or table.name == PREVIOUS:
        faults.append(f"{where} has a name that rules cannot spell; use letters, digits, _ and - only.")
    for key, value in (("[unit]", table.book.unit), ("weight", table.book.weight)):
        if value is not None:
            why = "the unit is the person of the top table" if key == "[unit]" else "linked tables have no weights"
            faults.append(f"{where} has {key}, but {why}; take it out.")
    if table.book.purchases:
        faults.append(f"{where} has columns or rules that were paid for, which linked tables cannot price yet.")
    if clash := [name for name in table.book.names if name.startswith(f"{PREVIOUS}.")]:
        faults.append(f"{where} has the column {clash[0]!r}; rules spell the previous sibling so. Rename it.")
    faults += attestation_faults(where, table.attestation)
    for constant in table.constants:
        faults += attestation_faults(f"the constant {constant.column!r} of {where}", constant.attestation)
    return faults


def _key_faults(table: "LinkedTable", children: "dict[str, LinkedTable]") -> list[str]:
    """Keys and order, as the place of the table needs them."""
    where = f"table {table.name!r}"
    faults = _place_faults(table)
    if table.key is None and children:
        faults.append(f"{where} has no key, and {', '.join(children)} belong to its rows; name its key.")
    described = {column.name for column in table.book.columns}
    for key in ("key", "parent_key"):
        if (name := getattr(table, key)) in described:
            faults.append(
                f"{where} has {key} = {name!r} and describes it as a column; keys are made anew for a release and have "
                "no levels. Take it out of the columns."
            )
    if table.key is not None and table.key == table.parent_key:
        faults.append(f"{where} has {table.key!r} as its own key and as its parent's; they are two columns.")
    if table.order is not None and table.parent is None:
        faults.append(f"{where} has an order, but persons do not follow each other; take it out.")
    elif table.order is not None and table.order == table.parent_key:
        faults.append(f"{where} is ordered by {table.order!r}, which all siblings share; name another column.")
    return faults


def _place_faults(table: "LinkedTable") -> list[str]:
    """What the top table and the others must say, and must not."""
    where, faults = f"table {table.name!r}", []
    if table.parent is None:
        for key in ("parent_key", "cap"):
            if getattr(table, key) is not None:
                faults.append(f"{where} has {key} but no parent; name the parent, or take {key} out.")
        if table.key is None:
            faults.append(f"{where} has no key; it holds the persons, so name the column that tells them apart.")
        return faults
    if table.parent_key is None:
        faults.append(f"{where} has no parent_key; name its column that holds the key of {table.parent!r}.")
    if not Whole(most=MOST_RECORDS).admits(table.cap):
        faults.append(
            f"{where} has cap = {table.cap!r}; it is the number of its rows that take part for one row of "
            f"{table.parent!r}, a whole number from 1 to {MOST_RECORDS:,} that is chosen without looking at the "
            "data. Try 5."
        )
    return faults


def _constant_faults(table: "LinkedTable", tables: "dict[str, LinkedTable]") -> list[str]:
    faults = []
    described = {column.name for column in table.book.columns}
    for name in repeated_in([constant.column for constant in table.constants]):
        faults.append(f"table {table.name!r} reads the constant {name!r} twice; keep one.")
    for constant in table.constants:
        where = f"the constant {constant.column!r} of table {table.name!r}"
        child = tables.get(constant.child)
        if child is None or child.parent != table.name:
            below = ", ".join(t.name for t in tables.values() if t.parent == table.name) or "none"
            faults.append(f"{where} is read from {constant.child!r}, which is no table right below it; it has {below}.")
        elif constant.column in {column.name for column in child.book.columns}:
            faults.append(f"{where} is a column of {child.name!r} too; describe it in {table.name!r} alone.")
        elif constant.rule in ("first", "latest") and child.order is None:
            faults.append(f"{where} takes the {constant.rule} value, and {child.name!r} has no order; name its order.")
        if constant.column not in described:
            faults.append(f"{where} is not among its columns; describe it there.")
        if constant.rule not in (None, *READING_RULES):
            faults.append(f"{where} has rule = {constant.rule!r}; it must be one of {', '.join(READING_RULES)}.")
    if table.made_of is not None:
        faults += _made_faults(table, tables.get(table.made_of))
    return faults


def _made_faults(table: "LinkedTable", child: "LinkedTable | None") -> list[str]:
    where = f"table {table.name!r}"
    if child is None or child.parent != table.name:
        return [f"{where} is made of {table.made_of!r}, which is no table right below it; name a child table."]
    faults = []
    if table.parent is not None:
        faults.append(f"{where} is made of {child.name!r} and has a parent; only the table of the persons can be made.")
    if child.made_of is not None or table.data:
        faults.append(f"{where} is made of {child.name!r}, so it lies nowhere itself and needs a child that does.")
    read = {constant.column for constant in table.read_constants if constant.child == child.name}
    described = dict.fromkeys(column.reads for column in table.book.described)
    if lost := [name for name in described if name not in read]:
        faults.append(
            f"{where} is made of {child.name!r}, and {', '.join(map(repr, lost))} are no constants of that table; "
            f"declare them under [tables.{table.name}.constants]."
        )
    return faults


def _rules_faults(book: "LinkedCodebook") -> list[str]:
    """Rules that name what is not there, that join what does not belong together, or that contradict each other."""
    faults: list[str] = []
    deepest: dict[str, list[Rule]] = {}
    for rule in book.rules:
        try:
            for part in rule.orders() if isinstance(rule, NothingAfter) else (rule,):
                table = book.deepest(table_of(column) for column in part.columns).name
                faults += _sight_faults(book, part, table)
                deepest.setdefault(table, []).append(part)
        except CodebookError as reason:
            faults.append(f"rule {rule.title!r}: {reason}")
        if isinstance(rule, NothingAfter) and not rule.dates:
            faults.append(f"rule {rule.title!r} names no dates; name what must not come after {rule.end!r}.")
        if rule.kind not in ("last", "nothing-after") and rule.origin == "paid":
            faults.append(f"rule {rule.title!r} was paid for, which rules across tables cannot be yet.")
    faults += [f"two rules are called {name!r}; name each differently." for name in repeated_in(_titles(book))]
    if faults:
        return faults
    for table, rules in deepest.items():
        columns = book.visible(table)
        faults += [fault for rule in rules if rule.kind == "last" for fault in rule.faults(columns)]
        if not faults:
            faults += _contradictions(columns, book.rules_on(table))
    return list(dict.fromkeys(faults))


def _contradictions(columns: Mapping[str, Column], rules: Sequence[Rule]) -> list[str]:
    """What is wrong with the rules of one path. Dates of many levels are not tried out day by day: orders between them
    contradict each other only in a circle."""
    fine = {name for name, column in columns.items() if isinstance(column, Dates) and column.proper_levels > FINE_DATE}
    long = [rule for rule in rules if isinstance(rule, Order) and fine & set(rule.columns)]
    faults = [fault for rule in long for fault in rule.faults(columns)]
    if not faults and (circle := Orders(tuple(columns.values()), rules).circle):
        words = "; ".join(rules[number].words() for number in sorted(circle))
        faults.append(f"the orders {words} run in a circle, so no such row exists, or all are equal; drop one of them.")
    return faults or rule_faults(tuple(columns.values()), [rule for rule in rules if rule not in long])


def _titles(book: "LinkedCodebook") -> list[str]:
    return [rule.title for rule in book.rules]


def _sight_faults(book: "LinkedCodebook", rule: "Rule", table: str) -> list[str]:
    """Columns that a row of ``table`` does not see."""
    visible = book.visible(table)
    if rule.kind == "last":
        if book.table(table).order is None:
            return [f"rule {rule.title!r} speaks about the last row of {table!r}, which has no order; name its order."]
        visible = {
            name: column for name, column in visible.items() if table_of(name) == table and not is_previous(name)
        }
    faults = []
    for column in rule.columns:
        if column in visible:
            continue
        if is_previous(column) and (table_of(column) != table or book.table(table).order is None):
            faults.append(
                f"rule {rule.title!r} names {column!r}; a previous row is known only in the lowest table of a rule, "
                "and only where that table has an order."
            )
        else:
            faults.append(
                f"rule {rule.title!r} speaks about {column!r}, which is not a column that it can see; choose among "
                f"{', '.join(visible)}."
            )
    return faults
