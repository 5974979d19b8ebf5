"""Every command that pays, struck at every point of its payment by everything that can go wrong there.

The policy is written in ``privacy/transaction.py`` and tested there once; here it is held against every command, so
that no command can bring one of its own.
"""

import shutil

import pytest
from paying_commands import COMMANDS, account_of, prepare, spoken_for
from struck import FULL, GRID, POINTS_AND_BLOWS, call, strike, strike_job

from understudy.privacy.account import ChargeState


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    return prepare(tmp_path_factory.mktemp("prepared"))


FIRST = next(iter(COMMANDS))
SOME = [one for place, one in enumerate(GRID) if one[0] == FIRST or place % 5 == place // 5 % 5]
"""All blows for one command, and one at every point of the others; `make long` strikes with all of them."""


@pytest.mark.parametrize(("name", "point", "blow"), SOME)
def test_the_policy_holds_for_every_command(prepared, tmp_path, monkeypatch, name, point, blow):
    strike(prepared, tmp_path, monkeypatch, name, point, blow)


@pytest.mark.parametrize(("point", "blow"), POINTS_AND_BLOWS[::6])
def test_the_policy_holds_for_jobs_of_the_studio(prepared, tmp_path, monkeypatch, point, blow):
    strike_job(prepared, tmp_path, monkeypatch, point, blow)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_disk_that_is_full_in_the_write_is_said_and_the_next_try_pays(prepared, tmp_path, monkeypatch, name):
    words, folder = COMMANDS[name], shutil.copytree(prepared, tmp_path / "f")

    def full(_path):
        raise FULL

    with monkeypatch.context() as patched:
        patched.setattr("os.fsync", full)
        code, said = call(folder, words)
    assert code == 2 and "No space" in said, said
    assert not (folder / "out").exists()
    before = account_of(words, folder).history()
    assert all(one.digest is None for one in before)
    assert ("stays charged" in said) == any(one.state is not ChargeState.CANCELLED for one in before), said
    code, said = call(folder, words)
    assert code == 0, said
    paid = [one for one in account_of(words, folder).history() if one.digest is not None]
    assert [one.digest for one in paid] == [spoken_for(folder / "out")]


def test_every_command_that_takes_an_account_to_charge_is_here():
    """`--account` means a charge where it is not only told or asked."""
    import typer

    from understudy.cli.app import app

    charging = set()

    def walk(command, path):
        for name, inner in getattr(command, "commands", {}).items():
            walk(inner, [*path, name])
        for option in getattr(command, "params", ()):
            if "--account" in getattr(option, "opts", ()) and "Nothing is charged" not in (option.help or ""):
                charging.add(" ".join(path))

    walk(typer.main.get_command(app), [])
    named = [words.replace(" linked", " linked.folder").split()[:2] for words in COMMANDS.values()]
    listed = {" ".join(word for word in words if "." not in word) for words in named}
    # caps and agents have tests of their own: tests/service/test_caps.py, tests/agents
    assert charging - {"keys budget", "mcp"} == listed
