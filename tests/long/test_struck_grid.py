"""Every command that pays, at every point of its payment, by every blow; `make test` has a part of this."""

import pytest
from paying_commands import prepare
from struck import GRID, strike


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    return prepare(tmp_path_factory.mktemp("prepared"))


@pytest.mark.parametrize(("name", "point", "blow"), GRID)
def test_the_policy_holds_for_every_command(prepared, tmp_path, monkeypatch, name, point, blow):
    strike(prepared, tmp_path, monkeypatch, name, point, blow)
