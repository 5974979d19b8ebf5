"""Edges of quotes, ledgers, provenances and statements, each held to by itself (see decision 0178).

Everything here is made by hand and small, so that a fault in one line of the spine has a quick test that notices it.
"""

import copy
import hashlib
import json
import math
import pickle
import threading
import zipfile
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from understudy.codebook import Categorical, Codebook
from understudy.errors import DataError, ParameterError
from understudy.mechanisms.capped_answers import CappedAnswers
from understudy.mechanisms.histogram import GeometricHistogram
from understudy.privacy import Neighbours, Secret
from understudy.privacy.conversion import smallest_epsilon
from understudy.privacy.guarantees import ApproxDP, KAnonymous, LDiverse, NoFormal, PureDP
from understudy.privacy.ledger import Entry, Ledger, stream_entries
from understudy.privacy.odds import odds_facts
from understudy.privacy.provenance import DECLARED, MARK, Bought, InputRole, Made, Provenance, inputs_from_dict
from understudy.privacy.quote import Quote
from understudy.privacy.secret import note_reading, openings_watched
from understudy.privacy.spelling import at_least, at_most, short_promise
from understudy.privacy.statement import Subject, statement
from understudy.release.formats import write_table
from understudy.sources import inputs
from understudy.sources.inputs import (
    RECONSTRUCTED,
    find_provenance,
    other_than_marked,
    provenance_of_manifest,
    public_provenance,
    refuse_as_rule,
)

AR, RO = Neighbours.ADD_REMOVE, Neighbours.REPLACE


def line(epsilon, *, stage="counts", neighbours=AR, assumptions=()):
    scale = (1 if neighbours is AR else 2) / Fraction(epsilon)
    event = GeometricHistogram(scale=scale, neighbours=neighbours)
    return Entry(stage=stage, reads="counts", event=event, assumptions=assumptions)


def capped(epsilon, delta):
    event = CappedAnswers(epsilon=Fraction(epsilon), delta=Fraction(delta), neighbours=AR)
    return Entry(stage="answers", reads="answers", event=event)


def paid(*epsilons):
    return Ledger(tuple(line(epsilon) for epsilon in epsilons))


def quoted(**changed):
    words = {"method": "m", "route": "N", "own": paid(1), "rows": 5, "own_delta": None}
    return Quote(**{**words, **changed})


# ---- ledgers


def test_a_claim_without_a_proof_is_none():
    event = SimpleNamespace(guarantee=lambda: PureDP(epsilon=1.0, neighbours=AR), proof="no_such_page.md")
    for proof, expected in (("vector_sums.md", PureDP), ("no_such_page.md", NoFormal), (None, NoFormal)):
        event.proof = proof
        assert isinstance(Entry(stage="s", reads="r", event=event).guarantee, expected)
    informal = SimpleNamespace(guarantee=lambda: NoFormal(why="w"), proof=None)
    assert Entry(stage="s", reads="r", event=informal).guarantee == NoFormal(why="w")


def test_a_line_pays_for_one_of_two_alike():
    one, two = line(1), line(2)
    ledger = Ledger((one, two))
    assert ledger.pays_for(one.event) and not ledger.pays_for(line(4).event)
    assert ledger.unpaid([one, two]) == [] and ledger.unpaid([one, one]) == [one]
    assert ledger.unpaid([line(4), two]) == [line(4)]
    assert len(ledger) == 2 and len(ledger + ledger) == 4


def claims(*guarantees):
    return Ledger(tuple(SimpleNamespace(guarantee=each) for each in guarantees))


def test_what_does_not_add_up_says_why():
    pure, diverse, anonymous = PureDP(epsilon=1.0, neighbours=AR), LDiverse(l=2.0), KAnonymous(k=3)
    for ledger, words in (
        (claims(), "nothing is recorded"),
        (claims(pure, replace(pure, neighbours=RO)), "different neighbour relations"),
        (claims(pure, diverse), "does not add up to differential privacy"),
        (claims(pure, anonymous), "does not add up to differential privacy"),
        (claims(diverse, anonymous), "does not add up to differential privacy"),
        (claims(anonymous, anonymous), "several tables together have none"),
        (claims(pure, NoFormal(why="read unpaid")), "read unpaid"),
    ):
        said = ledger.basic()
        assert isinstance(said, NoFormal) and words in said.why
        assert ledger.renyi_at(2.0) == (math.inf, 0.0)
    for ledger, total in (
        (claims(anonymous), anonymous),
        (claims(diverse, LDiverse(l=1.5)), LDiverse(l=1.5)),
        (claims(pure, pure), PureDP(epsilon=2.0, neighbours=AR)),
        (
            claims(pure, ApproxDP(epsilon=1.0, delta=0.1, neighbours=AR)),
            ApproxDP(epsilon=2.0, delta=0.1, neighbours=AR),
        ),
    ):
        assert ledger.why_informal() is None and ledger.basic() == ledger.total(delta=None) == total


def stub(*, curve=None, epsilon=5.0, delta=0.0, slack=0.0):
    """An event with a curve that is a multiple of the order, or without one."""
    claim = ApproxDP(epsilon=epsilon, delta=delta, neighbours=AR) if delta else PureDP(epsilon=epsilon, neighbours=AR)
    renyi = (lambda orders: None) if curve is None else (lambda orders: curve * orders)
    event = SimpleNamespace(renyi=renyi, guarantee=lambda: claim, slack=slack)
    return SimpleNamespace(event=event, guarantee=claim)


@pytest.mark.parametrize("curve", [0.001, 0.05, 0.7])
def test_the_total_of_curves_is_the_best_order_and_what_has_no_curve_is_added(curve):
    delta = 1e-6
    orders = 1 + np.geomspace(1e-3, 1e5, 200_001)
    found = Ledger((stub(curve=curve, epsilon=50.0), stub(curve=curve, epsilon=50.0))).total(delta=delta)
    best, _ = smallest_epsilon(orders, 2 * curve * orders, delta)
    assert found.delta == delta and best <= found.epsilon * (1 + 1e-9) and found.epsilon <= best * (1 + 1e-5)
    slack = Ledger((stub(curve=curve, epsilon=50.0, slack=delta / 4), stub(epsilon=0.5, delta=delta / 4)))
    best, _ = smallest_epsilon(orders, curve * orders, delta / 2)
    total = slack.total(delta=delta)
    assert total.delta == delta and abs(total.epsilon - best - 0.5) <= 1e-5 * best
    assert total.epsilon >= (best + 0.5) * (1 - 1e-9)


def test_a_delta_that_is_used_up_leaves_the_plain_sum():
    lines = (stub(curve=0.01, epsilon=3.0), stub(epsilon=1.0, delta=1e-6))
    assert Ledger(lines).total(delta=1e-6) == Ledger(lines).basic() == ApproxDP(epsilon=4.0, delta=1e-6, neighbours=AR)
    assert Ledger(lines).total(delta=2e-6).epsilon < 4.0
    only = Ledger((stub(epsilon=1.0),))
    assert only.total(delta=1e-6) == only.basic()


def test_a_curve_that_gains_next_to_nothing_is_not_worth_a_delta():
    known = Ledger((stub(curve=0.01, epsilon=50.0),)).total(delta=1e-6).epsilon
    for factor, is_pure in ((1 + 5e-7, True), (1 + 2e-6, False)):
        total = Ledger((stub(curve=0.01, epsilon=known * factor),)).total(delta=1e-6)
        assert isinstance(total, PureDP) is is_pure
    # a smaller delta than the one that was asked for is kept, a larger one is not
    assert Ledger((stub(curve=0.01, epsilon=known / 2, delta=1e-7),)).total(delta=1e-6).delta == 1e-7
    assert Ledger((stub(curve=0.01, epsilon=known / 2, delta=1e-5),)).total(delta=1e-6).delta == 1e-6
    assert Ledger((stub(curve=0.01, epsilon=known / 2, delta=1e-6),)).total(delta=1e-6).epsilon == known / 2


@pytest.mark.parametrize("delta", [0.0, 1.0, -0.5, 2.0])
def test_no_total_for_a_delta_that_is_none(delta):
    with pytest.raises(ParameterError, match="strictly between 0 and 1"):
        paid(1).total(delta=delta)


def test_the_divergence_of_one_order_is_that_of_all_lines_and_its_slack():
    lines = (stub(curve=0.25, slack=0.01), stub(epsilon=0.5, delta=0.02), stub(curve=-1.0))
    assert Ledger(lines).renyi_at(4.0) == (1.5, 0.03), "a curve below nothing is nothing"
    assert Ledger((stub(curve=math.nan),)).renyi_at(4.0)[0] == math.inf


def test_a_seed_is_a_line_that_nobody_paid_for():
    assert stream_entries(True) == []
    [entry] = stream_entries(False)
    assert isinstance(entry.guarantee, NoFormal) and isinstance((paid(1) + Ledger((entry,))).basic(), NoFormal)


# ---- quotes


def test_a_quote_adds_up_what_it_reads_what_was_bought_and_every_file():
    bought = Bought(name="b", ledger=paid(2))
    quote = quoted(bought=(bought,)).times(3)
    assert [entry.guarantee.epsilon for entry in quote.ledger] == [2.0, 1.0, 1.0, 1.0]
    assert quote.total == quote.pure == PureDP(epsilon=5.0, neighbours=AR) and quote.delta is None
    assert quoted().files == 1 and quoted().total.epsilon == 1.0


def test_deltas_of_a_quote_are_those_of_all_its_files_and_purchases():
    plain = Bought(name="b", ledger=Ledger((capped(1, Fraction(1, 64)), capped(1, Fraction(1, 64)))))
    stated = replace(plain, delta=0.25)
    assert (plain.slack, stated.slack) == (1 / 32, 0.25)
    assert quoted(bought=(plain,)).delta is None
    assert quoted(bought=(stated,)).delta == 0.25
    assert quoted(bought=(stated, plain)).delta == 0.25 + 1 / 32
    assert quoted(bought=(plain,), own_delta=1 / 64).times(2).delta == 1 / 16
    assert quoted(own_delta=1 / 64).delta == 1 / 64


RECODED = Provenance(made=Made.ANONYMIZED, release="a", ledger=paid(1), delta=0.5, text="t", k=7)


def test_a_table_changes_the_price_of_what_is_drawn_from_it():
    for table, warns in ((RECODED, True), (DECLARED, False)):
        quote = quoted().with_data(table)
        inside = quote.inputs[InputRole.DATA]
        assert quote.own == paid(1) and bool(quote.warnings) is warns
        assert (inside.ledger, inside.delta, inside.text, inside.k) == (Ledger(), None, "", None)
    drawn = quoted().with_data(Provenance(made=Made.SYNTHETIC, release="s", record_wise=False, ledger=paid(1)))
    assert isinstance(drawn.total, NoFormal) and drawn.own.entries[1:] == paid(1).entries and not drawn.warnings
    assert drawn.inputs[InputRole.DATA].ledger == paid(1)


def test_a_release_in_two_public_roles_is_paid_for_once():
    release = Provenance(made=Made.SYNTHETIC, release="s", record_wise=False, ledger=paid(2))
    roles = {InputRole.SEEDS: release, InputRole.PRIOR: release, InputRole.PLACES: DECLARED}
    quote = quoted().with_public(roles)
    assert [purchase.name for purchase in quote.bought] == ["s"] and quote.total.epsilon == 3.0
    assert quote.inputs == {InputRole.DATA: DECLARED, **roles}


def test_a_card_shows_eight_lines_and_how_many_more_there_are():
    for number, said in ((8, ""), (9, "1 more"), (12, "4 more")):
        html = quoted(own=paid(*[1] * number))._repr_html_()
        assert html.count("Pays for counts") == 8 and ("more</td>" in html) is bool(said) and said in html
    assert "5 rows" in repr(quoted()) and "rows" not in repr(quoted(own=Ledger()))
    assert quoted().statement in quoted()._repr_html_()


def test_a_quote_as_plain_data():
    facts = quoted(shared="in halves", forecast=SimpleNamespace(to_dict=lambda: {"rows": 1})).to_dict()
    assert (facts["shared"], facts["forecast"], facts["rows"]) == ("in halves", {"rows": 1}, 5)
    assert not {"shared", "forecast"} & set(quoted().to_dict())
    assert quoted(paper={"statement": "As in the paper."}).statement.count("As in the paper.") == 1
    assert "after a confidential look" in quoted().statement_of(5, looked=True)
    assert "after a confidential look" not in quoted().statement


# ---- provenances


def test_tables_put_together_promise_no_more_than_either():
    synthetic = Provenance(made=Made.SYNTHETIC, release="s", record_wise=False, ledger=paid(1), delta=0.25)
    counts = Provenance(made=Made.COUNTS, release="c", record_wise=False, ledger=paid(2), k=4)
    assert synthetic | replace(synthetic) == synthetic
    for both in (synthetic | counts, counts | synthetic):
        assert both.made is Made.SYNTHETIC and set(both.release.split(" and ")) == {"s", "c"}
        assert not both.record_wise and not both.seeded and not both.real_records and both.k is None
        assert both.delta == 0.25 and both.ledger.basic().epsilon == 3.0 and set(both.parts) == {synthetic, counts}
    assert (synthetic | replace(counts, delta=0.5)).delta == 0.75
    assert (counts | replace(counts, release="d")).delta is None
    for changed in ({"seeded": True}, {"real_records": True}):
        assert all(
            getattr(both, name)
            for name in changed
            for both in (synthetic | replace(counts, **changed), replace(counts, **changed) | synthetic)
        )
    third = Provenance(made=Made.ANSWER, release="t", record_wise=False, ledger=paid(4))
    assert [part.release for part in (synthetic | counts | third).parts] == ["s", "c", "t"]
    assert (synthetic | DECLARED).parts == (synthetic,) and not (synthetic | DECLARED).record_wise
    assert not (DECLARED | replace(RECODED)).record_wise
    assert (DECLARED | replace(DECLARED, real_records=True)).record_wise


def test_what_a_table_promises_by_itself():
    release = Provenance(made=Made.SYNTHETIC, release="s", ledger=paid(1))
    assert release.promise == PureDP(epsilon=1.0, neighbours=AR)
    assert replace(release, real_records=True).promise == PureDP(epsilon=1.0, neighbours=AR), "what was paid holds"
    for table, words in (
        (DECLARED, "a table of the caller's"),
        (replace(release, real_records=True, ledger=Ledger()), "records of real people"),
        (replace(release, seeded=True), "with a seed"),
        (replace(release, ledger=Ledger()), "nothing is recorded"),
    ):
        assert isinstance(table.promise, NoFormal) and words in table.promise.why
    assert (RECODED.called, release.called) == ("the anonymised release a", "the synthetic release s")
    assert [made for made in Made if made.is_statistics] == [Made.COUNTS, Made.ANSWER]
    assert [role for role in InputRole if not role.is_public] == [InputRole.DATA]


def test_a_table_in_which_one_person_moves_many_rows_is_no_data():
    assert RECODED.as_data == () and RECODED.refuse_as_data("a draw") is None
    for made in list(Made)[1:]:
        table = Provenance(made=made, release="r", record_wise=False)
        [entry] = table.as_data
        assert isinstance(entry.guarantee, NoFormal) and "anonymous)" not in entry.reads
        assert "seed" not in entry.guarantee.why
        [of_k] = replace(table, k=5, seeded=True).as_data
        assert "(5-anonymous)" in of_k.reads and ("under a fixed seed" in of_k.guarantee.why) is (
            made is Made.ANONYMIZED
        )
        with pytest.raises(DataError, match="one person can change the rows of many"):
            table.refuse_as_data("a draw")


def test_a_public_role_takes_what_is_declared_or_formally_promised():
    release = Provenance(made=Made.SYNTHETIC, release="s", ledger=paid(1), delta=0.5)
    assert DECLARED.as_public(InputRole.SEEDS) is None
    assert release.as_public(InputRole.SEEDS) == Bought(name="s", ledger=paid(1), delta=0.5)
    for table, words in (
        (replace(release, seeded=True), "with a seed"),
        (replace(release, ledger=claims(KAnonymous(k=2))), "KAnonymous"),
    ):
        with pytest.raises(DataError, match=words):
            table.as_public(InputRole.SEEDS)


def test_a_provenance_is_read_back_as_it_was_written():
    table = Provenance(made=Made.SYNTHETIC, release="s", record_wise=False, ledger=paid(1), delta=0.5, text="t", k=3)
    facts = table.to_dict()
    assert facts["manifest_digest"] == "sha256:" + hashlib.sha256(b"t").hexdigest()
    assert replace(table, text="").to_dict()["manifest_digest"] is None
    assert Provenance.from_dict(json.loads(json.dumps(facts))) == table
    assert DECLARED.to_dict() == {"made": "declared"} and DECLARED.mark() == {}
    assert Provenance.from_dict({"made": "declared", "release": "x"}) is DECLARED
    mark = json.loads(table.mark()[MARK])
    assert not {"k", "manifest_digest"} & set(mark) and mark["release"] == "s"
    for delta in (0.0, 1.0, -1.0, 2, 1, "0.5"):
        with pytest.raises(ValueError, match="is no delta"):
            Provenance.from_dict({**facts, "delta_for_total": delta})
    vague = Provenance.from_dict({**facts, "record_wise": "yes", "seeded": None, "real_records": None})
    assert (vague.record_wise, vague.seeded, vague.real_records) == (False, True, True), "what is unclear promises less"
    assert inputs_from_dict({"seeds": facts}) == {InputRole.SEEDS: table}


# ---- where a provenance is found


def test_a_mark_is_found_in_tables_frames_and_files(tmp_path):
    table = Provenance(made=Made.SYNTHETIC, release="s", record_wise=False, ledger=paid(1))
    marked = pa.table({"a": [1]}).replace_schema_metadata(table.mark())
    assert find_provenance(marked) == table == find_provenance(marked.to_pandas())
    assert find_provenance(pa.Table.from_pandas(marked.to_pandas())) == table
    assert find_provenance(pa.table({"a": [1]})) is DECLARED is find_provenance(SimpleNamespace(attrs="none"))
    assert find_provenance(SimpleNamespace(attrs={"other": "x"})) is DECLARED
    pq.write_table(marked, tmp_path / "one.parquet")
    assert find_provenance(tmp_path / "one.parquet") == table
    with zipfile.ZipFile(tmp_path / "one.zip", "w") as archive:
        archive.write(tmp_path / "one.parquet", "one.parquet")
    assert find_provenance(tmp_path / "one.zip") == table, "packed, it is what it was"
    pq.write_table(marked, tmp_path / "two.parquet")
    assert not find_provenance(str(tmp_path / "*.parquet")).record_wise
    old = {b"understudy.anonymized": json.dumps({"release": "o"}).encode()}
    first = find_provenance(pa.table({"a": [1]}).replace_schema_metadata(old))
    assert (first.made, first.seeded, first.real_records, first.record_wise) == (Made.ANONYMIZED, True, True, False)
    kind = {b"understudy.kind": b"reconstructed"}
    assert find_provenance(pa.table({"a": [1]}).replace_schema_metadata(kind)) is RECONSTRUCTED
    broken = find_provenance(pa.table({"a": [1]}).replace_schema_metadata({MARK: b"{"}))
    assert (broken.made, broken.real_records, broken.record_wise) == (Made.COMPLETED, True, False)


def zipped(path, **members):
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name.replace("_", "."), content)
    return path


def test_a_packed_table_is_what_the_manifest_that_is_packed_with_it_says(tmp_path, monkeypatch):
    """A CSV has no mark of its own: only a manifest tells what it is."""
    rows, told = "a\n1\n", released(tmp_path / "r").with_name("manifest.json").read_text(encoding="utf-8")
    both = zipped(tmp_path / "both.zip", rows_csv=rows, manifest_json=told)
    assert find_provenance(both, member="rows.csv").release == "r"
    assert find_provenance(f"{both}?member=rows.csv").release == "r"
    assert find_provenance(both).release == "r", "where no member is named, any of them may be read"
    more = zipped(tmp_path / "more.zip", rows_csv=rows, manifest_json=told, other_csv="a\n9\n")
    assert find_provenance(more, member="other.csv") is DECLARED, "the one that is named, and not its neighbour"
    assert find_provenance(zipped(tmp_path / "alone.zip", rows_csv=rows), member="rows.csv") is DECLARED
    zipped(tmp_path / "r" / "beside.zip", other_csv=rows)
    assert find_provenance(tmp_path / "r" / "beside.zip").release == "r", "by the manifest beside the archive"
    inner = zipped(tmp_path / "inner.zip", rows_csv=rows).read_bytes()
    assert find_provenance(zipped(tmp_path / "r" / "outer.zip", inner_zip=inner)) is DECLARED, "is not read"
    monkeypatch.setattr(inputs, "_MOST_TEXT", len(told))
    assert find_provenance(both, member="rows.csv").release == "r"
    monkeypatch.setattr(inputs, "_MOST_TEXT", len(told) - 1)
    with pytest.raises(DataError, match="more than any manifest"):  # is not unpacked, and not taken for none
        find_provenance(both, member="rows.csv")


def test_an_archive_that_is_none_is_what_its_bytes_say(tmp_path):
    """Whoever reads the rows says what is wrong with it."""
    path = tmp_path / "x.zip"
    path.write_bytes(b"PK\x03\x04" + bytes(60))
    assert find_provenance(path) is DECLARED
    empty = zipped(tmp_path / "empty.zip")
    assert find_provenance(empty) is DECLARED


def test_a_workbook_is_packed_too_and_no_archive_of_tables(tmp_path):
    table = Provenance(made=Made.SYNTHETIC, release="s", ledger=paid(1))
    book = Codebook(columns=(Categorical(name="a", levels=("1", "2")),))
    marked = pa.table({"a": ["1"]}).replace_schema_metadata(table.mark())
    write_table(marked, book, Made.SYNTHETIC, tmp_path / "t.xlsx", "xlsx")
    assert find_provenance(tmp_path / "t.xlsx").release == "s"


@pytest.mark.parametrize(
    ("text", "is_ours"),
    [
        ('{"release": "r", "statement": "', True),
        ('{"release": "r", ', False),
        ('{"statement": "r", ', False),
        ("no JSON at all", False),
    ],
)
def test_a_manifest_of_ours_that_was_cut_short_is_no_absent_one(tmp_path, text, is_ours):
    path = released(tmp_path)
    path.with_name("manifest.json").write_text(text, encoding="utf-8")
    if is_ours:
        with pytest.raises(DataError, match="cut short or damaged"):
            find_provenance(path)
    else:
        assert find_provenance(path) is DECLARED


def test_a_manifest_needs_no_more_than_its_name_and_its_ledger_to_be_ours(tmp_path):
    """Or whoever takes the other lines out of it would make a public table of a release."""
    path = released(tmp_path)
    place = path.with_name("manifest.json")
    facts = json.loads(place.read_text(encoding="utf-8"))
    place.write_text(json.dumps({name: facts[name] for name in ("release", "ledger")}), encoding="utf-8")
    with pytest.raises(DataError, match="does not list its files"):
        find_provenance(path)
    place.write_text(json.dumps({name: facts[name] for name in ("release", "ledger", "files")}), encoding="utf-8")
    found = find_provenance(path)
    assert (found.made, found.real_records) == (Made.COMPLETED, True), "what cannot be read promises nothing"
    path.write_text("a\n2\n", encoding="utf-8")
    with pytest.raises(DataError, match="was changed after its release"):
        find_provenance(path)


def test_public_rules_are_neither_the_confidential_table_nor_made_from_it(tmp_path):
    path = released(tmp_path / "r")
    with pytest.raises(ParameterError, match="a rule that was made from data is not public"):
        refuse_as_rule(path, "map of 'a'")
    plain = tmp_path / "plain.csv"
    plain.write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(ParameterError, match="holds the confidential table itself"):
        refuse_as_rule(plain, "map of 'a'", confidential=plain)
    refuse_as_rule(plain, "map of 'a'", confidential=path)
    refuse_as_rule(plain, "map of 'a'")


def test_two_files_of_one_release_hold_a_person_twice(tmp_path):
    recoded = Provenance(made=Made.ANONYMIZED, release="a", real_records=True)
    for name in ("one", "two"):
        pq.write_table(pa.table({"a": [1]}).replace_schema_metadata(recoded.mark()), tmp_path / f"{name}.parquet")
    assert find_provenance(tmp_path / "one.parquet").record_wise
    assert not find_provenance(str(tmp_path / "*.parquet")).record_wise
    plain = tmp_path / "plain"
    plain.mkdir()
    for name in ("one", "two"):
        pq.write_table(pa.table({"a": [1]}), plain / f"{name}.parquet")
    assert find_provenance(str(plain / "*.parquet")).record_wise


def test_what_is_called_public_is_neither_confidential_nor_unpaid(tmp_path):
    seeded = Provenance(made=Made.SYNTHETIC, release="s", seeded=True, ledger=paid(1))
    marked = pa.table({"a": [1]}).replace_schema_metadata(seeded.mark())
    with pytest.raises(DataError, match="made with a seed"):
        public_provenance(marked, InputRole.SEEDS)
    table = pa.table({"a": [1]})
    assert public_provenance(table, InputRole.SEEDS) is DECLARED
    (tmp_path / "data.csv").write_text("a\n1\n", encoding="utf-8")
    with pytest.raises(ParameterError, match="holds the confidential table itself"):
        public_provenance(tmp_path / "data.csv", InputRole.SEEDS, confidential=tmp_path / "data.csv")


MANIFEST = {
    "release": "r",
    "ledger": [],
    "format": 2,
    "randomness": "secure stream",
    "holds": "synthetic",
    "record_wise": False,
    "real_records": False,
    "delta_for_total": None,
}


def released(folder, *, rows="a\n1\n", digest=None, manifest="manifest.json", **changed):
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "rows.csv"
    path.write_text(rows, encoding="utf-8")
    stated = digest or "sha256:" + hashlib.sha256(rows.encode()).hexdigest()
    told = {**MANIFEST, "files": {"rows.csv": stated}, **changed}
    (folder / manifest).write_text(json.dumps(told), encoding="utf-8")
    return path


def test_a_file_is_what_its_manifest_says_as_long_as_it_is_that_file(tmp_path):
    path = released(tmp_path / "a")
    found = find_provenance(path)
    assert (found.made, found.release, found.seeded) == (Made.SYNTHETIC, "r", False)
    copied = path.with_name("copy.csv")
    copied.write_bytes(path.read_bytes())
    assert find_provenance(copied).release == "r", "under whatever name"
    path.write_text("a\n2\n", encoding="utf-8")
    with pytest.raises(DataError, match="was changed after its release"):
        find_provenance(path)
    other = path.with_name("other.csv")
    other.write_text("a\n3\n", encoding="utf-8")
    assert find_provenance(other) is DECLARED, "a table that lies there by chance"
    (path.parent / "manifest.json").write_text('{"files": {"other.csv": "sha256:0"}}', encoding="utf-8")
    assert find_provenance(other) is DECLARED, "a manifest that is not of ours"
    assert find_provenance(released(tmp_path / "b", manifest="reconstruction.json")) is RECONSTRUCTED
    part = released(tmp_path / "c" / "synthetic")
    (part.parent / "manifest.json").rename(tmp_path / "c" / "manifest.json")
    assert find_provenance(part).release == "r"
    (tmp_path / "c" / "manifest.json").write_text("[]", encoding="utf-8")
    assert find_provenance(part) is DECLARED


def test_a_mark_and_a_manifest_must_agree(tmp_path):
    marked = Provenance(made=Made.SYNTHETIC, release="r", record_wise=False)
    assert other_than_marked(marked, replace(marked)) == []
    seeded = replace(marked, seeded=True, release="")
    assert other_than_marked(replace(seeded, release="r"), seeded) == [], "what has a seed is marked without a name"
    for name, value in (("made", Made.COUNTS), ("record_wise", True), ("real_records", True), ("delta", 0.5)):
        assert other_than_marked(replace(marked, **{name: value}), marked) == [name]
    for real, agrees in ((False, True), (True, False)):
        path = tmp_path / f"{real}.parquet"
        pq.write_table(pa.table({"a": [1]}).replace_schema_metadata(marked.mark()), path)
        digest = "sha256:" + hashlib.sha256(path.read_bytes()).hexdigest()
        told = {**MANIFEST, "real_records": real, "files": {path.name: digest}}
        (tmp_path / "manifest.json").write_text(json.dumps(told), encoding="utf-8")
        if agrees:
            assert find_provenance(path).release == "r"
        else:
            with pytest.raises(DataError, match="says of itself something else"):
                find_provenance(path)


def test_what_a_manifest_states():
    def of(**changed):
        return provenance_of_manifest({**MANIFEST, **changed}, "words")

    assert of().text == "words" and of(holds="completed").text == ""
    assert of(charged_as="c").release == "c"
    assert of(randomness="a seed").seeded and not of().seeded
    assert of(record_wise="yes").record_wise is False and of(record_wise=True).record_wise is True
    assert of(anonymity={"measured": {"k": 4}}).k == 4 and of(anonymity="no").k is None
    unreadable = of(ledger="?")
    assert (unreadable.made, unreadable.record_wise, unreadable.real_records) == (Made.COMPLETED, False, True)
    steps = {"parameters": {"steps": [{"do": "round"}]}, "codebook": {"drafted_from_data": False}}
    first = {"format": 1, "anonymity": {"record_wise": True}, "holds": "anonymized", **steps}
    assert of(**first).record_wise and of(**first).real_records
    for changed in (
        {"randomness": "a seed"},
        {"anonymity": {"record_wise": "yes"}},
        {"anonymity": None},
        {"parameters": {"steps": [{"do": "round"}, {"do": "suppress-rows"}]}},
        {"codebook": {"drafted_from_data": True}},
    ):
        assert not of(**{**first, **changed}).record_wise
    assert of(format=1, confidential=True).made is Made.COMPLETED and of(format=1, confidential=True).real_records
    assert not of(format=1).real_records and of(format=1).made is Made.SYNTHETIC


# ---- secrets


def test_who_opens_a_secret_is_noted_while_somebody_watches():
    box = Secret([1, 2])
    assert box.open() == [1, 2]
    with openings_watched() as outer:
        box.open()
        with openings_watched() as inner:
            box.open()
        note_reading(SimpleNamespace(f_globals={"__name__": "elsewhere"}))
        note_reading(SimpleNamespace(f_globals={"__name__": "understudy.sources.files"}))
        started = threading.Thread(target=box.open)
        started.start()
        started.join()
    assert inner == [__name__] and outer[:2] == [__name__, "elsewhere"] and len(outer) == 3
    box.open()
    assert len(outer) == 3, "nobody watches any more"


def test_our_mechanisms_may_open_a_secret_but_for_two_doors():
    def opened(function, module):
        space = {"__name__": module}
        exec(f"def {function}(box):\n    return box.open()", space)
        with openings_watched() as openers:
            assert space[function](Secret(1)) == 1
        return openers

    assert opened("draw", "understudy.mechanisms.x") == []
    assert opened("exposed", "understudy.mechanisms.x") == ["understudy.mechanisms.x"]
    assert opened("declared_public", "understudy.mechanisms.x") == ["understudy.mechanisms.x"]
    assert opened("draw", "understudy.synth.x") == ["understudy.synth.x"]
    for way in (pickle.dumps, copy.deepcopy):
        with pytest.raises(TypeError, match="not written to disk"):
            way(Secret(1))
    assert repr(Secret(1)) == "<withheld>"


# ---- words


def worded(epsilon=1.0, delta=0.0, **changed):
    total = ApproxDP(epsilon=epsilon, delta=delta, neighbours=AR) if delta else PureDP(epsilon=epsilon, neighbours=AR)
    words = {"rows": 5, "route": "N", "paper": None}
    return statement(changed.pop("ledger", paid(1)), changed.pop("total", total), **{**words, **changed})


def test_weak_promises_are_called_weak():
    for epsilon, weak in ((10.0, False), (10.5, True), (1.0, False)):
        assert ("An epsilon of" in worded(epsilon)) is weak
    for delta, weak in ((0.0009, False), (0.001, True), (0.002, True)):
        assert ("A delta of" in worded(delta=delta)) is weak
    assert "delta" not in worded() and "delta = 1e-06" in worded(delta=1e-6)


def test_the_meaning_of_a_promise_in_words():
    assert "more than 2.72 times likelier or rarer." in worded(1.0)
    assert "times likelier or rarer, except with probability 1e-06." in worded(1.0, 1e-6)
    assert "nothing that is seen here depends on the data" in worded(0.0)
    assert "depends on the data" not in worded(0.0, 1e-6) and "depends on the data" not in worded(1.0)
    assert "more than e^700 times" in worded(700.0) and "more than e^800 times" in worded(800.0)
    assert "e^" not in worded(699.0)


def test_every_route_has_its_sentence():
    for route, words in (
        ("N", "released once"),
        ("counts", "to count again is to pay again"),
        ("answer", "to ask again is to pay again"),
        ("S", "drawing again from the same data pays again"),
    ):
        assert words in worded(route=route)
    training = worded(route="score", subject=Subject.SCORE)
    assert "answers are post-processing and free" in training and training.startswith("The training of this risk score")
    assert "Training paid for: counts: epsilon 1." in training and "quality figures" in training
    assert "the training data" in training and "the training data" not in worded()
    dear = worded(route="score", subject=Subject.SCORE, call=PureDP(epsilon=0.25, neighbours=AR))
    assert "every new question costs another epsilon = 0.25" in dear and "free" not in dear
    assert "number of rows" in worded() and "number of rows" not in training
    assert "As printed. That per-row figure alone is not the cost" in worded(paper="As printed.")
    origin = worded(
        total=PureDP(epsilon=1.0, neighbours=Neighbours.ORIGIN), paper="As printed.", inputs={InputRole.DATA: DECLARED}
    )
    assert "per-row" not in origin and "workers, each counted once" in origin


def test_what_a_statement_rests_on():
    release = Provenance(made=Made.SYNTHETIC, release="s", record_wise=False, ledger=paid(1))
    said = worded(inputs={InputRole.DATA: DECLARED, InputRole.SEEDS: release, InputRole.PLACES: DECLARED})
    assert "taken as declared: records of people" in said
    assert "Declared public, and taken as such: places." in said
    assert "The release s, used as starts of chains, is in the price." in said
    of_release = worded(inputs={InputRole.DATA: release})
    assert (
        "taken as declared" not in of_release
        and "Declared public" not in of_release
        and "in the price." not in of_release.replace("not in the price.", "")
    )
    assumed = Ledger((line(1, assumptions=("the list is public",)),))
    assert "It holds given that: the list is public." in worded(ledger=assumed) and "given that" not in worded()


def test_promises_of_other_kinds_in_words():
    informal = worded(total=NoFormal(why="read unpaid"))
    assert "has no formal privacy guarantee. Why: read unpaid." in informal and "unless an evaluation" in informal
    assert "every answer of it" in worded(total=NoFormal(why="w"), subject=Subject.SCORE)
    for least, empty in ((1.0, True), (2.0, False), (0.5, True)):
        assert ("An l of 1 asks for nothing" in worded(total=LDiverse(l=least))) is empty
    assert "As printed." in worded(total=LDiverse(l=2.0), paper="As printed.")
    assert "log l = 0.6931 nats" in worded(total=LDiverse(l=2.0))
    event = SimpleNamespace(quasi_identifiers=("age", "sex"), criteria=())
    ledger = Ledger((SimpleNamespace(event=event, assumptions=()),))
    said = worded(ledger=ledger, total=KAnonymous(k=3))
    assert "5 rows is 3-anonymous for the quasi-identifiers age, sex" in said and "also has" not in said
    event.criteria = ("2-diversity",)
    assert "also has 2-diversity" in worded(ledger=ledger, total=KAnonymous(k=3))


def test_odds_in_words():
    def told(total):
        return [fact.value for fact in odds_facts(total, whose="you")]

    assert told(PureDP(epsilon=1.0, neighbours=AR)) == ["2.72 times at most", "none"]
    assert told(ApproxDP(epsilon=1.0, delta=1e-6, neighbours=AR))[1] == "1 in 1,000,000"
    assert (
        told(PureDP(epsilon=700.0, neighbours=AR))[0]
        == "no useful bound"
        != told(PureDP(epsilon=699.0, neighbours=AR))[0]
    )
    assert told(NoFormal(why="w")) == ["no formal promise"]
    assert told(KAnonymous(k=3)) == ["3-anonymous"]


def test_a_written_price_at_its_edges():
    assert at_most(0.0) == at_least(0.0) == "0" and at_most(math.inf) == at_least(math.inf) == "inf"
    assert (at_least(2 - 1e-12), at_most(2 + 1e-12)) == ("2", "2"), "less than any calibration misses"
    assert (at_least(2 - 1e-6), at_most(2 + 1e-6)) == ("1.999", "2.001")
    assert short_promise(PureDP(epsilon=1.5, neighbours=AR)) == "epsilon 1.5"
    assert short_promise(ApproxDP(epsilon=1.5, delta=1e-6, neighbours=AR)) == "epsilon 1.5, delta 1e-06"
