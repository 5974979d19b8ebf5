"""Every command that pays, struck down again and again: nothing is shown that is not charged.

Half of the blows fall at a random moment of the whole run, half within a few milliseconds of a point of the payment,
where two files are about to agree. `make long` runs this; at least 200 blows in all.
"""

import json
import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from paying_commands import COMMANDS, account_of, prepare, spoken_for

from understudy.privacy.account import Account, ChargeState
from understudy.privacy.transaction import Point

BLOWS = 40
"""Of each command."""
FEW_BLOWS = 10
"""Of linked tables and of flows by levels, which pay and write as the others do and take longer."""
SIGNALS = [signal.SIGKILL, signal.SIGKILL, signal.SIGINT, signal.SIGTERM]


@pytest.fixture(scope="module")
def server():
    script = Path(__file__).with_name("strike_server.py")
    with subprocess.Popen(
        [sys.executable, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:

        def ask(**job):
            process.stdin.write(json.dumps(job) + "\n")
            process.stdin.flush()
            return json.loads(process.stdout.readline())

        yield ask
        process.stdin.close()
        process.wait(30)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    return prepare(tmp_path_factory.mktemp("prepared"))


def blows(number: int, seconds: float, seed: str):
    """When and how to strike: half anywhere in the run, half near a point of the payment."""
    chosen = random.Random(seed)
    points = [point.value for point in Point]
    for place in range(number):
        how = {"signal": int(chosen.choice(SIGNALS))}
        if place % 2:
            yield {**how, "after": chosen.uniform(0, seconds)}
        else:
            yield {**how, "after": chosen.choice([0.0, chosen.uniform(0, 0.02)]), "point": points[place // 2 % 5]}


@pytest.mark.parametrize("name", COMMANDS)
def test_nothing_is_shown_that_is_not_charged(server, prepared, tmp_path, name):
    words = COMMANDS[name]
    whole = shutil.copytree(prepared, tmp_path / "whole")
    unhurt = server(words=words.split(), folder=str(whole))
    assert unhurt["code"] == 0, unhurt["said"]
    assert [charge.digest for charge in account_of(words, whole).history()] == [spoken_for(whole / "out")]
    struck, shown, number = 0, 0, FEW_BLOWS if "linked" in name or "levels" in name else BLOWS
    for place, blow in enumerate(blows(number, unhurt["seconds"], name)):
        folder = shutil.copytree(prepared, tmp_path / str(place))
        answer = server(words=words.split(), folder=str(folder), **blow)
        account, out = account_of(words, folder), folder / "out"
        assert not answer["hung"], (blow, answer)
        struck += answer["code"] not in (0,)
        charges = [charge for charge in account.history() if charge.state is not ChargeState.CANCELLED]
        if out.exists():
            shown += 1
            assert [(c.state, c.digest) for c in charges] == [(ChargeState.COMMITTED, spoken_for(out))], (blow, answer)
        if answer["code"] in (130, 143):
            said_charged = "stays charged" in answer["said"].replace("\n", " ") or "it is charged" in answer["said"]
            in_parts = "charged already" in answer["said"].replace("\n", " ")
            assert bool(charges) == (said_charged or in_parts), (blow, answer, charges)
        if answer["code"] >= 0:  # it could tidy up
            assert not list(folder.glob(".out-unfinished-*")), (blow, answer)
        _goes_on(server, words, folder, account, charges)
    assert struck >= number // 3, "most blows fell after the end; strike earlier"
    assert shown < number


def _goes_on(server, words, folder, account, charges):
    """Whatever happened, the same command runs through afterwards, and what then appears is charged."""
    out = folder / "out"
    if out.exists() or (folder / "m.us").exists():
        return
    again = server(words=words.split(), folder=str(folder))
    assert again["code"] == 0, again
    found = [charge for charge in account.history() if charge.state is ChargeState.COMMITTED]
    assert found[-1].digest == spoken_for(out)
    if "--engine" in words:  # comes back to its charge
        assert len([c for c in account.history() if c.state is not ChargeState.CANCELLED]) == 1
    else:
        assert len(account.history()) >= len(charges) + 1


SERVICE = "--database sqlite:///service.db --secret-file service.secret --model-key key"
CAP_OF_ANSWERS = f"keys budget --model m.us --epsilon 0.5 --account a.account {SERVICE}"


def live_cap(folder: Path) -> float:
    """The epsilon that all keys together may spend on the score, as the service sees it."""
    from understudy.service import Budgets, Store

    if not (folder / "service.db").exists():
        return 0.0
    with Store.open(f"sqlite:///{folder / 'service.db'}", secret_file=folder / "service.secret") as store:
        balances = [balance for _, balance in Budgets(store).model_balances().values() if balance is not None]
    return balances[0].to_dict()["cap"] if balances else 0.0


def paid_for_answers(folder: Path) -> float:
    """The epsilon of answers that the account has paid for, held or committed."""
    charges = Account.open(folder / "a.account").history()
    counted = [one for one in charges if one.pays_for and one.state is not ChargeState.CANCELLED]
    return sum(charge.guarantee.epsilon for charge in counted)


def test_no_cap_is_live_that_no_account_paid_for(server, prepared, tmp_path):
    begun = shutil.copytree(prepared, tmp_path / "begun")
    train = "train data.parquet -c book.toml --target b --method per-call-tree --epsilon 1 --call-epsilon 0.01"
    assert server(words=f"{train} --new-key key -o m.us".split(), folder=str(begun))["code"] == 0
    # the database exists, as it does where a service runs: only the cap is new
    assert server(words=f"keys budget --model m.us {SERVICE}".split(), folder=str(begun))["code"] == 0
    whole = shutil.copytree(begun, tmp_path / "whole")
    unhurt = server(words=CAP_OF_ANSWERS.split(), folder=str(whole))
    assert unhurt["code"] == 0, unhurt["said"]
    assert live_cap(whole) == pytest.approx(0.5) and paid_for_answers(whole) == pytest.approx(0.5)
    for place, blow in enumerate(blows(BLOWS, unhurt["seconds"], "caps")):
        folder = shutil.copytree(begun, tmp_path / str(place))
        answer = server(words=CAP_OF_ANSWERS.split(), folder=str(folder), **blow)
        assert not answer["hung"], (blow, answer)
        assert live_cap(folder) <= paid_for_answers(folder) * (1 + 1e-9), (blow, answer)
        again = server(words=CAP_OF_ANSWERS.split(), folder=str(folder))
        assert again["code"] == 0, (blow, answer, again)
        assert live_cap(folder) == pytest.approx(0.5)
        assert paid_for_answers(folder) == pytest.approx(0.5), "charged once, whatever happened"


def test_there_are_at_least_two_hundred_blows():
    assert BLOWS * sum("linked" not in name for name in (*COMMANDS, "caps")) >= 200
