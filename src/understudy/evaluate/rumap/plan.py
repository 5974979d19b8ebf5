"""Which releases a map is made of, and what it asks about them.

``epsilon`` means the whole file, for every method that promises something. With ``per_record``, methods of route S
(pegs, pegs-rs and their kin) take it as the papers do, per synthetic record; methods of route N have no such figure
and keep the whole file. Methods without an epsilon are run as baselines and drawn as level lines.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from understudy.codebook import Codebook
from understudy.errors import ParameterError
from understudy.evaluate.checks import check_column
from understudy.parameters import (
    EPSILON,
    ROWS,
    Declared,
    EachName,
    Flag,
    Names,
    Number,
    Panel,
    Several,
    Text,
    Whole,
    option,
)
from understudy.sources.base import Source
from understudy.synth.recipe import Recipe
from understudy.synth.registry import DEFAULT, find_method, make_recipe


@dataclass(frozen=True, kw_only=True, order=True)
class Cell:
    """One run."""

    method: str
    epsilon: float | None
    repeat: int


@dataclass(frozen=True, kw_only=True)
class Plan(Declared):
    """The grid, and what its methods need beside an epsilon."""

    rows: int = option(rule=ROWS, help="Rows of every release.")
    epsilons: tuple[float, ...] = option(
        rule=Several(each=EPSILON, words="a list of numbers above 0", example="0.1,1,10", least=0),
        help="Epsilons between commas, for example 0.1,1,10.",
        panel=Panel.PRIVACY,
    )
    per_record: bool = option(
        False,
        rule=Flag(),
        help="Epsilon per synthetic record for pegs and its kin, as in the paper; else whole file.",
        panel=Panel.PRIVACY,
    )
    methods: tuple[str, ...] = option(
        (DEFAULT,),
        rule=Names(words="a list of methods", example="pegs,laplace"),
        help="Methods between commas; see `understudy methods`.",
    )
    repeat: int = option(5, rule=Whole(tried=5), help="Runs of each method and epsilon.")
    options: Mapping[str, Any] = field(default_factory=dict)
    """delta, public_rows, block_size, parents, parent_count ...: each goes to the methods that know it."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, given in (("methods", self.methods), ("epsilons", self.epsilons)):
            if not given:
                raise ParameterError(f"`{name}` is empty; name at least one, separated by commas.")
            if len(set(given)) < len(given):
                raise ParameterError(f"`{name}` names {_repeated(given)!r} twice; name each once.")
        for method in self.methods:
            find_method(method)
        if "l" in self.options and all(map(self.has_epsilon, self.methods)):
            raise ParameterError(
                f"`l` is {self.options['l']}; a map varies the epsilon of {', '.join(self.methods)}, and l would "
                "stand in its place. Leave it out, or add lugs, which takes it."
            )

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
            options.pop("l", None)  # pegs is mapped by its epsilon; l is for methods beside it that have none
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


@dataclass(frozen=True, kw_only=True)
class Questions(Declared):
    """What the map asks beside the shares of levels: figures 7 and 9 (given), 10 and 11 (models), 12 (the intruder)."""

    given: tuple[str, ...] = option(
        (),
        rule=Names(),
        help="Columns between commas that conditional shares are given; none: every pair, distances only.",
    )
    target: str | None = option(None, rule=Text(example="charge"), help="Column that regression models explain.")
    formulas: tuple[str, ...] = option(
        (),
        rule=EachName(words="a list of formulas", example="charge > 25 ~ age + sex"),
        help="Model instead, as 'charge > 25 ~ age + sex'; may be repeated.",
        flag="--formula",
    )
    quasi: tuple[str, ...] | None = option(None, rule=Names(), help="What the intruder knows; default: by role.")
    sensitive: tuple[str, ...] | None = option(None, rule=Names(), help="What the intruder wants; default: by role.")
    set_aside: float = option(
        0.2,
        rule=Number(least=0, below=1, tried=0.2),
        help="Share of records that no release of a repeat is made of; risk is what attacks gain over them. 0: none.",
    )

    def check(self, source: Source) -> None:
        """Every column must be there."""
        for called, names in (
            ("given", self.given),
            ("target", () if self.target is None else (self.target,)),
            ("quasi", self.quasi or ()),
            ("sensitive", self.sensitive or ()),
        ):
            for name in names:
                check_column(source, name, called=called)


def _plain(options: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: value if isinstance(value, str | int | float | bool) else str(value)
        for name, value in sorted(options.items())
        if value is not None
    }


def _repeated(given: Sequence[Any]) -> Any:
    return next(item for item in given if list(given).count(item) > 1)
