"""One table that repeats persons, described as two linked ones: the persons, and their records."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from understudy.codebook.attestation import Attestation, as_attested
from understudy.codebook.book import Codebook
from understudy.codebook.coded import CodeLevel
from understudy.codebook.columns import Column, Origin
from understudy.codebook.details import Detail
from understudy.codebook.linked import Constant, LinkedCodebook, LinkedTable, ReadingRule
from understudy.codebook.linked_rules import renamed
from understudy.codebook.rules import Rule
from understudy.errors import CodebookError, ParameterError


def split_book(
    book: Codebook,
    *,
    person: str,
    constants: Mapping[str, ReadingRule | None],
    cap: int,
    key: str | None = None,
    order: str | None = None,
    names: tuple[str, str] = ("patients", "encounters"),
    data: str = "",
    source: str = "",
    attestation: Attestation | None = None,
) -> LinkedCodebook:
    """The codebook of one table as one of persons and records; ``constants`` become columns of the persons.

    They are public only where a ``source`` besides the data, or an attestation, says so.
    """
    if book.weight is not None or book.purchases:
        raise CodebookError(
            "the codebook has a weight, or columns that were paid for, which linked tables cannot have; split one "
            "without them."
        )
    if not constants:
        raise ParameterError(
            "no column is constant within a person, so that the table of the persons would be empty; name at least one."
        )
    known = [column.name for column in book.written if column.is_modelled or isinstance(column, Detail)]
    if strange := [name for name in constants if name not in known]:
        raise ParameterError(f"there is no column {strange[0]!r} to be constant; the codebook has {', '.join(known)}.")
    ids = {person, key} - {None}
    above = _columns(book, [name for name in known if name in constants])
    below = _columns(
        book, [column.name for column in book.written if column.name not in constants and column.name not in ids]
    )
    parted = [c.name for c in (*above, *below) if isinstance(c, Detail) and not isinstance(c, CodeLevel)]
    for name in parted:
        of = getattr(book.column(name), "detail_of", name)
        if (of in constants) != (name in constants) and of in known:
            raise ParameterError(f"{name!r} are details of {of!r}; declare both constant, or neither.")
    upper, lower = names
    own_above = {column.name for column in above}
    rules_above, rules_below, across = _parted(book.constraints, own_above, upper, lower)
    base = {"origin": Origin.DECLARED if source or attestation else Origin.DRAFTED, "source": source}
    declared = []
    for name, rule in constants.items():
        constant = Constant(column=name, child=lower, rule=rule, **base)  # type: ignore[arg-type]
        of = replace(attestation, of=constant.content) if attestation else None
        declared.append(replace(constant, attestation=of))
    return LinkedCodebook(
        title=book.title,
        publication=book.publication,
        tables=(
            LinkedTable(
                name=upper,
                key=person,
                made_of=lower,
                constants=tuple(declared),
                book=Codebook(columns=above, constraints=rules_above),
            ),
            LinkedTable(
                name=lower,
                data=data,
                key=key,
                parent=upper,
                parent_key=person,
                cap=cap,
                order=order,
                book=Codebook(columns=below, constraints=rules_below, file=book.file, description=book.description),
            ),
        ),
        rules=tuple(across),
    )


def _columns(book: Codebook, names: Sequence[str]) -> tuple[Column, ...]:
    """Columns without declared parents, which the other table may have taken."""
    kept = [column for column in book.written if column.name in names]
    here = {column.name for column in kept}
    return tuple(
        column if column.parents is None or set(column.parents) <= here else replace(column, parents=None)
        for column in kept
    )


def _parted(
    rules: Sequence[Rule], above: set[str], upper: str, lower: str
) -> tuple[tuple[Rule, ...], tuple[Rule, ...], list[Rule]]:
    """Rules of the persons, of the records, and those that speak about both."""

    def spell(name: str) -> str:
        return f"{upper if name in above else lower}.{name}"

    of_persons = tuple(rule for rule in rules if set(rule.columns) <= above)
    of_records = tuple(rule for rule in rules if not set(rule.columns) & above)
    across = [as_attested(renamed(rule, spell), rule) for rule in rules if rule not in (*of_persons, *of_records)]
    return of_persons, of_records, across
