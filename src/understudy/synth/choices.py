"""A method and its options as a person writes them, and the recipe they mean."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from understudy.blocks.engines import engine_words
from understudy.blocks.priors import PriorShape, PublicShape, Shape
from understudy.codebook import Codebook
from understudy.errors import ParameterError
from understudy.mechanisms.smoothing import declared_public
from understudy.privacy.guarantees import Neighbours
from understudy.privacy.provenance import InputRole
from understudy.sources import open_source
from understudy.sources.addresses import shown
from understudy.sources.inputs import public_provenance
from understudy.synth.recipe import Recipe, refuse_commuting
from understudy.synth.registry import make_recipe
from understudy.synth.seeds import seed_pool


@dataclass(frozen=True, kw_only=True)
class Choices:
    """A method and its options as a person writes them: words and numbers, no objects."""

    method: str
    options: Mapping[str, Any]

    def recipe(self, book: Codebook, rows: int) -> Recipe:
        """The recipe these words mean. ``rows`` completes a whole-file target."""
        options = {name: value for name, value in self.options.items() if value is not None}
        if "neighbours" in options:
            options["neighbours"] = relation_of(options["neighbours"])
            refuse_commuting(options["neighbours"])
        if "prior" in options:
            options["prior"] = _prior(options["prior"], book)
        if "seeds" in options:
            options["seeds"] = seed_pool(options["seeds"])
        options = model_words(options)
        if "parent" in options:
            options["parents"] = _parents(options.pop("parent"), options.get("parents"))
        if str(options.get("parents", "")).isdecimal():  # `--parents 2`, as the SBHG paper's R
            options["parent_count"] = int(options.pop("parents"))
        if "workload" in options:
            options["workload"] = _workload(options["workload"])
        if "l" in options:
            options["l"] = _diversity(options["l"])
        if "epsilon" in options and self.method in _WHOLE_FILE:
            options["rows"] = rows
        return make_recipe(self.method, **options)


_WHOLE_FILE = ("pegs", "pegs-rs", "marginal-bootstrap", "pmi")


def model_words(options: dict[str, Any]) -> dict[str, Any]:
    """``COLUMN=ENGINE`` words, and lists of columns separated by commas."""
    if "engines" in options:
        options["engines"] = engine_words(options["engines"])
    for name in ("order", "columns"):
        if isinstance(options.get(name), str):
            options[name] = tuple(word for word in options[name].split(",") if word)
    return options


def relation_of(word: str) -> Neighbours:
    """The neighbour relation that a word stands for."""
    try:
        return Neighbours(word)
    except ValueError:
        raise ParameterError(
            f"`neighbours` is {word!r}; it must be one of {', '.join(n.value for n in Neighbours)}."
        ) from None


def _prior(word: str, book: Codebook) -> Shape:
    if word in list(PriorShape):
        return PriorShape(word)
    public_provenance(word, InputRole.PRIOR)  # before anything of it is read
    public = open_source(word, book)
    counted = public.count([[name] for name in book.names])
    tables = declared_public(counted, provenance=public.provenance, role=InputRole.PRIOR)
    counts = {name: tuple(int(n) for n in table.to_grid()) for name, table in zip(book.names, tables, strict=True)}
    return PublicShape(counts=counts, source=shown(word), provenance=public.provenance)


def _workload(given: Any) -> Any:
    """``COLUMN=WEIGHT`` for each column that matters more or less."""
    if not isinstance(given, list | tuple):
        return given
    weights = {}
    for text in given:
        name, _, number = str(text).rpartition("=")
        try:
            weights[name] = float(number)
        except ValueError:
            name = ""
        if not name:
            raise ParameterError(f"`workload` is {text!r}; write it as COLUMN=WEIGHT, for example income=3.")
    return weights


def _diversity(given: Any) -> Any:
    """One number, or ``COLUMN=NUMBER`` for each column."""
    words = [given] if isinstance(given, str) else given
    if not isinstance(words, list | tuple):
        return given
    split = [str(word).rpartition("=") for word in words]
    try:
        numbers = [float(number) for _, _, number in split]
    except ValueError:
        numbers = []
    named = [name for name, _, _ in split]
    if len(numbers) != len(words) or (len(words) > 1 and not all(named)) or len(set(named)) < len(named):
        raise ParameterError(
            f"`l` is {' '.join(map(str, words))!r}; write one number, or COLUMN=NUMBER for each column."
        )
    return dict(zip(named, numbers, strict=True)) if named[0] else numbers[0]


def _parents(given: Sequence[str], word: str | None) -> dict[str, tuple[str, ...]]:
    """``charge=los,sev`` for each column whose parents are set on the command line."""
    if word not in (None, "declared"):
        raise ParameterError(f"parents are given one by one and as {word!r}; choose one of the two.")
    chosen = {}
    for text in given:
        name, equals, parents = text.partition("=")
        if not equals or not name:
            raise ParameterError(f"`parent` is {text!r}; write it as COLUMN=PARENT,PARENT, for example charge=los,sev.")
        chosen[name] = tuple(parent for parent in parents.split(",") if parent)
    return chosen
