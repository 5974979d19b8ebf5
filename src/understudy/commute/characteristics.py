"""How the characteristics of workers are named: for each of them the columns that hold the workers of its groups."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from understudy.errors import ParameterError
from understudy.parameters import Rule


@dataclass(frozen=True, kw_only=True)
class Characteristics(Rule):
    """Names with two columns or more each; on the command line age=SA01+SA02+SA03,earnings=SE01+SE02.

    >>> Characteristics().read("characteristics", "age=SA01+SA02")
    {'age': ('SA01', 'SA02')}
    """

    metavar: ClassVar[str] = "NAME=COLUMN+COLUMN"
    words: str = "names of characteristics with two or more columns each, no column twice"
    example: str = "age=SA01+SA02+SA03,earnings=SE01+SE02+SE03"

    def admits(self, value: Any) -> bool:
        """Columns of every characteristic, each once."""
        if not isinstance(value, Mapping) or not value:
            return False
        columns = [column for group in value.values() for column in group]
        named = all(isinstance(word, str) and word for word in (*value, *columns))
        return named and all(len(group) >= 2 for group in value.values()) and len(set(columns)) == len(columns)

    def check(self, name: str, value: Any) -> Any:
        """As plain tuples."""
        checked = super().check(name, value)
        return {key: tuple(columns) for key, columns in checked.items()}

    def read(self, name: str, given: Any, context: Any = None) -> Any:
        """From words."""
        if not isinstance(given, str):
            return self.check(name, given)
        parts = [part.partition("=") for part in given.split(",")]
        if len({key for key, _, _ in parts}) < len(parts):
            raise ParameterError(f"`{name}` is {given!r}; it names a characteristic twice. Try {self.example}.")
        return self.check(name, {key: tuple(columns.split("+")) for key, _, columns in parts})
