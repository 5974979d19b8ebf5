"""Promises that a reviewer could make the software state though they are not true; each fails until it is mended."""

import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from understudy import verify
from understudy.codebook import Categorical, Codebook, LinkedCodebook, LinkedTable
from understudy.errors import DataError, RefusalError, UnderstudyError
from understudy.histories.recipe import Histories
from understudy.mechanisms.stream import Stream
from understudy.privacy.account import Account, remember_look
from understudy.privacy.guarantees import Neighbours
from understudy.privacy.provenance import InputRole, Made, Provenance
from understudy.sources import open_source
from understudy.sources.inputs import find_provenance, public_provenance
from understudy.sources.linked import open_linked
from understudy.synth.ranged import synthesize_parts
from understudy.synth.registry import METHODS
from understudy.synth.seeds import PublicSeeds, RealSeeds

_COLUMN = """
[[columns]]
name = "{name}"
kind = "categorical"
levels = {levels}
"""
_LEVELS = {"sex": ["F", "M"], "area": ["a", "b"], "ill": ["no", "yes"]}


@pytest.fixture
def book():
    text = "format = 1\n" + "".join(_COLUMN.format(name=n, levels=json.dumps(v)) for n, v in _LEVELS.items())
    return Codebook.from_toml(text)


@pytest.fixture
def data(tmp_path):
    rng = np.random.default_rng(1)
    table = pa.table({name: rng.choice(levels, 400).tolist() for name, levels in _LEVELS.items()})
    pyarrow.csv.write_csv(table, tmp_path / "d.csv")
    return tmp_path / "d.csv"


@pytest.fixture
def account(tmp_path):
    return Account.create(
        tmp_path / "account", dataset="d", epsilon=100.0, delta=1e-2, neighbours=Neighbours.ADD_REMOVE
    )


def marginals():
    return METHODS["marginals"](epsilon=1.0, delta=1e-6)


def test_a_recursive_glob_keeps_provenance(tmp_path, data, book):
    marginals().fit(open_source(data, book)).write(tmp_path / "rel", 50)
    pattern = str(tmp_path / "rel" / "**" / "*.parquet")
    assert open_source(pattern, book).provenance.is_release


def test_the_confidential_table_is_not_public_through_a_glob(data):
    with pytest.raises(UnderstudyError):
        public_provenance(str(data)[:-1] + "?", InputRole.SEEDS, confidential=data)


def test_a_symlinked_csv_keeps_provenance(tmp_path, data, book):
    marginals().fit(open_source(data, book)).write(tmp_path / "rel", 50, formats=["csv"])
    (tmp_path / "link.csv").symlink_to(tmp_path / "rel" / "synthetic.csv")
    assert find_provenance(tmp_path / "link.csv").is_release


def test_files_of_one_charge_are_each_in_the_price(tmp_path, data, book):
    pegs = METHODS["pegs"](alpha=50.0)
    pegs.fit(open_source(data, book)).write_many(tmp_path / "many", 20, files=3)
    one = METHODS["pegs"](alpha=50.0, seeds=PublicSeeds(path=str(tmp_path / "many" / "1" / "synthetic.parquet")))
    all_ = METHODS["pegs"](alpha=50.0, seeds=PublicSeeds(path=str(tmp_path / "many" / "*" / "synthetic.parquet")))
    alone = pegs.quote(book, 20).total.epsilon
    assert one.quote(book, 20).total.epsilon == pytest.approx(2 * alone)
    assert all_.quote(book, 20).total.epsilon >= 4 * alone * (1 - 1e-9)


def test_a_file_of_several_may_be_used_under_the_account_that_paid(tmp_path, data, book, account):
    pegs = METHODS["pegs"](alpha=50.0)
    pegs.fit(open_source(data, book, account=account)).write_many(tmp_path / "many", 20, files=3)
    again = METHODS["pegs"](alpha=50.0, seeds=PublicSeeds(path=str(tmp_path / "many" / "1" / "synthetic.parquet")))
    release = again.fit(open_source(data, book, account=account)).sample(20)
    alone = pegs.quote(book, 20).total.epsilon
    assert account.history()[-1].guarantee.epsilon == pytest.approx(alone)  # what it starts from was paid for already
    assert release.manifest.total.epsilon > 1.5 * alone  # and stands in its own ledger all the same
    every = METHODS["pegs"](alpha=50.0, seeds=PublicSeeds(path=str(tmp_path / "many" / "*" / "synthetic.parquet")))
    every.fit(open_source(data, book, account=account)).sample(20)
    assert account.history()[-1].guarantee.epsilon == pytest.approx(alone)


def test_a_release_under_the_name_of_another_is_not_paid_for(tmp_path, data, book, account):
    """Two releases of one recipe have the same ledger: the name in the manifest told which of them was paid for."""
    recipe = METHODS["laplace"](epsilon=0.1)
    paid = recipe.fit(open_source(data, book, account=account)).write(tmp_path / "paid", 20)
    recipe.fit(open_source(data, book)).write(tmp_path / "other", 20)
    path = tmp_path / "other" / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"charged_as": paid.manifest.charged_as}))
    starts = PublicSeeds(path=str(tmp_path / "other" / "synthetic.parquet"))
    with pytest.raises(DataError, match="says of itself something else"):
        METHODS["pegs"](alpha=500.0, seeds=starts).fit(open_source(data, book, account=account))


def test_a_quote_for_a_secure_stream_does_not_price_a_seeded_one(data, book):
    recipe = marginals()
    made = recipe.fit(open_source(data, book), stream=Stream.seeded(1), quote=recipe.quote(book, 10)).sample(10)
    assert not made.manifest.total.is_formal


def test_a_quote_without_real_seeds_does_not_price_real_seeds(data, book):
    pegs = METHODS["pegs"]
    cheap = pegs(alpha=50.0).quote(book, 20)
    made = pegs(alpha=50.0, seeds=RealSeeds()).fit(open_source(data, book), quote=cheap).sample(20)
    assert not made.manifest.total.is_formal


def test_an_answer_is_not_refunded_because_the_caller_was_handling_an_error(book, account):
    table = pa.table({"sex": ["F"], "area": ["a"], "ill": ["no"]})
    fitted = METHODS["sba"](epsilon=1.0, delta=1e-6).fit(open_source(table, book, account=account))
    with pytest.raises(RefusalError):
        try:
            Path("/no/such/file").read_text()
        except OSError:
            fitted.sample(10)
    assert [charge.state.value for charge in account.history()] == ["committed"]


def test_other_contents_of_a_public_table_are_another_choice(tmp_path, data, book, account):
    public = tmp_path / "public.csv"
    public.write_text("sex,area,ill\nF,a,no\n")
    pegs = METHODS["pegs"](alpha=50.0, seeds=PublicSeeds(path=str(public)))
    pegs.fit(open_source(data, book, account=account)).sample(20)  # fixes the choices
    remember_look(account, "evaluation")
    public.write_text("sex,area,ill\nM,b,yes\n")
    made = pegs.fit(open_source(data, book, account=account)).sample(20)
    assert made.manifest.looked


def _edited(folder, manifest):
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return verify(folder)


_PROMISE = ("ledger", "guarantee", "basic_composition", "randomness", "statement", "assumptions", "warnings")


def test_verify_reads_the_mark_whatever_the_format_says(tmp_path, data, book):
    marginals().fit(open_source(data, book)).write(tmp_path / "good", 50)
    marginals().fit(open_source(data, book), stream=Stream.seeded(1)).write(tmp_path / "bad", 50)
    good, bad = (json.loads((tmp_path / name / "manifest.json").read_text()) for name in ("good", "bad"))
    lie = {**bad, **{name: good[name] for name in _PROMISE}, "format": 1}
    assert not _edited(tmp_path / "bad", lie).is_valid


def test_verify_reads_the_marks_of_parts(tmp_path, data, book):
    marginals().fit(open_source(data, book)).write(tmp_path / "good", 50)
    synthesize_parts(data, book, marginals(), rows=50, out=tmp_path / "bad", part_rows=20, seed=1)
    good, bad = (json.loads((tmp_path / name / "manifest.json").read_text()) for name in ("good", "bad"))
    assert not _edited(tmp_path / "bad", {**bad, **{name: good[name] for name in _PROMISE}}).is_valid


def test_verify_compares_the_csv_with_the_table(tmp_path, data, book):
    from understudy.release.folders import digest_of

    place = tmp_path / "rel"
    marginals().fit(open_source(data, book)).write(place, 50, formats=["csv"])
    shutil.copy(data, place / "synthetic.csv")  # the confidential table itself
    manifest = json.loads((place / "manifest.json").read_text())
    manifest["files"]["synthetic.csv"] = digest_of(place / "synthetic.csv")
    assert not _edited(place, manifest).is_valid


def test_verify_recomputes_basic_composition(tmp_path, data, book):
    marginals().fit(open_source(data, book)).write(tmp_path / "rel", 50)
    manifest = json.loads((tmp_path / "rel" / "manifest.json").read_text())
    manifest["basic_composition"]["epsilon"] = 0.001
    assert not _edited(tmp_path / "rel", manifest).is_valid


def test_a_manifest_with_a_cheaper_ledger_than_the_mark_is_not_believed(tmp_path, data, book):
    pegs = METHODS["pegs"]
    pegs(alpha=5.0).fit(open_source(data, book)).write(tmp_path / "rel", 20)
    true = find_provenance(tmp_path / "rel" / "synthetic.parquet").promise.epsilon
    manifest = json.loads((tmp_path / "rel" / "manifest.json").read_text())
    manifest["ledger"] = pegs(alpha=5000.0).quote(book, 20).ledger.to_list()
    (tmp_path / "rel" / "manifest.json").write_text(json.dumps(manifest))
    try:
        found = find_provenance(tmp_path / "rel" / "synthetic.parquet").promise.epsilon
    except UnderstudyError:
        return
    assert found >= true


def test_two_anonymised_copies_of_the_same_people_are_not_record_wise(tmp_path, data, book):
    from understudy.anonymize.recipe import read_recipe

    recipe = read_recipe('format = 1\n[[steps]]\ndo = "keep"\ncolumns = ["sex", "area", "ill"]\n')
    for name in ("an1", "an2"):
        recipe.fit(open_source(data, book), quasi=["sex"]).write(tmp_path / name)
    source = open_source(str(tmp_path / "an*" / "anonymized.parquet"), book)
    assert not marginals().fit(source).sample(10).manifest.total.is_formal


def test_one_anonymised_release_as_two_linked_tables_is_not_record_wise(tmp_path):
    """The same record stands in both, and its key may have been changed: the price of a person holds for nobody."""
    mark = Provenance(made=Made.ANONYMIZED, release="one", record_wise=True, real_records=True).mark()
    table = pa.table({"id": ["1", "2"], "of": ["1", "1"], "sex": ["F", "M"], "ward": ["A", "B"]})
    pyarrow.parquet.write_table(table.replace_schema_metadata(mark), tmp_path / "one.parquet")
    persons = LinkedTable(
        name="persons", key="id", book=Codebook(columns=(Categorical(name="sex", levels=("F", "M")),))
    )
    stays = LinkedTable(
        name="stays",
        parent="persons",
        parent_key="of",
        cap=2,
        book=Codebook(columns=(Categorical(name="ward", levels=("A", "B")),)),
    )
    book = LinkedCodebook(tables=(persons, stays))
    source = open_linked({"persons": tmp_path / "one.parquet", "stays": tmp_path / "one.parquet"}, book)
    assert source.provenance.made is Made.ANONYMIZED
    assert not source.provenance.record_wise
    assert not Histories(epsilon=1.0, delta=1e-6).fit(source).quote(10).total.is_formal


def test_odd_pandas_metadata_is_no_mistake_of_ours(tmp_path):
    table = pa.table({"a": ["x"]}).replace_schema_metadata({b"pandas": b"[]"})
    pyarrow.parquet.write_table(table, tmp_path / "x.parquet")
    find_provenance(tmp_path / "x.parquet")


def test_a_seed_set_after_the_fit_does_not_draw_priced_answers(account):
    pytest.importorskip("sklearn")
    from understudy.trees.estimators import PerCallAlphaTree

    rng = np.random.default_rng(0)
    features = rng.random((200, 2))
    tree = PerCallAlphaTree(epsilon=1.0, call_epsilon=0.5, bounds=(0.0, 1.0), classes=[0, 1], account=account)
    tree.fit(features, (features[:, 0] > 0.5).astype(int))
    tree.set_params(seed=7)
    before = account.spent()
    try:
        answers = {tuple(tree.predict_band(features[:1])[0]) for _ in range(8)}
    except UnderstudyError:
        return
    assert len(answers) > 1 or account.spent() == before
