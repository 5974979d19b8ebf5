"""Random walks of charges beside sums by hand: what was paid is attempts times price, and never above a cap.

Nothing here knows how the service does it (decision 0178). A walk that fails names its seed.
"""

import random
import time
from fractions import Fraction
from types import SimpleNamespace

import pytest
from sqlalchemy import update

from understudy.errors import BudgetError, ParameterError, RefusalError
from understudy.mechanisms.leaf_answers import call_ledger
from understudy.privacy import Neighbours
from understudy.privacy.account import Account
from understudy.service import Budgets, KeyBook, caps
from understudy.service.amounts import Amount
from understudy.service.budgets import Balance, NoGrantError, SpentError
from understudy.service.projects import Budget, Projects
from understudy.service.questions import Asked, NoMemberError, Questions, UncoveredError
from understudy.service.tables import Status, answers, questions

UNIT = 10**8
"""A tenth of an epsilon, in the billionths that are stored."""


# ---- budgets of models

PRICES = {"m" * 64: 1, "n" * 64: 3}
"""In units."""
ASKABLE = [bytes([number]) for number in range(6)]


class Shop:
    """What a steward would write on paper: caps, grants, and of each question its attempts and its answer."""

    def __init__(self, store, seed):
        self.random, self.store = random.Random(seed), store
        self.budgets, self.book = Budgets(store, abandoned=60.0), KeyBook(store)
        self.keys = [self.book.create(label=str(number), scopes=["score"]).key.key_id for number in range(2)]
        for model, price in PRICES.items():
            self.budgets.register(model, name=model[:3], price=price / 10)
        self.caps = dict.fromkeys(PRICES)
        self.grants, self.revoked = {}, set()
        self.lines = {}  # (key, model, question): attempts, answer, whether the attempt is dead

    def spent(self, model, key=None):
        return sum(
            line.attempts * PRICES[model]
            for (owner, of, _), line in self.lines.items()
            if of == model and key in (None, owner)
        )

    def cap(self):
        model, units = self.random.choice(list(PRICES)), self.random.randint(1, 20)
        if units < self.spent(model):
            for refused in (self.budgets.check_cap, self.budgets.set_cap):
                with pytest.raises(ParameterError, match="spent already"):
                    refused(model, units / 10)
        else:
            self.budgets.check_cap(model, units / 10)
            self.budgets.set_cap(model, units / 10)
            self.caps[model] = units

    def grant(self):
        key, model = self.random.choice(self.keys), self.random.choice(list(PRICES))
        units = self.random.randint(1, 12)
        if units < self.spent(model, key):
            with pytest.raises(ParameterError, match="spent already"):
                self.budgets.grant(key, model, units / 10)
        else:
            self.budgets.grant(key, model, units / 10)
            self.grants[key, model] = units

    def revoke(self):
        if len(self.keys) < 6:
            key = self.random.choice(self.keys)
            self.book.revoke(key)
            self.revoked.add(key)
            self.keys.append(self.book.create(label="more", scopes=["score"]).key.key_id)

    def die(self):
        """The server that drew one of the answers dies: long ago, as its line says."""
        under_way = [name for name, line in self.lines.items() if line.answer is None]
        if under_way:
            key, model, question = name = self.random.choice(under_way)
            here = (answers.c.key_id == key, answers.c.model_id == model, answers.c.question == question)
            with self.store.writing() as connection:
                connection.execute(update(answers).where(*here).values(since=time.time() - 99))
            self.lines[name].is_dead = True

    def charge(self):
        key, model = self.random.choice(self.keys), self.random.choice(list(PRICES))
        asked = self.random.choices(ASKABLE, k=self.random.randint(1, 4))
        known = {question: self.lines.get((key, model, question)) for question in asked}
        to_pay = {q for q, line in known.items() if line is None or (line.answer is None and line.is_dead)}
        stored = {q: line.answer for q, line in known.items() if line and line.answer is not None}
        cost, cap, grant = len(to_pay) * PRICES[model], self.caps[model], self.grants.get((key, model))
        if to_pay and (cap is None or grant is None or key in self.revoked):
            with pytest.raises(NoGrantError):
                self.budgets.charge(key, model, asked)
        elif to_pay and (self.spent(model) + cost > cap or self.spent(model, key) + cost > grant):
            with pytest.raises(SpentError) as refused:
                self.budgets.charge(key, model, asked)
            left = (grant - self.spent(model, key), cap - self.spent(model))
            said = (refused.value.key.left, refused.value.model.left)
            assert said == tuple(units * UNIT for units in left) and refused.value.asked == cost * UNIT
        else:
            charged = self.budgets.charge(key, model, asked)
            for question in to_pay:
                line = self.lines.setdefault((key, model, question), SimpleNamespace(attempts=0))
                line.attempts, line.answer, line.is_dead = line.attempts + 1, None, False
            assert charged.paid == {q: self.lines[key, model, q].attempts for q in to_pay}
            assert charged.stored == stored and set(charged.waiting) == set(known) - to_pay - set(stored)

    def settle(self):
        if self.lines:
            (key, model, question), line = self.random.choice(list(self.lines.items()))
            attempt = max(1, line.attempts - self.random.randint(0, 1))
            text = f"answer {self.random.random()}"
            if line.answer is None and attempt == line.attempts:
                line.answer = text
            settled = self.budgets.settle(key, model, {question: (attempt, text)})
            assert settled == ({} if line.answer is None else {question: line.answer})

    def check(self):
        budgets = self.budgets
        whole = {
            model: cap and Balance(cap=cap * UNIT, spent=self.spent(model) * UNIT) for model, cap in self.caps.items()
        }
        assert budgets.model_balances() == {model: (model[:3], balance) for model, balance in whole.items()}
        own = {
            (key, model): Balance(cap=units * UNIT, spent=self.spent(model, key) * UNIT)
            for (key, model), units in self.grants.items()
        }
        for model in PRICES:
            assert budgets.grants_of(model) == {key: own[key, of] for key, of in own if of == model}
        for key in self.keys:
            mine = {model: (own[who, model], whole[model]) for who, model in own if who == key and whole[model]}
            assert budgets.balances(key) == mine
            for model in PRICES:
                found = {q: self.lines.get((key, model, q)) for q in ASKABLE}
                there = {q: line.answer for q, line in found.items() if line and line.answer is not None}
                assert budgets.stored(key, model, ASKABLE) == there
        assert budgets.faults() == []


@pytest.mark.parametrize("seed", range(3))
def test_every_attempt_at_a_score_is_paid_for_and_no_cap_is_passed(lite, seed):
    shop = Shop(lite, seed)
    steps = [shop.charge] * 9 + [shop.settle] * 4 + [shop.cap] * 2 + [shop.grant] * 3 + [shop.die] * 2 + [shop.revoke]
    for number in range(120):
        shop.random.choice(steps)()
        if number % 12 == 11:
            shop.check()
    assert len(shop.lines) > 5


# ---- budgets of projects

DATA = ("stays", "visits")
PROJECTS = {"one": "stays", "two": "stays", "three": "visits"}


class Office:
    """What a steward would write on paper: caps at three levels, members, questions, and who paid for which attempt."""

    def __init__(self, store, seed):
        self.random, self.store = random.Random(seed), store
        self.projects, self.book = Projects(store), KeyBook(store)
        self.questions = Questions(self.projects, abandoned=60.0)
        self.keys = [self.book.create(label=str(number), scopes=["answer"]).key.key_id for number in range(3)]
        self.revoked, self.caps, self.home = set(), {}, {}  # caps by purse; project by key and data set
        for data in DATA:
            self.projects.set_data_cap(data, self._cap(("data", data), 30, 30), account=data * 4)
        for project, data in PROJECTS.items():
            self.projects.create(project, data, self._cap(("project", project), 20, 20))
        for key, project in zip(self.keys, PROJECTS, strict=True):
            self._join(key, project, 12, 12)
        self.lines = {}  # (project, text): what is known of the question
        self.payments = []  # purses, epsilon, delta

    def _cap(self, purse, epsilon, delta):
        self.caps[purse] = Amount(epsilon=epsilon * UNIT, delta=delta * UNIT)
        return self.caps[purse]

    def _join(self, key, project, epsilon, delta):
        data = PROJECTS[project]
        self.projects.join(project, key, self._cap(("key", key, data), epsilon, delta))
        self.home[key, data] = project

    def spent(self, purse):
        paid = [price for purses, price in self.payments if purse in purses]
        return Amount(epsilon=sum(price.epsilon for price in paid), delta=sum(price.delta for price in paid))

    def cap(self):
        purse = self.random.choice(list(self.caps))
        cap = Amount(epsilon=self.random.randint(1, 40) * UNIT, delta=self.random.randint(0, 40) * UNIT)
        sets = {
            "data": lambda: self.projects.set_data_cap(purse[1], cap, account=purse[1] * 4),
            "project": lambda: self.projects.set_cap(purse[1], cap),
            "key": lambda: self.projects.join(self.home[purse[1:]], purse[1], cap),
        }
        spent = self.spent(purse)
        if spent.epsilon > cap.epsilon or spent.delta > cap.delta:
            with pytest.raises(ParameterError, match="spent already"):
                sets[purse[0]]()
        else:
            sets[purse[0]]()
            self.caps[purse] = cap

    def member(self):
        """Another key comes into a project, or one that is there asks for another project, which is refused."""
        key, project = self.random.choice(self.keys), self.random.choice(list(PROJECTS))
        home = self.home.get((key, PROJECTS[project]))
        if home is None:
            self._join(key, project, 6, 6)
        elif home != project:
            with pytest.raises(ParameterError, match="asks for the project"):
                self.projects.join(project, key, Amount(epsilon=UNIT))

    def revoke(self):
        if len(self.keys) < 6:
            key = self.random.choice(self.keys)
            self.book.revoke(key)
            self.revoked.add(key)
            self.keys.append(self.book.create(label="more", scopes=["answer"]).key.key_id)

    def put(self):
        (key, data), project = self.random.choice(list(self.home.items()))
        text, status = f"q{self.random.randint(0, 9)}", self.random.choice([Status.ASKED, Status.APPROVED])
        price = Amount(epsilon=self.random.randint(1, 4) * UNIT, delta=self.random.randint(0, 3) * UNIT)
        member = self.projects.membership(key, data)
        asked = Asked(
            question=text.encode(), text=text, terms="{}", price=price, synthetic="[]", status=status, words=""
        )
        line = self.questions.put(member, asked)
        if (project, text) not in self.lines:
            waits = status is Status.ASKED
            self.lines[project, text] = SimpleNamespace(
                id=line.answer_id, price=price, status=status, attempts=0, answer=None, is_dead=False,
                by=None if waits else "rules", key=key, data=data,
            )  # fmt: skip
        assert line.answer_id == self.lines[project, text].id, "the first line stays, at its first price"

    def _some(self):
        (project, _), known = self.random.choice(list(self.lines.items()))
        return project, known, self.questions.find(known.id)

    def decide(self):
        if self.lines:
            _, known, _ = self._some()
            approve = self.random.random() < 0.7
            other = Status.APPROVED if approve else Status.DECLINED
            open_ones = {Status.ASKED, Status.APPROVED, Status.DECLINED} - {other}
            if known.attempts == 0 and known.status in open_ones:
                self.questions.decide(known.id, approve=approve, words="why", by="steward")
                known.status, known.by = other, "steward"
            else:
                with pytest.raises(ParameterError, match="only what waits"):
                    self.questions.decide(known.id, approve=approve, words="why", by="steward")

    def judge(self):
        if self.lines:
            _, known, line = self._some()
            status = self.random.choice([Status.APPROVED, Status.DECLINED])
            if known.attempts == 0 and known.by == "rules":
                known.status = status
            assert self.questions.judge_again(line, status, "rule").status == known.status

    def charge(self):
        if self.lines:
            project, known, line = self._some()
            keys = [key for (key, data), home in self.home.items() if (data, home) == (PROJECTS[project], project)]
            key = self.random.choice(keys)
            purses = {("key", key, known.data), ("project", project), ("data", known.data)}
            member = self.projects.membership(key, known.data)
            fits = all(self.caps[purse].covers(_sum(self.spent(purse), known.price)) for purse in purses)
            fresh = known.attempts == 0 or known.is_dead
            if not (known.status is Status.FAILED or (known.status is Status.APPROVED and fresh)):
                assert self.questions.charge(member, line) is None
            elif key in self.revoked:
                with pytest.raises(NoMemberError):
                    self.questions.charge(member, line)
            elif not fits:
                with pytest.raises(UncoveredError) as refused:
                    self.questions.charge(member, line)
                assert refused.value.asked == known.price
            else:
                known.attempts, known.status, known.is_dead = known.attempts + 1, Status.APPROVED, False
                assert self.questions.charge(member, line) == known.attempts
                self.payments.append((purses, known.price))

    def die(self):
        at = [line for line in self.lines.values() if line.status is Status.APPROVED and line.attempts]
        if at:
            known = self.random.choice(at)
            with self.store.writing() as connection:
                change = update(questions).where(questions.c.answer_id == known.id)
                connection.execute(change.values(since=time.time() - 99))
            known.is_dead = True

    def settle(self):
        drawn = [(project, line) for (project, _), line in self.lines.items() if line.attempts]
        if drawn:
            _, known = self.random.choice(drawn)
            attempt = max(1, known.attempts - self.random.randint(0, 1))
            answer = self.random.choice([None, f"{self.random.random()}"])
            if attempt == known.attempts and known.answer is None:
                known.answer, known.status = answer, Status.FAILED if answer is None else Status.ANSWERED
            line = self.questions.settle(self.questions.find(known.id), attempt, answer)
            assert (line.status, line.answer) == (known.status, known.answer)

    def check(self):
        def budget(*purse):
            return Budget(cap=self.caps[purse], spent=self.spent(purse))

        for (key, data), project in self.home.items():
            member = self.projects.membership(key, data)
            told = (member.project, member.key, member.whole, member.everybody)
            assert told == (project, budget("key", key, data), budget("project", project), budget("data", data))
        for data in DATA:
            assert self.projects.budget_of(data) == budget("data", data) and self.projects.faults(data) == []
            assert self.projects.account_of(data) == data * 4
            answered = [entry for entry in self.projects.ledger(data) if entry["what"] == "answer"]
            price = self.spent(("data", data)).to_dict()
            assert {name: sum(entry[name] for entry in answered) for name in price} == pytest.approx(price)
            said = sum(entry["answered"] for entry in answered)
            assert said == sum(line.answer is not None for line in self.lines.values() if line.data == data)
            for status in Status:
                found = {line.answer_id for line in self.questions.queue([data], status)}
                assert found == {line.id for line in self.lines.values() if (line.data, line.status) == (data, status)}
            assert {line["project"]: len(line["members"]) for line in self.projects.all(data)} == {
                project: sum(home == project for home in self.home.values())
                for project, of in PROJECTS.items()
                if of == data
            }
        for line in self.lines.values():
            stored = self.questions.find(line.id)
            assert (stored.status, stored.attempts, stored.answer, stored.decided_by, stored.key_id) == (
                line.status, line.attempts, line.answer, line.by, line.key,
            )  # fmt: skip
            assert Amount(epsilon=stored.price, delta=stored.price_delta) == line.price
        assert self.projects.faults() == []


def _sum(one, other):
    return Amount(epsilon=one.epsilon + other.epsilon, delta=one.delta + other.delta)


@pytest.mark.parametrize("seed", range(3))
def test_every_attempt_at_an_answer_is_paid_by_key_project_and_data_set(lite, seed):
    office = Office(lite, seed)
    steps = [office.charge] * 14 + [office.put] * 6 + [office.settle] * 5 + [office.die] * 2 + [office.decide] * 2
    steps += [office.judge, office.cap, office.cap, office.member, office.revoke]
    for number in range(200):
        office.random.choice(steps)()
        if number % 20 == 19:
            office.check()
    assert len(office.payments) > 5 and len({price.delta for _, price in office.payments}) > 1


def test_what_is_refused_leaves_no_trace(lite):
    """A payer who cannot pay leaves no line behind, in which a later question would wait for nobody."""
    shop = Shop(lite, 0)
    key, model = shop.keys[0], "m" * 64
    for wanted in (NoGrantError, SpentError):
        with pytest.raises(wanted) as refused:
            shop.budgets.charge(key, model, ASKABLE)
        assert isinstance(refused.value, BudgetError) and shop.budgets.faults() == []
        shop.budgets.set_cap(model, 0.5)
        shop.budgets.grant(key, model, 0.5)
    assert shop.budgets.charge(key, model, ASKABLE[:5]).paid == dict.fromkeys(ASKABLE[:5], 1)


# ---- caps that an account pays for


def account_of(place):
    return Account.create(place, dataset="d", epsilon=9.0, delta=1e-3, neighbours=Neighbours.ADD_REMOVE)


def test_a_cap_that_is_refused_charges_nobody(lite, tmp_path):
    first, second = account_of(tmp_path / "a"), account_of(tmp_path / "b")
    projects, words = Projects(lite), {"database": lite.identity}
    caps.set_data_cap(projects, "stays", Amount.cap(1.0), account=first, **words)
    with pytest.raises(ParameterError, match="another account"):
        caps.set_data_cap(projects, "stays", Amount.cap(2.0), account=second, **words)
    with pytest.raises(ParameterError, match="small letters"):
        caps.set_data_cap(projects, "No", Amount.cap(2.0), account=second, **words)
    assert second.history() == [] and first.spent().epsilon == 1.0


def test_one_charge_covers_so_many_answers_and_none_more(lite, tmp_path, monkeypatch):
    monkeypatch.setattr(caps, "MOST_CALLS", 3)
    monkeypatch.setattr(caps, "_call_ledger", lambda _served: call_ledger(Fraction(4), 2))
    model = SimpleNamespace(price_per_call=0.5, method="m", version=1)
    served = SimpleNamespace(model=model, name="m", model_id="m" * 64, price=5 * UNIT, promises=True)
    account, budgets = account_of(tmp_path / "a"), Budgets(lite)
    for epsilon, fits, answers_paid in (
        (2.0, False, 0), (1.9, True, 3), (3.5, False, 3), (3.4, True, 6), (0.5, True, 6), (3.0, True, 6),
    ):  # fmt: skip
        if not fits:
            with pytest.raises(RefusalError, match="one charge covers at most 3"):
                caps.set_cap(budgets, served, epsilon, account=account)
        else:
            caps.set_cap(budgets, served, epsilon, account=account)
            assert budgets.model_balances()["m" * 64][1].cap == round(epsilon * 10**9)
        assert caps.paid_answers(budgets, served, account) == answers_paid
        assert account.spent().epsilon == answers_paid * 0.5
