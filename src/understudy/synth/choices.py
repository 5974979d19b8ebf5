"""A method and its options as plain text and numbers, as in recipe files and manifests."""

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import tomlkit

from understudy.codebook import Codebook
from understudy.errors import ParameterError, RefusalError
from understudy.files import refuse_special_in
from understudy.loading import loader
from understudy.parameters import ROWS, from_words, name_file, options_of, shown_value
from understudy.privacy.guarantees import Neighbours
from understudy.synth.recipe import Recipe
from understudy.synth.registry import DEFAULT, find_method


@dataclass(frozen=True, kw_only=True)
class Choices:
    """A method and its options in words and numbers, no objects."""

    method: str = DEFAULT
    options: Mapping[str, Any]
    rows: int | None = None
    """How many rows a recipe file asks for, if it says so."""
    file: str | None = None
    """The recipe file, if there is one."""
    changed: frozenset[str] = frozenset()
    """Options that were given beside the file."""

    def with_options(self, options: Mapping[str, Any]) -> "Choices":
        """These choices, and what is given instead or besides."""
        return replace(self, options={**self.options, **options}, changed=self.changed | set(options))

    def recipe(self, book: Codebook | None, rows: int | None) -> Recipe:
        """The recipe that these words mean. ``rows`` completes a whole-file target."""
        method = find_method(self.method)
        words = dict(self.options)
        if words.get("epsilon") is not None and words.get("rows") is None and "rows" in options_of(method):
            words["rows"] = rows
        try:
            return from_words(method, self.method, words, context=book)
        except ParameterError as reason:
            if self.file is not None:
                name_file(reason, self.file, self.options, but=self.changed)
            raise

    def to_toml(self) -> str:
        """As a recipe file."""
        document = tomlkit.document()
        document.add("method", tomlkit.item(self.method))
        if self.rows is not None:
            document.add("rows", tomlkit.item(self.rows))
        known = options_of(find_method(self.method))
        for name, value in self.options.items():
            if value is not None and name in known and value != known[name].rule.plain(known[name].default):
                document.add(name, tomlkit.item(value))
        return tomlkit.dumps(document)


def relation_of(word: str) -> Neighbours:
    """The neighbour relation that a word stands for."""
    try:
        return Neighbours(word)
    except ValueError:
        raise ParameterError(
            f"`neighbours` is {shown_value(word)}; it must be one of {', '.join(n.value for n in Neighbours)}."
        ) from None


def choices_of_manifest(manifest: Mapping[str, Any]) -> Choices:
    """What a release was asked for; where the person was the unit, the targets of a person."""
    parameters = dict(manifest["parameters"])
    person_targets = parameters.pop("per_person", None)
    if isinstance(person_targets, Mapping):
        parameters |= {name: value for name, value in person_targets.items() if name != "records"}
    one_epsilon = parameters.pop("one_epsilon", None)
    if isinstance(one_epsilon, Mapping):
        parameters |= one_epsilon.get("asked", {})
    known = options_of(find_method(manifest["method"]))
    return Choices(
        method=manifest["method"],
        options={name: value for name, value in parameters.items() if name in known},
        rows=manifest.get("rows", {}).get("number"),
    )


def remade(method: str, parameters: Mapping[str, Any]) -> Recipe:
    """The recipe whose :meth:`~Recipe.parameters` these are; nothing is read for it.

    A manifest names a public prior, or an object of the caller's, only in words: then it is refused.
    """
    choices = choices_of_manifest({"method": method, "parameters": parameters})
    try:
        recipe = choices.recipe(None, None)
    except ValueError as reason:
        raise RefusalError(f"the recipe of the release cannot be made again from its manifest ({reason})") from None
    again = json.loads(json.dumps(recipe.parameters()))
    if changed := sorted(name for name in again if again[name] != choices.options.get(name, again[name])):
        raise RefusalError(
            f"the recipe of the release cannot be made again: its manifest has only words for {', '.join(changed)}."
        )
    return recipe


@loader(
    "the recipe",
    remedy="give a TOML file with one option per line, or the manifest.json of a release.",
    error=ParameterError,
)
def read_words(path: str | Path) -> dict[str, Any]:
    """What a recipe file in TOML, or the manifest of a release, says; names as Python spells them."""
    place = Path(path)
    if place.is_dir():
        refuse_special_in(place)  # others may have filled it: a pipe would be read for ever
        place = place / "manifest.json"
    try:
        text = place.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as reason:
        raise ParameterError(
            f"the recipe {str(path)!r} cannot be read ({getattr(reason, 'strerror', None) or 'no text'}); give a "
            "TOML file with the options, one per line, or to synth, quote and audit the manifest.json of a release."
        ) from None
    try:
        content = json.loads(text) if place.suffix == ".json" else tomllib.loads(text)
    except (json.JSONDecodeError, tomllib.TOMLDecodeError, RecursionError) as reason:
        raise ParameterError(
            f"the recipe {str(path)!r} is neither JSON (as manifest.json) nor TOML ({reason}); write for example "
            'method = "marginals" and its options, one per line.'
        ) from None
    if not isinstance(content, dict):
        raise ParameterError(
            f"the recipe {str(path)!r} is a list, which names no method and no option; write one per line, for example "
            "epsilon = 1.0."
        )
    return {name.replace("-", "_"): value for name, value in content.items()}


@loader(
    "the recipe",
    remedy="give a TOML file with one option per line, or the manifest.json of a release.",
    error=ParameterError,
)
def read_recipe(path: str | Path) -> Choices:
    """From a recipe file in TOML (``method``, ``rows`` and options), or from the manifest of a release."""
    content = read_words(path)
    if not isinstance(content.get("method"), str):
        raise ParameterError(
            f'the recipe {str(path)!r} names no method; write for example method = "marginals" in its first line.'
        )
    find_method(content["method"])
    if isinstance(content.get("parameters"), dict):
        return choices_of_manifest(content)
    method, rows = content.pop("method"), content.pop("rows", None)
    if rows is not None and not ROWS.admits(rows):
        raise ParameterError(f"in the recipe {str(path)!r}: 'rows' is {shown_value(rows)}; it must be {ROWS.words}.")
    return Choices(method=method, options=content, rows=rows, file=str(path))


def load_recipe(path: str | Path, book: Codebook, rows: int) -> Recipe:
    """The recipe of a recipe file or a manifest."""
    return read_recipe(path).recipe(book, rows)
