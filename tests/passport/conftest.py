"""One release of each kind, made once."""

from pathlib import Path

import pytest
from passport_releases import TABLES

import understudy as us


@pytest.fixture(scope="session")
def places(tmp_path_factory) -> dict[str, Path]:
    """A release of each kind, with its passport in its folder."""
    root = tmp_path_factory.mktemp("releases")
    made = {name: make(root / name) for name, make in TABLES.items()}
    for place in made.values():
        us.passport(place)
    return made
