"""An attempt that was taken for dead and is not: it sends the stored answer, never its own draw.

Two draws for one question would be two looks at the counts; whoever saw both could average the noise away.
"""

import json
import threading

import pytest
from sqlalchemy import text

from understudy.service import desk

LATE, ALIVE = (0.125, 0.0, 0.25), (0.875, 0.75, 1.0)
"""What the attempt that was given up draws, and what the one that replaced it draws."""
SENT = {"score": 0.875, "low": 0.75, "high": 1.0}


@pytest.fixture
def draws(make_service, monkeypatch):
    """A service that gives every attempt up at once, and a way to say what happens during the first and second draw."""
    service = make_service(abandoned=0.0)
    monkeypatch.setattr(desk, "_PATIENCE", 60.0)  # a busy machine must not make a reply out of it
    during = []

    def noisy_score(_, codes, stream):
        step, drawn = during.pop(0)
        step()
        return drawn

    monkeypatch.setattr(type(service.sepsis.model), "noisy_score", noisy_score)
    return service, during


def scores(said):
    assert said.status_code == 200, said.text
    return {name: said.json()[name] for name in ("score", "low", "high")}


def check_books(service):
    """Both attempts were paid, and one answer is stored for good."""
    with service.store.reading() as connection:
        row = connection.execute(text("SELECT * FROM understudy_answers")).one()
    assert json.loads(row.answer) == SENT and row.attempts == 2
    assert service.spent == 10**9 and service.budgets.faults() == []
    assert scores(service.ask()) == SENT and service.spent == 10**9


def test_an_answer_that_was_stored_meanwhile_is_sent(draws):
    service, during = draws
    replies = []
    during += [(lambda: replies.append(service.ask()), LATE), (lambda: None, ALIVE)]
    late = service.ask()
    assert during == []
    assert scores(replies[0]) == SENT
    assert scores(late) == SENT, "not what it has drawn itself"
    check_books(service)


def test_an_answer_that_is_not_stored_yet_is_waited_for(draws, monkeypatch):
    """The late attempt has drawn, the one that replaced it has not: nothing may be sent before that is stored."""
    service, during = draws
    replies, drawing, gave_up = [], threading.Event(), threading.Event()
    other = threading.Thread(target=lambda: replies.append(service.ask()))
    settle = service.budgets.settle

    def settled(*arguments):
        stored = settle(*arguments)
        if not gave_up.is_set():
            assert stored == {}, "its line is no longer its own"
            gave_up.set()
        return stored

    def start_the_other():
        other.start()
        assert drawing.wait(60)

    def wait_for_the_late_one():
        drawing.set()
        assert gave_up.wait(60)

    monkeypatch.setattr(service.budgets, "settle", settled)
    during += [(start_the_other, LATE), (wait_for_the_late_one, ALIVE)]
    late = service.ask()
    other.join(60)
    assert during == []
    assert scores(replies[0]) == SENT
    assert scores(late) == SENT, "not what it has drawn itself"
    check_books(service)
