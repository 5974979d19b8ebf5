"""One charge, one set of bytes: tries to see more than was paid for by failing, dying, copying or looking twice."""

import inspect
import json
import os
import shutil

import pyarrow.parquet as pq
import pytest

import understudy as us
from understudy import verify
from understudy.errors import BudgetError, ReleaseError
from understudy.privacy import Neighbours
from understudy.privacy.account import Account
from understudy.privacy.transaction import Payment, Point
from understudy.release.release import MANIFEST
from understudy.release.workshop import Workshop
from understudy.synth import make_recipe
from understudy.synth.counts import Counts
from understudy.synth.ranged import synthesize_parts

ROUTES = {"N": ("laplace", {"epsilon": 0.25}), "S": ("pegs", {"alpha": 100.0})}


def recipe_of(route):
    name, options = ROUTES[route]
    return make_recipe(name, **options)


class NotGoodEnough(Exception):
    """What a caller raises who looked and did not like what there was."""


def looked(account, hand_over):
    """Keep what was handed over, complain, and try again until the account refuses."""
    seen = []
    for _ in range(200):
        try:
            seen.append(hand_over())
            raise NotGoodEnough
        except NotGoodEnough:
            continue
        except BudgetError:
            break
    return seen, sum(charge.guarantee.epsilon for charge in account.history() if charge.state == "committed")


def test_rows_that_were_handed_over_are_charged_whatever_is_raised_afterwards(table, book, account):
    fitted = recipe_of("S").fit(us.open(table, book, account=account))
    price = fitted.quote(5).total.epsilon
    seen, charged = looked(account, lambda: fitted.sample(5))
    assert len(seen) == int(account.epsilon / price) and charged == pytest.approx(len(seen) * price)


def test_fits_whose_rows_were_seen_are_charged_one_by_one(table, book, account):
    source = us.open(table, book, account=account)
    seen, charged = looked(account, lambda: recipe_of("N").fit(source).sample(5))
    assert len(seen) == 8 and charged == pytest.approx(2.0)


def test_a_model_that_could_not_be_written_stays_charged(table, book, account, tmp_path, monkeypatch):
    """How large a file of perturbed tables is tells of what is in them: a full disk is an answer."""
    fitted = recipe_of("N").fit(us.open(table, book, account=account))
    (tmp_path / "taken").touch()
    with pytest.raises(ReleaseError, match="exists already"):
        fitted.save_model(tmp_path / "taken")
    assert account.spent().epsilon == 0

    def full(_handle):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("os.fsync", full)
        with pytest.raises(ReleaseError, match="No space") as failed:
            fitted.save_model(tmp_path / "model")
    assert "stays charged" in failed.value.__notes__[0]
    assert account.spent().epsilon == pytest.approx(0.25)


def test_counts_that_were_handed_over_are_charged(table, book, account):
    plan = Counts(book=book, by=("a", "b"), epsilon=0.25)
    seen, charged = looked(account, lambda: plan.fit(plan.open(table, account=account)).sample())
    assert len(seen) == 8 and charged == pytest.approx(2.0)


def test_nothing_hands_rows_over_and_can_still_be_refunded():
    """A block that holds rows and may still raise was the fault: what makes something has no public one."""
    import understudy.anonymize
    import understudy.commute
    import understudy.trees.recipe  # noqa: F401
    from understudy.release.making import Fitted

    fits, waiting = set(), [Fitted]
    while waiting:
        fits.add(cls := waiting.pop())
        waiting += cls.__subclasses__()
    names = {cls.__name__ for cls in fits}
    assert names >= {"FittedReleased", "FittedCounts", "FittedCommutes", "FittedScore", "FittedAnonymized"}
    for cls in (*fits, Counts):
        for name, member in inspect.getmembers(cls, inspect.isfunction):
            blocks = inspect.isgeneratorfunction(inspect.unwrap(member))
            assert name.startswith("_") or not blocks, f"{cls.__name__}.{name}"


# Parts


@pytest.fixture
def roomy(tmp_path):
    return Account.create(
        tmp_path / "roomy.account", dataset="d", epsilon=50.0, delta=0.1, neighbours=Neighbours.ADD_REMOVE
    )


@pytest.fixture(params=sorted(ROUTES))
def make(request, data, book, roomy, tmp_path):
    """Forty rows in four parts, under one account."""

    def run(out="out"):
        return synthesize_parts(
            data, book, recipe_of(request.param), rows=40, part_rows=10, out=tmp_path / out, account=roomy.path
        )

    return run


class Killed(BaseException):
    """As SIGKILL: nothing of ours runs any more."""


def killed_at(point):
    """Die where a payment is, as a killed process does: no clean-up, no refund."""

    def reached(self, where):
        if where is point:
            raise Killed

    patched = pytest.MonkeyPatch()
    patched.setattr(Payment, "reached", reached)
    patched.setattr(Payment, "_end", lambda *_: None)
    return patched


def rows_of(folder):
    return pq.read_table(folder / "synthetic").to_pylist()


def parts_of(folder):
    place = folder / "release" / "synthetic" if folder.name.endswith(".unfinished") else folder / "synthetic"
    return {path.name: path.read_bytes() for path in place.iterdir()}


def test_a_run_killed_between_commit_and_name_finishes_exactly_what_it_bought(make, roomy, tmp_path):
    with pytest.raises(Killed):
        _patched(Point.COMMITTED, make)
    left = parts_of(tmp_path / "out.unfinished")
    assert [charge.state for charge in roomy.history()] == ["committed"]
    release = make()
    assert parts_of(release.folder) == left
    assert len(roomy.history()) == 1
    assert verify(release.folder).is_valid


def _patched(point, make):
    patched = killed_at(point)
    try:
        make()
    finally:
        patched.undo()


def test_what_was_bought_is_not_exchanged_for_other_rows(make, roomy, tmp_path):
    """A part is taken away after the commit, in the hope that others will be drawn for the same charge."""
    with pytest.raises(Killed):
        _patched(Point.COMMITTED, make)
    unfinished = tmp_path / "out.unfinished"
    gone = next((unfinished / "release" / "synthetic").iterdir())
    gone.unlink()
    with pytest.raises((ReleaseError, OSError)):
        make()
    (unfinished / "release" / MANIFEST).unlink()
    with pytest.raises(ReleaseError, match="one charge buys one set of bytes"):
        make()
    assert not (tmp_path / "out").exists() and len(roomy.history()) == 1


def test_a_folder_left_behind_after_the_release_appeared_draws_nothing_more(make, roomy, tmp_path, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(Workshop, "abandon", lambda self: None)  # killed between rename and clean-up
        first = parts_of(make().folder)
    shutil.move(tmp_path / "out", tmp_path / "kept")
    with pytest.raises(ReleaseError, match="one charge buys one set of bytes"):
        make()
    assert parts_of(tmp_path / "kept") == first and len(roomy.history()) == 1


def test_a_copied_unfinished_folder_is_no_second_release(make, roomy, tmp_path):
    with pytest.raises(Killed):
        _patched(Point.DRAWN, make)
    shutil.copytree(tmp_path / "out.unfinished", tmp_path / "copy.unfinished")
    release = make()
    assert len(roomy.history()) == 1 and verify(release.folder).is_valid
    with pytest.raises((BudgetError, ReleaseError), match="one charge buys one"):
        make("copy")
    assert not (tmp_path / "copy").exists() and len(roomy.history()) == 1


def test_a_copy_that_comes_first_is_refused_too_because_it_is_not_the_folder_that_was_charged(make, roomy, tmp_path):
    with pytest.raises(Killed):
        _patched(Point.DRAWN, make)
    shutil.copytree(tmp_path / "out.unfinished", tmp_path / "copy.unfinished")
    with pytest.raises(BudgetError, match="another copy"):
        make("copy")
    assert verify(make().folder).is_valid and len(roomy.history()) == 1


def test_an_account_from_a_back_up_pays_again_for_what_it_never_charged(make, roomy, tmp_path):
    backup = shutil.copy(roomy.path, tmp_path / "backup")
    with pytest.raises(Killed):
        _patched(Point.DRAWN, make)
    shutil.copy(backup, roomy.path)
    release = make()
    assert [charge.state for charge in roomy.history()] == ["committed"]
    assert verify(release.folder).is_valid


def test_a_second_account_of_the_same_name_does_not_go_on_with_the_first(make, roomy, tmp_path):
    with pytest.raises(Killed):
        _patched(Point.DRAWN, make)
    roomy.path.replace(tmp_path / "first.account")
    other = Account.create(roomy.path, dataset="d", epsilon=50.0, delta=0.1, neighbours=Neighbours.ADD_REMOVE)
    with pytest.raises(ReleaseError, match="with another account"):
        make()
    assert other.history() == []


@pytest.mark.parametrize("left", ["rows", "tables"])
def test_what_lies_in_a_folder_without_its_plan_is_not_sold_at_another_price(data, book, tmp_path, left):
    """Rows that were drawn at a large epsilon would stand in a release that states a small one."""
    dear, cheap = {
        "rows": (make_recipe("pegs", alpha=0.1), make_recipe("pegs", alpha=1e6)),
        "tables": (make_recipe("laplace", epsilon=40.0), make_recipe("laplace", epsilon=0.01)),
    }[left]
    work = {"rows": 40, "part_rows": 10, "out": tmp_path / "out"}
    patched = killed_at(Point.DRAWN)
    try:
        with pytest.raises(Killed):
            synthesize_parts(data, book, dear, **work)
    finally:
        patched.undo()
    plan = tmp_path / "out.unfinished" / "plan.json"
    kept = plan.read_bytes()
    plan.unlink()
    with pytest.raises(ReleaseError, match=r"plan\.json is gone"):
        synthesize_parts(data, book, cheap, **work)
    plan.write_bytes(kept)
    assert synthesize_parts(data, book, dear, **work).manifest.total.epsilon > 5


def test_a_damaged_folder_of_an_unfinished_release_is_refused_in_words(data, book, tmp_path):
    """What recipes remember in the plan, and pipes and damage in the place of receipts."""
    work = {"rows": 40, "part_rows": 10, "out": tmp_path / "out"}
    patched = killed_at(Point.COMMITTED)
    try:
        with pytest.raises(Killed):
            synthesize_parts(data, book, make_recipe("pegs", alpha=1.0), **work)
    finally:
        patched.undo()
    folder = tmp_path / "out.unfinished"
    plan, receipt = folder / "plan.json", next((folder / "receipts").iterdir())
    kept, kept_receipt = json.loads(plan.read_text()), receipt.read_bytes()
    assert kept["parents"]
    parents = [("parents", damaged) for damaged in (5, [5], {"a": 5}, {"a": [5]})]
    for name, damaged in (*parents, ("people", {"a": 5}), ("shares", [5])):
        plan.write_text(json.dumps({**kept, name: damaged}))
        with pytest.raises(ReleaseError, match=r"plan\.json.*remove the folder"):
            synthesize_parts(data, book, make_recipe("pegs", alpha=1.0), **work)
    plan.write_text(json.dumps(kept))
    receipt.unlink()
    os.mkfifo(receipt)
    with pytest.raises(ReleaseError, match="a named pipe"):
        synthesize_parts(data, book, make_recipe("pegs", alpha=1.0), **work)
    receipt.unlink()
    for damaged in (b"[" * 100_000, b"5", b'{"number": {}}', kept_receipt[:9]):  # its part is drawn anew
        receipt.write_bytes(damaged)
        with Workshop(tmp_path / "out", kept["terms"]) as workshop:
            assert len(workshop.receipts()) == 3
    assert verify(synthesize_parts(data, book, make_recipe("pegs", alpha=1.0), **work).folder).is_valid


def test_tables_that_were_perturbed_at_another_price_are_not_drawn_from(data, book, roomy, tmp_path):
    recipe = make_recipe("laplace", epsilon=0.01)
    work = {"rows": 40, "part_rows": 10, "out": tmp_path / "out", "account": roomy}
    with pytest.raises(Killed):
        _patched(Point.DRAWN, lambda: synthesize_parts(data, book, recipe, **work))
    model = tmp_path / "out.unfinished" / "model.zip"
    kept = model.read_bytes()
    model.unlink()
    make_recipe("laplace", epsilon=40.0).fit(us.open(data, book)).save_model(model)
    with pytest.raises(ReleaseError, match="perturbed at another price"):
        synthesize_parts(data, book, recipe, **work)
    model.write_bytes(kept)
    assert verify(synthesize_parts(data, book, recipe, **work).folder).is_valid
    assert len(roomy.history()) == 1


@pytest.mark.parametrize("point", list(Point))
def test_wherever_it_dies_it_is_charged_once_and_released_once(make, roomy, tmp_path, point):
    """Killed at every point in turn, until it gets through: one charge, one release, and no part drawn twice."""
    with pytest.raises(Killed):
        _patched(point, make)
    release = make()
    assert [charge.state for charge in roomy.history()] == ["committed"]
    assert roomy.history()[0].digest is not None
    assert len(rows_of(release.folder)) == 40 and verify(release.folder).is_valid
