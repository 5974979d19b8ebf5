"""A sub-population in words: columns, each with the values it may hold."""

from collections.abc import Mapping, Sequence

from understudy.codebook.book import Codebook
from understudy.codebook.columns import Column
from understudy.codebook.encode import encode_value
from understudy.codebook.numbers import Number
from understudy.codebook.rules import code_of_value
from understudy.errors import ParameterError
from understudy.parameters import shown_value

Where = Mapping[str, str | Sequence[str]]


def code_asked(column: Column, text: str) -> int:
    """The code of a level that somebody names; what is no level is refused, and a number is told its bin.

    >>> from fractions import Fraction
    >>> from understudy.codebook import Integer
    >>> code_asked(Integer(name="age", edges=(Fraction(0), Fraction(18), Fraction(90))), "70")
    Traceback (most recent call last):
    understudy.errors.ParameterError: '70' is no level of 'age'; numbers are named by their whole bin: '[18, 90]'.
    """
    code = code_of_value(column, text)
    if code is not None:
        return code
    bin_of_it = encode_value(column, text) if isinstance(column, Number) else None
    has = f"it has {column.shown_labels(6)}"
    if isinstance(column, Number):
        named = "numbers are named by their whole bin"
        has = f"{has} ({named})" if bin_of_it is None else f"{named}: {column.labels[bin_of_it]!r}"
    raise ParameterError(f"{text[:80]!r} is no level of {column.name!r}; {has}.")


def where_codes(book: Codebook, where: Where) -> dict[str, list[int]]:
    """The codes that are meant, by column.

    >>> from understudy.codebook import Categorical
    >>> book = Codebook(columns=(Categorical(name="region", levels=("east", "north", "west")),))
    >>> where_codes(book, {"region": ["west", "east"]})
    {'region': [0, 2]}
    """
    if not isinstance(where, Mapping) or not where:
        raise ParameterError(
            f"`where` is {shown_value(where)}; name columns and values, for example {{'region': 'west'}}."
        )
    chosen = {}
    for name, values in where.items():
        known = [column.name for column in book.described]
        if name not in known:
            raise ParameterError(f"`where` names {name!r}; the columns of the model are {', '.join(known)}.")
        column = book.column(name)
        texts = [values] if isinstance(values, str) or not isinstance(values, Sequence) else list(values)
        codes = [code_asked(column, str(text)) for text in texts]
        if not codes:
            raise ParameterError(f"`where` gives no value for {name!r}; name at least one.")
        chosen[name] = sorted(set(codes))
    return chosen


def where_words(book: Codebook, codes: Mapping[str, Sequence[int]]) -> dict[str, list[str]]:
    """The labels of the codes, for a manifest."""
    return {name: [book.column(name).labels[code] for code in own] for name, own in codes.items()}


def parse_where(words: Sequence[str]) -> dict[str, list[str]]:
    """``COLUMN=VALUE`` words; a column that is named again may hold the other value too.

    >>> parse_where(["region=west", "region=east", "age=[0, 18)"])
    {'region': ['west', 'east'], 'age': ['[0, 18)']}
    """
    chosen: dict[str, list[str]] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise ParameterError(f"`where` is {word!r}; write COLUMN=VALUE, for example region=west.")
        chosen.setdefault(name, []).append(value)
    return chosen
