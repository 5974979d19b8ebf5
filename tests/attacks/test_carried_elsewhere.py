"""A release carried off in ways that files are carried off: saved again, converted, re-encoded, its parts alone."""

import io
import pickle
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest

import understudy as us
from understudy.codebook import Categorical, Codebook, Integer
from understudy.datasets import commutes
from understudy.errors import DataError, ParameterError
from understudy.privacy.guarantees import NoFormal
from understudy.privacy.provenance import InputRole
from understudy.sources.inputs import find_provenance, public_provenance

SEX = Categorical(name="a", levels=("1", "2"), value_labels=(("1", "male"), ("2", "female")))
BOOK = Codebook(columns=(SEX, Integer(name="n", edges=(0, 10, 20, 30))))


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """A release that promises nothing, in every format."""
    drawn = np.random.default_rng(5)
    data = pa.table({"a": drawn.choice(["1", "2"], 200), "n": drawn.integers(0, 30, 200)})
    folder = tmp_path_factory.mktemp("carried") / "made"
    formats = ["csv", "xlsx", "sav", "dta"]
    us.synthesize(data, BOOK, 40, "marginals", epsilon=1.0, delta=1e-6, seed=3, out=folder, formats=formats)
    return folder


def pickled(frame: pd.DataFrame) -> pd.DataFrame:
    return pickle.loads(pickle.dumps(frame))


def through_feather(frame: pd.DataFrame) -> pd.DataFrame:
    sink = io.BytesIO()
    frame.to_feather(sink)
    return pd.read_feather(io.BytesIO(sink.getvalue()))


def by_stream(table: pa.Table) -> pa.Table:
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return pa.ipc.open_stream(sink.getvalue()).read_all()


def feathered(table: pa.Table) -> pa.Table:
    sink = io.BytesIO()
    pa.feather.write_feather(table, sink)
    return pa.feather.read_table(io.BytesIO(sink.getvalue()))


KEPT: dict[str, Callable[[Any], Any]] = {
    "pandas, pickled": lambda t: pickled(t.to_pandas()),
    "pandas, feather": lambda t: through_feather(t.to_pandas()),
    "pandas, rows twice": lambda t: pd.concat([t.to_pandas()] * 2),
    "pandas, a part": lambda t: t.to_pandas().query("n > 5").drop(columns="n").sample(frac=0.5, random_state=1),
    "pandas, made new": lambda t: t.to_pandas().assign(m=1).rename(columns={"n": "k"}).sort_values("k").reset_index(),
    "pandas and back": lambda t: pa.Table.from_pandas(t.to_pandas().drop(columns="n")),
    "Arrow, pickled": pickled,
    "Arrow, a stream": by_stream,
    "Arrow, feather": feathered,
    "Arrow, rows twice": lambda t: pa.concat_tables([t, t]),
    "Arrow, a part": lambda t: t.slice(3).filter(pa.compute.greater(t.slice(3)["n"], 5)).drop_columns(["n"]),
    "Arrow, made new": lambda t: t.append_column("m", pa.array(range(len(t)))).sort_by("m").take([0, 1, 1]),
}


@pytest.mark.parametrize("way", KEPT)
def test_the_mark_goes_with_the_rows(made, way):
    carried = KEPT[way](pq.read_table(made / "synthetic.parquet"))
    found = find_provenance(carried)
    assert found.is_release and found.seeded and not found.record_wise


def _polars(made: Path) -> Any:
    import polars

    return polars.read_parquet(made / "synthetic.parquet")


def _by_duckdb(made: Path) -> Any:
    import duckdb

    return duckdb.sql(f"SELECT * FROM '{made / 'synthetic.parquet'}'").to_arrow_table()


LOST: dict[str, Callable[[Path], Any]] = {
    "a CSV that another program read": lambda made: pd.read_csv(made / "synthetic.csv"),
    "a workbook that another program read": lambda made: pd.read_excel(made / "synthetic.xlsx", engine="calamine"),
    "a .sav file that another program read": lambda made: pd.read_spss(made / "synthetic.sav"),
    "Polars": _polars,
    "an engine": _by_duckdb,
}


@pytest.mark.parametrize("way", LOST)
def test_what_is_not_noticed_is_said_in_the_documents(made, way):
    """No figure of these rows tells what they are; should one be noticed one day, its sentence can go."""
    assert not find_provenance(LOST[way](made)).is_release
    promise = (Path(__file__).parents[2] / "docs" / "methods" / "promise.md").read_text()
    for words in ("another program read or saved again", "a database", "Polars"):
        assert words in promise


@pytest.mark.parametrize("file", ["flows.parquet", "totals.parquet", "characteristics.parquet", "synthetic.parquet"])
def test_what_describes_flows_is_a_release_by_itself(tmp_path, file):
    """Each could be read as flows of people, with a column of their number."""
    flows, places = commutes(300, 1)
    workers = np.array(flows["workers"])
    columns = {name: flows[name] for name in flows.column_names}
    flows = pa.table(columns | {"young": workers // 2, "old": workers - workers // 2})
    groups = {"age": ("young", "old")}
    how = {"delta": 1e-6, "count": "workers", "places": places, "characteristics": groups}
    release = us.commute(flows, 4.6, out=tmp_path / "r", **how)
    alone = shutil.copy(tmp_path / "r" / file, tmp_path / "alone.parquet")
    in_memory = {"synthetic.parquet": release.table, **release.attachments}[file]
    for carried in (str(alone), in_memory):
        found = find_provenance(carried)
        assert found.is_release and not found.record_wise and found.release == release.manifest.release_id
        if file == "flows.parquet":
            with pytest.raises(DataError, match="one person can change the rows of many"):
                us.commute(carried, 4.6, delta=1e-6, count="flow", places=places)
    assert us.verify(tmp_path / "r").is_valid


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32"])
def test_a_manifest_in_another_encoding_still_speaks(made, tmp_path, encoding):
    """As editors and shells of Windows save it: what cannot be read as JSON used to be taken for no manifest."""
    folder = shutil.copytree(made, tmp_path / "r")
    text = (folder / "manifest.json").read_text(encoding="utf-8")
    (folder / "manifest.json").write_bytes(text.encode(encoding))
    found = find_provenance(str(folder / "synthetic.csv"))
    assert found.is_release and found.seeded
    again = us.synthesize(folder / "synthetic.csv", BOOK, 9, "laplace", epsilon=1.0)
    assert isinstance(again.manifest.total, NoFormal)


def test_a_manifest_that_cannot_be_read_is_no_absent_one(made, tmp_path, monkeypatch):
    folder = shutil.copytree(made, tmp_path / "r")
    with zipfile.ZipFile(tmp_path / "r.zip", "w") as archive:
        archive.write(folder / "synthetic.csv", "synthetic.csv")
        archive.write(folder / "manifest.json", "manifest.json")
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("manifest.json", "{}")
    with pytest.raises(DataError, match="may say what the table promises"):
        find_provenance(str(tmp_path / "r.zip?member=synthetic.csv"))
    plain = Path.read_bytes

    def refused(path):
        if path.name == "manifest.json":
            raise PermissionError(13, "Permission denied")
        return plain(path)

    monkeypatch.setattr(Path, "read_bytes", refused)
    with pytest.raises(DataError, match=r"cannot be read \(Permission denied\), and it may say"):
        find_provenance(str(folder / "synthetic.csv"))


def test_a_manifest_without_its_list_of_files_speaks_for_nothing(made, tmp_path):
    folder = shutil.copytree(made, tmp_path / "r")
    text = (folder / "manifest.json").read_text(encoding="utf-8")
    (folder / "manifest.json").write_text(text.replace('"files"', '"Files"'), encoding="utf-8")
    with pytest.raises(DataError, match="does not list its files"):
        find_provenance(str(folder / "synthetic.csv"))


@pytest.mark.parametrize("file", ["synthetic.dta", "synthetic.sav"])
def test_levels_of_a_release_are_not_declared_by_its_own_dictionary(made, tmp_path, file):
    """A .dta file has no room for a mark; the manifest beside it knows it."""
    with pytest.raises(DataError, match=r"Use the codebook\.toml of that release"):
        us.draft(made / file, tmp_path / "again.toml", from_document=True)


@pytest.mark.parametrize(
    "spelled",
    [
        "{}/synthetic.parquet",
        "file:{}/synthetic.parquet",
        "file://{}/synthetic.csv",
        "{}",
        "{}*",
        "{}/syn*.parquet",
        "{}/{{synthetic,other}}.parquet",
        "{}/[^x]ynthetic.parquet",
    ],
)
def test_a_file_that_spark_reads_is_what_it_is(made, spelled):
    """Its rows are read by an engine that knows no marks; the path says where they lie."""
    address = f"spark://local?path={spelled.format(made)}"
    found = find_provenance(address)
    assert found.is_release and found.seeded and not found.record_wise
    with pytest.raises(ParameterError, match="holds the confidential table itself"):
        public_provenance(
            address,
            InputRole.SEEDS,
            confidential=str(made / "synthetic.csv" if "csv" in spelled else made / "synthetic.parquet"),
        )
    named = f"spark://local?table=parquet.`{made}/synthetic.parquet`"
    assert find_provenance(named).is_release
    for elsewhere in ("spark://local?path=s3a://bucket/x.parquet", "spark://local?table=db.visits", "spark://local"):
        assert not find_provenance(elsewhere).is_release


def test_a_file_that_a_session_of_spark_reads_is_what_it_is(made):
    """A session is handed over as it is, with the path as the name of the table."""

    class Session:
        __module__ = "pyspark.sql.session"

    assert find_provenance(Session(), table=str(made / "synthetic.parquet")).is_release
    assert find_provenance(Session(), table=f"file:{made}").is_release
    assert not find_provenance(Session(), table="db.visits").is_release
    assert not find_provenance(Session()).is_release
