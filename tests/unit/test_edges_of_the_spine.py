"""Edges of the spine and of the service that no other test noticed when a small fault was put there (decision 0178)."""

import sqlite3
from dataclasses import replace
from fractions import Fraction
from html.parser import HTMLParser
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import understudy as us
from understudy.codebook import Categorical, Codebook
from understudy.errors import AccountError, BudgetError, ParameterError, RefusalError, ReleaseError, UnderstudyError
from understudy.mechanisms.histogram import GeometricHistogram
from understudy.privacy import Neighbours
from understudy.privacy.account import Account, account_at, names_of_files
from understudy.privacy.card import card
from understudy.privacy.editions import forecast_editions, like_charge
from understudy.privacy.events import Event, event_from_dict
from understudy.privacy.facts import MethodFacts
from understudy.privacy.guarantees import ApproxDP, NoFormal, PureDP
from understudy.privacy.ledger import Entry, Ledger
from understudy.privacy.provenance import Made, Provenance
from understudy.privacy.transaction import Payment, Point
from understudy.release.manifest import describe
from understudy.release.verify import _check_inputs, _check_rows, _promise_of_format_1

FACTS = MethodFacts(
    name="x",
    command="synth -m x",
    route="N",
    neighbours=(Neighbours.ADD_REMOVE,),
    guarantee="epsilon",
    public="nothing",
    paper="none",
    paper_claim="none",
    sound="holds",
    truth="as claimed",
    page="x.md",
    proofs=("x.md",),
)


def test_facts_of_a_method_without_proof_or_without_a_way_out_are_refused():
    for sound in ("holds", "unsound"):
        assert replace(FACTS, sound=sound, instead="laplace").sound == sound
    assert replace(FACTS, neighbours=(), proofs=()).proofs == ()
    for wrong, words in (
        ({"proofs": ()}, "names no proof"),
        ({"sound": "unsound"}, "use `instead`"),
        ({"sound": "perhaps"}, "`sound` is 'perhaps'"),
    ):
        with pytest.raises(ParameterError, match=words):
            replace(FACTS, **wrong)


def test_headings_of_a_card_are_its_names_and_the_first_row_of_its_table():
    found = []

    class Tags(HTMLParser):
        tag = ""

        def handle_starttag(self, tag, _attributes):
            self.tag = tag

        def handle_data(self, data):
            found.append((self.tag, data))

    Tags().feed(card("T", [("price", "1")], rows=[("a", "b"), ("x", "y"), ("z", "w")]))
    heads, cells = ([text for tag, text in found if tag == kind] for kind in ("th", "td"))
    assert (heads, cells) == (["price", "a", "b"], ["1", "x", "y", "z", "w"])


@pytest.fixture
def account(tmp_path):
    where = tmp_path / "d.account"
    return Account.create(where, dataset="d", epsilon=20.0, delta=0.0, neighbours=Neighbours.ADD_REMOVE)


def priced(epsilon):
    event = GeometricHistogram(scale=1 / Fraction(epsilon), neighbours=Neighbours.ADD_REMOVE)
    return Ledger((Entry(stage="counts", reads="counts", event=event),))


def test_an_account_may_be_named_by_its_file(account, tmp_path):
    assert account_at(None) is None and account_at(account) is account
    for where in (tmp_path / "d.account", str(tmp_path / "d.account")):
        opened = account_at(where)
        assert isinstance(opened, Account) and opened.dataset == "d"


def test_a_damaged_account_does_not_say_that_a_charge_would_be_refused_or_not(account, monkeypatch):
    """Whoever asks beforehand hears that nobody knows, and not that there is room."""

    def unreadable(*_arguments):
        raise AccountError("the account is damaged.")

    assert account.refusal(priced(1), label="x", delta=None) == ""
    assert "cap" in account.refusal(priced(32), label="x", delta=None)
    monkeypatch.setattr(Account, "_history", unreadable)
    with pytest.raises(AccountError, match="damaged"):
        account.refusal(priced(1), label="x", delta=None)


def test_an_account_that_could_not_be_begun_leaves_no_file(tmp_path, monkeypatch):
    def full(*_arguments):
        raise sqlite3.OperationalError("disk I/O error")

    monkeypatch.setattr("understudy.privacy.account_file._begin", full)
    where = tmp_path / "e.account"
    with pytest.raises(AccountError):
        Account.create(where, dataset="d", epsilon=1.0, delta=0.0, neighbours=Neighbours.ADD_REMOVE)
    assert list(tmp_path.iterdir()) == []


def test_editions_are_like_the_charge_that_was_named(account):
    for epsilon in (1, 2, 4):
        account.reserve(priced(epsilon), label=f"e{epsilon}", delta=None).commit("sha256:0")
    assert [like_charge(account, number)[0] for number in (2, None)] == ["charge 2 ('e2')", "charge 3 ('e4')"]
    outlook = forecast_editions(account, like_charge(account, 1))
    assert outlook.editions == 13 and [total.epsilon for total in outlook.totals] == list(range(8, 20))
    few = forecast_editions(account, like_charge(account, 3))
    assert few.editions == 3 and [total.epsilon for total in few.totals] == [11, 15, 19] and few.refused.epsilon == 23
    with pytest.raises(BudgetError, match="has no charge 9"):
        like_charge(account, 9)


BOOK = Codebook(columns=(Categorical(name="a", levels=("x", "y")), Categorical(name="b", levels=("0", "1"))))
TABLE = pa.table({"a": ["x", "y"] * 50, "b": ["0", "0", "1", "1"] * 25})


def fitted(account):
    return us.LaplaceHistogram(epsilon=1.0).fit(us.open(TABLE, BOOK, account=account))


def test_a_release_passes_every_point_of_its_payment_in_order(account, tmp_path, monkeypatch):
    passed = []
    monkeypatch.setattr(Payment, "reached", lambda _payment, point: passed.append(point))
    fitted(account).write(tmp_path / "out", 5)
    assert passed == list(Point)


def test_what_was_given_back_is_not_free_the_next_time(account, monkeypatch):
    fit = fitted(account)

    def struck(_payment, point):
        if point is Point.DRAWN:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(Payment, "reached", struck)
        fit.sample(5)
    assert account.spent().epsilon == 0.0, "nobody saw it"
    first = fit.sample(5)
    assert account.spent().epsilon == 1.0
    again = fit.sample(5)
    assert account.spent().epsilon == 1.0, "more rows of tables that were paid for"
    assert again.manifest.charged_as == first.manifest.charged_as


def test_without_an_account_all_rows_of_one_fit_are_one_purchase():
    fit, other = fitted(None), fitted(None)
    names = [one.sample(5).manifest.charged_as for one in (fit, fit, other)]
    assert names[0] == names[1] != names[2]


def problems_of(*, formal=True, ledger=(), **inputs):
    """What `verify` says of a manifest with these inputs."""
    manifest = {
        "format": 2,
        "ledger": list(ledger),
        "inputs": {name: table.to_dict() for name, table in inputs.items()},
    }
    looked = SimpleNamespace(manifest=manifest, problems=[])
    _check_inputs(looked, formal=formal)
    return looked.problems


def test_verify_holds_every_input_against_what_is_promised():
    people = Provenance()
    copied = Provenance(made=Made.SYNTHETIC, release="r", record_wise=False, ledger=priced(1))
    secret = Provenance(made=Made.COMPLETED, release="c", record_wise=False, real_records=True)
    paid = priced(1).to_list()
    assert problems_of(data=people) == [] == problems_of(data=copied, formal=False)
    assert ["claims a promise" in said for said in problems_of(data=copied)] == [True], "drawn from synthetic rows"
    assert problems_of(data=people, seeds=copied, ledger=paid) == []
    assert ["is not in the ledger" in said for said in problems_of(data=people, seeds=copied)] == [True]
    assert ["it holds records of real people" in said for said in problems_of(data=people, seeds=secret)] == [True]
    assert problems_of(seeds=people) == ["the manifest does not say what table went in"]


def test_only_a_completed_table_is_confidential():
    quote = us.LaplaceHistogram(epsilon=1.0).quote(BOOK, rows=5)
    manifest = describe(quote, Payment.free(), parameters={}, codebook=BOOK, secure=True)
    assert not manifest.confidential and replace(manifest, made=Made.COMPLETED).confidential


def test_events_that_nobody_knows_and_kinds_that_are_taken():
    with pytest.raises(ReleaseError, match="event kind 'lent' is unknown to this version"):
        event_from_dict({"kind": "lent"})
    with pytest.raises(TypeError, match="there is an event of the kind 'geometric-histogram' already"):
        type("Cheap", (Event,), {"kind": "geometric-histogram", "proof": None})
    assert event_from_dict(priced(1).entries[0].event.to_dict()) == priced(1).entries[0].event
    assert priced(1).entries[0].event.slack == 0.0


def test_what_may_not_be_made_is_refused_before_it_is_paid_for(account, monkeypatch):
    fit = fitted(account)

    def refused(*_words, **_how):
        raise ParameterError("its certificate was rejected")

    monkeypatch.setattr(type(fit), "_check", refused)
    with pytest.raises(ParameterError, match="rejected"):
        fit.sample(5)
    assert account.spent().epsilon == 0.0


def test_what_lies_where_a_release_would_go_is_found_before_anything_is_charged(account, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("mine", encoding="utf-8")
    fit = fitted(account)
    for writing in (lambda: fit.write(tmp_path / "out", 5), lambda: fit.write_many(tmp_path / "out", 5, files=2)):
        with pytest.raises(UnderstudyError):
            writing()
    assert account.history() == [], "not even a charge that was given back"


def test_several_files_are_one_charge_with_names_of_their_own(account, tmp_path):
    """Their rows are drawn from tables that were paid for once; how many there are is a choice."""
    place = tmp_path / "out"
    releases = fitted(account).write_many(place, 5, files=2)
    assert account.spent().epsilon == 1.0 and len(account.history()) == 1
    [charge] = account.history()
    ids = [release.manifest.release_id for release in releases]
    assert ids == names_of_files(charge.release_id, 2) == [f"{charge.release_id}-1", f"{charge.release_id}-2"]
    assert len({release.manifest.charged_as for release in releases}) == 1
    assert len(list(place.rglob("manifest.json"))) == 2
    one, two = (fitted(account) for _ in range(2))
    one.write(tmp_path / "one", 5)
    two.write_many(tmp_path / "two", 5, files=2)
    assert len({charge.choices for charge in account.history()[1:]}) == 2


def test_what_a_fit_was_made_with_does_not_change(account):
    fit = fitted(account)
    for name in ("recipe", "codebook"):
        with pytest.raises(RefusalError, match="fit again"):
            setattr(fit, name, None)
    fit.note = "of the caller"
    fit.note = "another"


def test_only_rows_that_a_certificate_withheld_may_be_missing(tmp_path):
    def problems(held, **manifest):
        path = tmp_path / "rows.parquet"
        pq.write_table(pa.table(held, schema=pa.schema([("a", pa.string()), ("b", pa.string())])), path)
        said = []
        looked = SimpleNamespace(
            table=path,
            tables=[path],
            place=tmp_path,
            manifest={"rows": {"number": len(held["a"])}, **manifest},
            problems=said,
            passed=[],
            report=None,
            conclude=lambda wrong, _words: said.extend(wrong),
        )
        _check_rows(looked, BOOK)
        return len(said)

    none, some = {"a": [], "b": []}, {"a": ["x"], "b": ["0"]}
    assert problems(none, certificate={"accepted": False}) == 0
    assert problems(none, certificate={"accepted": True}) == problems(none) == 1
    assert problems(some) == problems(some, certificate={"accepted": False}) == 0
    assert problems({"a": ["z"], "b": ["0"]}, certificate={"accepted": False}) >= 1
    assert problems(some, rows={"number": 2}) == 1


def test_a_promise_of_the_first_format_is_compared_up_to_whom_it_protects():
    manifest = {"rows": {"number": 5}, "route": "N"}
    for total in (
        PureDP(epsilon=1.0, neighbours=Neighbours.ADD_REMOVE),
        ApproxDP(epsilon=1.0, delta=1e-6, neighbours=Neighbours.ADD_REMOVE),
    ):
        said = _promise_of_format_1(manifest, priced(1), total)
        assert said.startswith("This file of 5 rows is (epsilon = 1") and said.endswith("-differentially private")
        score = _promise_of_format_1({**manifest, "subject": "score"}, priced(1), total)
        assert score.startswith("(epsilon = 1") and score.endswith("-differentially private")
    none = NoFormal(why="w")
    assert _promise_of_format_1(manifest, priced(1), none) == "This file of 5 rows has no formal privacy guaran"[:40]
    assert _promise_of_format_1({**manifest, "subject": "score"}, priced(1), none) == "no formal privacy guarantee"
