"""Edges of evaluation: names that mean something in Markdown, nothing left to compare, nothing left to predict from."""

import numpy as np
import pyarrow as pa
import pytest

from understudy import datasets
from understudy.codebook import Categorical, Codebook, Integer
from understudy.codebook.linked import LinkedCodebook, LinkedTable
from understudy.commute.mapping import _tile_host
from understudy.errors import DataError, ParameterError
from understudy.evaluate.commuting import compare_flows
from understudy.evaluate.holdout import check_holdout
from understudy.evaluate.linked.compare import compare_linked
from understudy.evaluate.linked.proposals import propose_across
from understudy.evaluate.linked.rows import read_rows
from understudy.evaluate.metric import Metric
from understudy.evaluate.report.findings import Measured
from understudy.evaluate.report.gather import gather
from understudy.evaluate.worksheet import _facts
from understudy.privacy.secret import Secret
from understudy.sources import open_source
from understudy.sources.flows import Histograms


def test_a_bar_in_a_name_is_escaped_once():
    metric = Metric(name="m", title="M", says="What.")
    line = _facts([Measured(metric=metric, score=metric.score(0.5, {"a|b": 0.25}))])[2]
    assert r" a\|b 0.25 " in line and r"\\|" not in line


def test_commutes_that_all_lie_beyond_the_cut_off_are_compared():
    cells = Histograms.of(np.array([0, 1]), np.array([1, 0]), np.array([3, 4]), number=2)
    found = compare_flows(
        Secret(cells), cells, distance=lambda rows, units: np.full(len(rows), 9.0), short=None, within=1.0
    )
    assert (found.workers, found.top_flows, found.top_flow_overlap, found.lost_pairs) == (0, 0, 0.0, 0.0)


@pytest.mark.parametrize("host", ["x y;script-src *", "a'b", "user@host", ""])
def test_the_host_of_tiles_is_a_host_and_no_further_rule(host):
    with pytest.raises(ParameterError, match="tiles"):
        _tile_host(f"https://{host}/{{z}}/{{x}}/{{y}}.png")
    assert _tile_host("https://tiles.example.org:8443/{z}/{x}/{y}.png") == "https://tiles.example.org:8443"


def linked(*columns):
    return LinkedCodebook(tables=(LinkedTable(name="people", book=Codebook(columns=columns), key="id"),))


def test_a_label_without_another_column_is_not_predicted():
    book = linked(Categorical(name="sex", levels=("F", "M")))
    people = {"people": pa.table({"id": list("abcd"), "sex": list("FMFM")})}
    others = {"people": pa.table({"id": list("efghi"), "sex": list("FFFMM")})}
    found = compare_linked(people, people, book, holdout=others, label="people.sex=F")
    assert np.isnan(found.score("next_event").value) and "No column is left" in found.score("next_event").note


def test_breaches_of_a_proposed_order_are_those_of_the_numbers():
    edges = (0, 10, 20, 30)
    book = linked(Integer(name="first", edges=edges), Integer(name="last", edges=edges))
    first = np.arange(3000) % 28
    last = first + 1
    last[0] = first[0] + 0
    first[1], last[1] = 5, 3  # in one bin, and the wrong way round
    people = {"people": pa.table({"id": np.arange(3000), "first": first, "last": last})}
    orders = [each for each in propose_across(read_rows(people, book)) if each.form == "order"]
    assert [each.exceptions for each in orders if each.rule.low == "people.first"] == [1]


def test_people_held_out_are_others_by_their_ids():
    """Rows that are set aside at random leave stays of one patient on both sides, none of which has a twin."""
    pytest.importorskip("statsmodels")
    book = datasets.encounters_codebook()
    stays = datasets.encounters(40, seed=1)
    real, own = (open_source(stays.take(np.arange(side, len(stays), 2)), book) for side in (0, 1))
    assert check_holdout(real, own) < 1, "no row has a twin"
    with pytest.raises(DataError, match=r"people held out have an id that is in the training table"):
        gather(real, real, risk="none", holdout=own)
    others = open_source(datasets.encounters(40, seed=2, first=40), book)
    notes = gather(real, real, risk="none", holdout=others).notes
    assert not [note for note in notes if "Hold out whole" in note]
    assert len([note for note in notes if "count records, and a person may have several" in note]) == 1


def test_people_whose_ids_are_not_there_are_told_to_be_held_out_whole():
    pytest.importorskip("statsmodels")
    book = datasets.encounters_codebook()
    real = open_source(datasets.encounters(40, seed=1), book)
    held = open_source(datasets.encounters(40, seed=2).drop_columns(["patient_id"]), book)
    told = [note for note in gather(real, real, risk="none", holdout=held).notes if "Hold out whole people" in note]
    assert len(told) == 1 and not any("whole people" in note for note in gather(real, real, risk="none").notes)
