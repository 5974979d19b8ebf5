"""Budgets of keys inside projects inside data sets: exact under rivals, and never live without the account's charge."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import update

from understudy.errors import BudgetError, ParameterError
from understudy.privacy import Neighbours
from understudy.privacy.account import Account, ChargeState
from understudy.privacy.transaction import Payment, Point
from understudy.service import KeyBook
from understudy.service.amounts import Amount
from understudy.service.caps import paid_amount, set_data_cap
from understudy.service.projects import Projects
from understudy.service.questions import Asked, NoMemberError, Questions, UncoveredError
from understudy.service.tables import Status, members

CAP = Amount.cap(3.0, 1e-6)


def asked(name: str = "count by sex", *, epsilon: float = 0.5, delta: float = 0.0, status=Status.APPROVED) -> Asked:
    return Asked(
        question=f"{name} {epsilon} {delta}".encode(),
        text=name,
        terms="{}",
        price=Amount.price(epsilon, delta),
        synthetic="[]",
        status=status,
        words="",
    )


class Office:
    """A data set with one project and its keys."""

    def __init__(self, store, *, cap=CAP, project=None, key=None, keys: int = 2) -> None:
        self.projects = Projects(store)
        self.questions = Questions(self.projects, abandoned=600.0)
        self.projects.set_data_cap("stays", cap, account="a" * 32)
        self.projects.create("readmission", "stays", project or cap)
        self.book = KeyBook(store)
        self.keys = [self.book.create(label=f"k{n}", scopes=["answer"]).key.key_id for n in range(keys)]
        for each in self.keys:
            self.projects.join("readmission", each, key or cap)

    def member(self, number: int = 0):
        found = self.projects.membership(self.keys[number], "stays")
        assert found is not None
        return found

    def buy(self, name: str, number: int = 0, **terms):
        """The line, and the attempt that was paid for."""
        line = self.questions.put(self.member(number), asked(name, **terms))
        return line, self.questions.charge(self.member(number), line)

    def spent(self) -> tuple[Amount, Amount, Amount]:
        member = self.member()
        return member.key.spent, member.whole.spent, member.everybody.spent


def test_one_charge_takes_from_all_three_purses(store):
    office = Office(store)
    line, attempt = office.buy("count by sex", epsilon=0.5, delta=1e-9)
    assert attempt == 1 and office.spent() == (Amount.price(0.5, 1e-9),) * 3
    stored = office.questions.settle(line, attempt, '{"figures": []}')
    assert (stored.status, stored.answer) == ("answered", '{"figures": []}')
    assert office.projects.faults() == []


def test_the_same_question_of_a_project_is_one_line_for_all_its_keys(store):
    office = Office(store)
    line, attempt = office.buy("count by sex")
    assert office.buy("count by sex", 1) == (line_now(office, line), None), "somebody is at it"
    office.questions.settle(line, attempt, "42")
    again, nothing = office.buy("count by sex", 1)
    assert (again.answer_id, again.answer, nothing) == (line.answer_id, "42", None)
    other, second = office.buy("count by sex", 1, epsilon=0.25)
    assert other.answer_id != line.answer_id and second == 1, "another epsilon is another question, and pays"
    assert office.spent() == (Amount.price(0.5), Amount.price(0.75), Amount.price(0.75))


def line_now(office, line):
    return office.questions.find(line.answer_id)


@pytest.mark.parametrize(
    ("caps", "left"),
    [
        ({"key": Amount.cap(0.7, 1e-6)}, "key"),
        ({"project": Amount.cap(0.7, 1e-6)}, "project"),
        ({"cap": Amount.cap(0.7, 1e-6), "project": CAP, "key": CAP}, "data"),
    ],
    ids=["key", "project", "data"],
)
def test_every_level_refuses_and_then_nothing_is_spent(caps, left, store):
    office = Office(store, **caps)
    office.buy("count by sex", epsilon=0.5)
    with pytest.raises(UncoveredError, match="Nothing was spent") as refused:
        office.buy("count by age", epsilon=0.3)
    assert refused.value.member.remaining()[left]["epsilon"] == pytest.approx(0.2)
    assert office.spent() == (Amount.price(0.5),) * 3 and office.projects.faults() == []
    _, attempt = office.buy("count by ward", epsilon=0.2)
    assert attempt == 1, "to the last billionth"


def test_delta_is_a_budget_of_its_own(store):
    office = Office(store, cap=Amount.cap(3.0, 1e-6))
    office.buy("a", epsilon=0.1, delta=1e-6)
    with pytest.raises(UncoveredError, match="delta 1e-18"):
        office.buy("b", epsilon=0.1, delta=1e-18)
    assert office.buy("c", epsilon=0.1)[1] == 1, "pure answers need none"
    assert office.projects.faults() == []


def test_a_question_that_waits_or_was_declined_cannot_be_paid_for(store):
    office = Office(store)
    line = office.questions.put(office.member(), asked("count by sex", status=Status.ASKED))
    assert office.questions.charge(office.member(), line) is None
    office.questions.decide(line.answer_id, approve=False, words="Too fine.", by="steward")
    assert office.questions.charge(office.member(), line) is None and office.spent() == (Amount(epsilon=0),) * 3
    assert line_now(office, line).words == "Too fine."
    office.questions.decide(line.answer_id, approve=True, by="steward")
    assert office.questions.charge(office.member(), line) == 1
    for approve in (True, False):
        with pytest.raises(ParameterError, match="paid for"):
            office.questions.decide(line.answer_id, approve=approve, words="late", by="steward")


def test_declining_needs_words(store):
    office = Office(store)
    line = office.questions.put(office.member(), asked(status=Status.ASKED))
    with pytest.raises(ParameterError, match="words"):
        office.questions.decide(line.answer_id, approve=False, words="  ", by="steward")
    with pytest.raises(ParameterError, match="no question"):
        office.questions.decide("nobody", approve=True, by="steward")


def test_what_failed_is_paid_for_again_and_what_is_under_way_is_not(store):
    office = Office(store)
    line, attempt = office.buy("count by sex")
    assert office.questions.charge(office.member(1), line) is None, "the first is still at it"
    assert office.questions.settle(line, attempt, None).status == "failed"
    assert office.questions.charge(office.member(1), line) == 2
    assert office.spent() == (Amount.price(0.5), Amount.price(1.0), Amount.price(1.0))
    late = office.questions.settle(line, attempt, "of the first attempt")
    assert late.answer is None, "a replaced attempt does not answer"
    assert office.questions.settle(line, 2, "of the second").answer == "of the second"
    assert office.projects.faults() == []


def test_a_dead_attempt_is_taken_over_by_paying(store):
    office = Office(store)
    line, _ = office.buy("count by sex")
    hasty = Questions(office.projects, abandoned=0.0)
    assert hasty.charge(office.member(1), line) == 2 and office.projects.faults() == []


def test_a_revoked_key_and_a_stranger_spend_nothing(store):
    office = Office(store)
    member = office.member()
    line = office.questions.put(member, asked())
    office.book.revoke(office.keys[0])
    with pytest.raises(NoMemberError, match="projects add"):
        office.questions.charge(member, line)
    assert office.projects.membership("nobody", "stays") is None
    assert office.spent() == (Amount(epsilon=0),) * 3


def test_budgets_are_exact_under_rivals(store):
    """Sixteen threads, two of them at each question; the cap pays for twelve of twenty."""
    office = Office(store, cap=Amount.cap(6.0), keys=16)
    told, lock = {}, threading.Lock()

    def client(number: int) -> int:
        refused = 0
        for turn in range(20):
            name = f"q{(turn * 7 + number // 2) % 20}"
            try:
                line, attempt = office.buy(name, number)
            except UncoveredError:
                refused += 1
                continue
            if attempt is not None:
                stored = office.questions.settle(line, attempt, f"{name} by {number}")
                with lock:
                    assert told.setdefault(name, stored.answer) == stored.answer
        return refused

    with ThreadPoolExecutor(16) as pool:
        refusals = sum(pool.map(client, range(16)))
    assert len(told) == 12 and refusals > 0
    member = office.member()
    assert (member.whole.spent, member.everybody.spent) == (Amount.price(6.0),) * 2
    assert office.projects.faults() == []


def test_caps_never_fall_below_what_is_spent(store):
    office = Office(store)
    office.buy("count by sex", epsilon=0.5, delta=1e-9)
    for cap in (Amount.cap(0.4, 1e-6), Amount.cap(3.0)):
        with pytest.raises(ParameterError, match="cannot take back"):
            office.projects.set_cap("readmission", cap)
        with pytest.raises(ParameterError, match="cannot take back"):
            office.projects.join("readmission", office.keys[0], cap)
        with pytest.raises(ParameterError, match="cannot take back"):
            office.projects.set_data_cap("stays", cap, account="a" * 32)
    office.projects.set_cap("readmission", Amount.cap(0.5, 1e-9))
    with pytest.raises(UncoveredError):
        office.buy("count by ward", epsilon=1e-9)


def test_names_accounts_and_projects_are_checked(store):
    office = Office(store)
    with pytest.raises(ParameterError, match="another account"):
        office.projects.set_data_cap("stays", CAP, account="b" * 32)
    with pytest.raises(ParameterError, match="already"):
        office.projects.create("readmission", "stays", CAP)
    with pytest.raises(ParameterError, match="no default for privacy"):
        office.projects.create("other", "unknown", CAP)
    with pytest.raises(ParameterError, match="small letters"):
        office.projects.create("../x", "stays", CAP)
    office.projects.create("other", "stays", CAP)
    with pytest.raises(ParameterError, match="one project"):
        office.projects.join("other", office.keys[0], CAP)


def test_the_ledger_has_every_cap_and_every_payment(store):
    office = Office(store)
    line, attempt = office.buy("count by sex")
    office.questions.settle(line, attempt, None)
    office.questions.settle(line, office.questions.charge(office.member(1), line), "42")
    written = office.projects.ledger("stays")
    assert [entry["what"] for entry in written].count("cap") == 4
    answers = [entry for entry in written if entry["what"] == "answer"]
    assert [(entry["attempt"], entry["answered"], entry["key_id"]) for entry in answers] == [
        (1, False, office.keys[0]),
        (2, True, office.keys[1]),
    ]
    assert sum(entry["epsilon"] for entry in answers) == office.member().everybody.spent.to_dict()["epsilon"]


def test_an_altered_database_is_noticed(store):
    office = Office(store)
    office.buy("count by sex")
    with store.writing() as connection:
        connection.execute(update(members).values(spent=0))
    assert any(office.keys[0] in fault for fault in office.projects.faults("stays"))
    assert office.projects.faults() == office.projects.faults("stays") and office.projects.faults("visits") == []


# The account


@pytest.fixture
def account(tmp_path):
    return Account.create(
        tmp_path / "stays.account", dataset="stays", epsilon=5.0, delta=1e-5, neighbours=Neighbours.ADD_REMOVE
    )


def test_a_cap_is_charged_and_only_its_rise_again(lite, account):
    projects = Projects(lite)
    for cap, paid in [
        (Amount.cap(1.0), Amount.cap(1.0)),
        (Amount.cap(0.5, 1e-6), Amount.cap(1.0, 1e-6)),
        (Amount.cap(2.0, 1e-6), Amount.cap(2.0, 1e-6)),
    ]:
        set_data_cap(projects, "stays", cap, account=account, database=lite.identity)
        assert projects.budget_of("stays").cap == cap
        assert paid_amount(account, "stays", lite.identity) == paid
    assert (account.spent().epsilon, account.spent().delta) == (2.0, pytest.approx(1e-6))
    assert {charge.state for charge in account.history()} == {ChargeState.COMMITTED}


def test_every_rise_is_charged_however_small(lite, account):
    """The charges of two rises must not read alike: what reads alike is charged once."""
    projects = Projects(lite)
    for cap in (1, 1 + 1e-7, 1 + 2e-7, 1 + 3e-7):
        set_data_cap(projects, "stays", Amount.cap(cap, 1e-6), account=account, database=lite.identity)
        assert paid_amount(account, "stays", lite.identity) == projects.budget_of("stays").cap
    for delta in (1e-6 + 1e-13, 1e-6 + 2e-13):
        set_data_cap(projects, "stays", Amount.cap(2, delta), account=account, database=lite.identity)
        assert paid_amount(account, "stays", lite.identity) == projects.budget_of("stays").cap


def test_another_database_has_paid_for_nothing(lite, account):
    projects = Projects(lite)
    set_data_cap(projects, "stays", Amount.cap(1.0), account=account, database=lite.identity)
    set_data_cap(Projects(lite), "stays", Amount.cap(1.0), account=account, database="f" * 32)
    assert account.spent().epsilon == 2.0


PLACES = [Point.RESERVED, Point.COMMITTING, Point.COMMITTED]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError("disk")], ids=lambda e: type(e).__name__)
@pytest.mark.parametrize("where", PLACES, ids=str)
def test_no_cap_is_live_that_was_not_charged(where, error, lite, account, monkeypatch):
    projects = Projects(lite)

    def reached(self, point):
        if point is where:
            raise error

    with monkeypatch.context() as patched:
        patched.setattr(Payment, "reached", reached)
        with pytest.raises(type(error)):
            set_data_cap(projects, "stays", Amount.cap(3.0), account=account, database=lite.identity)
    with pytest.raises(ParameterError):
        projects.budget_of("stays")
    set_data_cap(projects, "stays", Amount.cap(3.0), account=account, database=lite.identity)
    assert account.spent().epsilon == 3.0 and projects.budget_of("stays").cap == Amount.cap(3.0)
    assert ChargeState.HELD not in [charge.state for charge in account.history()]


def test_what_the_account_does_not_cover_is_refused_before_anything_is_live(lite, account):
    projects = Projects(lite)
    with pytest.raises(BudgetError, match="above its cap"):
        set_data_cap(projects, "stays", Amount.cap(9.0), account=account, database=lite.identity)
    with pytest.raises(ParameterError):
        projects.budget_of("stays")
    assert account.history() == []
