"""Which releases a map is made of.

``epsilon`` means the whole file, for every method that promises something. With ``per_record``, methods of route S
(pegs, pegs-rs and their kin) take it as the papers do, per synthetic record; methods of route N have no such figure
and keep the whole file. Methods without an epsilon are run as baselines and drawn as level lines.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from understudy.codebook import Codebook
from understudy.errors import ParameterError
from understudy.parameters import EPSILON, ROWS
from understudy.synth.recipe import Recipe
from understudy.synth.registry import find_method, make_recipe


@dataclass(frozen=True, kw_only=True, order=True)
class Cell:
    """One run."""

    method: str
    epsilon: float | None
    repeat: int


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The grid, and what its methods need beside an epsilon."""

    methods: tuple[str, ...]
    epsilons: tuple[float, ...]
    rows: int
    repeat: int
    per_record: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)
    """delta, public_rows, block_size, parents, parent_count ...: each goes to the methods that know it."""

    def __post_init__(self) -> None:
        ROWS.check("rows", self.rows)
        if isinstance(self.repeat, bool) or not isinstance(self.repeat, int) or self.repeat < 1:
            raise ParameterError(f"`repeat` is {self.repeat!r}; it must be a whole number of 1 or more. Try 5.")
        for name, given in (("methods", self.methods), ("epsilons", self.epsilons)):
            if not given:
                raise ParameterError(f"`{name}` is empty; name at least one, separated by commas.")
            if len(set(given)) < len(given):
                raise ParameterError(f"`{name}` names {_repeated(given)!r} twice; name each once.")
        for method in self.methods:
            find_method(method)
        for epsilon in self.epsilons:
            EPSILON.check("epsilon", epsilon)

    def cells(self) -> list[Cell]:
        """All runs, repeats outermost, so that a map with every point appears early."""
        return [
            Cell(method=method, epsilon=epsilon, repeat=repeat)
            for repeat in range(1, self.repeat + 1)
            for method in self.methods
            for epsilon in (self.epsilons if self.has_epsilon(method) else (None,))
        ]

    @staticmethod
    def has_epsilon(method: str) -> bool:
        """Whether the method promises anything that could be turned up or down."""
        return any(field.name == "epsilon" for field in fields(find_method(method)))

    def meaning(self, method: str) -> str:
        """What epsilon means for a method in this map."""
        if not self.has_epsilon(method):
            return "no promise"
        return "per synthetic record" if self._is_per_record(method) else "whole file"

    def _is_per_record(self, method: str) -> bool:
        return self.per_record and any(field.name == "epsilon_per_record" for field in fields(find_method(method)))

    def recipe(self, method: str, epsilon: float | None) -> Recipe:
        """The recipe of a cell."""
        known = {field.name for field in fields(find_method(method))}
        options = {name: value for name, value in self.options.items() if name in known and value is not None}
        if epsilon is not None:
            if self._is_per_record(method):
                options["epsilon_per_record"] = epsilon
            else:
                options["epsilon"] = epsilon
                if "rows" in known:  # a whole-file target of route S depends on the number of rows
                    options["rows"] = self.rows
        return make_recipe(method, **options)

    def check(self, book: Codebook) -> None:
        """Refuse a grid with a cell that cannot run, before any of it does."""
        for method in self.methods:
            for epsilon in self.epsilons if self.has_epsilon(method) else (None,):
                self.recipe(method, epsilon).quote(book, self.rows)

    def settings(self) -> dict[str, Any]:
        """What all runs of one folder must share; methods, epsilons and repeats may be added later."""
        return {"rows": self.rows, "per_record": self.per_record, "options": _plain(self.options)}


def _plain(options: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: value if isinstance(value, str | int | float | bool) else str(value)
        for name, value in sorted(options.items())
        if value is not None
    }


def _repeated(given: Sequence[Any]) -> Any:
    return next(item for item in given if list(given).count(item) > 1)
