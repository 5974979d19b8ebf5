"""What goes with a release, however it is packed, x every consumer: refused, no promise, or the earlier price with it.

The other matrix has the tables that producers write. Here are linked tables, parts, archives, compressed and edited
copies, passports, answers, and what is made of priced drafts.
"""

import gzip
import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import understudy as us
from understudy.codebook import Categorical, Codebook, Integer, LinkedCodebook, LinkedTable
from understudy.errors import DataError, ParameterError, ReleaseError, UnderstudyError
from understudy.privacy.guarantees import NoFormal
from understudy.privacy.provenance import InputRole
from understudy.sources.inputs import find_provenance, public_provenance

A, B = Categorical(name="a", levels=("x", "y")), Categorical(name="b", levels=("0", "1"))
BOOK = Codebook(columns=(A, B, Integer(name="n", edges=(0, 10, 20, 30))))
LINKED = LinkedCodebook(
    tables=(
        LinkedTable(name="people", key="id", book=Codebook(columns=(A,))),
        LinkedTable(name="stays", parent="people", parent_key="id", cap=2, book=Codebook(columns=(B,))),
    )
)


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """A folder with a confidential table and releases of several kinds."""
    folder = tmp_path_factory.mktemp("files")
    drawn = np.random.default_rng(5)
    rows = {"a": drawn.choice(["x", "y"], 200), "b": drawn.choice(["0", "1"], 200), "n": drawn.integers(0, 30, 200)}
    data = pa.table(rows)
    pq.write_table(data, folder / "data.parquet")
    pa.csv.write_csv(data, folder / "data.csv")
    BOOK.save(folder / "book.toml")
    options = {"epsilon": 1.0, "delta": 1e-6, "formats": ["csv"]}
    us.synthesize(data, BOOK, 30, "marginals", out=folder / "made", **options)
    us.synthesize(data, BOOK, 30, "marginals", out=folder / "seeded", seed=3, **options)
    us.count(data, BOOK, by=["a"], epsilon=1.0, out=folder / "counted")
    us.answer(data, BOOK, "count", epsilon=1.0, out=folder / "answered")
    ids = [str(number) for number in range(60)]
    tables = {
        "people": pa.table({"id": ids, "a": drawn.choice(["x", "y"], 60)}),
        "stays": pa.table({"id": drawn.choice(ids, 90), "b": drawn.choice(["0", "1"], 90)}),
    }
    us.synthesize(tables, LINKED, 20, epsilon=1.0, delta=1e-6, out=folder / "linked", formats=["csv"])
    return folder


def packed(target: Path, folder: Path, below: str = "") -> Path:
    """A whole folder in an archive."""
    with zipfile.ZipFile(target, "w") as archive:
        for path in sorted(folder.rglob("*")):
            archive.write(path, below + path.relative_to(folder).as_posix())
    return target


def gzipped(place: Path, to: Path) -> str:
    folder = shutil.copytree(place / "seeded", to / "release")
    (folder / "again.csv.gz").write_bytes(gzip.compress((folder / "synthetic.csv").read_bytes()))
    return str(folder / "again.csv.gz")


def zipped_beside(place: Path, to: Path) -> str:
    folder = shutil.copytree(place / "seeded", to / "release")
    with zipfile.ZipFile(folder / "again.zip", "w") as archive:
        archive.write(folder / "synthetic.csv", "anything.csv")
    return str(folder / "again.zip")


CARRIERS: dict[str, Callable[[Path, Path], str]] = {
    "a zip, by member": lambda place, to: f"{packed(to / 'r.zip', place / 'seeded')}?member=synthetic.parquet",
    "a zip of a folder": lambda place, to: f"{packed(to / 'r.zip', place / 'seeded', 'r/')}?member=r/synthetic.csv",
    "a zip, the member named by the codebook": lambda place, to: str(packed(to / "r.zip", place / "seeded")),
    "measurements in a zip": lambda place, to: f"{packed(to / 'r.zip', place / 'seeded')}?member=measurements.parquet",
    "gzipped beside its manifest": gzipped,
    "zipped beside its manifest": zipped_beside,
    "CSV": lambda place, _: str(place / "seeded" / "synthetic.csv"),
}


@pytest.mark.parametrize("carrier", CARRIERS)
def test_a_release_stays_one_however_it_is_packed(place, tmp_path, carrier):
    """Seeded, so that nothing may be promised in any role."""
    address = CARRIERS[carrier](place, tmp_path)
    found = find_provenance(address)
    assert found.is_release and found.seeded and not found.record_wise
    for role in InputRole:
        if role.is_public:
            with pytest.raises(DataError, match="it was made with a seed"):
                public_provenance(address, role)
    if "synthetic" not in address and "again" not in address:
        return
    again = us.synthesize(address, BOOK, 9, "laplace", epsilon=1.0)
    assert isinstance(again.manifest.total, NoFormal)
    for refused in (
        lambda: us.count(address, BOOK, by=["a"], epsilon=1.0),
        lambda: us.answer(address, BOOK, "count", epsilon=1.0),
        lambda: us.train(address, BOOK, target="b", method="forest", epsilon=1.0),
        lambda: us.draft(address, tmp_path / "draft.toml", epsilon=4.0, delta=1e-3),
        lambda: us.synthesize(place / "data.parquet", BOOK, 9, "pegs", alpha=200.0, seeds=address),
    ):
        with pytest.raises(DataError, match=r"one person can change the rows of many|must be public, and it is not"):
            refused()


@pytest.mark.parametrize("name", ["data.csv", "data.parquet", "all/data.csv"])
def test_the_confidential_table_is_found_in_an_archive(place, tmp_path, name):
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        archive.write(place / Path(name).name, name)
        archive.write(place / "book.toml", "book.toml")
    archive_of_it, file = tmp_path / "all.zip", place / Path(name).name
    for confidential, public in (
        (file, f"{archive_of_it}?member={name}"),
        (file, str(archive_of_it)),
        (f"{archive_of_it}?member={name}", file),
        (f"{archive_of_it}?member={name}", f"{archive_of_it}?member={Path(name).name}"),
    ):
        with pytest.raises(ParameterError, match="holds the confidential table itself"):
            public_provenance(str(public), InputRole.SEEDS, confidential=str(confidential))
    other = public_provenance(
        f"{archive_of_it}?member=book.toml", InputRole.SEEDS, confidential=f"{archive_of_it}?member={name}"
    )
    assert not other.is_release


@pytest.mark.parametrize("file", ["people.csv", "people.parquet", "stays.csv"])
def test_one_of_linked_tables_alone_is_no_table_of_people(place, file, tmp_path):
    book = LINKED.table(Path(file).stem).book
    address = str(place / "linked" / file)
    for refused in (
        lambda: us.count(address, book, by=[book.names[0]], epsilon=1.0),
        lambda: us.answer(address, book, "count", epsilon=1.0),
        lambda: us.draft(address, tmp_path / "draft.toml", epsilon=4.0, delta=1e-3),
    ):
        with pytest.raises(DataError, match="one person can change the rows of many"):
            refused()
    assert isinstance(us.synthesize(address, book, 9, "laplace", epsilon=1.0).manifest.total, NoFormal)


def test_a_changed_part_of_linked_tables_is_found(place, tmp_path):
    """A CSV file has no mark: the manifest two folders up knows its name."""
    folder = shutil.copytree(place / "linked", tmp_path / "r")
    (folder / "people").mkdir()
    part = folder / "people" / "part-0.csv"
    shutil.copy(folder / "people.csv", part)
    assert find_provenance(str(part)).is_release
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["files"]["people/part-0.csv"] = manifest["files"].pop("people.csv")
    (folder / "manifest.json").write_text(json.dumps(manifest))
    part.write_text(part.read_text() + "made-up,x\n")
    with pytest.raises(DataError, match="was changed after its release"):
        find_provenance(str(part))


@pytest.mark.parametrize(
    "file",
    ["made/synthetic.parquet", "seeded/synthetic.csv", "counted/counts.parquet", "answered/answer.parquet"],
)
def test_rows_that_are_no_people_are_never_k_anonymous(place, file):
    """They would be called records of real people, made vaguer; and the price of the release would be gone."""
    codebook = Codebook.load(place / file.partition("/")[0] / "codebook.toml")
    columns = pq.read_schema(place / file).names if file.endswith("parquet") else codebook.names
    book = codebook if "a" in columns else Codebook(columns=(Integer(name="estimate", edges=(-900, 0, 900)),))
    with pytest.raises(ParameterError, match="no records of people"):
        us.anonymize(place / file, book, quasi=[book.names[0]], k=2, mondrian=True)


# Passports


@pytest.mark.parametrize("form", ["ddi-codebook.xml", "datapackage.json"])
@pytest.mark.parametrize("drafted", ["free", "bought"])
def test_the_levels_of_a_passport_are_not_public_because_a_document_lists_them(place, tmp_path, form, drafted):
    """Levels that were read from the data, or bought, would come out as declared, and their price would be gone."""
    data, price = place / "data.parquet", {"epsilon": 40.0, "delta": 1e-3} if drafted == "bought" else {}
    book = us.draft(data, tmp_path / "drafted.toml", **price).codebook
    options = {"epsilon": 1.0, "unknown": "other-or-missing"}
    us.synthesize(data, book, 9, "laplace", out=tmp_path / "r", **options)
    us.passport(tmp_path / "r")
    with pytest.raises(DataError, match=r"Use the codebook\.toml of that release"):
        us.draft(tmp_path / "r" / form, tmp_path / "again.toml")
    again = us.synthesize(data, Codebook.load(tmp_path / "r" / "codebook.toml"), 9, "laplace", **options)
    total = again.manifest.total
    assert isinstance(total, NoFormal) if drafted == "free" else total.epsilon > 40


@pytest.mark.parametrize("what", ["total", "statement"])
def test_an_edited_promise_is_not_passed_on(place, tmp_path, what):
    """Not by the passport and the signature; an answer that asks the release first carries the price of its ledger."""
    folder = shutil.copytree(place / "made", tmp_path / "edited")
    manifest = json.loads((folder / "manifest.json").read_text())
    if what == "total":
        manifest["guarantee"]["epsilon"] /= 10
    manifest["statement"] = manifest["statement"].replace("epsilon = 1,", "epsilon = 0.1,")
    (folder / "manifest.json").write_text(json.dumps(manifest))
    assert not us.verify(folder).is_valid
    for refused in (
        lambda: us.passport(folder),
        lambda: us.sign(folder, new_key=tmp_path / "key"),
    ):
        with pytest.raises(ReleaseError, match="does not verify"):
            refused()
    answered = us.answer(place / "data.parquet", BOOK, "count", epsilon=1.0, release=folder)
    assert answered.guarantee.epsilon == pytest.approx(2.0)


def test_inference_reads_the_codebook_of_the_release_and_no_other(place, tmp_path):
    folder = shutil.copytree(place / "made", tmp_path / "edited")
    text = (folder / "codebook.toml").read_text()
    (folder / "codebook.toml").write_text(text.replace('["x", "y"]', '["y", "x"]'))
    with pytest.raises(ReleaseError, match="was changed after the release"):
        us.infer(folder, share="a")


# An answer that asks a release first


@pytest.mark.parametrize("release", ["made", "seeded", "counted", "answered", "linked"])
def test_an_answer_carries_the_price_of_what_it_asked_first(place, release):
    try:
        answered = us.answer(place / "data.parquet", BOOK, "count", epsilon=1.0, release=place / release)
    except UnderstudyError as reason:
        assert release == "seeded" and "must be public, and it is not" in str(reason)
        return
    total = answered.guarantee
    if release == "linked":  # the one is promised to people, the other to records
        assert isinstance(total, NoFormal) and "neighbour relations" in total.why
    else:
        assert total.epsilon == pytest.approx(2.0)


# Files of rules


@pytest.mark.parametrize(
    ("file", "why"), [("data", "holds the confidential table itself"), ("made", "is the synthetic")]
)
def test_a_map_is_neither_the_confidential_table_nor_made_from_it(tmp_path, file, why):
    """Two columns of people are a table that says what one fixes, too: each of these levels fixes one."""
    data = pa.table({"a": ["x", "y"] * 40, "b": ["0", "1"] * 40})
    pa.csv.write_csv(data, tmp_path / "data.csv")
    book = Codebook(columns=(A, B))
    book.save(tmp_path / "book.toml")
    us.synthesize(data, book, 60, "laplace", epsilon=50.0, out=tmp_path / "made", formats=["csv"])
    path = tmp_path / "data.csv" if file == "data" else tmp_path / "made" / "synthetic.csv"
    with pytest.raises(ParameterError, match=why):
        us.rules(
            tmp_path / "book.toml", str(tmp_path / "data.csv"), maps={("a", "b"): path}, by="J. Doe", source="register"
        )
