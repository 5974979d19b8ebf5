"""Ids that group synthetic records into people: declared or counted at a price, in one file, in parts, from a model."""

import itertools
from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from understudy.codebook import Codebook
from understudy.codebook.pseudonyms import person_sizes, pseudonyms
from understudy.errors import CodebookError, ParameterError, ReleaseError
from understudy.mechanisms.stream import Stream
from understudy.privacy import Neighbours
from understudy.privacy.account import Account
from understudy.release.verify import verify_release
from understudy.sources import open_source
from understudy.synth import LaplaceHistogram, PeGS, make_recipe
from understudy.synth.model_file import load_model
from understudy.synth.people import capped_source
from understudy.synth.ranged import draw_parts, synthesize_parts

TEXT = """format = 1

[unit]
id = "patient"
cap = 3
pseudonyms = true
records_per_person = {shares}

[[columns]]
name = "patient"
kind = "text"
role = "identifier"

[[columns]]
name = "a"
kind = "categorical"
levels = ["0", "1"]
"""


def book(shares='"counted"'):
    return Codebook.from_toml(TEXT.format(shares=shares))


def stays(people=2000):
    """Of ten people six have one record, three two, one five (three take part)."""
    each = np.array([1] * 6 + [2] * 3 + [5])[np.arange(people) % 10]
    who = np.repeat([f"secret-{k}" for k in range(people)], each)
    return pa.table({"patient": who, "a": np.random.default_rng(1).integers(0, 2, len(who)).astype(str)})


def group_sizes(ids):
    return Counter(Counter(ids).values())


@pytest.mark.parametrize("shares", ['"counted"', "[6, 3, 1]"])
def test_shares_are_written_as_they_were_read(shares):
    assert book(shares).to_toml() == TEXT.format(shares=shares)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"counted"', '"guessed"', "it lists how common"),
        ('"counted"', "[0, 0]", "it lists how common"),
        ('"counted"', "[1.5]", "it lists how common"),
        ('"counted"', "[-1, 2]", "it lists how common"),
        ('"counted"', "[]", "it lists how common"),
        ('"counted"', "7", "it lists how common"),
        ('"counted"', "[1, 1, 1, 1]", "cap = 3; nobody takes part with more"),
        ("pseudonyms = true\n", "", "no ids to group records by"),
    ],
)
def test_bad_shares_are_refused(old, new, said):
    with pytest.raises(CodebookError, match=said):
        Codebook.from_toml(TEXT.format(shares='"counted"').replace(old, new, 1))


def test_sizes_follow_the_weights_and_fill_the_rows():
    """60,000 rows at weights 6, 3, 1: shares within z = 7; nobody has two records under weights 1, 0, 1."""
    stream = Stream.seeded(3)
    sizes = person_sizes(60_000, stream.below_each, (6, 3, 1))
    assert sizes.sum() == 60_000 and sizes.min() >= 1
    shares = np.bincount(sizes, minlength=4)[1:] / len(sizes)
    assert (abs(shares - [0.6, 0.3, 0.1]) < 7 * np.sqrt(0.25 / 39_000)).all()
    assert set(person_sizes(999, stream.below_each, (1, 0, 1))[:-1].tolist()) == {1, 3}
    assert person_sizes(1, stream.below_each, (0, 0, 1)).tolist() == [1]
    assert person_sizes(7, stream.below_each, (0, 0, 1)).tolist() == [3, 3, 1]


def test_ids_are_dealt_at_random_and_look_alike():
    ids = pseudonyms(3000, Stream.seeded(1).below_each, (0, 1)).to_pylist()
    assert group_sizes(ids) == {2: 1500} and all(len(text) == 31 and text[0] == "s" for text in ids)
    together = sum(a == b for a, b in itertools.pairwise(ids))
    assert together < 30  # 1 expected where rows are dealt at random, 1,500 where neighbours are put together
    assert pseudonyms(0, Stream.seeded(1).below_each).to_pylist() == []


@pytest.mark.parametrize("local_bytes", [1 << 28, 0], ids=["memory", "engine"])
def test_the_histogram_counts_people_up_to_the_cap(local_bytes):
    source = capped_source(open_source(stays(), book(), local_bytes=local_bytes), Stream.seeded(1))
    assert source.people.open().to_grid().tolist() == [1200, 600, 200]
    assert "withheld" in repr(source.people)
    assert capped_source(open_source(stays(), book("[1]")), Stream.seeded(1)).people is None


def test_counting_is_priced_for_the_person_and_needs_its_epsilon(tmp_path):
    recipe = LaplaceHistogram(epsilon=1.0, people_epsilon=0.25)
    account = Account.create(
        tmp_path / "a", dataset="d", epsilon=2.0, delta=0.0, neighbours=Neighbours.ADD_REMOVE_PERSON
    )
    release = recipe.fit(open_source(stays(), book(), account=account)).sample(6000)
    total = release.manifest.total
    assert total.neighbours is Neighbours.ADD_REMOVE_PERSON and total.epsilon == pytest.approx(1.25)
    assert account.spent().epsilon == pytest.approx(1.25)
    [entry] = [entry for entry in release.manifest.ledger if entry.stage == "people"]
    assert entry.event.kind == "people-histogram" and entry.event.guarantee().epsilon == 0.25
    sizes = group_sizes(release.table["patient"].to_pylist())
    shares = np.array([sizes[k] for k in (1, 2, 3)]) / sizes.total()
    # noise of scale 4 on 1200, 600 and 200 people, and a sample of some 4,000: z = 7 of the sample, and 0.03
    assert (abs(shares - [0.6, 0.3, 0.1]) < 7 * np.sqrt(0.25 / 3900) + 0.03).all()
    assert any("not a history" in text for text in release.manifest.warnings)
    release.save(tmp_path / "out")
    assert verify_release(tmp_path / "out").is_valid
    assert not any(b"secret-" in path.read_bytes() for path in (tmp_path / "out").iterdir())
    shared = replace(recipe, people_epsilon=None).quote(book(), 5)
    assert shared.total.epsilon <= 1.0 and [entry.stage for entry in shared.ledger] == ["tables", "people"]
    with pytest.raises(ParameterError, match="give `people_epsilon`"):
        PeGS(alpha=1.0).quote(book(), 5)
    with pytest.raises(ParameterError, match="does not ask for it"):
        recipe.quote(book("[1, 1]"), 5)
    with pytest.raises(ParameterError, match="above 0"):
        replace(recipe, people_epsilon=0.0).quote(book(), 5)


def test_replace_one_and_baselines_group_people_too():
    recipe = make_recipe("laplace", epsilon=1.0, people_epsilon=0.5, neighbours=Neighbours.REPLACE)
    total = recipe.quote(book(), 5).total
    assert total.neighbours is Neighbours.REPLACE_PERSON and total.epsilon == pytest.approx(1.5)
    baseline = make_recipe("contingency").fit(open_source(stays(), book()))
    assert baseline.people == (1200, 600, 200)
    release = baseline.sample(300)
    assert release.manifest.total.kind == "NoFormal" and "nobody paid for" in release.statement


def test_public_shares_cost_nothing_and_are_an_assumption():
    recipe = LaplaceHistogram(epsilon=1.0)
    release = recipe.fit(open_source(stays(), book("[0, 0, 1]"))).sample(300)
    assert group_sizes(release.table["patient"].to_pylist()) == {3: 100}
    assert release.manifest.total.epsilon == pytest.approx(1.0)
    assert any(
        "how common each number of records per person is" in text for text in release.manifest.ledger.assumptions
    )


def test_ids_are_consistent_across_parts_and_models(tmp_path):
    """Nobody is in two parts, no id is made twice, and a model file carries the released numbers along."""
    recipe = LaplaceHistogram(epsilon=1.0, people_epsilon=5.0)
    fitted = recipe.fit(open_source(stays(), book()))
    fitted.save_model(tmp_path / "m.model")
    assert load_model(tmp_path / "m.model").model.people == fitted.people
    synthesize_parts(stays(), book(), recipe, rows=900, out=tmp_path / "parts", part_rows=300)
    draw_parts(tmp_path / "m.model", rows=600, out=tmp_path / "more", part_rows=300)
    seen = [
        set(pq.read_table(path, columns=["patient"])["patient"].to_pylist())
        for folder in ("parts", "more")
        for path in sorted((tmp_path / folder / "synthetic").iterdir())
    ]
    seen.append(set(load_model(tmp_path / "m.model").sample(300).table["patient"].to_pylist()))
    assert len(seen) == 6 and sum(map(len, seen)) == len(set().union(*seen))
    assert all(150 < len(ids) < 290 for ids in seen)  # 1.5 records each: 200 people, and not one per row
    for folder in ("parts", "more"):
        assert verify_release(tmp_path / folder).problems == ()


def test_a_resumed_route_s_run_does_not_count_people_again(tmp_path):
    from tests.engines.part_tables import REASONS, Explodes

    recipe = PeGS(alpha=1.0, people_epsilon=0.1)
    work = {"rows": 300, "out": tmp_path / "r", "part_rows": 100}
    REASONS.append(OSError("power cut"))
    with pytest.raises(ReleaseError, match="power cut"):
        synthesize_parts(stays(200), book(), recipe, workers=Explodes(count=1), **work)
    import json

    plan = tmp_path / "r.unfinished" / "plan.json"
    kept = json.loads(plan.read_text())
    kept["people"] = [0, 0, 9]  # stands for what the first run drew
    plan.write_text(json.dumps(kept))
    synthesize_parts(stays(200), book(), recipe, **work)
    last = sorted((tmp_path / "r" / "synthetic").iterdir())[-1]
    sizes = group_sizes(pq.read_table(last)["patient"].to_pylist())
    assert sizes == {3: 33, 1: 1}


def test_a_model_without_its_numbers_is_refused(tmp_path):
    fitted = LaplaceHistogram(epsilon=1.0, people_epsilon=5.0).fit(open_source(stays(), book()))
    assert replace(fitted.model, people=()).faults() and replace(fitted.model, people=(-1, 2)).faults()
    assert not fitted.model.faults()
