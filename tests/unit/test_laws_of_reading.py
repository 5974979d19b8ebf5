"""What may be read, linked and promised: one rule each, held to at every side of it (decision 0178)."""

import json
import math
import os
import shutil
from types import SimpleNamespace

import pyarrow as pa
import pytest

import understudy as us
from understudy.codebook import Categorical, Codebook
from understudy.errors import AccountError, DataError, ParameterError
from understudy.privacy import Neighbours
from understudy.privacy.account import Account
from understudy.privacy.editions import Outlook
from understudy.privacy.guarantees import ApproxDP, KAnonymous, LDiverse, ProbabilisticDP, PureDP
from understudy.privacy.ledger import Ledger
from understudy.privacy.statement import statement
from understudy.release.verify import _check_grounds, verify_manifest
from understudy.sources.inputs import is_listed_beside

AR = Neighbours.ADD_REMOVE
BOOK = Codebook(columns=(Categorical(name="a", levels=("x", "y")), Categorical(name="b", levels=("0", "1"))))
TABLE = pa.table({"a": ["x", "y"] * 50, "b": ["0", "0", "1", "1"] * 25})


# ---- promises


@pytest.mark.parametrize("kind", [PureDP, ApproxDP, ProbabilisticDP])
def test_no_promise_is_below_nothing_or_above_certainty(kind):
    words = {"epsilon": 1.0, "neighbours": AR} | ({} if kind is PureDP else {"delta": 0.1})
    for good in ({"epsilon": 0.0}, {"epsilon": math.inf}, {"delta": 0.0}, {"delta": 1.0}):
        if kind is not PureDP or "delta" not in good:
            kind(**{**words, **good})
    for wrong in (
        {"epsilon": -1e-9},
        {"epsilon": math.nan},
        {"delta": -1e-9},
        {"delta": 1.0000001},
        {"delta": math.nan},
    ):
        if kind is not PureDP or "delta" not in wrong:
            with pytest.raises(ParameterError, match=next(iter(wrong))):
                kind(**{**words, **wrong})
    assert LDiverse(l=2.0).is_formal and KAnonymous(k=2).is_formal


def test_a_promise_that_is_no_differential_privacy_says_so_and_what_it_leaves_open():
    event = SimpleNamespace(quasi_identifiers=("age", "sex"), criteria=())
    ledger = Ledger((SimpleNamespace(event=event, assumptions=("the list is public",)),))
    for total, words in (
        (KAnonymous(k=3), ("not differential privacy", "no bound against other releases", "records of real people")),
        (LDiverse(l=2.0), ("not differential privacy", "no bound on membership", "bounded only by", "Further files")),
    ):
        said = statement(ledger, total, rows=5, route="N", paper=None)
        assert all(each in said for each in (*words, "5 rows", "the list is public")), said


# ---- what a promise may stand on


def grounds(*, book=BOOK, **facts):
    manifest = {
        "ledger": [{"event": {"kind": "one"}}, {"event": {"kind": "two"}}],
        "guarantee": {"neighbours": "add-remove"},
        "randomness": "secure: of the system",
        "confidential": False,
        "real_records": False,
        **facts,
    }
    looked = SimpleNamespace(manifest=manifest, book=book, problems=[])
    _check_grounds(looked)
    return looked.problems


def bought(*kinds):
    entries = json.dumps([{"event": {"kind": kind}} for kind in kinds])
    return SimpleNamespace(is_public=True, unit=None, purchases=(SimpleNamespace(entries=entries),))


def test_each_ground_that_a_promise_lacks_is_named_by_itself():
    assert grounds() == grounds(book=None) == []
    person = SimpleNamespace(is_public=True, unit="people", purchases=())
    drafted = SimpleNamespace(is_public=False, why_not_public="its levels were drafted", unit=None, purchases=())
    for wrong, words in (
        ({"randomness": "seeded with 1"}, "the randomness was seeded"),
        ({"confidential": True}, "real records"),
        ({"real_records": True}, "real records"),
        ({"book": drafted}, "its levels were drafted"),
        ({"book": bought("two", "three")}, "at a price that the ledger leaves out"),
        ({"book": bought("three")}, "at a price that the ledger leaves out"),
        ({"book": person}, "makes the person the unit"),
        ({"book": person, "guarantee": {"neighbours": "replace-one"}}, "makes the person the unit"),
    ):
        [said] = grounds(**wrong)
        assert words in said
    for right in (
        {"book": bought("one", "two")},
        {"book": bought()},
        {"book": person, "guarantee": {"neighbours": "add-remove-person"}},
        {"book": person, "guarantee": {"neighbours": "replace-person"}},
        {"book": person, "guarantee": {}},
    ):
        assert grounds(**right) == []
    assert len(grounds(randomness="seeded with 1", real_records=True, book=drafted)) == 3


def test_a_check_of_another_room_that_fails_is_no_verdict():
    """What is not as a manifest is makes it unreadable; a fault that is known keeps its words."""

    def shapeless(_looked):
        raise KeyError("ledger")

    looked = us.release.verify.Looked(place=us.release.verify.Path("x"), manifest={})
    with pytest.raises(us.errors.ReleaseError, match="not the shape of one"):
        verify_manifest(looked, [shapeless])

    def known(_looked):
        raise ParameterError("its words")

    with pytest.raises(ParameterError, match="its words"):
        verify_manifest(looked, [known])


# ---- releases and what lies beside them


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    place = tmp_path_factory.mktemp("laws") / "r"
    us.count(TABLE, BOOK, by=["a"], epsilon=1.0, out=place,
             formats=["csv", "guarded.csv"])  # fmt: skip
    return place


def rewritten(released, tmp_path, change):
    place = shutil.copytree(released, tmp_path / "r")
    facts = json.loads((place / "manifest.json").read_text(encoding="utf-8"))
    change(facts)
    (place / "manifest.json").write_text(json.dumps(facts, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return us.verify(place).problems


def test_how_cells_are_guarded_is_said(released, tmp_path):
    assert us.verify(released).is_valid and any("guarded" in path.name for path in released.iterdir())
    for number, change in enumerate((lambda f: f.pop("guarded"), lambda f: f.update(guarded="somehow"))):
        [said] = rewritten(released, tmp_path / str(number), change)
        assert "does not say how" in said and "is guarded" in said


def test_a_file_belongs_to_the_release_that_lists_it(released, tmp_path):
    stranger = tmp_path / "r"
    shutil.copytree(released, stranger)
    (stranger / "other.csv").write_text("a\n", encoding="utf-8")
    assert is_listed_beside(stranger / "counts.parquet") and is_listed_beside(stranger / "counts.csv")
    assert not is_listed_beside(stranger / "other.csv")
    alone = tmp_path / "alone.parquet"
    shutil.copy(released / "counts.parquet", alone)
    assert not is_listed_beside(alone)
    (stranger / "manifest.json").write_text('{"release": "x", "statement": "y"', encoding="utf-8")
    with pytest.raises(DataError, match="damaged"):
        is_listed_beside(stranger / "other.csv")
    (stranger / "manifest.json").write_text('{"name": "of somebody else"}', encoding="utf-8")
    assert not is_listed_beside(stranger / "counts.parquet")


# ---- files of accounts


def test_an_account_is_one_file_of_one_name(tmp_path):
    place = tmp_path / "d.account"
    Account.create(place, dataset="d", epsilon=1.0, delta=0.0, neighbours=AR)
    assert Account.open(place).dataset == "d"
    (tmp_path / "link.account").symlink_to(place)
    with pytest.raises(AccountError, match="symbolic link"):
        Account.open(tmp_path / "link.account")
    for missing, words in ((tmp_path / "none.account", "does not exist"), (tmp_path, "is not a file")):
        with pytest.raises(AccountError, match=words):
            Account.open(missing)
    os.link(place, tmp_path / "second.account")
    for name in (place, tmp_path / "second.account"):
        with pytest.raises(AccountError, match="2 names"):
            Account.open(name)
    (tmp_path / "second.account").unlink()
    assert Account.open(place).dataset == "d"


@pytest.mark.parametrize(("editions", "totals", "more"), [(0, 0, False), (3, 3, False), (15, 12, True)])
def test_a_forecast_tells_every_total_that_it_knows_and_that_there_are_more(editions, totals, more):
    pure = PureDP(epsilon=1.0, neighbours=AR)
    lines = Outlook(
        dataset="d", like="charge 1", price=pure, cap=pure, spent=pure, editions=editions, per_year=1.0,
        totals=tuple([pure] * totals), refused=None,
    ).lines()  # fmt: skip
    assert sum(line.startswith("  after") for line in lines) == totals and ("  ..." in lines) is more
    assert any("at least" in line for line in lines)
