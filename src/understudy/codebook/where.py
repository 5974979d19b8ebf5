"""A sub-population in words: columns, each with the values it may hold."""

from collections.abc import Mapping, Sequence

from understudy.codebook.book import Codebook
from understudy.codebook.rules import code_of_value
from understudy.errors import ParameterError
from understudy.parameters import shown_value

Where = Mapping[str, str | Sequence[str]]


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
        codes = []
        for text in texts:
            code = code_of_value(column, str(text))
            if code is None:
                raise ParameterError(
                    f"`where` asks for {name} = {text}, which is no level of it; it has {column.shown_labels(4)} "
                    "(numbers are named by their whole bin)."
                )
            codes.append(code)
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
