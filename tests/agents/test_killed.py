"""A server that is killed in the middle of an answer gives nothing back that somebody may have seen."""

import asyncio

import pytest
from agents_bench import START, asked, session

from understudy.agents.run import open_desk
from understudy.privacy.account import ChargeState

KILL = """
import os, signal
from understudy.privacy.transaction import Payment
def reached(payment, point):
    if point == {point!r}:
        os.kill(os.getpid(), signal.SIGKILL)
Payment.reached = reached
"""


@pytest.mark.parametrize(
    ("point", "state"),
    [("drawn", ChargeState.HELD), pytest.param("committed", ChargeState.COMMITTED, marks=pytest.mark.long)],
)
def test_what_a_killed_server_charged_stays_charged(house, point, state):
    async def struck():
        async with session(house, start=KILL.format(point=point) + START, release=None) as client:
            await asked(client, "answer", question="count", epsilon=0.4)

    with pytest.raises(Exception):  # noqa: B017 - the client says in its own ways that nobody answers
        asyncio.run(struck())
    (charge,) = [charge for charge in house.account.history() if charge.allowance == "agents"]
    assert charge.state is state
    desk = open_desk(house.root, account="a.account", cap_epsilon=1, data="people.csv", codebooks=["book.toml"])
    offers = desk.offered()
    assert offers["budget"]["epsilon"] == pytest.approx(0.6) and offers["answers"] == []
