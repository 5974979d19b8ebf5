"""64 clients on two servers, scores and answers mixed, servers killed under them: budgets stay exact.

``UNDERSTUDY_ANSWER_STORM=50,20000`` (kills, requests) is a longer one.
"""

import asyncio
import json
import os
import random

import pytest
from answer_bench import Stays
from test_processes import PRICE, Office, questions
from workbench import Caller, Server

from understudy.service import Budgets
from understudy.service.amounts import Amount
from understudy.service.caps import set_data_cap
from understudy.service.projects import Projects

CLIENTS = 64
KILLS, REQUESTS = map(int, os.environ.get("UNDERSTUDY_ANSWER_STORM", "2,500").split(","))
EPSILON = 0.125
ANSWERS = 12
"""That many answers the data set's cap pays for; there are more questions."""
ASKED = [
    f"{what} where {whom}"
    for what in ("count", "count by sex", "mean of charge", "share of died=yes")
    for whom in ("region=North", "region=South", "sex=F", "sex=M", "died=no")
]
HASTY = """
from understudy.service import questions
questions.Questions.__init__.__kwdefaults__["abandoned"] = 2.0
"""
"""A server that takes an unanswered question for dead soon: the storm has no ten minutes."""


class Storm:
    """Two servers, a killer, and clients that ask for scores and for answers."""

    def __init__(self, office: Office, stays: Stays, start) -> None:
        self.words = [*office.words(), "--data", stays.folder / "data.toml"]
        self.office, self.start = office, start
        self.servers: list[Server | None] = [start(*self.words, before=HASTY) for _ in range(2)]
        self.asked = self.lost = self.busy = self.refused = self.charged = 0
        self.told: dict[str, str] = {}
        self.scored: dict[tuple[int, str], list[float]] = {}

    async def blow(self) -> None:
        for number in range(KILLS):
            while self.asked < (number + 1) * REQUESTS // (KILLS + 1):
                await asyncio.sleep(0.01)
            server, self.servers[number % 2] = self.servers[number % 2], None
            assert server is not None
            server.process.kill()
            await asyncio.to_thread(server.process.wait)
            self.servers[number % 2] = await asyncio.to_thread(lambda: self.start(*self.words, before=HASTY))

    async def client(self, number: int) -> None:
        chance, scores = random.Random(number), list(questions())
        while self.asked < REQUESTS:
            up = chance.choice(self.servers) or self.servers[0] or self.servers[1]
            if up is None:
                await asyncio.sleep(0.05)
                continue
            self.asked += 1
            caller = Caller(up.url, self.office.keys[number].text)
            try:
                if chance.random() < 0.3:
                    await self.answer(caller, chance.choice(ASKED))
                else:
                    await self.score(caller, number, chance.choice(scores))
            except OSError:
                self.lost += 1

    async def answer(self, caller: Caller, question: str) -> None:
        status, said = await caller.post("/v1/data/stays/answer", {"question": question, "epsilon": EPSILON})
        if status == 429:
            assert said["type"].endswith("budget-exhausted")
            self.refused += 1
        elif status != 200 or said["status"] != "answered":
            assert status in (200, 503), said
            self.busy += 1
        else:
            self.charged += said["charged"]
            figures = json.dumps(said["answer"]["figures"])
            assert self.told.setdefault(question, figures) == figures, "what was told once is told again"

    async def score(self, caller: Caller, number: int, question: dict) -> None:
        status, said = await caller.score(question)
        if status == 200:
            answer = [said["score"], said["low"], said["high"]]
            assert self.scored.setdefault((number, json.dumps(question)), answer) == answer
        else:
            assert status in (429, 503), said

    async def rage(self) -> None:
        await asyncio.gather(self.blow(), *(self.client(number) for number in range(CLIENTS)))


@pytest.mark.long
def test_budgets_of_scores_and_answers_are_exact(postgres_url, tmp_path, monkeypatch, start_server, stays):
    scores = REQUESTS // 4
    office = Office(
        postgres_url, tmp_path, monkeypatch, keys=CLIENTS, cap=scores * PRICE, grant=scores * PRICE,
        scopes=("score", "answer"),
    )  # fmt: skip
    cap = Amount.cap(ANSWERS * EPSILON)
    with office.store() as store:
        projects = Projects(store)
        set_data_cap(projects, "stays", cap, account=stays.account, database=store.identity)
        projects.create("everybody", "stays", cap)
        for key in office.keys:
            projects.join("everybody", key.key.key_id, cap)
    storm = Storm(office, stays, start_server)
    asyncio.run(storm.rage())
    with office.store() as store:
        spent = Projects(store).budget_of("stays").spent
        assert Projects(store).faults() == [] and Budgets(store).faults() == []
    paid = spent.epsilon // Amount.price(EPSILON).epsilon
    assert spent == Amount(epsilon=paid * Amount.price(EPSILON).epsilon) and paid <= ANSWERS
    assert storm.charged <= len(storm.told) <= paid, "nothing was told that was not paid for"
    assert storm.refused == 0 or paid == ANSWERS, "refused because all was spent, to the last answer"
    scored, _ = office.books()
    assert len(storm.scored) <= scored <= scores
    assert paid - len(storm.told) <= storm.lost + storm.busy
    counts = {name: getattr(storm, name) for name in ("asked", "lost", "busy", "refused", "charged")}
    print(f"storm of answers: {counts}, told={len(storm.told)}, {paid=}, scored={len(storm.scored)} of {scored}")  # noqa: T201
