"""Walls around the spine: one place that pays, one that builds manifests, one that writes statements, one price."""

import re
from pathlib import Path

import pyarrow as pa
import pytest
from paying_commands import COMMANDS, prepare

import understudy as us
from understudy.codebook import Categorical, Codebook
from understudy.privacy.provenance import DECLARED, InputRole, Made, Provenance
from understudy.synth.counts import Counts
from understudy.synth.recipe import Recipe

SRC = Path(us.__file__).parent
FILES = {str(path.relative_to(SRC)): path.read_text(encoding="utf-8") for path in sorted(SRC.rglob("*.py"))}

WALLS = {
    r"\.reserve\(": {"privacy/transaction.py"},
    r"\.resume\(": {"privacy/transaction.py"},
    r"(?<![A-Za-z_])Manifest\(": {"release/manifest.py"},
    r"(?<![A-Za-z_.])statement\(": {"privacy/quote.py", "privacy/statement.py", "release/verify.py"},
    r"(?<![A-Za-z_])Reservation\(": {"privacy/account.py"},
    r"\.as_public\(": {"privacy/quote.py", "mechanisms/smoothing.py", "sources/inputs.py", "release/verify.py"},
}


@pytest.mark.parametrize("pattern", WALLS)
def test_nobody_else_does_it(pattern):
    """A new feature never brings its own way to pay, to describe or to promise."""
    called = {
        name
        for name, text in FILES.items()
        for line in text.splitlines()
        if re.search(pattern, line) and not line.lstrip().startswith(("def ", "class ", "#"))
    }
    assert called - WALLS[pattern] == set()
    assert called, "the wall guards nothing any more; rename it with what it guards"


BOOK = Codebook(columns=(Categorical(name="a", levels=("x", "y")), Categorical(name="b", levels=("0", "1"))))
TABLE = pa.table({"a": ["x", "y"] * 100, "b": ["0", "0", "1", "1"] * 50})


def counted(real, asked):
    def price(self, *args):
        asked.append(type(self))
        return real(self, *args)

    return price


@pytest.fixture
def priced(monkeypatch):
    """How often a recipe was asked for its price."""
    asked = []
    for cls in Recipe.__subclasses__():
        stack = [cls]
        while stack:
            one = stack.pop()
            stack += one.__subclasses__()
            if "price" in one.__dict__:
                real = one.__dict__["price"]
                monkeypatch.setattr(
                    one, "price", lambda self, *args, _r=real: (asked.append(type(self)), _r(self, *args))[1]
                )
    return asked


@pytest.mark.parametrize(
    ("method", "options"),
    [("marginals", {"epsilon": 1.0, "delta": 1e-6}), ("pegs", {"alpha": 50.0}), ("contingency", {})],
)
def test_a_price_is_computed_once_for_a_command(priced, tmp_path, method, options):
    us.synthesize(TABLE, BOOK, rows=10, method=method, out=tmp_path / "r", **options)
    assert len(priced) == 1


@pytest.mark.parametrize(
    ("name", "where"),
    [
        ("count", "understudy.synth.counts.weighted_event"),
        ("commute", "understudy.commute.plan.build_domain"),
        ("train", "understudy.trees.recipe.RiskScore.quote"),
    ],
)
def test_a_price_of_another_kind_is_computed_once_too(tmp_path, monkeypatch, name, where):
    from importlib import import_module

    from understudy.cli.app import main

    owner, _, attribute = where.rpartition(".")
    try:
        holder = import_module(owner)
    except ModuleNotFoundError:
        module, _, cls = owner.rpartition(".")
        holder = getattr(import_module(module), cls)
    real, asked = getattr(holder, attribute), []
    monkeypatch.setattr(holder, attribute, lambda *args, **more: (asked.append(1), real(*args, **more))[1])
    monkeypatch.chdir(prepare(tmp_path))
    with pytest.raises(SystemExit) as stop:
        main(COMMANDS[name].split())
    assert not stop.value.code and len(asked) == 1


def test_counts_are_quoted_with_the_same_numbers_before_and_after(tmp_path):
    plan = Counts(book=BOOK, by=("a",), epsilon=1.0)
    release = us.count(TABLE, BOOK, by=["a"], epsilon=1.0, out=tmp_path / "r")
    assert release.manifest.total == plan.quote().total
    assert us.verify(tmp_path / "r").is_valid


# Joining can only lose


def provenances():
    ledger = us.Marginals(epsilon=1.0, delta=1e-6).quote(BOOK, 10).ledger
    yield DECLARED
    for made in list(Made)[1:]:
        for record_wise in (True, False):
            for seeded in (True, False):
                for real in (True, False):
                    yield Provenance(
                        made=made,
                        release=f"{made.value}-{record_wise}-{seeded}-{real}",
                        record_wise=record_wise,
                        seeded=seeded,
                        real_records=real,
                        ledger=ledger,
                        delta=1e-6,
                    )


def strength(one: Provenance) -> tuple[bool, bool, bool, bool]:
    return (not one.as_data, not one.seeded, not one.real_records, one.promise.is_formal or not one.is_release)


def test_law_joining_two_tables_never_promises_more_than_either():
    every = list(provenances())
    for one in every:
        assert (one | one) == one
        for other in every:
            joined = one | other
            for part in (one, other):
                assert all(a <= b for a, b in zip(strength(joined), strength(part), strict=True))
            assert strength(joined) == strength(other | one)


def test_a_provenance_survives_its_mark_and_its_manifest():
    for one in provenances():
        if one.is_release:
            import json

            from understudy.privacy.provenance import MARK

            assert Provenance.from_dict(json.loads(one.mark()[MARK])) == one
        assert Provenance.from_dict(one.to_dict()) == one
    assert all(role.is_public for role in InputRole if role is not InputRole.DATA)
