"""Codes of packs in releases: what is shown, what falls back, what is paid, and what a forecast says of it."""

import numpy as np
import pyarrow as pa
import pytest

import understudy as us
from understudy.blocks.code_estimates import DOUBT, NoisyCounts, estimated, with_fallback
from understudy.codebook import Categorical, Codebook, Coded, Pack
from understudy.codebook.packs import shipped_pack

ICD9 = shipped_pack("icd9")
BOOK = Codebook(
    columns=(
        Categorical(name="sex", levels=("F", "M")),
        Coded(name="first", pack="icd9", missing="?"),
        Coded(name="second", pack="icd9", missing="?"),
    )
)


def stays(rows: int, seed: int = 1, *, used: int = 300) -> pa.Table:
    """Codes as rare as they are in hospitals: the share of the k-th falls with 1/k; some unknown, some missing."""
    rng = np.random.default_rng(seed)
    codes = np.random.default_rng(7).permutation(list(ICD9.codes))[:used]
    shares = 1 / np.arange(1, used + 1)
    drawn = [rng.choice(codes, rows, p=shares / shares.sum()) for _ in range(2)]
    drawn[1][:20] = "nonsense"
    drawn[1][20:60] = "?"
    return pa.table({"sex": rng.choice(["F", "M"], rows), "first": drawn[0], "second": drawn[1]})


def chain(code: str | None) -> tuple[str | None, str | None]:
    """Chapter and block of a released code, by the pack itself."""
    if code is None or code == "other":
        return code, code
    parents = ICD9.codes.get(code) or ICD9.nodes[code]
    return parents[0], parents[-1]


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("marginals", {"epsilon": 1.0, "delta": 1e-6}),
        ("laplace", {"epsilon": 1.0}),
        ("contingency", {}),
        ("pegs", {"alpha": 5.0, "detail_epsilon": 1.0}),
    ],
)
def test_chapter_and_block_of_every_row_are_those_of_its_code(method, options):
    release = us.synthesize(stays(20_000), BOOK, 4000, method, **options)
    assert release.table.column_names == [
        "sex", "first_chapter", "first_block", "first", "second_chapter", "second_block", "second",
    ]  # fmt: skip
    for name in ("first", "second"):
        columns = [release.table.column(f"{name}{end}").to_pylist() for end in ("_chapter", "_block", "")]
        assert all((chapter, block) == chain(code) for chapter, block, code in zip(*columns, strict=True))


def test_most_rows_have_codes_that_occur_and_none_but_unknown_codes_are_other():
    """300 codes, Zipf: 40,000 records at epsilon 1 leave noise of some 13 records on a count."""
    table = stays(40_000)
    made = us.synthesize(table, BOOK, 40_000, epsilon=1.0, delta=1e-6).table
    for name in ("first", "second"):
        occurring = set(table.column(name).to_pylist())
        drawn = [code for code in made.column(name).to_pylist() if code is not None]
        codes = [code for code in drawn if code in ICD9.codes]
        assert len(set(codes) & occurring) >= 120
        # DOUBT limits what is expected under an estimated distribution, so it is met on average and not in every run
        assert sum(code not in occurring for code in codes) <= 2 * DOUBT * len(drawn)
        assert sum(code == "other" for code in drawn) <= 0.02 * len(drawn)
        assert len(codes) >= 0.8 * len(drawn)


def test_hardly_any_budget_leaves_the_parents_and_not_other():
    made = us.synthesize(stays(2000), BOOK, 2000, epsilon=0.05, delta=1e-6).table
    drawn = made.column("first").to_pylist()
    assert sum(code in ICD9.nodes for code in drawn) >= 0.5 * len(drawn)


def test_the_estimate_keeps_the_total_and_every_row_of_the_fallback():
    rng = np.random.default_rng(2)
    exact = np.concatenate([[900.0, 400.0, 90.0, 30.0], np.zeros(46)])
    noisy = NoisyCounts(values=exact + rng.normal(0, 20, 50), variance=400.0)
    for others in ((), (noisy,)):
        estimate = estimated(noisy, others)
        chains = [(k, 50 + k // 10, 55) for k in range(50)]
        weights = with_fallback(estimate, chains, size=56)
        assert weights.sum() == pytest.approx(estimate.expected.sum()) and (weights >= 0).all()
        assert weights[0] > 800 and weights[1] > 300 and not weights[4:50].sum() > 0.05 * weights.sum()
        # nothing is in doubt where everything may be: then every code keeps its own
        assert with_fallback(estimate, chains, size=56, doubt=1.0)[50:].sum() == 0
        assert with_fallback(estimate, chains, size=56, doubt=0.0)[4:50].sum() == 0


def test_more_columns_of_one_list_show_more_codes():
    """A second column of the same law is a second measurement of every code."""
    rng = np.random.default_rng(5)
    exact = np.concatenate([4000 / np.arange(1, 151), np.zeros(250)])
    chains = [(k, 400) for k in range(400)]
    alone, together = 0, 0
    for _ in range(5):
        first, *others = (NoisyCounts(values=exact + rng.normal(0, 15, 400), variance=225.0) for _ in range(3))
        alone += (with_fallback(estimated(first), chains, size=401)[:400] > 0).sum()
        together += (with_fallback(estimated(first, others), chains, size=401)[:400] > 0).sum()
    assert together > alone


def test_the_quote_prices_all_columns_of_codes_in_one_line():
    quote = us.quote(BOOK, 100, epsilon=1.0, delta=1e-6)
    (entry,) = [entry for entry in quote.ledger if entry.stage == "details"]
    assert entry.event.proof == "gaussian_measurements.md" and "first (1,247), second (1,247)" in entry.reads
    assert any("pack icd9 (ICD-9-CM" in said for said in quote.ledger.assumptions)
    pure = us.quote(BOOK, 100, "laplace", epsilon=1.0)
    assert pure.total.delta == 0 and [e.stage for e in pure.ledger].count("details") == 2


def test_releases_models_and_parts_of_populations(tmp_path):
    table, price = stays(20_000), {"epsilon": 2.0, "delta": 1e-6}
    release = us.synthesize(table, BOOK, 500, out=tmp_path / "r", save_model=tmp_path / "m.npz", **price)
    assert us.verify(tmp_path / "r").is_valid
    code = max(set(table.column("first").to_pylist()), key=table.column("first").to_pylist().count)
    drawn = us.draw(tmp_path / "m.npz", 50, where={"first": code}).table
    assert set(drawn.column("first").to_pylist()) == {code}
    assert release.manifest.total.epsilon <= 2.0
    assert us.evaluate(table, tmp_path / "r", BOOK) is not None


@pytest.mark.long
def test_a_forecast_from_a_public_table_holds_for_another_of_the_same_law():
    price = {"epsilon": 1.0, "delta": 1e-6}
    outlook = us.forecast(BOOK, 20_000, public=stays(20_000, seed=2), **price)
    made = us.synthesize(stays(20_000, seed=3), BOOK, 20_000, **price).table
    for said in outlook.details:
        drawn = made.column(said.column).to_pylist()
        assert said.codes == 1247
        assert abs(len(set(drawn) & set(ICD9.codes)) - said.shown) < 0.3 * said.shown
        assert abs(sum(code in ICD9.nodes for code in drawn) / len(drawn) - said.parents) < 0.05
        assert said.other < 0.02 and "name a parent" in said.sentence
    (codes,) = us.forecast(BOOK, 20_000, **price).codes
    assert codes.columns == ("first", "second") and "not other" in codes.sentence
    exact = np.array([stays(20_000, seed=3).column("first").to_pylist().count(code) for code in ICD9.codes])
    large = [code for code, n in zip(ICD9.codes, exact, strict=True) if n >= codes.records]
    shown = set(made.column("first").to_pylist())
    assert large and sum(code in shown for code in large) >= 0.8 * len(large)


def test_gaps_are_filled_with_codes_and_their_parents():
    table = stays(600)
    [done] = [made.table for made in us.impute(table, BOOK)[:1]]
    assert "?" not in done.column("second").to_pylist()
    for chapter, code in zip(done.column("second_chapter").to_pylist(), done.column("second").to_pylist(), strict=True):
        assert ICD9.find(code) is None or (ICD9.codes.get(ICD9.find(code)) or ICD9.nodes[ICD9.find(code)])[0] == chapter


def test_counts_of_codes_are_exact_where_nothing_is_promised():
    pack = Pack(name="tiny", text="code,group\na,g\nb,g\nc,h\n")
    book = Codebook(columns=(Coded(name="d", pack=pack),))
    table = pa.table({"d": ["a"] * 90 + ["c"] * 10})
    drawn = us.synthesize(table, book, 400, "contingency").table.column("d").to_pylist()
    assert set(drawn) == {"a", "c"}


def test_counts_audits_and_anonymised_tables_take_codes():
    pack = Pack(name="tiny", text="code,group\na,g\nb,g\nc,h\n")
    book = Codebook(columns=(Categorical(name="sex", levels=("F", "M")), Coded(name="d", pack=pack)))
    table = pa.table({"sex": ["F", "M"] * 100, "d": ["a"] * 120 + ["b"] * 60 + ["c"] * 20})
    for by, rows in (("d_group", 3), ("d", 6)):
        assert us.count(table, book, by=[by], epsilon=1.0).table.num_rows == rows
    report = us.audit(table, book, 20, "laplace", epsilon=1.0, runs=40)
    assert not report.refuted
    assert us.anonymize(table, book, k=5, suppression=0.2, quasi=["sex", "d_group"]) is not None


def test_a_review_can_say_what_means_missing_among_codes(tmp_path):
    """A review proposes what is no code of the pack; it is none of the levels either."""
    book = Codebook(columns=(BOOK.columns[0], Coded(name="second", pack="icd9", origin="drafted")))
    (tmp_path / "book.toml").write_text(book.to_toml())
    data = stays(200).select(["sex", "second"])
    us.review(tmp_path / "book.toml", data, answers={"columns": {"second": "missing=?"}}, by="A. Meyer")
    column = Codebook.load(tmp_path / "book.toml").column("second")
    assert column.missing == "?" and column.is_reviewed
