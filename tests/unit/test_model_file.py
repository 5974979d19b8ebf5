"""Released model files: what is in them, what is not, and what happens to broken ones."""

import io
import json
import os
import re
import zipfile
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from registry_examples import examples_with

from understudy.codebook import Categorical, Codebook
from understudy.errors import RefusalError, ReleaseError
from understudy.mechanisms.stream import Stream
from understudy.privacy import Neighbours, NoFormal
from understudy.privacy.account import Account
from understudy.release.measurements import MEASUREMENTS
from understudy.release.verify import verify_release
from understudy.sources import EncodedSource
from understudy.sources.tables import CountTable
from understudy.synth import METHODS, make_recipe
from understudy.synth.model_file import load_model
from understudy.synth.ways import Agreeing, Cells, Chains, Network

AR = Neighbours.ADD_REMOVE
SIZES, NAMES = (2, 3, 4, 2), tuple("abcd")
ROWS = 4_999
CHAINS = {"epsilon": 1.0, "public_rows": 6000, "parent_count": None, "sweeps": 3}
CHANGES = {"sbhg": CHAINS, "sbhg-gauss": CHAINS, "privbayes": {"epsilon": 1.0, "public_rows": 6000}}
EXAMPLES = {name: options for name, options in examples_with(CHANGES).items() if METHODS[name].route == "N"}
BOOK = Codebook(
    columns=tuple(
        Categorical(name=name, levels=tuple(f"{name}{level}" for level in range(size)))
        for name, size in zip(NAMES, SIZES, strict=True)
    )
)


def codes():
    stream = Stream.seeded(77)
    return [stream.below_each(np.full(ROWS, size, dtype=np.uint64)).astype(np.uint8) for size in SIZES]


CODES = codes()


def source_of(account=None):
    return EncodedSource(codebook=BOOK, columns=CODES, account=account)


def recipe_of(method, **more):
    return make_recipe(method, **{**EXAMPLES[method], **more})


def exact_counts(columns):
    return source_of().count([columns])[0].open()


def parts(path):
    """Arrays by name, and the two texts."""
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        raw = {name: archive.read(name) for name in archive.namelist()}
    arrays = {n: np.load(io.BytesIO(b), allow_pickle=False) for n, b in raw.items() if n.endswith(".npy")}
    return raw, arrays


@pytest.fixture(params=EXAMPLES)
def method(request):
    return request.param


def test_a_model_holds_nothing_but_noisy_counts(method, tmp_path):
    fitted = recipe_of(method).fit(source_of())
    raw, arrays = parts(fitted.save_model(tmp_path / "m.model"))
    tables = fitted.model.tables
    pairs = [(f"table-{i}-codes.npy", f"table-{i}-noisy-counts.npy") for i in range(len(tables))]
    classes = [f"{name}.npy" for name in fitted.model.way.arrays()]
    assert len(classes) == (1 + len(SIZES) if isinstance(fitted.model.way, Agreeing) else 0)
    also = [MEASUREMENTS] if method == "marginals" else []
    assert set(raw) == {"model.json", "codebook.toml", *(name for pair in pairs for name in pair), *classes, *also}
    assert raw["codebook.toml"].decode() == BOOK.to_toml()
    cells_in_all = right = 0
    for (cells, counts), table in zip(pairs, tables, strict=True):
        codes, noisy = table.occupied()
        assert np.array_equal(arrays[cells], codes)
        assert np.array_equal(arrays[counts], noisy)
        found = dict(zip(map(tuple, codes.tolist()), noisy.tolist(), strict=True))
        exact = exact_counts(table.columns).to_grid()
        right += sum(found.get(cell, 0) == count for cell, count in np.ndenumerate(exact))
        cells_in_all += exact.size
    # at epsilon 1 or less a noisy count is right with probability tanh(1/2) < 0.47 at most; that 0.99 of 30 cells or
    # more are right has a probability below 30 x 0.47^29 < 1e-8 (and never an exact count, on the scale of `marginals`)
    assert cells_in_all >= sum(SIZES)
    if cells_in_all >= 30 or method == "marginals":
        assert right < 0.99 * cells_in_all


def test_a_model_hides_the_number_of_records(method, tmp_path):
    """Neither the text nor any total of a table says how many records there were."""
    for attempt in range(3):
        fitted = recipe_of(method).fit(source_of())
        raw, arrays = parts(fitted.save_model(tmp_path / f"{attempt}.model"))
        text = raw["model.json"].decode()
        assert not re.search(rf"(?<![\d.])({ROWS}|{ROWS:,})(?![\d.])", text)
        totals = {int(values.sum()) for name, values in arrays.items() if "counts" in name}
        if ROWS not in totals:
            return
    pytest.fail("three fits in a row had the exact number of records as a total")  # each below 1 in 20


def test_with_huge_noise_no_count_is_exact(tmp_path):
    """Noise of thousands of records: an exact count array anywhere in the file would stand out."""
    recipe = make_recipe("sbhg", epsilon=1e-4, delta=0.9, parents="full", sweeps=1)
    fitted = recipe.fit(source_of())
    _, arrays = parts(fitted.save_model(tmp_path / "m.model"))
    scale = float(recipe.table_events(BOOK)[0].scale)
    assert scale > 300
    cells = hits = 0
    for number, table in enumerate(fitted.model.tables):
        exact = exact_counts(table.columns).to_grid()
        for code, noisy in zip(
            arrays[f"table-{number}-codes.npy"], arrays[f"table-{number}-noisy-counts.npy"], strict=True
        ):
            cells += 1
            hits += exact[tuple(code)] == noisy
    # at most 192 cells, each exact with probability below 1 / (2 scale): 12 hits or more have probability below 1e-12
    assert 0 < cells <= 192
    assert hits < 12


def test_the_description_has_no_seed_and_no_count(method, tmp_path):
    seed = 987_654_321
    fitted = recipe_of(method).fit(source_of(), stream=Stream.seeded(seed))
    raw, _ = parts(fitted.save_model(tmp_path / "m.model"))
    described = json.loads(raw["model.json"])
    assert set(described) == {
        *("format", "kind", "method", "parameters", "ledger", "delta_for_total", "secure", "sweeps", "order"),
        *("warnings", "tables", "classes", "details", "measured", "people", "charged"),
        *("charged_as", "looked"),
    }
    assert set(described["parameters"]) == set(recipe_of(method).parameters())
    assert str(seed) not in raw["model.json"].decode()
    assert described["secure"] is False
    total = load_model(tmp_path / "m.model").sample(5).manifest.total
    assert isinstance(total, NoFormal)  # a model whose noise can be guessed promises nothing
    assert "seeded" in total.why


def test_rows_from_a_file_are_rows_from_the_fit(method, tmp_path):
    """The same words give the same rows, under the same promise, as often as one likes."""
    fitted = recipe_of(method).fit(source_of())
    quote = fitted.quote(70)
    loaded = load_model(fitted.save_model(tmp_path / "m.model"))
    assert method in repr(loaded)
    again = [loaded.model.draw(500, Stream.seeded(3)) for _ in range(2)] + [fitted.model.draw(500, Stream.seeded(3))]
    for other in again[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(again[0].codes, other.codes, strict=True))
    steps = []
    releases = [loaded.sample(70, report=lambda *step: steps.append(step)), loaded.sample(70)]
    assert not releases[0].table.equals(releases[1].table)
    for number, release in enumerate(releases):
        assert release.table.num_rows == 70
        assert release.table.column_names == list(NAMES)
        manifest = release.manifest
        assert manifest.total == quote.total
        assert manifest.ledger == quote.ledger
        assert manifest.statement == quote.statement
        assert manifest.parameters == recipe_of(method).parameters()
        assert "released model" in manifest.account
        assert verify_release(release.save(tmp_path / str(number))).problems == ()


WAYS = {
    "sbhg": (Chains, {"kind": "gibbs", "sweeps": 3, "order": [], "classes": 0}),
    "sbhg-gauss": (Chains, {"kind": "gibbs", "sweeps": 3, "order": [], "classes": 0}),
    "marginals": (Agreeing, {"kind": "marginals", "sweeps": 0, "order": [], "classes": 1 + len(SIZES)}),
    "privbayes": (Network, {"kind": "network", "sweeps": 0, "classes": 0}),
    "sba": (Cells, {"kind": "cells", "sweeps": 0, "order": [], "classes": 0}),
    "laplace": (Cells, {"kind": "cells", "sweeps": 0, "order": [], "classes": 0}),
}


@pytest.mark.parametrize("method", WAYS)
def test_files_say_how_to_draw_in_the_words_of_format_1(method, tmp_path):
    """Older versions read these fields from every file, whatever its kind."""
    fitted = recipe_of(method).fit(source_of())
    described = json.loads(parts(fitted.save_model(tmp_path / "m.model"))[0]["model.json"])
    kind, said = WAYS[method]
    assert {name: described[name] for name in said} == said
    assert sorted(described["order"]) == (list(range(len(SIZES))) if method == "privbayes" else [])
    way = load_model(tmp_path / "m.model").model.way
    assert type(way) is type(fitted.model.way) is kind
    assert way.described() == fitted.model.way.described()


def test_the_warning_about_delta_travels_with_the_model(tmp_path):
    recipe = recipe_of("sbhg", delta=0.01, public_rows=5000)
    loaded = load_model(recipe.fit(source_of()).save_model(tmp_path / "m.model"))
    assert any("not below 1/5,000" in text for text in loaded.sample(5).manifest.warnings)


def test_a_model_is_paid_for_once(method, tmp_path):
    account = Account.create(tmp_path / "d.account", dataset="d", epsilon=1.5, delta=1e-3, neighbours=AR)
    fitted = recipe_of(method).fit(source_of(account))
    fitted.save_model(tmp_path / "one.model")
    fitted.sample(30)
    fitted.save_model(tmp_path / "two.model")
    load_model(tmp_path / "one.model").sample(30)
    assert [charge.state.value for charge in account.history()] == ["committed"]
    assert account.spent().epsilon <= 1.0
    with pytest.raises(Exception, match="cap"):
        recipe_of(method).fit(source_of(account)).save_model(tmp_path / "three.model")
    assert not (tmp_path / "three.model").exists()


def test_a_model_that_cannot_be_written_costs_nothing(tmp_path):
    account = Account.create(tmp_path / "d.account", dataset="d", epsilon=5.0, delta=1e-3, neighbours=AR)
    (tmp_path / "there").write_text("mine")
    for path, words in ((tmp_path / "there", "exists already"), (tmp_path / "no" / "folder", "nothing can be written")):
        fitted = recipe_of("sbhg").fit(source_of(account))
        with pytest.raises(ReleaseError, match=words):
            fitted.save_model(path)
    assert (tmp_path / "there").read_text() == "mine"
    assert account.spent().epsilon == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["d.account", "there"]


@pytest.mark.parametrize("method", ["gibbs", "contingency"])
def test_exact_counts_are_not_written(method, tmp_path):
    options = {"parents": "declared", "sweeps": 1} if method == "gibbs" else {}
    fitted = make_recipe(method, **options).fit(source_of())
    with pytest.raises(RefusalError, match="exact counts"):
        fitted.save_model(tmp_path / "m.model")
    assert list(tmp_path.iterdir()) == []


# --- broken files ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "whole.model"
    recipe_of("sbhg", parents="declared").fit(source_of()).save_model(path)
    return path


def test_no_damage_ends_in_a_traceback(whole, tmp_path):
    """Bits flipped, tails cut off, bytes overwritten: a sentence, or a file that is still whole."""
    raw = whole.read_bytes()
    stream = Stream.seeded(5)
    path = tmp_path / "broken.model"
    kept = load_model(whole).model
    for attempt in range(400):
        damaged = bytearray(raw)
        place = stream.below(len(raw))
        if attempt % 3 == 0:
            damaged[place] ^= 1 << stream.below(8)
        elif attempt % 3 == 1:
            del damaged[place:]
        else:
            damaged[place : place + 6] = os.urandom(6)
        path.write_bytes(damaged)
        try:
            model = load_model(path).model
        except ReleaseError as refusal:
            assert str(path) in str(refusal)
            continue
        for table, other in zip(model.tables, kept.tables, strict=True):  # every part has a checksum
            assert np.array_equal(table.to_grid(), other.to_grid())
        assert model.ledger == kept.ledger


def rewritten(whole, path, *, describe=lambda d: None, replace_part=None):
    """A copy of a model file with its description or one of its parts changed, in a sound archive."""
    with zipfile.ZipFile(whole) as archive:
        raw = {name: archive.read(name) for name in archive.namelist()}
    described = json.loads(raw["model.json"])
    changed = describe(described)
    raw["model.json"] = json.dumps(described if changed is None else changed).encode()
    raw.update(replace_part or {})
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in raw.items():
            if data is not None:
                archive.writestr(name, data)
    return path


def array(values):
    buffer = io.BytesIO()
    np.save(buffer, values, allow_pickle=values.dtype == object)
    return buffer.getvalue()


def drop(key):
    def change(described):
        del described[key]

    return change


def put(key, value):
    def change(described):
        described[key] = value

    return change


@pytest.mark.parametrize(
    "change",
    [
        *(drop(key) for key in ("kind", "ledger", "tables", "secure", "sweeps", "order", "delta_for_total", "method")),
        put("kind", "magic"),
        put("kind", "cells"),
        put("kind", "network"),
        put("format", 2),
        put("sweeps", 0),
        put("sweeps", "three"),
        put("tables", 3),
        put("tables", []),
        put("ledger", [{"stage": "tables"}]),
        put("ledger", "free"),
        put("order", 7),
        lambda described: [],
        lambda described: described["tables"][0].update(columns=["a"]),
        lambda described: described["tables"][0].update(columns=["z", "y", "x"]),
        lambda described: described["tables"][0].update(sizes=[900, 900, 900]),
        lambda described: described["tables"].reverse(),
        lambda described: described["ledger"][0]["event"].update(kind="magic"),
        lambda described: described["ledger"][0]["event"].update(scale="0/1"),
    ],
)
def test_a_model_that_contradicts_itself_is_refused(whole, tmp_path, change):
    path = rewritten(whole, tmp_path / "odd.model", describe=change)
    with pytest.raises(ReleaseError):
        load_model(path)


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [("kind", "magic", "the kind 'magic' is unknown"), ("order", [0, 1, 2, 3], "more than the kind 'gibbs' needs")],
)
def test_what_nobody_can_draw_is_named(whole, tmp_path, field, value, words):
    with pytest.raises(ReleaseError, match=words):
        load_model(rewritten(whole, tmp_path / "odd.model", describe=put(field, value)))


@pytest.mark.parametrize(
    "part",
    [
        {"codebook.toml": b"not = [toml"},
        {"codebook.toml": b"\xff\xfe"},
        {"codebook.toml": None},
        {"table-0-codes.npy": None},
        {"table-0-codes.npy": b""},
        {
            "table-0-codes.npy": array(np.full((5, 3), 200, dtype=np.uint8)),
            "table-0-noisy-counts.npy": array(np.ones(5, int)),
        },
        {"table-0-codes.npy": array(np.full((5, 3), -1)), "table-0-noisy-counts.npy": array(np.ones(5, dtype=int))},
        {
            "table-0-codes.npy": array(np.zeros((5, 2), dtype=np.uint8)),
            "table-0-noisy-counts.npy": array(np.ones(5, int)),
        },
        {"table-0-codes.npy": array(np.zeros(15, dtype=np.uint8))},
        {"table-0-codes.npy": array(np.zeros((5, 3)))},
        {"table-0-noisy-counts.npy": array(np.ones(1, dtype=int))},
        {"table-0-noisy-counts.npy": array(np.array([{"a": 1}]))},
        {
            "table-0-codes.npy": array(np.array([[0, 0, 0], [1, 0, 0]], dtype=np.uint8)),
            "table-0-noisy-counts.npy": array(np.full(2, 1 << 62)),
        },
    ],
)
def test_arrays_that_do_not_fit_are_refused(whole, tmp_path, part):
    path = rewritten(whole, tmp_path / "odd.model", replace_part=part)
    with pytest.raises(ReleaseError, match=r"odd\.model"):
        load_model(path)


def test_a_network_needs_its_parents_first(tmp_path):
    fitted = recipe_of("privbayes").fit(source_of())
    model = fitted.model
    assert model.faults() == []
    for order in (tuple(reversed(model.way.order)), model.way.order[:-1]):
        assert "parents first" in replace(model, way=Network(order=order)).faults()[0]
    loop = list(model.tables)
    loop[0] = CountTable.sparse(("b", "a"), (3, 2), np.zeros((1, 2), np.uint8), np.ones(1, np.int64))
    loop[1] = CountTable.sparse(("a", "b"), (2, 3), np.zeros((1, 2), np.uint8), np.ones(1, np.int64))
    assert "parents first" in replace(model, tables=tuple(loop)).faults()[0]


@pytest.mark.parametrize(
    ("data", "words"),
    [(b"", "is empty"), (b"hello", "is not a model file; give the file"), (b"PK\x03\x04", "not a whole model file")],
)
def test_what_is_no_model_is_refused(tmp_path, data, words):
    path = tmp_path / "x.model"
    path.write_bytes(data)
    with pytest.raises(ReleaseError, match=words):
        load_model(path)
    with pytest.raises(ReleaseError, match="there is no model file"):
        load_model(tmp_path / "nowhere.model")
    with pytest.raises(ReleaseError, match="is a folder, not a model"):
        load_model(tmp_path)


def test_the_ledger_keeps_exact_numbers(whole):
    events = [entry.event for entry in load_model(whole).model.ledger.entries]
    assert all(isinstance(event.scale, Fraction) for event in events)
    assert events == list(recipe_of("sbhg", parents="declared").table_events(BOOK))
