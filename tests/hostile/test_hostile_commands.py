"""Every command, given something wrong: one sentence that names it, the right exit code, nothing written or charged."""

from pathlib import Path

import pytest
from cases_answers import ANSWER_CASES
from cases_codes import CODE_CASES
from cases_editions import EDITION_CASES
from cases_passport import PASSPORT_CASES
from cases_release import RELEASE_CASES
from cases_rooms import ROOM_CASES
from cases_tables import TABLE_CASES
from hostile_bench import snapshot
from hostile_cases import REFUSED

import understudy as us

COMMAND_CASES = [
    *TABLE_CASES,
    *CODE_CASES,
    *RELEASE_CASES,
    *ROOM_CASES,
    *PASSPORT_CASES,
    *EDITION_CASES,
    *ANSWER_CASES,
]


def prepare(here: Path, case) -> None:
    for name, content in case.files.items():
        path = here / name
        path.parent.mkdir(exist_ok=True)
        if callable(content):
            content(path)
        else:
            path.write_bytes(content)


@pytest.mark.parametrize("case", COMMAND_CASES, ids=lambda case: case.name)
def test_one_sentence_and_nothing_else(run, bench, here, case, monkeypatch):
    prepare(here, case)
    for name, value in case.env.items():
        monkeypatch.setenv(name, value)
    ledger = (here / "a.account").read_bytes()
    before = sorted(str(path.relative_to(here)) for path in here.rglob("*"))
    said = run(*case.words)
    assert said.code == case.code, (said.code, said.out[:500], said.err[:2000])
    told = " ".join(said.out.split()) if case.told else said.sentence
    for word in case.says:
        assert " ".join(word.split()) in told, (said.err[:2000], said.out[:500])
    assert case.told or said.out == "", "an error goes to standard error"
    assert "hunter2" not in said.err, "a password is never repeated"
    assert "Traceback" not in said.err and len(said.err) < 3000
    after = sorted(str(path.relative_to(here)) for path in here.rglob("*"))
    # the service's database and secret are made when it is first named, and what is wrong with files that were to be
    # offered to agents is told in a log of the holder; everything else is as it was
    made = ("s.db", "agents") if case.code == REFUSED else ("s.db",)
    assert [name for name in after if not name.startswith(made)] == before
    assert sorted((here.parent / "scratch").iterdir()) == []
    account = us.Account.open(here / "a.account")
    assert account.spent().epsilon == 0 and account.spent().delta == 0
    assert ledger and all(charge.state.value == "cancelled" for charge in account.history())


def test_the_workbench_is_as_it_was(bench, run, here):
    """Nothing that the commands above read was changed by being read."""
    assert snapshot(bench.folder) == bench.digest()
    assert run("verify", "@release").code == 0
    assert run("anonymize", "verify", "@anonymous").code == 0
