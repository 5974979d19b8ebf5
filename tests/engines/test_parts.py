"""Releases in parts: the same rows on any number of workers, and crashes of every kind in between."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import understudy as us
from tests.engines.part_tables import BOOK, METHODS, REASONS, Explodes, declared, new_account, rows_of, table
from understudy.errors import BudgetError, ParameterError, RefusalError, ReleaseError, StoppedError
from understudy.mechanisms.stream import Stream
from understudy.privacy.account import ChargeState
from understudy.privacy.guarantees import Neighbours
from understudy.release.verify import verify_release
from understudy.synth.part_work import part_sizes
from understudy.synth.ranged import draw_parts, synthesize_parts
from understudy.synth.workers import LocalWorkers, workers_for


@pytest.mark.parametrize("method", METHODS)
def test_parts_hold_all_rows_and_do_not_depend_on_the_workers(method: str, tmp_path: Path) -> None:
    recipe = us.make_recipe(method, **METHODS[method])
    for count in (1, 2):
        release = synthesize_parts(
            table(),
            BOOK,
            recipe,
            rows=500,
            out=tmp_path / str(count),
            part_rows=150,
            seed=3,
            workers=LocalWorkers(count=count),
        )
        assert release.manifest.total.kind == "NoFormal"  # seeded
    one, two = rows_of(tmp_path / "1"), rows_of(tmp_path / "2")
    assert one.num_rows == 500
    assert one.equals(two)
    assert one.schema.field("a").type == pa.string()
    verdict = verify_release(tmp_path / "1")
    assert verdict.problems == ()
    assert not (tmp_path / "1.unfinished").exists()


def test_secure_parts_differ_and_their_shares_are_right(tmp_path: Path) -> None:
    """Every part has a key of its own: two parts of 20,000 rows never agree, and both follow the same law."""
    recipe = us.make_recipe("contingency")
    synthesize_parts(table(), BOOK, recipe, rows=40_000, out=tmp_path / "r", part_rows=20_000)
    first, second = (pq.read_table(path) for path in sorted((tmp_path / "r" / "synthetic").iterdir()))
    assert not first.equals(second)
    truth = np.mean(table().column("a").to_numpy(zero_copy_only=False) == "x")
    for part in (first, second):
        share = np.mean(part.column("a").to_numpy(zero_copy_only=False) == "x")
        assert abs(share - truth) < 7 * np.sqrt(truth * (1 - truth) / 20_000)  # z = 7: false alarms below 1e-11


def test_chains_are_never_cut() -> None:
    assert part_sizes(500, 150, 7) == [147, 147, 147, 59]
    assert sum(part_sizes(10**9, 10**6, 10)) == 10**9
    assert part_sizes(5, 3, 7) == [5]


def test_streams_of_parts_are_apart() -> None:
    words = {Stream.for_part(number, 1).below(1 << 64) for number in range(50)}
    words |= {Stream.for_part(number, 2).below(1 << 64) for number in range(50)}
    words |= {Stream.for_part(0, None).below(1 << 64) for _ in range(50)}
    assert len(words) == 150
    assert Stream.for_part(3, None).is_secure
    assert not Stream.for_part(3, 1).is_secure


@pytest.mark.parametrize("method", ["imputation", "bayesian-bootstrap", "pmi"])
def test_methods_that_draw_a_file_as_a_whole_say_so(method: str, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"draws its file as a whole.*leave the engine out"):
        synthesize_parts(
            table(),
            BOOK,
            us.make_recipe(method, **({"alpha": 1.0} if method == "pmi" else {})),
            rows=10,
            out=tmp_path / "r",
        )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("method", ["pegs", "marginals", "lugs"])
@pytest.mark.parametrize(
    "reason", [OSError(28, "No space left on device"), KeyboardInterrupt()], ids=["disk", "ctrl-c"]
)
def test_a_run_that_stopped_goes_on_and_pays_once(method: str, reason: BaseException, tmp_path: Path) -> None:
    options = METHODS[method] | ({"delta": 1e-6} if method == "pegs" else {})
    recipe = us.make_recipe(method, **options)
    account = None if method == "lugs" else new_account(tmp_path / "a.account")
    book = declared()
    work = {"rows": 500, "out": tmp_path / "r", "part_rows": 100, "account": account}
    REASONS.append(reason)
    expected = StoppedError if isinstance(reason, KeyboardInterrupt) else ReleaseError
    with pytest.raises(expected, match=r"200 of 500 rows are safe in '.*r.unfinished'. Run the same command again"):
        synthesize_parts(table(), book, recipe, workers=Explodes(count=1), **work)
    assert not (tmp_path / "r").exists()
    with pytest.raises(ReleaseError, match=r"holds no manifest.json"):
        verify_release(tmp_path / "r.unfinished")
    if account:
        assert [charge.state for charge in account.history()] == [ChargeState.HELD]
    kept = {path.name for path in (tmp_path / "r.unfinished/release/synthetic").glob("part-0000[01]-*")}
    synthesize_parts(table(), book, recipe, **work)
    files = {path.name for path in (tmp_path / "r" / "synthetic").iterdir()}
    assert kept < files and len(files) == 5
    assert f"part-00002-{'0' * 32}.parquet" not in files  # a part without a receipt is destroyed, not released
    assert verify_release(tmp_path / "r").problems == ()
    if account:
        [charge] = account.history()
        assert charge.state == ChargeState.COMMITTED
        assert charge.release_id == json.loads((tmp_path / "r/manifest.json").read_text())["release"]


def test_the_noise_of_route_n_is_never_drawn_twice(tmp_path: Path) -> None:
    """After a crash the model that was paid for goes on being used, even if the data are gone."""
    recipe = us.make_recipe("laplace", epsilon=0.01)
    REASONS.append(OSError("power cut"))
    work = {"rows": 400, "out": tmp_path / "r", "part_rows": 100}
    with pytest.raises(ReleaseError, match="power cut"):
        synthesize_parts(table(), BOOK, recipe, workers=Explodes(), **work)
    synthesize_parts("no-such-file.csv", BOOK, recipe, **work)  # reads no data at all
    assert rows_of(tmp_path / "r").num_rows == 400


def test_parents_that_were_chosen_privately_are_not_chosen_again(tmp_path: Path) -> None:
    recipe = us.make_recipe(
        "pegs", alpha=1.0, delta=1e-6, parents="private", parent_count=1, selection_epsilon=0.1, public_rows=3000
    )
    REASONS.append(OSError("power cut"))
    work = {"rows": 400, "out": tmp_path / "r", "part_rows": 100}
    with pytest.raises(ReleaseError):
        synthesize_parts(table(), BOOK, recipe, workers=Explodes(), **work)
    plan = json.loads((tmp_path / "r.unfinished/plan.json").read_text())
    asked: list[Any] = []
    original = us.PeGS.choice
    try:
        us.PeGS.choice = lambda self, columns: asked.append(self.parents) or original(self, columns)  # type: ignore
        release = synthesize_parts(table(), BOOK, recipe, **work)
    finally:
        us.PeGS.choice = original  # type: ignore[method-assign]
    chosen = {name: tuple(some) for name, some in plan["parents"].items()}
    assert chosen in asked
    assert any("parents" in entry.reads for entry in release.manifest.ledger.entries)  # and still paid for


def test_another_run_another_price_another_account_are_refused(tmp_path: Path) -> None:
    recipe, account = us.make_recipe("laplace", epsilon=1.0), new_account(tmp_path / "a.account")
    book = declared()
    REASONS.append(OSError("power cut"))
    with pytest.raises(ReleaseError):
        synthesize_parts(
            table(), book, recipe, rows=400, out=tmp_path / "r", part_rows=100, account=account, workers=Explodes()
        )
    with pytest.raises(ReleaseError, match="another rows"):
        synthesize_parts(table(), book, recipe, rows=500, out=tmp_path / "r", part_rows=100, account=account)
    with pytest.raises(ReleaseError, match="another account"):
        synthesize_parts(table(), book, recipe, rows=400, out=tmp_path / "r", part_rows=100)
    with pytest.raises(ReleaseError, match="another parameters"):
        other = us.make_recipe("laplace", epsilon=2.0)
        synthesize_parts(table(), book, other, rows=400, out=tmp_path / "r", part_rows=100, account=account)
    assert [charge.state for charge in account.history()] == [ChargeState.HELD]


def test_a_crash_between_charge_and_plan_does_not_pay_twice(tmp_path: Path) -> None:
    """The charge is found again by the name of the release, which the plan knew before."""
    recipe, account, book = us.make_recipe("laplace", epsilon=1.0), new_account(tmp_path / "a.account"), declared()
    work = {"rows": 400, "out": tmp_path / "r", "part_rows": 100, "account": account}
    REASONS.append(OSError("power cut"))
    with pytest.raises(ReleaseError):
        synthesize_parts(table(), book, recipe, workers=Explodes(), **work)
    plan = tmp_path / "r.unfinished/plan.json"
    facts = json.loads(plan.read_text())
    del facts["charge"]
    plan.write_text(json.dumps(facts))
    (tmp_path / "r.unfinished/model.zip").unlink()
    for receipt in (tmp_path / "r.unfinished/receipts").iterdir():  # no row was drawn by then
        receipt.unlink()
    synthesize_parts(table(), book, recipe, **work)
    assert len(account.history()) == 1


def test_an_empty_budget_refuses_before_anything_is_drawn(tmp_path: Path) -> None:
    account = us.Account.create(
        tmp_path / "a.account", dataset="t", epsilon=0.5, delta=0.0, neighbours=Neighbours.ADD_REMOVE
    )
    with pytest.raises(BudgetError, match="above its cap"):
        recipe = us.make_recipe("laplace", epsilon=1.0)
        synthesize_parts(table(), declared(), recipe, rows=400, out=tmp_path / "r", account=account)
    assert [path.name for path in tmp_path.iterdir()] == ["a.account"]


def test_a_refusal_about_perturbed_tables_stays_charged(tmp_path: Path) -> None:
    account = new_account(tmp_path / "a.account")
    recipe = us.make_recipe("sba", epsilon=0.001, delta=1e-9)
    with pytest.raises(RefusalError, match="nothing to draw from"):
        synthesize_parts(table(50), declared(), recipe, rows=100, out=tmp_path / "r", account=account)
    assert [charge.state for charge in account.history()] == [ChargeState.COMMITTED]
    assert [path.name for path in tmp_path.iterdir()] == ["a.account"]


def test_a_part_that_was_damaged_in_between_is_drawn_again(tmp_path: Path) -> None:
    work = {"rows": 400, "out": tmp_path / "r", "part_rows": 100}
    REASONS.append(OSError("power cut"))
    with pytest.raises(ReleaseError):
        synthesize_parts(table(), BOOK, us.make_recipe("laplace", epsilon=1.0), workers=Explodes(count=1), **work)
    damaged = next((tmp_path / "r.unfinished/release/synthetic").glob("part-00001-*"))
    damaged.write_bytes(damaged.read_bytes()[:-10])
    synthesize_parts(table(), BOOK, us.make_recipe("laplace", epsilon=1.0), **work)
    assert verify_release(tmp_path / "r").problems == ()
    assert damaged.name not in {path.name for path in (tmp_path / "r/synthetic").iterdir()}


def test_two_runs_at_once_are_refused(tmp_path: Path) -> None:
    from understudy.release.workshop import Workshop

    with (
        Workshop(tmp_path / "r", {}),
        pytest.raises(ReleaseError, match="another run is at work"),
        Workshop(tmp_path / "r", {}),
    ):
        pass  # fmt: skip


class TestVerifySeesWhatIsWrong:
    @pytest.fixture
    def made(self, tmp_path: Path) -> Path:
        synthesize_parts(
            table(), BOOK, us.make_recipe("laplace", epsilon=1.0), rows=300, out=tmp_path / "r", part_rows=100
        )
        return tmp_path / "r"

    def test_a_part_that_is_gone(self, made: Path) -> None:
        next((made / "synthetic").iterdir()).unlink()
        assert any("not in the folder" in text for text in verify_release(made).problems)

    def test_a_part_too_many(self, made: Path) -> None:
        first = next((made / "synthetic").iterdir())
        shutil.copy(first, first.with_name(f"part-00009-{'a' * 32}.parquet"))
        assert any("not in the manifest" in text for text in verify_release(made).problems)

    def test_a_part_that_was_changed(self, made: Path) -> None:
        first = next((made / "synthetic").iterdir())
        first.write_bytes(first.read_bytes()[:-1] + b"x")
        assert any("was changed after the release" in text for text in verify_release(made).problems)

    def test_a_manifest_that_points_elsewhere(self, made: Path) -> None:
        manifest = json.loads((made / "manifest.json").read_text())
        manifest["files"]["../outside"] = "sha256:0"
        (made / "manifest.json").write_text(json.dumps(manifest))
        assert any("../outside" in text for text in verify_release(made).problems)


def test_more_rows_from_a_model_in_parts(tmp_path: Path) -> None:
    fitted = us.make_recipe("laplace", epsilon=1.0).fit(us.open(table(), BOOK))
    model = fitted.save_model(tmp_path / "m.zip")
    REASONS.append(OSError("power cut"))
    with pytest.raises(ReleaseError, match="200 of 400 rows are safe"):
        draw_parts(model, rows=400, out=tmp_path / "r", part_rows=100, workers=Explodes())
    draw_parts(model, rows=400, out=tmp_path / "r", part_rows=100)
    assert verify_release(tmp_path / "r").problems == ()


@pytest.mark.parametrize(
    ("engine", "options", "said"),
    [
        ("hadoop", {}, "one of local, spark"),
        ("local", {"count": 0}, "1 or more"),
        ("spark", {"count": 2}, "local engine"),
    ],
)
def test_bad_engines(engine: str, options: dict[str, Any], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        workers_for(engine, **options)
