"""Every command that pays, at every point of its payment, by every blow; `make test` has a part of this."""

import pytest
from paying_commands import prepare
from struck import GRID, POINTS_AND_BLOWS, strike, strike_job


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    return prepare(tmp_path_factory.mktemp("prepared"))


@pytest.mark.parametrize(("name", "point", "blow"), GRID)
def test_the_policy_holds_for_every_command(prepared, tmp_path, monkeypatch, name, point, blow):
    strike(prepared, tmp_path, monkeypatch, name, point, blow)


@pytest.mark.parametrize(("point", "blow"), POINTS_AND_BLOWS)
def test_the_policy_holds_for_every_job_of_the_studio(prepared, tmp_path, monkeypatch, point, blow):
    strike_job(prepared, tmp_path, monkeypatch, point, blow)
