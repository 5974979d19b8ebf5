"""Words for people, kept apart from code: ``texts/LANGUAGE/NAME.toml`` in the folder of a room.

A translation is a second folder beside ``en``, with the same files and keys; what stands in curly brackets is a value.
"""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

LANGUAGE = "en"


@cache
def room_texts(room: str, name: str) -> Mapping[str, Any]:
    """The words of one file of one room.

    >>> room_texts("sources", "review")["empty"]
    'it holds no value at all'
    """
    place = resources.files("understudy") / room / "texts" / LANGUAGE / f"{name}.toml"
    return tomllib.loads(place.read_text(encoding="utf-8"))
