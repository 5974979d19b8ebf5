"""Caps that an account pays for: never a live cap without its charge, whatever strikes, and nothing charged twice."""

import shutil

import pytest
from sqlalchemy import update

from tests.unit.tree_tables import changed
from understudy.errors import BudgetError, ParameterError, RefusalError
from understudy.privacy import Neighbours
from understudy.privacy.account import Account, ChargeState
from understudy.privacy.transaction import Payment, Point
from understudy.service import Budgets, Store, caps
from understudy.service.caps import paid_answers, set_cap
from understudy.service.served import Served
from understudy.service.tables import cap_changes, meta, models
from understudy.trees.examples import septic_shock_example

PRICE = 0.5


@pytest.fixture
def store(tmp_path):
    with Store.open(f"sqlite:///{tmp_path / 'service.db'}") as opened:
        yield opened


@pytest.fixture
def budgets(store):
    return Budgets(store)


@pytest.fixture
def served():
    return Served(model=septic_shock_example(epsilon=PRICE))


@pytest.fixture
def account(tmp_path):
    return new_account(tmp_path / "a.account")


def new_account(path, epsilon=10.0):
    return Account.create(path, dataset="patients", epsilon=epsilon, delta=0.0, neighbours=Neighbours.ADD_REMOVE)


def live(budgets, served):
    """Answers that the cap allows now."""
    _, balance = budgets.model_balances()[served.model_id]
    return 0 if balance is None else balance.cap // served.price


def charged(account):
    """Answers that the account counts as spent."""
    return round(account.spent().epsilon / PRICE, 9)


def test_a_cap_is_charged_and_only_its_rise_again(budgets, served, account):
    for epsilon, wanted, paid in [(2.2, 4, 4), (1.0, 2, 4), (2.0, 4, 4), (4.0, 8, 8)]:
        set_cap(budgets, served, epsilon, account=account)
        assert (live(budgets, served), charged(account)) == (wanted, paid)
    assert [charge.state for charge in account.history()] == [ChargeState.COMMITTED] * 2
    assert [charge.label.partition(" of ")[0] for charge in account.history()] == ["answers 1 to 4", "answers 5 to 8"]
    what = f"score {served.model_id} of service {budgets.database}"
    assert {charge.pays_for for charge in account.history()} == {what}
    assert all(charge.digest for charge in account.history())


def test_the_service_remembers_which_account_it_was(store, budgets, served, account):
    set_cap(budgets, served, 2.0, account=account)
    with store.reading() as connection:
        (row,) = connection.execute(cap_changes.select()).all()
    assert row.dataset == account.identity


class _Struck(Exception):
    """Stands for whatever ends a run."""


def strike(monkeypatch, where, error):
    """Raise at a point of the payment, or just before or after the cap is set."""
    if isinstance(where, Point):

        def reached(self, point):
            if point is where:
                raise error

        monkeypatch.setattr(Payment, "reached", reached)
        return
    real = Budgets.set_cap

    def setting(self, *words, **named):
        if where == "after":
            real(self, *words, **named)
        raise error

    monkeypatch.setattr(Budgets, "set_cap", setting)


PLACES = [Point.RESERVED, Point.COMMITTING, Point.COMMITTED, "before", "after"]
"""Points that setting a cap passes: it draws nothing."""


@pytest.mark.parametrize("earlier", [0.0, 1.0], ids=["first cap", "a rise"])
@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError("disk"), _Struck()], ids=lambda e: type(e).__name__)
@pytest.mark.parametrize("where", PLACES, ids=str)
def test_no_cap_is_live_that_was_not_charged(where, error, earlier, budgets, served, account, monkeypatch):
    if earlier:
        set_cap(budgets, served, earlier, account=account)
    with monkeypatch.context() as patched:
        strike(patched, where, error)
        with pytest.raises(type(error)):
            set_cap(budgets, served, 3.0, account=account)
    assert live(budgets, served) == (6 if where == "after" else earlier // PRICE)
    assert charged(account) == (earlier // PRICE if where is Point.RESERVED else 6)
    set_cap(budgets, served, 3.0, account=account)
    assert (live(budgets, served), charged(account)) == (6, 6), "the next run charges exactly what is missing"
    assert ChargeState.HELD not in [charge.state for charge in account.history()], "and settles what was left"


def test_a_struck_run_is_settled_by_one_that_wants_something_else(budgets, served, account, monkeypatch):
    with monkeypatch.context() as patched:
        strike(patched, Point.COMMITTING, KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt):
            set_cap(budgets, served, 3.0, account=account)
    assert [charge.state for charge in account.history()] == [ChargeState.HELD]
    set_cap(budgets, served, 4.0, account=account)
    assert (live(budgets, served), charged(account)) == (8, 8)
    assert [charge.state for charge in account.history()] == [ChargeState.COMMITTED] * 2


def test_another_run_at_the_same_moment_is_charged_once(budgets, served, account, monkeypatch):
    """Both find nothing paid; the range is the same, and so is its charge."""
    real, rivals = Account.resume, [None]

    def resume(self, *words, **named):
        if rivals:
            rivals.pop()
            set_cap(budgets, served, 3.0, account=account)
        return real(self, *words, **named)

    monkeypatch.setattr(Account, "resume", resume)
    set_cap(budgets, served, 3.0, account=account)
    assert (live(budgets, served), charged(account), len(account.history())) == (6, 6, 1)


def test_a_charge_that_its_run_may_still_give_back_is_not_relied_on(budgets, served, account, monkeypatch):
    """A rival comes while a charge is held, takes it over and sets the cap; giving it back is then too late."""

    def reached(self, point):
        if point is Point.RESERVED:
            monkeypatch.undo()
            set_cap(budgets, served, 3.0, account=Account.open(account.path))
            raise KeyboardInterrupt

    monkeypatch.setattr(Payment, "reached", reached)
    with pytest.raises(KeyboardInterrupt):
        set_cap(budgets, served, 3.0, account=account)
    assert (live(budgets, served), charged(account)) == (6, 6)


def test_an_account_from_a_back_up_is_charged_again(budgets, served, account, tmp_path):
    backup = shutil.copy(account.path, tmp_path / "backup")
    set_cap(budgets, served, 2.0, account=account)
    shutil.copy(backup, account.path)
    restored = Account.open(account.path)
    assert (charged(restored), live(budgets, served)) == (0, 4)
    set_cap(budgets, served, 2.0, account=restored)
    assert charged(restored) == 4


def test_a_second_account_of_the_same_name_is_charged(budgets, served, account, tmp_path):
    set_cap(budgets, served, 2.0, account=account)
    other = new_account(tmp_path / "b.account")
    assert other.dataset == account.dataset
    set_cap(budgets, served, 2.0, account=other)
    assert (charged(account), charged(other)) == (4, 4)


def test_no_cap_rises_unpaid_over_what_an_account_has_paid_for(store, budgets, served, account):
    budgets.register(served.model_id, name=served.name, price=PRICE)
    budgets.set_cap(served.model_id, 1.0)  # no account has ever paid: that is said where it is served
    set_cap(budgets, served, 2.0, account=account)
    for allowed in (1.0, 2.0):
        budgets.set_cap(served.model_id, allowed)
    with pytest.raises(BudgetError, match=r"paid for answers of this model up to epsilon 2.*--account ACCOUNT"):
        budgets.set_cap(served.model_id, 2.5)
    assert live(budgets, served) == 4 == charged(account)
    with store.writing() as connection:  # as a program of before this rule left it
        connection.execute(update(models).values(cap=5 * 10**9))
    budgets.set_cap(served.model_id, 4.0)
    with pytest.raises(BudgetError, match="up to epsilon 2"):
        budgets.set_cap(served.model_id, 4.5)
    budgets.set_cap(served.model_id, 2.0)
    set_cap(budgets, served, 2.5, account=account)
    assert live(budgets, served) == 5 == charged(account)


def test_a_second_database_pays_for_its_own_answers(budgets, served, account, tmp_path):
    set_cap(budgets, served, 2.0, account=account)
    with Store.open(f"sqlite:///{tmp_path / 'other.db'}") as store:
        other = Budgets(store)
        for epsilon, paid in [(1.0, 6), (2.0, 8), (3.0, 10)]:
            set_cap(other, served, epsilon, account=account)
            assert charged(account) == paid, "both give answers, each with noise of its own"


def test_charges_that_name_no_database_count_where_a_cap_was_set_on_them(store, budgets, served, account, tmp_path):
    with pytest.MonkeyPatch.context() as before:
        before.setattr(caps, "_paid_as", lambda *_: [f"score {served.model_id}"])
        set_cap(budgets, served, 2.0, account=account)
    with store.writing() as connection:  # as an earlier version left it
        connection.execute(meta.delete().where(meta.c.name.in_(("identity", "unnamed"))))
    with Store.open(f"sqlite:///{tmp_path / 'service.db'}") as upgraded:
        here = Budgets(upgraded)
        assert paid_answers(here, served, account) == 4
        set_cap(here, served, 3.0, account=account)
        assert charged(account) == 6
    with Store.open(f"sqlite:///{tmp_path / 'other.db'}") as fresh:
        other = Budgets(fresh)
        for epsilon, paid in [(1.0, 8), (2.0, 10)]:
            set_cap(other, served, epsilon, account=account)
            assert charged(account) == paid


def test_charges_of_other_models_do_not_count(budgets, served, account):
    set_cap(budgets, served, 2.0, account=account)
    again = Served(model=changed(served.model, version=2))
    assert paid_answers(budgets, again, account) == 0
    set_cap(budgets, again, 1.0, account=account)
    assert (charged(account), paid_answers(budgets, served, account), paid_answers(budgets, again, account)) == (
        6,
        4,
        2,
    )


def test_what_is_refused_is_not_charged(budgets, served, tmp_path, monkeypatch):
    account = new_account(tmp_path / "small.account", epsilon=1.0)
    with pytest.raises(BudgetError, match="above its cap"):
        set_cap(budgets, served, 2.0, account=account)
    assert live(budgets, served) == 0
    with pytest.raises(RefusalError, match="100,000"):
        set_cap(budgets, served, 900_000, account=account)
    monkeypatch.setattr(Budgets, "check_cap", lambda *_: (_ for _ in ()).throw(ParameterError("too low")))
    with pytest.raises(ParameterError):
        set_cap(budgets, served, 1.0, account=account)
    assert account.history() == []


def test_a_cap_below_what_is_spent_is_found_out_beforehand(store, budgets, served):
    from understudy.service import KeyBook

    budgets.register(served.model_id, name=served.name, price=PRICE)
    budgets.set_cap(served.model_id, 2.0)
    key = KeyBook(store).create(label="caller", scopes=["score"]).key.key_id
    budgets.grant(key, served.model_id, 2.0)
    budgets.charge(key, served.model_id, [b"q" * 32, b"r" * 32])
    budgets.check_cap(served.model_id, 1.0)
    with pytest.raises(ParameterError, match="cannot take back"):
        budgets.check_cap(served.model_id, 0.9)
