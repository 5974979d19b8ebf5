"""What is going to be released: a recipe file beside the codebook, which `understudy synth --recipe` reads too."""

import hashlib
import math
import shlex
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from understudy.errors import ParameterError
from understudy.facade import methods, tables
from understudy.facade.outlooks import AccountOutlook, account_outlook
from understudy.studio.forms import FieldError
from understudy.studio.stored_books import is_linked, load_book, one_book, table_of
from understudy.studio.texts import texts
from understudy.studio.workspace import Dataset, file_of, toml_text, write_private

if TYPE_CHECKING:
    from understudy.parameters import Option
    from understudy.privacy.quote import Quote

RECIPE = "recipe.toml"
DEFAULT = "marginals"
LEAST_EPSILON, MOST_EPSILON, STEP = 0.05, 10.0, 0.05
DELTAS = (1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9)
_EPSILON, _DELTA, _ROWS = 1.0, 1e-6, 10_000
"""Where the controls stand at first: a slider has to stand somewhere. Nothing is chosen until somebody keeps a plan,
and nothing is paid until they have typed the name of the data set beside the price."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Method, size and price of a release."""

    method: str
    rows: int
    rows_about: int
    epsilon: float | None
    """None where it is what is searched for."""
    delta: float
    numbers: tuple[tuple[str, int], ...] = ()
    """Further public numbers that the method needs."""

    @property
    def options(self) -> dict[str, Any]:
        """Of the method: not every one has a delta."""
        asked = {"epsilon": self.epsilon, "delta": self.delta, **dict(self.numbers)}
        declared = tables.declared_options(self.method)
        return {name: value for name, value in asked.items() if name in declared and value is not None}

    @property
    def fields(self) -> dict[str, Any]:
        """As fields of a form; numbers of a method carry its name, because several have numbers of the same name."""
        shared = {name: value for name, value in vars(self).items() if name != "numbers"}
        return shared | {f"{self.method}.{name}": value for name, value in self.numbers}

    def words(self) -> str:
        """As the query of an address."""
        return urlencode(self.fields)

    def flags(self) -> str:
        """As flags of a command."""
        method = [] if self.method == DEFAULT else ["--method", self.method]
        declared = tables.declared_options(self.method)
        given = [f"{declared[name].flags.split()[0]} {value}" for name, value in self.options.items()]
        return " ".join([*method, *given, f"--rows {self.rows}"])

    def keywords(self) -> str:
        """As arguments in Python."""
        method = "" if self.method == DEFAULT else f", method={self.method!r}"
        return f"rows={self.rows}{method}, " + ", ".join(f"{name}={value}" for name, value in self.options.items())

    def recipe(self) -> str:
        """As the text of a recipe file."""
        text = toml_text({"method": self.method, "rows": self.rows, **self.options})
        return f"# {texts('quote')['recipe_head']}\n{text}"

    def save(self, own: Dataset) -> None:
        """Keep it: the recipe in a file of its own, the public guess with the data set."""
        write_private(own.path(RECIPE), self.recipe())
        own.declare(rows_about=str(self.rows_about))


def saved_plan(own: Dataset) -> Plan | None:
    """The plan that was kept, from whoever wrote the recipe; None where there is none."""
    place = own.path(RECIPE)
    if not place.is_file():
        return None
    choices = tables.read_recipe(place)
    if choices.rows is None or choices.options.get("epsilon") is None:
        raise ParameterError(texts("quote")["recipe_lacks"].format(file=own.shown(place)))
    about = read_whole(str(own.declared.get("rows_about") or choices.rows), "rows_about")
    if strange := sorted({*choices.options} - {"epsilon", "delta", *_needed(choices.method)}):
        words = texts("quote")["recipe_more"]
        raise ParameterError(words.format(file=own.shown(place), names=", ".join(f"`{name}`" for name in strange)))
    options = {name: choices.options.get(name) for name in ("epsilon", "delta")}
    known: Any = {name: value for name, value in options.items() if value is not None}
    numbers = {name: choices.options.get(name) for name in _needed(choices.method)}
    return Plan(
        **{"delta": _DELTA, **known},
        method=choices.method,
        rows=choices.rows,
        rows_about=about,
        numbers=tuple((name, int(value)) for name, value in numbers.items() if value is not None),
    )


def _needed(method: str) -> "dict[str, Option]":
    return methods.needed_numbers(method) if method in methods.synthesis_methods() else {}


def asked_plan(own: Dataset, given: Mapping[str, str]) -> Plan:
    """What the controls say; where they say nothing, the plan that was kept, or where they stand at first."""
    kept = None
    with suppress(ParameterError):  # a recipe from elsewhere that the studio cannot make; whoever shows it says so
        kept = saved_plan(own)
    if kept is None:
        kept = Plan(method=DEFAULT, rows=_ROWS, rows_about=_ROWS, epsilon=_EPSILON, delta=_DELTA)
    changes: dict[str, Any] = {
        name: read(given[name], name)
        for name, read in (
            ("epsilon", read_number),
            ("delta", read_number),
            ("rows", read_whole),
            ("rows_about", read_whole),
        )
        if given.get(name)
    }
    if given.get("method"):
        changes["method"] = given["method"]
    if is_linked(own):
        changes["method"] = DEFAULT  # the one method of linked tables answers to it
    method = changes.get("method", kept.method)
    kept_numbers = dict(kept.numbers) if method == kept.method else {}
    asked = {name: given.get(field) for name in _needed(method) if (field := f"{method}.{name}") in given}
    read = {name: read_whole(words, f"{method}.{name}") for name, words in asked.items() if words}
    left = {name: value for name, value in kept_numbers.items() if name not in asked}
    return replace(kept, **changes, numbers=tuple(sorted((left | read).items())))


def replaced(plan: Plan, **changes: Any) -> Plan:
    """The plan with some of it changed."""
    return replace(plan, **changes)


def read_number(words: str, name: str) -> float:
    """A number that was typed."""
    try:
        return float(words)
    except ValueError:
        raise FieldError(name, texts("quote")["no_number"].format(name=name, words=words[:40])) from None


def read_whole(words: str, name: str) -> int:
    """A whole number that was typed."""
    try:
        return int(words.replace(",", ""))
    except ValueError:
        raise FieldError(name, texts("quote")["no_number"].format(name=name, words=words[:40])) from None


@dataclass(frozen=True, kw_only=True)
class Offer:
    """A plan with its price, and what its account would say."""

    plan: Plan
    quote: "Quote"
    account: AccountOutlook | None
    """None where there is no account yet."""

    @property
    def relation(self) -> str:
        """Whose presence the price hides, as accounts name it."""
        return str(getattr(self.quote.total, "neighbours", "add-remove"))

    @property
    def is_about_people(self) -> bool:
        """Whether a person with all records is protected."""
        return "person" in self.relation

    @property
    def can_be_charged(self) -> bool:
        """Whether an account is there and would accept it."""
        return self.account is not None and self.account.fits


def offer(own: Dataset, plan: Plan) -> Offer:
    """The price of a plan. Reads no row."""
    needed = _needed(plan.method)
    if lacking := [n for n, option in needed.items() if option.has_no_value and n not in dict(plan.numbers)]:
        words = texts("quote")
        raise FieldError(
            f"{plan.method}.{lacking[0]}",
            words["lacks_number"].format(method=plan.method, number=words["number"].get(lacking[0], lacking[0])),
        )
    asked: dict[str, Any] = {"data": own.data} if own.declared.get("data") else {}
    priced = _priced(own, plan, (_stamp(own.codebook), data_facts(own)), **asked)
    outlook = account_outlook(own.account, priced) if own.account.is_file() else None
    return Offer(plan=plan, quote=priced, account=outlook)


@lru_cache(maxsize=64)
def _priced(own: Dataset, plan: Plan, _stamps: Any, **asked: Any) -> "Quote":
    """Computed once for a plan, as long as codebook and data are the same files."""
    about: dict[str, Any] = {} if is_linked(own) else {"rows_about": plan.rows_about}
    return tables.quote(load_book(own), plan.rows, plan.method, **about, **asked, **plan.options)


def data_facts(own: Dataset) -> tuple[Any, ...]:
    """Where the data are, and whether their file is still the same."""
    address = own.data if own.declared.get("data") else ""
    return address, own.table, _stamp(Path(file_of(address))) if address else None


def _stamp(place: Path) -> tuple[int, int] | None:
    try:
        status = place.stat()
    except OSError:  # an address, or a file that is gone: the price does not depend on it
        return None
    return status.st_mtime_ns, status.st_size


def keep(own: Dataset, plan: Plan) -> None:
    """Write the plan down, and into the account, so that no later look can have chosen it."""
    asked: dict[str, Any] = {"account": own.account} if own.account.is_file() else {}
    if own.declared.get("data"):
        asked["data"] = own.data
    tables.quote(load_book(own), plan.rows, plan.method, **asked, **plan.options)
    plan.save(own)


def offered_methods() -> list[dict[str, Any]]:
    """Methods whose price is one epsilon, the recommended one first, each with the public numbers that it needs."""
    return [
        {
            "name": name,
            "summary": recipe.summary,
            "promise": recipe.facts.guarantee,
            "needs": _needed(name),
            "instead": recipe.facts.instead,
        }
        for name, recipe in methods.synthesis_methods().items()
        if "epsilon" in tables.declared_options(name)
    ]


def reasons(own: Dataset, plan: Plan) -> dict[str, str]:
    """For each offered method, why one would or would not take it for this codebook and these public numbers."""
    if is_linked(own):
        return {}
    book, words = one_book(own), texts("quote")
    told = {}
    for one in offered_methods():
        name, needs = one["name"], one["needs"]
        given = [number for number, _ in plan.numbers] if name == plan.method else []
        lacking = [number for number, option in needs.items() if option.has_no_value and number not in given]
        numbers = {
            "cells": f"{book.cells:,}" if book.cells < _COUNTABLE else words["reason"]["uncounted"],
            "columns": f"{len(book.names):,}",
            "pairs": f"{math.comb(len(book.names), 2):,}",
            "records": f"{plan.rows_about:,}",
            "rows": f"{plan.rows:,}",
            "epsilon": f"{plan.epsilon:g}",
            "instead": one["instead"],
            "package": methods.method_package(name),
            "numbers": ", ".join(f"“{words['number'].get(number, number)}”" for number in lacking),
        }
        found = methods.method_reasons(name, book, rows_about=plan.rows_about, given=given)
        told[name] = " ".join(str(words["reason"][reason]).format(**numbers) for reason in found)
    return told


_COUNTABLE = 10**9
"""Combinations from here on are told as more than that."""


def people_reason(own: Dataset) -> str:
    """What is true of every method where people have several records; empty where they have one each."""
    unit = None if is_linked(own) else one_book(own).unit
    return "" if unit is None else str(texts("quote")["reason"]["people"]).format(cap=f"{unit.cap:,}")


def form_number(*facts: Any) -> str:
    """A number for a form: the same in every tab that shows the same facts, another once they have changed."""
    return hashlib.sha256(repr(facts).encode()).hexdigest()[:32]


def data_words(own: Dataset) -> str:
    """The data as they are named from the root on, where jobs work and commands are typed."""
    return own.root.spelled(own.data)


def source_words(own: Dataset) -> tuple[str, str]:
    """The data and the codebook, for a command."""
    return shlex.quote(data_words(own)), shlex.quote(own.shown(own.codebook))


def table_words(own: Dataset) -> tuple[str, str]:
    """The one table of a database, for a command and in Python; nothing where there is none to name."""
    table = table_of(own)
    return ("", "") if table is None else (f" --table {shlex.quote(table)}", f", table={table!r}")


def export_of(own: Dataset) -> str:
    """For a server: a small export in a safe place, whose values may be looked at; of linked tables a folder."""
    return "EXPORT" if is_linked(own) else "EXPORT.csv"


def reviewed_words(own: Dataset) -> tuple[str, tuple[str, str]]:
    """The rows beside which a codebook is reviewed, and their table: those of a server only as an export."""
    return (export_of(own), ("", "")) if own.is_on_server else (data_words(own), table_words(own))


def making(own: Dataset, *folders: Path) -> tuple[str, ...]:
    """The command that makes the folders that a command writes into, where they are missing."""
    missing = [shlex.quote(own.shown(place)) for place in folders if not place.is_dir()]
    return (f"mkdir -p {' '.join(missing)}",) if missing else ()
