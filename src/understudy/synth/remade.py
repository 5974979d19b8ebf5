"""The recipe that made a release, made again from what its manifest says, or from a file of a person's choices."""

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from understudy.blocks.priors import PriorShape
from understudy.codebook import Codebook
from understudy.errors import ParameterError, RefusalError
from understudy.privacy.guarantees import Neighbours
from understudy.synth.choices import Choices
from understudy.synth.recipe import Recipe
from understudy.synth.registry import find_method, make_recipe
from understudy.synth.seeds import PublicSeeds, RealSeeds, UniformSeeds

_OBJECTS = ("prior", "seeds", "parents")
"""Choices that may be objects of the caller's, which a manifest can only describe."""
_PLAIN = re.compile("[a-z-]+")
"""A choice that is a word on the command line too."""


def remade(method: str, parameters: Mapping[str, Any]) -> Recipe:
    """The recipe whose :meth:`~Recipe.parameters` these are.

    A manifest names a public prior or a choice of parents only in words, which cannot be followed back; then it is
    refused. Where the person was the unit, what was asked for a person counts, not the shares of one record: whoever
    fits the recipe divides it again.
    """
    asked = parameters.get("per_person")
    if isinstance(asked, Mapping):
        parameters = {**parameters, **{name: value for name, value in asked.items() if name != "records"}}
    known = {field.name for field in fields(find_method(method))}
    given = {name: _told(name, value) for name, value in parameters.items() if name in known and value is not None}
    try:
        recipe = make_recipe(method, **given)
    except ValueError as reason:
        raise RefusalError(f"the recipe of the release cannot be made again from its manifest ({reason})") from None
    again = json.loads(json.dumps(recipe.parameters()))
    words = [name for name in _OBJECTS if isinstance(given.get(name), str) and not _PLAIN.fullmatch(given[name])]
    if odd := sorted({*words, *(name for name in again if again[name] != parameters.get(name))}):
        raise RefusalError(
            f"the recipe of the release cannot be made again: its manifest describes {', '.join(odd)} only in words."
        )
    return recipe


def _told(name: str, value: Any) -> Any:
    if name == "neighbours":
        return Neighbours(value)
    if name == "prior" and value in list(PriorShape):
        return PriorShape(value)
    if name == "seeds":
        public = str(PublicSeeds(path=""))
        pools = [UniformSeeds(), RealSeeds(), PublicSeeds(path=str(value).removeprefix(public))]
        return next((pool for pool in pools if str(pool) == value), value)
    if name == "parents" and isinstance(value, Mapping):
        return {column: tuple(chosen) for column, chosen in value.items()}
    return tuple(value) if isinstance(value, list) else value


def load_recipe(path: str | Path, book: Codebook, rows: int) -> Recipe:
    """From the ``manifest.json`` of a release, or a TOML file: ``method`` and its options, as on the command line."""
    place = Path(path)
    place = place / "manifest.json" if place.is_dir() else place
    try:
        text = place.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as reason:
        raise ParameterError(
            f"the recipe {str(path)!r} cannot be read ({getattr(reason, 'strerror', None) or 'no text'}); give a "
            "manifest.json, or a TOML file with `method` and its options."
        ) from None
    try:
        found = json.loads(text) if place.suffix == ".json" else tomllib.loads(text)
    except (json.JSONDecodeError, tomllib.TOMLDecodeError) as reason:
        raise ParameterError(
            f"the recipe {str(path)!r} is neither JSON (as manifest.json) nor TOML ({reason}); write for example "
            'method = "marginals" and its options, one per line.'
        ) from None
    if not isinstance(found, dict) or not isinstance(found.get("method"), str):
        raise ParameterError(
            f'the recipe {str(path)!r} names no method; write for example method = "marginals" in its first line.'
        )
    if isinstance(found.get("parameters"), dict):
        return remade(found["method"], found["parameters"])
    words = {name.replace("-", "_"): value for name, value in found.items() if name != "method"}
    return Choices(method=found["method"], options=words).recipe(book, rows)
