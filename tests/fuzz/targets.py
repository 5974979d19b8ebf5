"""What is fuzzed: small files of every kind that the program reads, and how each is read."""

import contextlib
import gzip
import hashlib
import io
import json
import random
import sqlite3
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pyarrow.csv
import pyarrow.parquet

import understudy as us
from understudy.codebook import Categorical, Codebook, Integer
from understudy.privacy import Neighbours
from understudy.privacy.account import Account
from understudy.service import Budgets
from understudy.service.keys import KeyBook
from understudy.service.store import Store

from .mutations import Mutation, change, mixed, of_bytes, of_json, of_lines, of_zip

BOOK = Codebook(
    columns=(
        Categorical(name="sex", levels=("F", "M"), missing="?"),
        Integer(name="age", edges=tuple(map(Fraction, (0, 40, 120)))),
        Categorical(name="ward", levels=("A", "B", "C")),
    ),
    title="Stays",
)
TABLE = pa.table({"sex": ["F", "M", "?"] * 20, "age": [3, 50, 99] * 20, "ward": ["A", "B", "C", "A"] * 15})


@dataclass(frozen=True)
class Target:
    """One kind of file: its bytes, how they are damaged, how the file is read, and how many of all cases it gets."""

    name: str
    content: bytes
    mutate: Mutation
    load: Callable[[Path], Any]
    share: int = 30
    file: str = "fuzzed"
    """Name of the file; for a file in a folder, the loader gets the folder."""
    named: bool = True
    """Whether every sentence is about the file; rows that do not fit a codebook are told by their column."""
    is_whole: bool = True
    """Whether the content can be read as it is; nothing here can write the binary files of SAS."""


def prepare(place: Path) -> list[Target]:
    """Write one good file of each kind; the targets know their content."""
    book = place / "book.toml"
    BOOK.save(book)
    pa.parquet.write_table(TABLE, place / "data.parquet")
    pa.csv.write_csv(TABLE, place / "data.csv")
    account = Account.create(place / "a.account", dataset="d", epsilon=9.0, delta=0.1, neighbours=Neighbours.ADD_REMOVE)
    release = place / "release"
    how = {"method": "laplace", "epsilon": 1.0, "account": account}
    us.synthesize(place / "data.parquet", book, rows=30, out=release, save_model=place / "model.us", **how)
    with Store.open(f"sqlite:///{place}/service.db") as store:
        KeyBook(store).create(label="tester", scopes=("score",), rate=10)
    described, tables = _descriptions(place), [*_tables(place), *_statistical(place), *_databases(place)]
    folders = [*_releases(place, release), *_other_folders(place)]
    return [*described, *folders, *tables, *_commutes(), *_secrets(place, release)]


def _descriptions(place: Path) -> list[Target]:
    from understudy.anonymize.recipe import load_recipe
    from understudy.codebook import Publication
    from understudy.codebook.linked_toml import load_book
    from understudy.codebook.maps import read_map
    from understudy.codebook.packs import pack_of_file
    from understudy.evaluate.board import read_board
    from understudy.facade.tables import read_recipe
    from understudy.service.data_sets import read_data_sets
    from understudy.sources.documents import draft_from_document
    from understudy.sources.fixed_width import read_layout

    linked = (us.codebook.__path__[0], "template_data", "encounters.toml")
    toml, text = mixed(of_lines), (Path(place) / "book.toml").read_bytes()
    review = b'[columns.review]\nby = "A"\non = 2026-01-01\nof = "sha256:0"\n'
    anonymize = (
        b'format = 1\nquasi_identifiers = ["age", "sex"]\n[hierarchies.age]\nintervals = [10, 20]\nstart = 0\n'
        b'[[steps]]\ndo = "mondrian"\nk = 5\n[[steps]]\ndo = "round"\ncolumn = "age"\nto = 5\n'
    )
    sets = (
        b'format = 1\n[stays]\nsource = "a.csv"\ncodebook = "a.toml"\naccount = "a"\nreview = "rules"\n'
        b'[stays.rules]\ncolumns = ["sex"]\nepsilon = 0.5\nsmallest = 30\n'
    )
    publication = b'[publication]\ntitle = "Stays"\nlicence = "CC-BY-4.0"\nkeywords = ["a"]\ntemporal = "2009/2010"\n'
    ddi = (
        b'<codeBook xmlns="ddi:codebook:2_5"><stdyDscr><citation><titlStmt><titl>T</titl></titlStmt></citation>'
        b'</stdyDscr><dataDscr><var name="sex" nature="nominal"><location StartPos="1" width="1"/><labl>Sex</labl>'
        b'<catgry missing="Y"><catValu>9</catValu><labl>none</labl></catgry><catgry><catValu>1</catValu></catgry>'
        b'<catgry><catValu>2</catValu></catgry></var><var name="age" intrvl="contin" dcml="1">'
        b'<valrng><range min="0" max="120"/></valrng><invalrng><range min="997" max="999"/></invalrng></var>'
        b"</dataDscr></codeBook>"
    )
    fields = [
        {"name": "sex", "type": "string", "constraints": {"enum": ["F", "M"]}},
        {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 120}},
    ]
    frictionless = json.dumps({"resources": [{"name": "r", "path": "r.csv", "schema": {"fields": fields}}]})
    csvw = json.dumps(
        {
            "@context": "http://www.w3.org/ns/csvw",
            "url": "r.csv",
            "dialect": {"delimiter": ";", "headerRowCount": 1, "encoding": "utf-8"},
            "tableSchema": {
                "columns": [
                    {"name": "sex", "datatype": {"base": "string", "format": "F|M"}},
                    {"name": "age", "datatype": {"base": "integer", "minimum": 0, "maximum": 99}, "null": ["-1"]},
                ]
            },
        }
    )
    return [
        Target("codebook", text + review, toml, load_book, 120, "fuzzed.toml"),
        Target("linked codebook", Path(*linked).read_bytes(), toml, load_book, 20, "fuzzed.toml"),
        Target("board", b"share_error = 0.03\nattack_gain = 0.09\n", toml, read_board, 60, "fuzzed.toml"),
        Target("publication", publication, toml, Publication.load, 60, "fuzzed.toml"),
        Target("recipe", b'method = "laplace"\nepsilon = 1.0\nrows = 50\n', toml, read_recipe, 60, "fuzzed.toml"),
        Target("data sets", sets, toml, read_data_sets, 60, "fuzzed.toml"),
        Target("recipe to anonymise", anonymize, toml, load_recipe, 60, "fuzzed.toml"),
        Target(
            "pack",
            b"code,block,label\nA1,A,first\nA2,A,second\nB1,B,third\n",
            toml,
            _pack(pack_of_file),
            60,
            "fuzzed.csv",
        ),
        Target("map", b"zip,county\n1,a\n2,a\n3,b\n", toml, read_map, 60, "fuzzed.csv"),
        Target("layout", b"name,start,end\nsex,1,1\nage,2,4\n", toml, read_layout, 60, "fuzzed.csv"),
        Target("DDI", ddi, of_bytes, draft_from_document, 60, "fuzzed.xml"),
        Target("Frictionless", frictionless.encode(), mixed(of_json), draft_from_document, 60, "fuzzed.json"),
        Target("CSVW", csvw.encode(), mixed(of_json), draft_from_document, 60, "fuzzed.json"),
        Target("answers", _answers(), mixed(of_json), _answered(place / "book.toml"), 60, "fuzzed.json"),
    ]


def _pack(load: Callable[[Path], Any]) -> Callable[[Path], Any]:
    def used(path: Path) -> Any:
        return load(path).codes

    return used


def _answers() -> bytes:
    return json.dumps(
        {"by": "A. Meyer", "person": "no", "panels": {"levels": "yes"}, "columns": {"sex": "yes", "age": "drop"}}
    ).encode()


def _answered(book: Path) -> Callable[[Path], Any]:
    from understudy.facade.reviews import plain_answers

    codebook = Codebook.load(book)

    def load(path: Path) -> Any:
        return plain_answers(path, None, codebook)

    return load


def _releases(place: Path, release: Path) -> list[Target]:
    from understudy.evaluate.rumap.journal import Journal
    from understudy.histories.model_file import is_histories, load_histories
    from understudy.release.reading import first_table, read_manifest_file
    from understudy.synth.model_file import load_model
    from understudy.trees.examples import diabetes_example
    from understudy.trees.model_file import read_model

    settings = {"rows": 5}
    journal = place / "journal"
    Journal(journal, settings)
    run = {"method": "a", "epsilon": 1.0, "repeat": 0, "measures": {"x": 1.0}, "rows": 3}
    score = place / "score.us"
    diabetes_example().save(score, key=b"0" * 32)
    histories = (Path(__file__).parents[1] / "upgrades" / "version_0_1_0" / "linked.us").read_bytes()
    manifest, model = (release / "manifest.json").read_bytes(), (place / "model.us").read_bytes()

    def journalled(folder: Path) -> Any:
        if not (folder / "settings.json").exists():
            (folder / "settings.json").write_text(json.dumps(settings))
        opened = Journal(folder, settings)
        return opened.ordered(opened.runs)

    def drawn_from(path: Path) -> Any:
        return load_histories(path) if is_histories(path) else load_model(path)

    return [
        Target("manifest", manifest, mixed(of_json), read_manifest_file, 60, "fuzzed/manifest.json"),
        Target("manifest beside an answer", manifest, mixed(of_json), first_table, 30, "compared/manifest.json"),
        Target("manifest as recipe", manifest, mixed(of_json), _recipe_of_folder, 60, "fuzzed/manifest.json",
               named=False),
        Target("verified manifest", manifest, of_json, _beside(release, "manifest.json", us.verify), 10,
               "verified/manifest.json"),
        Target("verified table", (release / "synthetic.parquet").read_bytes(), of_bytes,
               _beside(release, "synthetic.parquet", us.verify), 6, "table/synthetic.parquet"),
        Target("model", model, mixed(of_zip), drawn_from, 60, "fuzzed.us"),
        Target("model of histories", histories, mixed(of_zip), load_histories, 3, "fuzzed.us"),
        Target("score", score.read_bytes(), mixed(_rechecked), lambda path: read_model(path, b"0" * 32), 40,
               "score.us"),
        Target("journal", (json.dumps(run) + "\n").encode() * 2, mixed(of_json_line), journalled, 60,
               "journal/runs.jsonl"),
        Target("settings of a journal", json.dumps(settings).encode(), mixed(of_json), journalled, 60,
               "settings/settings.json"),
    ]  # fmt: skip


def _beside(other: Path, name: str, load: Callable[[Path], Any]) -> Callable[[Path], Any]:
    """A loader of a folder of which one file is damaged."""

    def loaded(folder: Path) -> Any:
        for file in other.iterdir():
            if file.name != name and not (folder / file.name).exists():
                (folder / file.name).write_bytes(file.read_bytes())
        return load(folder)

    return loaded


def _other_folders(place: Path) -> list[Target]:
    """Manifests that others than ``verify`` read, and what unfinished releases are gone on with from."""
    from understudy.anonymize.hierarchies import from_arx
    from understudy.anonymize.verify import verify_anonymized
    from understudy.commute.released import read_release
    from understudy.evaluate.report.release_facts import find_release, linked_facts
    from understudy.facade.agents import read_answer
    from understudy.facade.anonymity import read_weighed
    from understudy.infer.opened import open_release
    from understudy.release.workshop import Workshop
    from understudy.sources.tables import CountTable
    from understudy.synth.detail_file import read_details, write_details
    from understudy.synth.details import Details

    us.answer(place / "data.parquet", place / "book.toml", "count by sex", epsilon=1.0, out=place / "answer")
    us.weigh_anonymity(
        place / "data.parquet", place / "book.toml", 3, quasi=("age", "ward"), out=place / "weighed.json"
    )
    terms = {"rows": 5, "method": "laplace"}
    remembered = {"parents": {"age": ["sex"]}, "people": [3, 4], "shares": [[2, 3]]}
    plan = {"format": 1, "release": "r", "terms": terms, **remembered}
    age = Integer(name="age", edges=tuple(map(Fraction, (0, 40, 120))), shape="measured", pieces=4)
    measured = Codebook(columns=(age,))
    pieces = CountTable.sparse((age.fine.name,), (age.fine.size,), np.array([[0], [2]]), np.array([5, 7]))
    write_details(Details(pieces=(pieces,)), place / "details.npz")
    earlier = Path(__file__).parents[1] / "upgrades" / "version_0_1_0"

    confidential = TABLE.filter(pa.compute.not_equal(TABLE["sex"], "?"))  # its codebook knows no missing sex

    def reported(folder: Path) -> Any:
        page = folder.with_suffix(".html")  # beside the folder: it speaks of the confidential table
        page.unlink(missing_ok=True)
        return us.report_anonymity(confidential, folder, earlier / "book.toml", page)

    def planned(folder: Path) -> None:
        with Workshop(folder.with_name(folder.stem), terms):
            pass

    def target(name: str, other: Path, load: Callable[[Path], Any], share: int) -> Target:
        folder = name.replace(" ", "-")
        content = (other / "manifest.json").read_bytes()
        return Target(name, content, of_json, _beside(other, "manifest.json", load), share, f"{folder}/manifest.json")

    return [
        target("anonymised manifest", earlier / "anonymized", verify_anonymized, 6),
        target("anonymised manifest at risk", earlier / "anonymized", us.measure_risk, 6),
        target("anonymised manifest in a report", earlier / "anonymized", reported, 6),
        Target("measured flows", (earlier / "flows" / "flows.parquet").read_bytes(), of_bytes,
               _beside(earlier / "flows", "flows.parquet", _mapped), 2, "measured-flows/flows.parquet"),
        target("manifest of flows", earlier / "flows", read_release, 3),
        target("manifest to infer from", earlier / "marginals", open_release, 20),
        target("reported manifest", earlier / "laplace", lambda folder: find_release(str(folder)), 6),
        target("reported manifest beside a file", earlier / "laplace",
               lambda folder: find_release(str(folder / "synthetic.parquet")), 6),
        target("reported linked manifest", earlier / "linked", lambda folder: linked_facts(folder, ()), 30),
        target("manifest of an answer", place / "answer", read_answer, 30),
        Target("hierarchy", b"F,person,*\nM,person,*\n?,?,*\n", mixed(of_lines),
               lambda path: from_arx(BOOK.column("sex"), path), 60, "fuzzed.csv"),
        Target("details", (place / "details.npz").read_bytes(), mixed(of_zip),
               lambda path: read_details(measured, path), 60, "fuzzed.npz"),
        Target("figures of candidates", (place / "weighed.json").read_bytes(), mixed(of_json), read_weighed, 60,
               "fuzzed.json"),
        Target("plan", json.dumps(plan).encode(), mixed(of_json), planned, 60, "plan.unfinished/plan.json"),
    ]  # fmt: skip


def _mapped(folder: Path) -> Any:
    """What a map shows of the measurements of a release of flows."""
    from understudy.commute.mapping import map_levels
    from understudy.commute.measured import packed_measurements
    from understudy.commute.packing import Pack
    from understudy.commute.released import read_release

    made = read_release(folder)
    return packed_measurements(Pack(), made, map_levels(made.places))


def _recipe_of_folder(folder: Path) -> Any:
    from understudy.facade.tables import read_recipe

    return read_recipe(folder).recipe(BOOK, 10)


def of_json_line(content: bytes, rng: random.Random) -> bytes:
    first, _, rest = content.partition(b"\n")
    return of_json(first, rng) + b"\n" + rest


def _rechecked(content: bytes, rng: random.Random) -> bytes:
    """A score whose checksum was made to fit: only its content is wrong."""
    document = change(json.loads(content), rng)
    if isinstance(document, dict):
        kept = {key: value for key, value in document.items() if key != "checksum"}
        text = json.dumps(kept, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        document["checksum"] = "sha256:" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return json.dumps(document, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _tables(place: Path) -> list[Target]:
    def counted(path: Path) -> Any:
        return us.open(path, BOOK, unknown="missing").count([["sex"]])

    workbook = place / "book.xlsx"
    _write_workbook(workbook)
    return [
        Target("CSV", (place / "data.csv").read_bytes(), mixed(of_lines), counted, 3, "fuzzed.csv", named=False),
        Target("Parquet", (place / "data.parquet").read_bytes(), of_bytes, counted, 8, "fuzzed.parquet", named=False),
        Target("zip", _zipped((place / "data.csv").read_bytes()), mixed(of_zip), _checked, 3, "fuzzed.zip"),
        Target("gzip", gzip.compress((place / "data.csv").read_bytes()), of_bytes, _checked, 3,
               "fuzzed.csv.gz"),
        Target("workbook", workbook.read_bytes(), mixed(of_zip), _checked, 3, "fuzzed.xlsx"),
    ]  # fmt: skip


def _checked(path: Path) -> Any:
    return us.check(path, BOOK)


def _statistical(place: Path) -> list[Target]:
    """Files of other programs, with labels and missing codes."""
    import pyreadstat

    frame = TABLE.to_pandas()
    labels = {"age": {999: "not known"}}
    pyreadstat.write_sav(frame, str(place / "t.sav"), variable_value_labels=labels, missing_ranges={"age": [999]})
    pyreadstat.write_sav(frame, str(place / "t.zsav"), compress=True)
    pyreadstat.write_por(frame, str(place / "t.por"))
    pyreadstat.write_dta(frame, str(place / "t.dta"), variable_value_labels=labels)
    pyreadstat.write_xport(frame, str(place / "t.xpt"))
    start = (
        b"\x00" * 12 + bytes.fromhex("c2ea8160b31411cfbd92080009c7318c181f1011") + b"\x22\x22\x00\x32\x33\x01\x02\x31"
    )
    head = start + bytes(44) + b"SAS FILE" + b"T".ljust(64) + b"DATA    " + bytes(800)
    written = [Target(kind, (place / f"t.{kind}").read_bytes(), of_bytes, _checked, 3, f"fuzzed.{kind}", named=False)
               for kind in ("sav", "zsav", "por", "dta", "xpt")]  # fmt: skip
    return [*written, Target("sas7bdat", head, of_bytes, _checked, 3, "fuzzed.sas7bdat", named=False, is_whole=False)]


def _databases(place: Path) -> list[Target]:
    """A table in a DuckDB file, and the keys and budgets of a service."""
    import duckdb

    path = place / "data.duckdb"
    with contextlib.closing(duckdb.connect(str(path))) as connection:
        connection.execute("CREATE TABLE stays AS SELECT * FROM read_parquet(?)", [str(place / "data.parquet")])

    def service(path: Path) -> Any:
        for log in ("-wal", "-shm"):  # of an earlier case
            path.with_name(path.name + log).unlink(missing_ok=True)
        with Store.open(f"sqlite:///{path}", secret_file=place / "service.db.secret") as store, store.telling():
            return KeyBook(store).all(), Budgets(store).faults()

    return [
        Target("DuckDB", path.read_bytes(), of_database, _checked, 2, "fuzzed.duckdb", named=False),
        Target("service database", (place / "service.db").read_bytes(), of_database, service, 3, "fuzzed.db"),
    ]


def of_database(content: bytes, rng: random.Random) -> bytes:
    """Blind damage, mostly in the first pages, which hold what the rest is."""
    first = len(content) if rng.random() < 0.3 else 16_384
    return of_bytes(content[:first], rng) + content[first:]


def _commutes() -> list[Target]:
    """Tables about commutes: the confidential one and the public ones beside it."""
    from understudy.commute.outlines import read_outlines
    from understudy.commute.places import read_origins, read_places, read_regions, read_rings, read_sizes
    from understudy.sources.flows import read_flows

    homes = ("h0", "h1", "h2")
    flows = "origin,destination,workers\n" + "".join(f"h{n % 3},w{n % 2},{n}\n" for n in range(12))
    places = "place,latitude,longitude,county\n" + "".join(
        f"{name},45.{n},-93,c{n % 2}\n" for n, name in enumerate(homes)
    )
    ring = {"type": "Polygon", "coordinates": [[[0, 0], [0, 1], [1, 1], [0, 0]]]}
    outlines = {
        "type": "FeatureCollection",
        "features": [{"type": "Feature", "properties": {"name": "a"}, "geometry": ring}],
    }

    def counted(path: Path) -> Any:
        return read_flows(path, origin="origin", destination="destination", count="workers", origins=homes)

    def target(name: str, text: str, load: Callable[[Path], Any]) -> Target:
        return Target(name, text.encode(), mixed(of_lines), load, 2, "fuzzed.csv", named=False)

    return [
        target("flows", flows, counted),
        target("places", places, lambda path: read_places(path, levels=("county",))),
        target("origins", "origin\nh0\nh1\nh2\n", read_origins),
        target("regions", "origin,region,density\nh0,r,1\nh1,r,2\nh2,s,1\n", lambda path: read_regions(path, homes)),
        target("rings", "miles,share\n5,0.5\ninf,0.5\n", read_rings),
        target("sizes", "destination,workers\nw0,5\nw1,6\n", read_sizes),
        Target("outlines", json.dumps(outlines).encode(), mixed(of_json), read_outlines, 30, "fuzzed.json"),
    ]


def _zipped(content: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("data.csv", content)
    return packed.getvalue()


def _write_workbook(path: Path) -> None:
    import xlsxwriter

    with contextlib.closing(xlsxwriter.Workbook(str(path))) as workbook:
        sheet = workbook.add_worksheet()
        for row, cells in enumerate([TABLE.column_names, *zip(*TABLE.to_pydict().values(), strict=True)]):
            sheet.write_row(row, 0, cells)


def _secrets(place: Path, release: Path) -> list[Target]:
    from understudy.release.notices import Notice, add_notice, read_notices
    from understudy.release.signature import check_signature, new_key_pair, read_public_key, sign
    from understudy.service.secret import ServiceSecret
    from understudy.trees.model_file import model_key

    key = place / "key"
    new_key_pair(key)
    sign(release, key)
    manifest = (release / "manifest.json").read_bytes()
    add_notice(release, Notice(kind="withdrawn", why="an error"))

    def secret(path: Path) -> Any:
        path.chmod(0o600)
        return ServiceSecret.find(path, may_create=False)

    def account(path: Path) -> Any:
        opened = Account.open(path, patience=0.0)
        return opened.summary()

    def beside_manifest(load: Callable[[Path], Any]) -> Callable[[Path], Any]:
        def loaded(folder: Path) -> Any:
            (folder / "manifest.json").write_bytes(manifest)
            return load(folder)

        return loaded

    return [
        Target("account", (place / "a.account").read_bytes(), of_bytes, account, 30, "fuzzed.account"),
        Target("account with a sound chain", (place / "a.account").read_bytes(), _rechained(place), account, 40,
               "fuzzed.account"),
        Target("public key", (place / "key.pub").read_bytes(), mixed(of_lines), read_public_key, 60, "fuzzed.pub"),
        Target("signature", (release / "signature.json").read_bytes(), mixed(of_json),
               beside_manifest(lambda folder: check_signature(folder, None)), 60, "signed/signature.json"),
        Target("notice", (release / "notice.json").read_bytes(), mixed(of_json), beside_manifest(read_notices), 60,
               "noticed/notice.json"),
        Target("model key", b"00" * 32 + b"\n", of_bytes, model_key, 60, "fuzzed.key"),
        Target("service secret", b"A" * 43 + b"=\n", of_bytes, secret, 60, "fuzzed.secret"),
    ]  # fmt: skip


def _rechained(place: Path) -> Mutation:
    """An account edited by somebody who made its chain of digests fit again."""

    def mutate(content: bytes, rng: random.Random) -> bytes:
        path = place / "edited.account"
        path.write_bytes(content)
        with contextlib.closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("PRAGMA synchronous = OFF")
            connection.execute("DROP TRIGGER lines_stay")
            rows = connection.execute("SELECT number, kind, body FROM lines ORDER BY number").fetchall()
            place_of = rng.randrange(len(rows))
            digest = ""
            for index, (number, *was) in enumerate(rows):
                kind, body = was
                if index == place_of and rng.random() < 0.2:
                    kind = rng.choice(("reserved", "committed", "cancelled", "claimed", "noticed", "x"))
                elif index == place_of:
                    body = json.dumps(change(json.loads(body), rng))
                digest = hashlib.sha256("\n".join([digest, str(number), kind, body]).encode()).hexdigest()
                changed = (kind, body, digest, number)
                connection.execute("UPDATE lines SET kind = ?, body = ?, digest = ? WHERE number = ?", changed)
        return path.read_bytes()

    return mutate
