"""Real server processes on real databases: together they never overspend, and a killed one loses only its own."""

import asyncio
import itertools
import json
import subprocess
import sys
import time

import pytest
from workbench import Caller

from understudy.service import Budgets, KeyBook, Store
from understudy.service.served import Served
from understudy.trees.examples import septic_shock_example
from understudy.trees.model import save_model

CLIENTS, CALLS, PRICE = 64, 1000, 0.01
MODEL_KEY = "ab" * 32
SLOW = """
import time
from understudy.trees.model import ScoreModel
drawn = ScoreModel.noisy_score
def slowly(self, codes, stream):
    time.sleep(0 if self.price_per_call == 0.5 else 60)  # the invented model of the warm-up is not meant
    return drawn(self, codes, stream)
ScoreModel.noisy_score = slowly
"""
"""A server that is sure to be between paying and answering when it is killed."""


HASTY = "from understudy.service import Budgets; Budgets.__init__.__kwdefaults__['abandoned'] = 0.0"
"""A server that does not wait before it takes an unanswered question for dead."""


class Office:
    """Model file, database, keys and caps; what an administrator would set up."""

    def __init__(
        self, database, folder, monkeypatch, *, keys: int, cap: float, grant: float, scopes=("score",)
    ) -> None:
        monkeypatch.setenv("UNDERSTUDY_MODEL_KEY", MODEL_KEY)
        self.database, self.secret = database, folder / "secret"
        model = septic_shock_example(epsilon=PRICE)
        self.model = save_model(model, folder / "sepsis.us")
        self.model_id = Served(model=model).model_id
        with self.store() as store:
            budgets, book = Budgets(store), KeyBook(store)
            budgets.register(self.model_id, name=model.name, price=PRICE)
            budgets.set_cap(self.model_id, cap)
            self.keys = [book.create(label=f"client {n}", scopes=scopes, rate=1_000_000) for n in range(keys)]
            for key in self.keys:
                budgets.grant(key.key.key_id, self.model_id, grant)

    def store(self) -> Store:
        return Store.open(self.database, secret_file=self.secret)

    def words(self) -> list[object]:
        return [self.model, "--database", self.database, "--secret-file", self.secret]

    def books(self) -> tuple[int, list[str]]:
        """Spent in calls, and faults."""
        with self.store() as store:
            _, balance = Budgets(store).model_balances()[self.model_id]
            return round(balance.spent / 10**9 / PRICE), Budgets(store).faults()


def questions():
    """All 375 that the codebook tells apart, one for each row of codes."""
    for pressure, rate, heat, ventilated in itertools.product(
        (60, 95, 110, 130, 200), (40, 70, 100, 120, 180), (33, 37, 38.5, 40, None), ("no", "yes", None)
    ):
        yield {"systolicBP": pressure, "heartRate": rate, "temperature": heat, "ventilated": ventilated}


def test_the_questions_are_different():
    model = septic_shock_example()
    assert len({model.encode(question).tobytes() for question in questions()}) == 375


def test_64_clients_on_two_servers_get_exactly_1000_answers(postgres_url, tmp_path, monkeypatch, start_server):
    office = Office(postgres_url, tmp_path, monkeypatch, keys=CLIENTS, cap=CALLS * PRICE, grant=CALLS * PRICE)
    servers = [start_server(*office.words()) for _ in range(2)]
    counted = {"answers": 0, "refusals": 0}
    scores = set()

    async def client(number: int) -> None:
        callers = [Caller(server.url, office.keys[number].text) for server in servers]
        for turn, question in enumerate(questions()):
            status, said = await callers[(number + turn) % 2].score(question)  # each client uses both servers
            if status == 429:
                assert said["type"] == "/docs#problem-budget-exhausted" and said["remaining"]["model"] == 0.0
                counted["refusals"] += 1
                break
            assert status == 200 and said["cost"]["epsilon"] == PRICE, said
            counted["answers"] += 1
            scores.add(said["score"])

    async def everybody() -> None:
        await asyncio.gather(*(client(number) for number in range(CLIENTS)))

    asyncio.run(everybody())
    assert counted == {"answers": CALLS, "refusals": CLIENTS}
    assert len(scores) > 100, "noise of its own for every answer"
    assert office.books() == (CALLS, [])
    servers[0].stop()
    assert "Traceback" not in "".join(servers[0].log) and '"event": "stopped"' in servers[0].log[-1]


@pytest.mark.long
def test_a_server_killed_in_the_middle_loses_nothing_that_was_told(postgres_url, tmp_path, monkeypatch, start_server):
    """Eight clients on two servers; one is killed under them, and comes back."""
    office = Office(postgres_url, tmp_path, monkeypatch, keys=8, cap=4.0, grant=4.0)
    first, second = (start_server(*office.words()) for _ in range(2))
    told: dict[tuple[int, str], list[float]] = {}
    kill_after, lost = 60, 0

    async def client(number: int) -> None:
        nonlocal lost
        callers = [Caller(server.url, office.keys[number].text) for server in (first, second)]
        for turn, question in enumerate(itertools.islice(questions(), 20)):
            try:
                status, said = await callers[(number + turn) % 2].score(question)
            except OSError:
                lost += 1
                continue
            assert status == 200, said
            told[number, json.dumps(question)] = [said["score"], said["low"], said["high"]]
            if len(told) == kill_after:
                first.kill()

    async def everybody() -> None:
        await asyncio.gather(*(client(number) for number in range(8)))

    asyncio.run(everybody())
    assert first.process.poll() is not None and lost > 0 and len(told) > kill_after
    spent, faults = office.books()
    assert faults == [] and len(told) <= spent <= len(told) + lost, "at most what was on its way is wasted"
    back = start_server(*office.words())

    async def again() -> None:
        callers = [Caller(back.url, key.text) for key in office.keys]
        for (number, text), answer in told.items():
            _, said = await callers[number].score(json.loads(text))
            assert said["cost"]["epsilon"] == 0 and said["cost"]["stored"] == 1
            assert [said["score"], said["low"], said["high"]] == answer

    asyncio.run(again())
    assert office.books() == (spent, []), "told again, and free"


def test_killed_between_paying_and_answering(tmp_path, monkeypatch, start_server):
    """On SQLite: the budget is gone, the answer never was; asking again pays again, and the cap holds."""
    database = f"sqlite:///{tmp_path / 'service.db'}"
    office = Office(database, tmp_path, monkeypatch, keys=1, cap=2 * PRICE, grant=1.0)
    question, key = next(questions()), office.keys[0].text
    slow = start_server(*office.words(), before=SLOW)

    async def hanging() -> None:
        asked = asyncio.ensure_future(Caller(slow.url, key).score(question))
        deadline = time.monotonic() + 60
        while office.books()[0] == 0 and time.monotonic() < deadline:
            await asyncio.sleep(0.05)
        slow.kill()
        with pytest.raises(OSError):  # the connection broke, in whatever way
            await asked

    asyncio.run(hanging())
    assert office.books() == (1, []), "paid, durably, before any noise was drawn"
    alive = start_server(*office.words(), before=HASTY)
    words = [sys.executable, "-m", "understudy", "serve", "--port", "0", *map(str, office.words())]
    other = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False, stdin=subprocess.DEVNULL)
    assert other.returncode == 1 and "SQLite is for one server" in other.stderr, other.stderr

    async def later() -> None:
        caller = Caller(alive.url, key)
        status, said = await caller.score(question)
        assert status == 200 and said["cost"]["epsilon"] == PRICE
        assert office.books() == (2, [])
        status, refused = await caller.score({**question, "systolicBP": 200})
        assert status == 429 and refused["remaining"]["model"] == 0.0
        assert (await caller.score(question))[1]["score"] == said["score"]

    asyncio.run(later())
    assert office.books() == (2, [])
