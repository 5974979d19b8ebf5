"""What a commuting release can be held to: a manifest that was edited, a table that was changed, an older format."""

import json
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commute_cases import TOWN, exact, rows_release, town, verify

from understudy.commute import ctpp_minnesota
from understudy.commute.jobs import compare_commutes, open_commutes, synthesize_commutes
from understudy.commute.mapping import map_page
from understudy.commute.released import read_release
from understudy.privacy import Ledger
from understudy.privacy.statement import statement
from understudy.release.folders import digest_of


@pytest.fixture
def given():
    return town()


def edited(folder, change):
    path = folder / "manifest.json"
    told = json.loads(path.read_text())
    change(told)
    path.write_text(json.dumps(told))
    return verify(folder).problems


PARAMETERS = [
    ({}, "epsilon", 1.0, "say epsilon 1.0"),
    ({}, "delta", 1e-9, "cost delta"),
    ({}, "delta", None, "cost delta"),
    ({}, "certificate", "probabilistic", "say certificate 'probabilistic'"),
    ({}, "reject", True, "say reject True"),
    ({}, "size", 2.0, "other numbers of synthetic workers"),
    ({"rings": ctpp_minnesota(), "shrink": True}, "shrink", False, "say shrink False"),
    ({"method": "sba"}, "epsilon", 1.0, "say epsilon"),
    ({"method": "laplace", "delta": None}, "epsilon", 1.0, "say epsilon"),
    ({"method": "subsample"}, "subsample", 0.25, "say subsample"),
]


@pytest.mark.parametrize(("options", "name", "value", "sentence"), PARAMETERS, ids=str)
def test_parameters_that_are_not_those_of_the_price(given, tmp_path, options, name, value, sentence):
    synthesize_commutes(exact(**options), given, out=tmp_path / "r")
    assert verify(tmp_path / "r").problems == ()
    problems = edited(tmp_path / "r", lambda told: told["parameters"].update({name: value}))
    assert any(sentence in said for said in problems), problems


@pytest.mark.parametrize("method", ["commute-sba", "commute-magic"])
def test_another_method_than_the_one_that_was_paid_for(given, tmp_path, method):
    synthesize_commutes(exact(), given, out=tmp_path / "r")
    assert edited(tmp_path / "r", lambda told: told.update(method=method))


def test_rows_that_nobody_paid_for(given, tmp_path):
    """A worker of one destination is given to another: all rows fit the codebook, and their number is right."""
    release = exact().fit(given).sample()
    names = release.table.column("destination").to_pylist()
    moved = pa.table({"origin": release.table.column("origin"), "destination": [names[-1], *names[1:]]})
    replace(release, table=moved).save(tmp_path / "r")
    assert any("another number of synthetic workers" in said for said in verify(tmp_path / "r").problems)


def test_a_codebook_of_other_origins(given, tmp_path):
    """Cells that the price leaves out would make the noise look larger than it was."""
    synthesize_commutes(exact(), given, out=tmp_path / "r")
    smaller = open_commutes(TOWN.flows, count="workers", origins=[*given.flows.origins.to_pylist(), "nowhere"])
    synthesize_commutes(exact(), smaller, out=tmp_path / "other")
    ledger = json.loads((tmp_path / "other" / "manifest.json").read_text())["ledger"]

    def price_of_another(told):
        told["ledger"][0]["event"] = ledger[0]["event"]
        told["ledger"][0]["guarantee"] = ledger[0]["guarantee"]

    assert any("origins, and the ledger" in said for said in edited(tmp_path / "r", price_of_another))


def test_other_releases_are_left_alone(tmp_path):
    rows_release().save(tmp_path / "rows")
    assert verify(tmp_path / "rows").is_valid
    assert not any("draws were paid" in said for said in verify(tmp_path / "rows").passed)


_NEW = ("holds", "subject", "record_wise", "real_records", "inputs", "confidential_look", "call", "charged_as")


def of_format_1(folder):
    """The manifest as 0.1 wrote it: fewer keys, and a statement that names no declared tables."""
    path = folder / "manifest.json"
    told = json.loads(path.read_text())
    ledger = Ledger.from_list(told["ledger"])
    total = ledger.total(delta=told["delta_for_total"])
    paper = (told["paper"] or {}).get("statement")
    said = statement(ledger, total, rows=told["rows"]["number"], route=told["route"], paper=paper)
    old = {name: value for name, value in told.items() if name not in _NEW}
    table = folder / "synthetic.parquet"
    pq.write_table(pq.read_table(table).replace_schema_metadata(None), table)  # 0.1 had another mark
    (folder / "index.html").unlink()  # and no page
    files = {name: digest for name, digest in old["files"].items() if name != "index.html"}
    files[table.name] = digest_of(table)
    path.write_text(json.dumps({**old, "files": files, "format": 1, "statement": said}))


@pytest.mark.parametrize("seed", [None, 1])
def test_folders_of_the_first_format_are_read(given, tmp_path, seed):
    folder = tmp_path / "r"
    synthesize_commutes(exact(), given, out=folder, seed=seed)
    of_format_1(folder)
    assert verify(folder).problems == ()
    made = read_release(folder)
    assert made.problems == () and len(made.origins) == 30 and made.places is not None
    assert "understudy map" in map_page(made)
    findings, *_ = compare_commutes(TOWN.flows, folder, count="workers")
    assert findings.synthetic_workers == 400
    if seed is None:
        assert edited(folder, lambda told: told["parameters"].update(epsilon=1.0))
        assert read_release(folder).problems
