"""64 clients on two servers that are killed again and again: budgets stay exact, and what was told stays told.

``UNDERSTUDY_STORM=50,20000`` (kills, requests) is the full size; figures in docs/decisions/0177-the-front.md.
"""

import asyncio
import json
import os
import random

import pytest
from test_processes import PRICE, Office, questions
from workbench import Caller, Server

CLIENTS = 64
KILLS, REQUESTS = map(int, os.environ.get("UNDERSTUDY_STORM", "4,1600").split(","))
CAP = REQUESTS // 2


class Storm:
    """Two servers, a killer, and clients that ask one question in four again."""

    def __init__(self, office: Office, start) -> None:
        self.office, self.start = office, start
        self.servers: list[Server | None] = [start(*office.words()) for _ in range(2)]
        self.asked = self.lost = self.refused = self.busy = self.kills = 0
        self.told: dict[tuple[int, str], list[float]] = {}
        self.paid = 0

    async def blow(self) -> None:
        """Kill one of the two whenever another share of the requests was sent, and bring it back."""
        for number in range(KILLS):
            while self.asked < (number + 1) * REQUESTS // (KILLS + 1):
                await asyncio.sleep(0.01)
            server, self.servers[number % 2] = self.servers[number % 2], None
            assert server is not None
            server.process.kill()
            self.kills += 1
            await asyncio.to_thread(server.process.wait)
            self.servers[number % 2] = await asyncio.to_thread(self.start, *self.office.words())

    async def client(self, number: int) -> None:
        """Ask until everybody together has asked enough."""
        chance, known = random.Random(number), list(questions())
        for turn in range(10**9):
            if self.asked >= REQUESTS:
                return
            up = self.servers[(number + turn) % 2] or self.servers[(number + turn + 1) % 2]
            if up is None:
                await asyncio.sleep(0.05)
                continue
            self.asked += 1
            question = known[chance.randrange(len(known)) if chance.random() < 0.25 else turn % len(known)]
            try:
                status, said = await Caller(up.url, self.office.keys[number].text).score(question)
            except OSError:
                self.lost += 1
                continue
            self.note(number, json.dumps(question), status, said)

    def note(self, number: int, question: str, status: int, said: dict) -> None:
        """Only four things may be said: an answer, the same answer again, an empty budget, or to come back."""
        if status == 200:
            answer = [said["score"], said["low"], said["high"]]
            assert self.told.setdefault((number, question), answer) == answer, "what was told once is told again"
            self.paid += said["cost"]["epsilon"] > 0
        elif status == 429:
            assert said["type"] == "/docs#problem-budget-exhausted"
            self.refused += 1
        else:
            assert status == 503, said
            self.busy += 1

    async def rage(self) -> None:
        await asyncio.gather(self.blow(), *(self.client(number) for number in range(CLIENTS)))


@pytest.mark.long
def test_budgets_are_exact_whatever_is_killed(postgres_url, tmp_path, monkeypatch, start_server):
    office = Office(postgres_url, tmp_path, monkeypatch, keys=CLIENTS, cap=CAP * PRICE, grant=CAP * PRICE)
    storm = Storm(office, start_server)
    asyncio.run(storm.rage())
    spent, faults = office.books()
    assert storm.kills == KILLS and storm.asked >= REQUESTS and faults == []
    assert storm.paid <= len(storm.told) <= spent <= CAP
    assert spent - len(storm.told) <= storm.lost + storm.busy, "only what was on its way when a server died is wasted"
    assert storm.refused == 0 or spent == CAP, "refused because it was all spent, to the last answer"
    print(f"storm: {vars(storm) | {'told': len(storm.told), 'servers': None, 'office': None, 'start': None}}, {spent=}")  # noqa: T201
