"""Commutes on the spine: what public tables are, and who pays for what, and when."""

import json
from dataclasses import replace
from functools import cache

import pyarrow as pa
import pyarrow.csv as pv
import pyarrow.parquet as pq
import pytest
from commute_cases import ROLES, TOWN, charged, columns, earlier, exact, rows_release, town, verify, with_table

import understudy as us
from understudy.commute import Places, Sizes, ctpp_minnesota
from understudy.commute.jobs import compare_commutes, open_commutes, quote_commutes, synthesize_commutes
from understudy.commute.places import CommuteInput
from understudy.errors import AccountError, DataError, ParameterError, RefusalError, ReleaseError
from understudy.mechanisms.stream import Stream
from understudy.privacy import Ledger, Neighbours
from understudy.privacy.account import Account
from understudy.privacy.provenance import DECLARED, InputRole, Made, Provenance
from understudy.privacy.statement import statement
from understudy.sources.flows import read_flows
from understudy.sources.inputs import find_provenance


@pytest.fixture
def given():
    return town()


@pytest.fixture
def account(tmp_path):
    file = tmp_path / "commutes.account"
    Account.create(file, dataset="commutes", epsilon=20.0, delta=1e-4, neighbours=Neighbours.ORIGIN)
    return file


# what public tables are


@cache
def not_public(kind):
    """A table of ours that is no public knowledge."""
    if kind == "seeded":
        return exact().fit(town(), stream=Stream.seeded(1)).sample().table.schema.metadata
    if kind == "k-anonymous":
        made = Provenance(made=Made.ANONYMIZED, release="rows-1", record_wise=False, real_records=True)
        return made.mark()
    book = us.datasets.discharges_codebook()
    source = us.open(us.datasets.discharges(rows=200, seed=1), book)
    return us.Contingency().fit(source).sample(20).table.schema.metadata


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("kind", ["seeded", "k-anonymous", "contingency"])
def test_a_table_of_ours_without_a_promise_is_not_public(kind, role):
    table = pa.table(columns(role), metadata=not_public(kind))
    with pytest.raises(DataError, match=f"is used as {role.value}, which must be public, and it is not"):
        with_table(role, table)


@pytest.mark.parametrize("role", ROLES)
def test_a_file_beside_its_manifest_is_asked_too(role, tmp_path):
    release = exact().fit(town(), stream=Stream.seeded(1)).sample()
    release.save(tmp_path / "seeded", formats=["csv"])
    for name in ("synthetic.parquet", "synthetic.csv"):
        with pytest.raises(DataError, match=f"is used as {role.value}"):
            with_table(role, str(tmp_path / "seeded" / name))


def test_an_object_made_in_python_is_asked_as_well(given):
    bad = Provenance(made=Made.ANONYMIZED, release="rows-1", record_wise=False, real_records=True)
    places = replace(given.places, provenance=bad)
    with pytest.raises(DataError, match="used as places"):
        exact().quote(replace(given, places=places))
    sizes = Sizes(workers=dict.fromkeys(given.flows.destinations, 3), provenance=bad)
    with pytest.raises(DataError, match="used as output sizes"):
        exact(sizes=sizes).quote(given)
    with pytest.raises(DataError, match="used as distance rings"):
        exact(rings=replace(ctpp_minnesota(), provenance=bad)).quote(given)


def test_the_confidential_table_is_no_list_of_origins(tmp_path):
    pv.write_csv(TOWN.flows, tmp_path / "flows.csv")
    pv.write_csv(TOWN.flows, tmp_path / "copy.csv")
    with pytest.raises(ParameterError, match="holds the confidential table itself"):
        open_commutes(str(tmp_path / "flows.csv"), count="workers", origins=str(tmp_path / "copy.csv"))
    with pytest.raises(ParameterError, match="holds the confidential table itself"):
        open_commutes(TOWN.flows, count="workers", origins=TOWN.flows)


def test_every_table_that_went_in_is_named(given, tmp_path):
    regions = pa.table(columns(InputRole.REGIONS))
    full = open_commutes(
        TOWN.flows,
        count="workers",
        places=TOWN.places,
        origins=given.flows.origins.to_pylist(),
        regions=regions,
    )
    sizes = dict.fromkeys(given.flows.destinations, 3)
    release = synthesize_commutes(exact(rings=ctpp_minnesota(), sizes=sizes), full, out=tmp_path / "r")
    assert dict(release.manifest.quote.inputs) == dict.fromkeys([InputRole.DATA, *ROLES], DECLARED)
    told = json.loads((tmp_path / "r" / "manifest.json").read_text())
    assert set(told["inputs"]) == {"data", "places", "origins", "rings", "regions", "sizes"}
    public = release.statement.partition("Declared public, and taken as such: ")[2].partition(".")[0]
    assert set(public.split(", ")) == {role.value for role in ROLES}
    assert "workers, each counted once" in release.statement
    assert verify(tmp_path / "r").problems == ()


# a release with a promise serves as public knowledge, and is in the price


@pytest.mark.parametrize("role", ROLES)
def test_a_release_with_a_promise_is_composed(role, tmp_path):
    mark = earlier().table.schema.metadata
    recipe, given = with_table(role, pa.table(columns(role), metadata=mark))
    alone = exact(**({} if recipe.rings is None else {"rings": replace(recipe.rings, provenance=DECLARED)}))
    quote = recipe.quote(given)
    before = earlier().manifest.ledger
    assert quote.ledger.entries[: len(before)] == before.entries and len(quote.ledger) == len(before) + 1
    assert quote.total.epsilon == pytest.approx(alone.quote(town()).total.epsilon + 2.0)
    name = earlier().manifest.charged_as
    assert f"The release {name}, used as {role.value}, is in the price." in quote.statement
    recipe.fit(given).write(tmp_path / "r")
    assert verify(tmp_path / "r").problems == ()
    assert "the draws were paid for at the parameters that are stated" in verify(tmp_path / "r").passed
    cut_out(tmp_path / "r", len(before))
    assert any(f"used as {role.value}, is not in the ledger" in said for said in verify(tmp_path / "r").problems)


def cut_out(folder, entries):
    """Take the first entries out of the ledger, and make everything else that follows from it agree."""
    path = folder / "manifest.json"
    told = json.loads(path.read_text())
    ledger = Ledger.from_list(told["ledger"][entries:])
    told["ledger"], told["assumptions"] = ledger.to_list(), list(ledger.assumptions)
    told["delta_for_total"] = told["parameters"]["delta"]
    total = ledger.total(delta=told["delta_for_total"])
    told["guarantee"], told["basic_composition"] = total.to_dict(), ledger.basic().to_dict()
    told["statement"] = statement(
        ledger,
        total,
        rows=told["rows"]["number"],
        route=told["route"],
        paper=(told["paper"] or {}).get("statement"),
        inputs={InputRole[role.upper()]: Provenance.from_dict(one) for role, one in told["inputs"].items()},
    )
    path.write_text(json.dumps(told))


def test_a_cut_shows_where_input_and_release_cost_the_same(tmp_path):
    """The same recipe twice has the same event twice: one of them is not enough for both."""
    same = exact(epsilon=2.0)
    table = pa.table(columns(InputRole.ORIGINS), metadata=earlier().table.schema.metadata)
    _, given = with_table(InputRole.ORIGINS, table)
    same.fit(given).write(tmp_path / "r")
    assert verify(tmp_path / "r").problems == ()
    cut_out(tmp_path / "r", 1)
    assert any("price the draws of this release once" in said for said in verify(tmp_path / "r").problems)


def test_an_account_pays_for_an_earlier_release_once(given, account, tmp_path):
    first = exact(epsilon=2.0).fit(charged(given, account)).sample()
    table = pa.table(columns(InputRole.ORIGINS), metadata=first.table.schema.metadata)
    again = open_commutes(TOWN.flows, count="workers", places=TOWN.places, origins=table, account=account)
    second = exact(epsilon=3.0).fit(again).sample()
    assert second.manifest.total.epsilon == pytest.approx(5.0)
    assert Account.open(account).spent().epsilon == pytest.approx(5.0), "2 for the first, 3 for the second"
    other = tmp_path / "other.account"
    Account.create(other, dataset="c", epsilon=20.0, delta=1e-4, neighbours=Neighbours.ORIGIN)
    exact(epsilon=3.0).fit(replace(again, account=Account.open(other))).sample()
    assert Account.open(other).spent().epsilon == pytest.approx(5.0), "this one has paid for neither"


def test_a_release_for_other_neighbours_adds_up_to_nothing():
    table = pa.table(columns(InputRole.ORIGINS), metadata=rows_release().table.schema.metadata)
    recipe, mixed = with_table(InputRole.ORIGINS, table)
    total = recipe.quote(mixed).total
    assert total.kind == "NoFormal" and "different neighbour relations" in total.why


# the places that go with a release


def test_attached_places_are_what_they_were(given, tmp_path):
    synthesize_commutes(exact(), given, out=tmp_path / "seeded", seed=1)
    own = str(tmp_path / "seeded" / "places.parquet")
    assert find_provenance(own) == DECLARED
    assert quote_commutes(exact(), open_commutes(TOWN.flows, count="workers", places=own)).quote.total.is_formal
    table = pa.table(columns(InputRole.PLACES), metadata=earlier().table.schema.metadata)
    synthesize_commutes(exact(), with_table(InputRole.PLACES, table)[1], out=tmp_path / "placed")
    again = find_provenance(str(tmp_path / "placed" / "places.parquet"))
    assert again.release == earlier().manifest.charged_as


# the table itself


def test_a_table_recoded_record_by_record_is_listed(tmp_path):
    made = Provenance(made=Made.ANONYMIZED, release="recoded-1", real_records=True)
    flows = TOWN.flows.replace_schema_metadata(made.mark())
    given = open_commutes(flows, count="workers", places=TOWN.places)
    release = synthesize_commutes(exact(), given, out=tmp_path / "r")
    assert release.manifest.total.is_formal
    assert any("anonymised release recoded-1" in said for said in release.manifest.warnings)
    told = json.loads((tmp_path / "r" / "manifest.json").read_text())
    assert told["inputs"]["data"]["release"] == "recoded-1"
    assert "taken as declared" not in told["statement"]
    assert verify(tmp_path / "r").problems == ()
    with pytest.raises(DataError, match="can change the rows of many"):
        read_flows(flows.replace_schema_metadata(replace(made, record_wise=False).mark()), count="workers")


# paying


def test_what_was_handed_over_is_spent(given, account):
    """There is no block that could give the price back: whoever has the rows has paid for them."""
    with pytest.raises(ZeroDivisionError):
        1 / (exact(epsilon=4.5).fit(charged(given, account)).sample().table.num_rows - 400)
    assert Account.open(account).spent().epsilon == pytest.approx(4.5)
    (charge,) = Account.open(account).history()
    assert charge.state.value == "committed" and charge.digest is not None


def test_a_full_disk_is_charged_because_the_size_of_a_file_tells_of_the_draw(given, account, tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pq, "write_table", full)
    with pytest.raises(ReleaseError, match="could not be written"):
        synthesize_commutes(exact(epsilon=4.5), charged(given, account), out=tmp_path / "r")
    assert not (tmp_path / "r").exists()
    kept = Account.open(account)
    assert [(one.state.value, one.digest) for one in kept.history()] == [("committed", None)]


def test_what_public_facts_refuse_is_refused_before_anything_is_reserved(given, account):
    paying = charged(given, account)
    fitted = exact(method="laplace", delta=None).fit(paying)
    fitted.plan = replace(fitted.plan, domain=replace(fitted.plan.domain, units=1 << 30))
    with pytest.raises(RefusalError, match="does not depend on the domain"):
        fitted.sample()
    fitted = exact().fit(paying)
    many = replace(fitted.plan.public, cells=fitted.plan.public.cells + (1 << 61))
    fitted.plan = replace(fitted.plan, public=many)
    with pytest.raises(RefusalError, match="at most 62 are exact"):
        fitted.sample()
    assert Account.open(account).history() == []


def test_two_samples_are_two_charges(given, account):
    fitted = exact(epsilon=2.0).fit(charged(given, account))
    fitted.sample()
    fitted.sample()
    assert Account.open(account).spent().epsilon == pytest.approx(4.0)


def test_a_fit_cannot_be_copied_out(given):
    import pickle

    fitted = exact().fit(given)
    assert "withheld" in repr(fitted)
    with pytest.raises(TypeError, match="confidential"):
        pickle.dumps(fitted)


def test_looks_and_choices_are_remembered(given, account, tmp_path):
    paying = charged(given, account)
    quote_commutes(exact(epsilon=2.0), paying)
    release = synthesize_commutes(exact(epsilon=3.0), paying, out=tmp_path / "first")
    assert not release.manifest.looked
    compare_commutes(TOWN.flows, tmp_path / "first", count="workers", account=account)
    ((_, what),) = Account.open(account).looks()
    assert what == f"evaluation of commutes: the release {release.manifest.release_id}"
    assert not exact(epsilon=2.0).fit(paying).sample().manifest.looked, "it was fixed before the look"
    late = synthesize_commutes(exact(epsilon=2.5), paying, out=tmp_path / "late")
    assert late.manifest.looked and "after a confidential look" in late.statement
    assert verify(tmp_path / "late").problems == ()


def test_other_public_tables_are_other_choices(given):
    plan = exact().plan(given)
    assert plan.choices == exact().plan(given, secure=False).choices
    moved = Places(
        names=given.places.names,
        latitudes=given.places.latitudes + 0.01,
        longitudes=given.places.longitudes,
        homes=given.places.homes,
    )
    sizes = [dict.fromkeys(given.flows.destinations, 3) for _ in range(2)]
    first, second = given.flows.destinations[:2]
    sizes[0] |= {first: 2, second: 4}
    sizes[1] |= {first: 4, second: 2}
    _, coarse = with_table(InputRole.REGIONS, pa.table(columns(InputRole.REGIONS)))
    others = [
        exact().plan(replace(given, places=moved)),
        exact().plan(coarse),
        exact(epsilon=4.5).plan(given),
        *(exact(sizes=one).plan(given) for one in sizes),
    ]
    assert len({plan.choices, *(one.choices for one in others)}) == 6


def test_a_quote_is_the_price_that_is_paid(given, account):
    recipe = exact(rings=ctpp_minnesota(), shrink=True)
    quote = recipe.quote(given)
    release = recipe.fit(charged(given, account)).sample()
    assert quote.ledger == release.manifest.ledger and quote.total == release.manifest.total
    assert quote.statement == release.statement
    (charge,) = Account.open(account).history()
    assert charge.label == "commute-dirichlet, 400 rows"


def test_an_account_is_opened_before_the_data_are_read(tmp_path):
    (tmp_path / "no.account").write_text("not one")
    with pytest.raises(AccountError, match=r"no\.account"):
        open_commutes(tmp_path / "no-data.csv", account=tmp_path / "no.account")


def test_a_bare_input_is_enough(given):
    assert exact().quote(CommuteInput(flows=given.flows)).inputs == {InputRole.DATA: DECLARED}


@pytest.mark.parametrize(
    ("options", "says"),
    [
        # a cell needs about 2,800 noisy workers and has 400 at most: one survives with probability below 1e-7
        ({"method": "sba", "epsilon": 0.01, "delta": 1e-12}, "at epsilon 0.01 no cell survived the method 'sba'"),
        ({"cutoff": 1e-6}, "fell beyond the cut-off of 1e-06 miles"),
    ],
)
def test_a_release_without_a_single_worker_is_refused(options, says, account, tmp_path):
    """What the draw showed stays paid for, and nothing is written."""
    fitted = exact(**options).fit(charged(town(), account))
    with pytest.raises(RefusalError) as refused:
        fitted.write(tmp_path / "out")
    assert says in str(refused.value) and "none of 400 synthetic workers" in str(refused.value)
    assert "Use a larger" in str(refused.value) and refused.value.__notes__ == [
        "What it would have cost stays charged."
    ]
    assert not (tmp_path / "out").exists()
    assert [charge.state.value for charge in Account.open(account).history()] == ["committed"]
