"""Certificates and measurements where they meet payment, verification and inference."""

import hashlib
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import understudy as us
from understudy.blocks.certified_regression import released_regression
from understudy.blocks.known import Known
from understudy.blocks.measured import MarginalFit
from understudy.cli.app import main
from understudy.codebook import Categorical, Codebook
from understudy.errors import RefusalError, ReleaseError, UnderstudyError
from understudy.mechanisms.gaussian_measurements import Meter
from understudy.mechanisms.stream import Stream
from understudy.privacy.account import Account, ChargeState
from understudy.release.measurements import MEASUREMENTS, read_measurements
from understudy.synth import certificate as certificates
from understudy.synth.certificate import with_intervals
from understudy.synth.measurements import measurements_table

BOOK = Codebook(
    columns=(Categorical(name="a", levels=("x", "y", "z")), Categorical(name="b", levels=("u", "v"))),
)
MODEL = {"epsilon": 2.0, "delta": 1e-6}
WISHES = ("a x b within 0.5", "b=v ~ a within 0.95")
ASKED = {**MODEL, "certify": WISHES, "certify_epsilon": 4.0}
TRIED = {**MODEL, "certify": ("a x b within 0.00001",), "certify_epsilon": 0.5, "certify_tries": 5}


def people(rows=4000):
    rng = np.random.default_rng(3)
    levels = {"a": ["x", "y", "z"], "b": ["u", "v"]}
    return pa.table({name: rng.choice(of, rows).tolist() for name, of in levels.items()})


@pytest.fixture(scope="module")
def data():
    return people()


@pytest.fixture(scope="module")
def certified(data):
    return us.synthesize(data, BOOK, rows=2000, **ASKED)


@pytest.fixture
def folder(certified, tmp_path):
    certified.save(tmp_path / "out")
    return tmp_path / "out"


def edited(folder, change):
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text())
    change(manifest)
    path.write_text(json.dumps(manifest))


def test_a_certified_release_passes_with_its_measurements(folder):
    verdict = us.verify(folder)
    assert verdict.is_valid, verdict.problems
    assert any(MEASUREMENTS in passed and "paid for" in passed for passed in verdict.passed)


def no_table(certificate):
    """A table turned into a regression without coefficients, which nothing can contradict."""
    kept = {name: certificate["asked"][0][name] for name in ("words", "tolerance", "scale")}
    certificate["asked"][0] = {**kept, "unit": 1.0, "coefficients": [], "met": True}


def no_regression(certificate):
    """A regression turned into a table that agrees."""
    kept = {name: certificate["asked"][1][name] for name in ("words", "tolerance", "scale")}
    scale = certificates.Fraction(certificate["records"]["scale"])
    certificate["asked"][1] = with_intervals({**kept, "moved": -(10**9)}, 10**6, scale)


def other_origin(part):
    """Coefficients measured from another origin, with intervals that follow from it."""

    def change(certificate):
        item, scale = certificate["asked"][1], certificates.Fraction(certificate["records"]["scale"])
        for known in item["coefficients"]:
            known[part] += 0.01
        certificate["asked"][1] = with_intervals(item, certificate["records"]["measured"], scale)

    return change


def praised(certificate):
    certificate["asked"][0]["quality"] = "excellent"


@pytest.mark.parametrize(
    "change", [no_table, no_regression, other_origin("offset"), other_origin("rounding"), praised], ids=range(5)
)
def test_a_certificate_of_another_shape_is_found(folder, change):
    edited(folder, lambda manifest: change(manifest["certificate"]))
    assert not us.verify(folder).is_valid


def test_rows_of_a_certificate_set_no_price_where_there_are_rows(data, tmp_path):
    """An old manifest has no certificate; one that claims fewer rows there would make rows of route S cheaper."""
    us.synthesize(data, BOOK, rows=50, method="pegs", alpha=50.0, delta=1e-6, out=tmp_path / "out")
    edited(tmp_path / "out", lambda manifest: manifest.update(format=1, certificate={"rows": 1, "accepted": False}))
    problems = " ".join(us.verify(tmp_path / "out").problems)
    assert "nothing was to be certified" in problems
    assert "adds up to" not in problems  # its own price is still that of 50 rows


def test_rows_without_a_certificate_of_their_own_say_so(data, tmp_path):
    fitted = us.Marginals(**ASKED).fit(us.open(data, BOOK))
    assert fitted.sample(2000).manifest.certificate["accepted"]
    fitted.write(tmp_path / "out", 20)
    assert any("other rows" in passed for passed in us.verify(tmp_path / "out").passed)


@pytest.fixture
def account(tmp_path):
    return Account.create(
        tmp_path / "a.account", dataset="town", epsilon=50.0, delta=1e-3, neighbours=us.Neighbours.ADD_REMOVE
    )


def test_progress_does_not_count_the_tries(data):
    steps = []
    fitted = us.Marginals(**TRIED).fit(us.open(data, BOOK), report=lambda step, *_: steps.append(step))
    steps.clear()
    fitted.sample(50)
    assert set(steps) == {"decoding"}


def test_whoever_waits_and_interrupts_the_tries_pays(data, account, monkeypatch):
    """A run that takes long is one whose tries fail: to end it for free, again and again, would be to choose."""
    fitted = us.Marginals(**TRIED).fit(us.open(data, BOOK, account=account))
    real = certificates.until_passed

    def struck(draw, passes, **how):
        passes(draw())
        raise KeyboardInterrupt

    monkeypatch.setattr(certificates, "until_passed", struck)
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            fitted.sample(50)
    monkeypatch.setattr(certificates, "until_passed", real)
    assert fitted.sample(50).table.num_rows == 0
    charges = account.history()
    assert [charge.state for charge in charges] == [ChargeState.HELD, ChargeState.HELD, ChargeState.COMMITTED]
    with pytest.raises(RefusalError, match="rejected"):
        fitted.sample(50)
    assert len(account.history()) == 3


def test_records_without_an_outcome_do_not_make_a_difference_look_small():
    """One step of Newton's method is near the difference of the coefficients, also where half the outcomes miss."""
    outcome = Categorical(name="b", levels=("u", "v"), missing="NA")
    real, drawn = (
        np.array([[1000 - there, there, 1000] for there in chances]) for chances in ((500, 600, 400), (500, 560, 430))
    )
    [fitted, target] = [
        released_regression([BOOK.column("a")], outcome, "v", rows, most=1 << 14) for rows in (drawn, real)
    ]
    assert fitted.names == target.names == ("a=y", "a=z")
    step = real.ravel() @ (fitted.steps.reshape(real.size, -1) * fitted.unit) / real.sum() - fitted.offset
    assert step == pytest.approx(target.coefficients - fitted.coefficients, rel=0.1)


def swapped(folder, change):
    """Other measurements, with a manifest that agrees."""
    path = folder / MEASUREMENTS
    table = pq.read_table(path)
    pq.write_table(change(table), path)
    digest = "sha256:" + hashlib.sha256(path.read_bytes()).hexdigest()
    edited(folder, lambda manifest: manifest["files"].update({MEASUREMENTS: digest}))


def with_lines(change):
    def changed(table):
        lines = table.to_pylist()
        change(lines)
        return pa.Table.from_pylist(lines, schema=table.schema)

    return changed


def finer(lines):
    lines[0]["variance"] /= 1e6


SWAPS = {
    "the people themselves": lambda _: people(20),
    "less noise": with_lines(finer),
    "a line twice": with_lines(lambda lines: lines.append(lines[1])),
    "a column without values": with_lines(lambda lines: lines[1].update(values=None, score=1.0, score_error=1.0)),
    "groups of other levels": with_lines(lambda lines: lines[1].update(groups=[0, 5, 1])),
    "no variance": with_lines(lambda lines: lines[1].update(variance=float("nan"))),
    "another column": with_lines(lambda lines: lines[1].update(columns=["c"])),
}


@pytest.mark.parametrize("swap", SWAPS)
def test_other_measurements_are_found(folder, swap):
    swapped(folder, SWAPS[swap])
    assert not us.verify(folder).is_valid
    if swap != "less noise":  # which needs the ledger
        with pytest.raises(ReleaseError):
            us.infer(folder, share="a")


def test_measurements_without_their_digest_are_not_read(folder):
    path = folder / MEASUREMENTS
    pq.write_table(with_lines(finer)(pq.read_table(path)), path)
    with pytest.raises(ReleaseError, match="changed after the release"):
        us.infer(folder, share="a")


def test_nothing_is_inferred_from_a_rejected_release(data, tmp_path):
    release = us.synthesize(data, BOOK, rows=50, out=tmp_path / "out", **{**TRIED, "certify_tries": 1})
    assert not release.attachments and not (tmp_path / "out" / MEASUREMENTS).exists()
    with pytest.raises(RefusalError, match="rejected this release"):
        us.infer(tmp_path / "out", share="a")


def test_many_records_known_well_are_kept(data):
    """A thousand million records with little noise are more sixteenths of a deviation than 32 bits hold."""
    event = us.Marginals(**MODEL).event(BOOK)
    fit = MarginalFit(meter=Meter(event, Stream.seeded(1)), sizes=BOOK.sizes, workload=(1.0, 1.0))
    fit.records = Known(values=np.array([1e9]), variance=0.5)
    fit.raw = [Known(values=np.array(values), variance=0.5) for values in ([4e8, -2e8, -2e8], [4e8, -4e8])]
    read = read_measurements(measurements_table(fit, BOOK), BOOK)
    assert read.records.values[0] == pytest.approx(1e9, rel=1e-9)
    assert read.tables["a",].values == pytest.approx([0.4, -0.2, -0.2], rel=1e-6)


def test_measurements_are_no_people_and_no_public_table_of_an_unpaid_release(folder, data, tmp_path):
    with pytest.raises(UnderstudyError):
        us.synthesize(folder / MEASUREMENTS, BOOK, rows=5, **MODEL)
    us.synthesize(data, BOOK, rows=20, seed=1, out=tmp_path / "seeded", **MODEL)
    for unpaid in (tmp_path / "seeded" / "synthetic.parquet", tmp_path / "seeded" / MEASUREMENTS):
        with pytest.raises(UnderstudyError):
            us.forecast(BOOK, 100, public=unpaid, **MODEL)
    pq.write_table(data, tmp_path / "data.parquet")
    with pytest.raises(UnderstudyError):
        us.quote(BOOK, 100, data=tmp_path / "data.parquet", public=tmp_path / "data.parquet", rows_about=10, **MODEL)


HOSTILE = {
    "forecast": (
        "--rows-about 0",
        "--rows-about 99999999999999999999999999",
        "--rows-about 50 --public nowhere.parquet",
        "--rows-about 50 --public .",
        "--rows-about 50 --public book.toml",
        "--rows-about 50 --for a~b",
        "--rows-about 50 --certify-epsilon 1",
    ),
    "infer": (
        "--share a=",
        "--share =x",
        "--quantile a:2",
        "--table a,a",
        "--logistic ~",
        "--share a --level nan",
        "--share a --where a=x --where a=q",
        "--share a --population-size -inf",
        "--total a=x -o nowhere/page.html",
    ),
}


@pytest.mark.parametrize(("command", "words"), [(name, words) for name in HOSTILE for words in HOSTILE[name]])
def test_bad_input_gets_a_sentence_and_writes_nothing(folder, command, words, capsys, monkeypatch):
    place = folder.parent
    monkeypatch.chdir(place)
    (place / "book.toml").write_text(BOOK.to_toml())
    before = sorted(place.rglob("*"))
    known = ["-c", "book.toml", "--epsilon", "1", "--delta", "1e-6"] if command == "forecast" else ["out"]
    with pytest.raises(SystemExit) as stop:
        main([command, *known, *words.split()])
    said = capsys.readouterr()
    assert stop.value.code in (1, 2), said
    assert "Traceback" not in said.err and len(said.err.split()) > 5, said
    assert sorted(place.rglob("*")) == before
