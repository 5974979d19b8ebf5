"""Public tables of two columns, as maps for rules "this column fixes that one"."""

import csv
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from understudy.codebook.attestation import Attestation
from understudy.codebook.book import Codebook
from understudy.codebook.columns import Column
from understudy.codebook.linked import LinkedCodebook
from understudy.codebook.rules import Determines, code_of_value
from understudy.errors import ParameterError
from understudy.loading import loader, not_text


@loader("the map", remedy="save it as CSV in UTF-8, with two columns below a header.", error=ParameterError)
def read_map(path: str | Path) -> dict[str, str]:
    """Keys with their values, from a CSV file of two columns with a header."""
    place = Path(path)
    try:
        with place.open(newline="", encoding="utf-8-sig") as lines:
            rows = [row for row in csv.reader(lines) if any(cell.strip() for cell in row)]
    except OSError as reason:
        raise ParameterError(f"the map {str(path)!r} cannot be read ({reason.strerror}); check the path.") from None
    except UnicodeDecodeError:
        raise ParameterError(f"the map {str(path)!r} {not_text(place, 'save it as CSV')}.") from None
    except csv.Error as reason:
        raise ParameterError(f"the map {str(path)!r} is no CSV file ({reason}); save it as CSV in UTF-8.") from None
    odd = next((number for number, row in enumerate(rows, start=1) if len(row) != 2), None)
    if odd is not None:
        raise ParameterError(
            f"the map {str(path)!r} has {len(rows[odd - 1])} fields in line {odd}; it must have two columns, the one "
            "that fixes and the one that is fixed, below a header."
        )
    if len(rows) < 2:
        raise ParameterError(
            f"the map {str(path)!r} has no line below its header; list every value with what it fixes."
        )
    pairs: dict[str, str] = {}
    for key, value in ((key.strip(), value.strip()) for key, value in rows[1:]):
        if pairs.setdefault(key, value) != value:
            raise ParameterError(
                f"the map {str(path)!r} gives {key!r} two values, {pairs[key]!r} and {value!r}; each key fixes one. "
                "Keep the right line."
            )
    return pairs


def mapped_rule(
    book: Codebook | LinkedCodebook, column: str, sets: str, pairs: Mapping[str, str], attestation: Attestation
) -> Determines:
    """The rule that ``column`` fixes ``sets`` as a public table says; levels that it does not list stay free.

    Columns of linked tables are spelled as rules across them spell them.
    """
    first, second = _of_the_model(book, column), _of_the_model(book, sets)
    keys = {code_of_value(first, key): value for key, value in pairs.items()}
    groups: dict[str, list[str]] = {}
    for code, label in enumerate(first.labels[: first.proper_levels]):
        if code not in keys:
            continue
        value = code_of_value(second, keys[code])
        if value is None:
            raise ParameterError(
                f"the map sends {label!r} of {column!r} to {keys[code]!r}, which is no level of {sets!r}; it has "
                f"{second.shown_labels(4)}. Mend the map, or add the level."
            )
        groups.setdefault(second.labels[value], []).append(label)
    if not groups:
        raise ParameterError(
            f"no key of the map is a level of {column!r}, which has {first.shown_labels(4)}; are its columns swapped?"
        )
    grouped = {label for labels in groups.values() for label in labels}
    rule = Determines(
        column=column,
        sets=sets,
        groups=tuple((group, tuple(labels)) for group, labels in groups.items()),
        free=tuple(label for label in first.labels[: first.proper_levels] if label not in grouped),
    )
    return replace(rule, attestation=replace(attestation, of=rule.content))


def _of_the_model(book: Codebook | LinkedCodebook, name: str) -> Column:
    column = book.column(name)
    if not column.is_modelled:
        raise ParameterError(
            f"a map speaks about {name!r}, which is not a column of the model; choose among {', '.join(book.names)}."
        )
    return column
