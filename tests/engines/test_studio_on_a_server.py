"""The studio on a database server: from its address to a release, with a codebook from a file below the root."""

import html
import re
import shlex
import time

import pyarrow as pa
import pytest
from studio_visitor import Visitor
from typer.testing import CliRunner

import understudy as us
from tests.engines.conftest import Postgres
from understudy.cli.app import app
from understudy.errors import DataError
from understudy.facade import releases, tables
from understudy.studio import jobs
from understudy.studio.books import lines_of
from understudy.studio.looks import find_look
from understudy.studio.workspace import private_folder

pytest.importorskip("fastapi", reason="extra studio")
ROWS = 300
EXPORT = "sex,age\n" + "".join(f"{'FM'[number % 2]},{number % 60}\n" for number in range(120))


@pytest.fixture
def address(postgres: Postgres) -> str:
    return postgres.load(
        "visits_of_the_studio",
        pa.table({"sex": ["FM"[number % 2] for number in range(ROWS)], "age": [number % 60 for number in range(ROWS)]}),
    )


@pytest.fixture
def visitor(address, tmp_path):
    """Somebody who has named the address, and waited for the first rows."""
    (tmp_path / "safe").mkdir()
    (tmp_path / "safe" / "export.csv").write_text(EXPORT)
    somebody = Visitor(tmp_path)
    somebody.done("/new", {"other": address, "name": "visits"})
    somebody.wait("visits")
    return somebody


def waited(visitor, path, fields):
    visitor.done(path, fields)
    visitor.wait("visits")
    return visitor.root.dataset("visits")


def number_in(page):
    return re.search(r'name="nonce" value="([0-9a-f]{32})"', page.text)[1]


def ended(own, nonce):
    job, patience = jobs.find(own.root.folder, nonce), time.monotonic() + 120
    while job.state is jobs.JobState.RUNNING and time.monotonic() < patience:
        time.sleep(0.05)
    return job


def test_nothing_is_offered_that_a_server_refuses(visitor):
    shown = visitor.get("/d/visits/data").text
    assert "Only counts leave a database server" in shown and "data/draft" not in shown
    assert 'value="safe/export.csv"' in shown, "a file to draft from is proposed"
    visitor.post("/d/visits/data/draft", came_from="/d/visits/data")
    assert "Only counts leave a database server" in visitor.get("/d/visits/data").text
    assert not visitor.root.dataset("visits").codebook.exists()


def test_no_lot_is_drawn_on_a_server(visitor, address, tmp_path):
    """It would write whole records into files: neither the studio nor Python does that with a server's rows."""
    waited(visitor, "/d/visits/data/book", {"book": "safe/export.csv"})
    own = visitor.root.dataset("visits")
    assert "Keep people back by lot" not in visitor.get("/d/visits/data").text
    visitor.post("/d/visits/data/lot", {"share": "20"}, came_from="/d/visits/data")
    assert "No record leaves a database server" in visitor.get("/d/visits/data").text
    with pytest.raises(DataError, match="no record leaves a database"):
        us.keep_back(address, own.codebook, rest=tmp_path / "r", held=tmp_path / "h")
    assert not list(tmp_path.rglob("*.parquet")) and not (tmp_path / "r").exists()


@pytest.mark.parametrize("named", ["", "safe/none.csv", "../outside.toml", "safe/broken.toml"])
def test_a_file_that_cannot_be_used_is_told_beside_its_field(visitor, named, tmp_path):
    (tmp_path / "safe" / "broken.toml").write_text("format = 1\n[[columns]]\nname = 3\n")
    visitor.post("/d/visits/data/book", {"book": named}, came_from="/d/visits/data")
    shown = visitor.get("/d/visits/data").text
    assert 'id="fault"' in shown and not visitor.root.dataset("visits").codebook.exists()


def test_from_an_address_to_a_release(visitor, address, tmp_path, monkeypatch):
    own = waited(visitor, "/d/visits/data/book", {"book": "safe/export.csv"})
    look = find_look(own, "columns")
    assert look.problem == "" and look.seen["rows"] == ROWS, "counted in the database, not in the export"
    assert all(line.bars for line in lines_of(own))
    shown = visitor.get("/d/visits/codebook").text
    assert "codebook/attest" in shown and "beside an export" in shown
    assert "no questions here" in visitor.get("/d/visits/codebook/review").text
    signed = {"by": "A. Meyer", "source": "form 7"}
    visitor.done("/d/visits/codebook/attest", [*signed.items(), ("column", "sex"), ("column", "age")])
    visitor.done("/d/visits/quote/account", {"epsilon": "3", "delta": "1e-5", "neighbours": "add-remove"})
    plan = {"epsilon": "1", "delta": "1e-6", "rows": "60", "rows_about": "300", "method": "marginals"}
    visitor.done("/d/visits/quote", plan)
    nonce = number_in(visitor.get("/d/visits/release"))
    visitor.done("/d/visits/release", {"nonce": nonce, "confirm": "visits"})
    job = ended(own, nonce)
    assert job.state is jobs.JobState.DONE, job.result
    assert job.charge_fact() is jobs.ChargeFact.COMMITTED and releases.verify(own.releases / "1").is_valid
    monkeypatch.chdir(tmp_path)
    for line in [*job.request["commands"], *commands_of(visitor, "data"), *commands_of(visitor, "codebook")]:
        words = shlex.split(line.replace("EXPORT.csv", "safe/export.csv").replace("releases/1", "releases/2"))[1:]
        if not line.startswith("understudy ") or words[:2] in (["codebook", "draft"], ["codebook", "declare"]):
            continue  # the draft is tried below; the other has nothing to do
        words += ["--json"] if words[:2] == ["codebook", "review"] else []  # it would ask
        done = CliRunner().invoke(app, words, catch_exceptions=False)
        assert done.exit_code == 0, (line, done.output)
    (draft,) = [line for line in commands_of(visitor, "data") if " draft " in line]
    own.codebook.rename(tmp_path / "kept.toml")
    done = CliRunner().invoke(app, shlex.split(draft.replace("EXPORT.csv", "safe/export.csv"))[1:])
    assert done.exit_code == 0 and us.Codebook.load(own.codebook).names == ("sex", "age")
    own.codebook.unlink()
    waited(visitor, "/d/visits/data/book", {"book": "kept.toml"})
    assert us.Codebook.load(own.codebook).is_public, "a codebook is taken as it is, with who attests it"


def commands_of(visitor, step):
    text = visitor.get(f"/d/visits/{step}").text
    shown = re.search(r'<div id="same-words".*?</div>', text, flags=re.DOTALL)[0]
    lines = html.unescape(re.findall(r"<pre[^>]*>(.*?)</pre>", shown, flags=re.DOTALL)[0]).strip().splitlines()
    return [line for line in lines if line.startswith("understudy ")]


def test_rules_are_looked_for_in_the_database(visitor):
    own = waited(visitor, "/d/visits/data/book", {"book": "safe/export.csv"})
    waited(visitor, "/d/visits/codebook/look", {"what": "rules"})
    look = find_look(own, "rules")
    assert look.problem == "" and "proposals" in look.seen and find_look(own, "rows").problem == ""


def test_a_report_of_a_release_from_a_server(visitor, tmp_path):
    own = waited(visitor, "/d/visits/data/book", {"book": "safe/export.csv"})
    tables.synthesize(own.data, own.codebook, 60, epsilon=1.0, delta=1e-6, out=private_folder(own.releases) / "1")
    sent = dict(re.findall(r'name="(limit-[a-z_]+)" value="([^"]+)"', visitor.get("/d/visits/report").text))
    visitor.done("/d/visits/report/board", {**sent, "by": "Board"})
    nonce = number_in(visitor.get("/d/visits/report"))
    visitor.done("/d/visits/report/1", {"nonce": nonce, "risk": "none"})
    job = ended(own, nonce)
    assert job.state is jobs.JobState.DONE, job.result
