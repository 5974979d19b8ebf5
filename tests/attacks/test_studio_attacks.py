"""Somebody attacks the studio: from a page elsewhere, by an address, by a path, by what stands in files."""

import csv
import json
import os
import re
import signal
from html.parser import HTMLParser
from pathlib import Path

import pytest
from studio_visitor import HOST, ORIGIN, Visitor

from understudy.facade import book_edits, codebooks
from understudy.studio import jobs
from understudy.studio.kept import keep
from understudy.studio.looking import look
from understudy.studio.looks import find_look, is_looking
from understudy.studio.released import find_release
from understudy.studio.workspace import OutsideRootError, Root, new_dataset

SCRIPT = "<script>alert(1)</script>"
BOOK = f"""format = 1

[[columns]]
name = "{SCRIPT}"
kind = "categorical"
levels = ["{SCRIPT}", "b\\" onload=alert(2)"]
origin = "drafted"
"""

SECRET_BOOK = """format = 1

[[columns]]
name = "Alice"
kind = "categorical"
levels = ["F", "M"]
"""


@pytest.fixture
def root(tmp_path):
    place = tmp_path / "root"
    place.mkdir()
    return place


@pytest.fixture
def visitor(root):
    return Visitor(root)


def with_dataset(root, **declared):
    (root / "t.csv").write_text("sex,age\nF,1\nM,2\n")
    return new_dataset(Root.at(root), "t", **{"data": "../t.csv", **declared})


def addresses(app, method):
    """Every address of the studio that takes a method, whoever wrote it."""
    found = []

    def walk(routes):
        for route in routes:
            if hasattr(route, "original_router"):
                walk(route.original_router.routes)
            elif method in (getattr(route, "methods", None) or ()):
                found.append(re.sub(r"\{number[^}]*\}", "0", re.sub(r"\{dataset[^}]*\}", "t", route.path)))

    walk(app.routes)
    return [path for path in found if "{" not in path]


@pytest.mark.parametrize("host", ["evil.example", f"{HOST}.evil.example", "127.0.0.1", f"{HOST}:81", ""])
def test_another_host_name_is_refused(visitor, host):
    """DNS rebinding: the attacker's name points to this machine, and the browser sends that name."""
    answer = visitor.get("/", Host=host)
    assert answer.status_code == 421 and "Shelf" not in answer.text


def test_two_host_names_are_refused(visitor):
    answer = visitor.ask("GET", "/", headers=[("Host", HOST), ("Host", "evil.example")])
    assert answer.status_code == 421


def test_a_one_time_address_opens_once(root):
    visitor = Visitor(root, enter=False)
    (token,) = visitor.keys.waiting
    assert visitor.get("/").status_code == 403
    first = visitor.get(f"/enter?token={token}")
    cookie = first.headers["set-cookie"].lower()
    assert first.status_code == 303 and "httponly" in cookie and "samesite=strict" in cookie
    assert visitor.get("/").status_code == 200
    thief = Visitor(root, keys=visitor.keys, app=visitor.app, enter=False)
    for used in (token, token[:-1], "", "x" * 43):
        assert thief.get(f"/enter?token={used}").status_code == 403
    assert thief.get("/").status_code == 403
    assert thief.get("/", Cookie="understudy-studio-0=guess").status_code == 403


@pytest.mark.parametrize(
    "origin", [None, "null", "https://evil.example", "http://studio.test.evil.example", ORIGIN + ":81"]
)
def test_a_change_from_elsewhere_is_refused(visitor, root, origin):
    answer = visitor.post("/example", origin=origin)
    assert answer.status_code == 403 and list(root.iterdir()) == []


def test_a_change_needs_the_token_of_its_own_session(root):
    (root / "studio.toml").write_text('people = ["A. Meyer", "B. Kuhn"]\n')
    visitor = Visitor(root)
    other = Visitor(root, keys=visitor.keys, app=visitor.app)
    for token in ("", "guess", other.csrf):
        assert visitor.post("/example", csrf=token).status_code == 403
    assert [path.name for path in root.iterdir()] == ["studio.toml"]


def test_every_change_is_guarded_alike(visitor, root):
    with_dataset(root)
    before = sorted((str(path), path.stat().st_mtime_ns) for path in root.rglob("*"))
    paths = addresses(visitor.app, "POST")
    assert len(paths) >= 12
    token = visitor.csrf
    for path in paths:
        assert visitor.post(path, origin="https://evil.example", csrf=token).status_code == 403, path
        assert visitor.post(path, csrf="guess").status_code == 403, path
        assert visitor.ask("PUT", path).status_code == 405, path
        headers = {"Origin": ORIGIN, "Content-Type": "application/json"}
        assert visitor.ask("POST", path, headers=headers, content='{"csrf": 1}').status_code == 415, path
    assert sorted((str(path), path.stat().st_mtime_ns) for path in root.rglob("*")) == before


def test_looking_changes_nothing(visitor, root):
    """A link or picture elsewhere can make a browser ask for any address."""
    with_dataset(root)
    before = sorted((str(path), path.stat().st_mtime_ns) for path in root.rglob("*"))
    for path in addresses(visitor.app, "GET"):
        assert visitor.get(path).status_code < 500, path
    assert sorted((str(path), path.stat().st_mtime_ns) for path in root.rglob("*")) == before


def test_large_bodies_are_refused(visitor, root):
    assert visitor.post("/example", {"x": "y" * 1_100_000}).status_code == 413
    assert visitor.post("/example", [("a", "1")] * 20_001).status_code == 400
    assert list(root.iterdir()) == []


def test_every_answer_forbids_foreign_scripts_and_keeping(visitor):
    for path in ("/", "/new", "/static/studio.css", "/static/htmx.min.js", "/nowhere", "/d/nobody/data"):
        headers = visitor.get(path).headers
        policy = headers["content-security-policy"]
        assert "unsafe" not in policy and "default-src 'none'" in policy and "frame-ancestors 'none'" in policy, path
        assert headers["cache-control"] == "no-store" and headers["x-content-type-options"] == "nosniff", path


@pytest.mark.parametrize("path", ["/static/../app.py", "/static/%2e%2e%2fapp.py", "/static/THIRD-PARTY.md",
                                  "/d/../data", "/d/%2e%2e/data", "/d/..%2f..%2fetc/data", "/d/.looks/data",
                                  ])  # fmt: skip
def test_no_address_leads_to_other_files(visitor, path):
    assert visitor.get(path).status_code in (404, 405)


def test_no_path_leaves_the_root(root, tmp_path):
    secret = tmp_path / "secret.csv"
    secret.write_text("name\nAlice\n")
    inside = Root.at(root)
    (root / "link.csv").symlink_to(secret)
    (root / "folder").symlink_to(tmp_path)
    (root / "many").mkdir()
    (root / "many" / "link.csv").symlink_to(secret)
    for words in ("../secret.csv", str(secret), "link.csv", "folder/secret.csv", "many", "many/*.csv",
                  "x/../../secret.csv",
                  f"duckdb:///{secret}", "duckdb:///../secret.csv", "sqlite:///../secret.csv",
                  f"sqlite3:///{secret}", "sqlite:///x/../../secret.csv", "link.csv?delimiter=;", "a\0b",
                  # read as an address, these are other places: signs are left out, or all that comes behind
                  "sqlite:///.\t./secret.csv", "duckdb:///.\n./secret.csv", "sqlite:///link.csv#x.db"):  # fmt: skip
        with pytest.raises(OutsideRootError):
            inside.address(words)
    assert inside.row_files() == []
    own = with_dataset(root)
    for parts in (("..", "t.csv"), ("../../secret.csv",), ("/etc/passwd",)):
        with pytest.raises(OutsideRootError):
            own.path(*parts)


@pytest.mark.parametrize("words", ["file:///etc/passwd", "http://evil.example/x.csv", "s3://bucket/x", "C://x"])
def test_other_schemes_are_refused(visitor, root, words):
    assert "begins with" in visitor.done("/new", {"other": words}).text
    assert not list(root.iterdir())


def test_an_address_with_a_password_is_not_kept(visitor, root):
    for words in ("postgresql://anna:hunter2@db.example/x", "postgresql://db.example/x?password=hunter2"):
        text = visitor.done("/new", {"other": words, "table": "t", "name": "db"}).text
        assert "the address holds a password" in text and not (root / "db").exists()


def test_links_in_releases_lead_nowhere(root, tmp_path):
    """A release is a folder with files; links that somebody put there show nothing that lies outside."""
    own = with_dataset(root)
    (tmp_path / "secret.html").write_text("<!-- understudy page, made from a release --><p>Alice</p>")
    (tmp_path / "manifest.json").write_text('{"method": "Alice"}')
    (own.folder / "pages").symlink_to(tmp_path)
    own.releases.mkdir()
    (own.releases / "1").mkdir()
    (own.releases / "1" / "manifest.json").write_text("{}")
    (own.releases / "1" / "index.html").symlink_to(tmp_path / "secret.html")
    (own.releases / "2").symlink_to(tmp_path)
    visitor = Visitor(root)
    for path in ("/", "/d/t/others", "/d/t/others/page?file=pages/secret.html", "/d/t/publish", "/d/t/publish/1/page"):
        assert "Alice" not in visitor.get(path).text, path
    assert visitor.get("/").status_code == visitor.get("/d/t/others").status_code == 200
    (own.releases / "1" / "manifest.json").unlink()
    (own.releases / "1" / "manifest.json").symlink_to(tmp_path / "manifest.json")
    for path in ("/", "/d/t/publish", "/d/t/publish/1"):
        assert "Alice" not in visitor.get(path).text, path


@pytest.mark.parametrize("name", [".looks/rows.json", ".looks/columns.json", ".looks", ".undo"])
def test_links_in_place_of_what_the_studio_keeps_show_nothing(root, tmp_path, name):
    """What was seen in rows, and earlier texts of a codebook: both are read by the studio and shown."""
    own = with_dataset(root)
    own.path("codebook.toml").write_text(SECRET_BOOK.replace("Alice", "sex"))
    own.path("draft.toml").write_text(SECRET_BOOK.replace("Alice", "sex"))
    outside = tmp_path / "outside"
    outside.mkdir()
    table = {"name": "Alice", "header": ["Alice"], "rows": [["Alice"]], "reading": {}, "guesses": []}
    seen = {"tables": [table], "faults": ["Alice"], "questions": [], "counts": {}}
    for kind in ("rows", "columns"):
        (outside / f"{kind}.json").write_text(json.dumps({"key": "", "seen": seen}))
    (outside / "000001.toml").write_text(SECRET_BOOK)
    (own.folder / name).parent.mkdir(exist_ok=True)
    (own.folder / name).symlink_to(outside / Path(name).name if name.endswith("json") else outside)
    visitor = Visitor(root)
    visitor.post("/d/t/codebook/undo", came_from="/d/t/codebook")
    for path in ("/", "/d/t/data", "/d/t/data/rows", "/d/t/codebook", "/d/t/codebook/difference"):
        assert "Alice" not in visitor.get(path).text, path
    assert "Alice" not in own.codebook.read_text() and visitor.get("/").status_code == 200
    assert sorted(path.name for path in outside.iterdir()) == ["000001.toml", "columns.json", "rows.json"]


def test_an_earlier_text_that_is_a_link_is_not_brought_back(root, tmp_path):
    own = with_dataset(root)
    own.path("codebook.toml").write_text(SECRET_BOOK.replace("Alice", "sex"))
    (tmp_path / "secret.toml").write_text(SECRET_BOOK)
    own.undo.mkdir()
    (own.undo / "000001.toml").write_text(SECRET_BOOK.replace("Alice", "age"))
    (own.undo / "000002.toml").symlink_to(tmp_path / "secret.toml")
    visitor = Visitor(root)
    assert visitor.post("/d/t/codebook/undo", came_from="/d/t/codebook").status_code == 303
    assert 'name = "age"' in own.codebook.read_text() and (tmp_path / "secret.toml").is_file()
    assert (
        "no change to take back"
        in visitor.get(visitor.post("/d/t/codebook/undo", came_from="/d/t/codebook").headers["location"]).text
    )


def test_a_zip_file_that_is_a_link_is_not_handed_out(root, tmp_path):
    own = with_dataset(root)
    (own.folder / "releases" / "1").mkdir(parents=True)
    (own.releases / "1" / "manifest.json").write_text("{}")
    (tmp_path / "secret.zip").write_text("Alice")
    own.path(".packs").mkdir()
    visitor = Visitor(root)
    stamp = find_release(own, "1").stamp[:16]
    (own.folder / ".packs" / f"1-{stamp}.zip").symlink_to(tmp_path / "secret.zip")
    answer = visitor.get("/d/t/publish/1/zip")
    assert answer.status_code == 403 and "Alice" not in answer.text
    assert "Download as zip" not in visitor.get("/d/t/publish/1").text


@pytest.mark.parametrize("name", ["request.json", "result.json", "progress.jsonl", ""])
def test_links_in_place_of_jobs_show_nothing(root, tmp_path, name):
    own = with_dataset(root)
    nonce, outside = "a" * 32, tmp_path / "outside"
    outside.mkdir()
    request = {"kind": "evaluate", "about": "t", "arguments": {}, "by": "Alice", "when": "2024-01-01T00:00:00+00:00"}
    result = {"state": "refused", "sentence": "Alice"}
    step = {"at": 1.0, "step": "Alice", "done": 1, "total": 2}
    for file, content in {"request.json": request, "result.json": result}.items():
        keep(outside / file, content)
    (outside / "progress.jsonl").write_text(json.dumps(step) + "\n")
    folder = root / ".studio" / "jobs" / nonce
    if name:
        folder.mkdir(parents=True)
        (folder / name).symlink_to(outside / name)
        if name != "request.json":
            keep(folder / "request.json", {**request, "by": ""})
    else:
        folder.parent.mkdir(parents=True)
        folder.symlink_to(outside)
    visitor = Visitor(root)
    for path in (f"/d/t/job/{nonce}", f"/d/t/job/{nonce}/part", "/d/t/release", "/"):
        assert "Alice" not in visitor.get(path).text, path
    jobs.clean_up(own.root.folder, spare=0)
    assert len(list(outside.iterdir())) == 3, "nothing outside is removed either"


def test_no_work_is_begun_behind_a_link(root, tmp_path):
    with_dataset(root)
    (tmp_path / "outside").mkdir()
    (root / ".studio").symlink_to(tmp_path / "outside")
    with pytest.raises(OutsideRootError):
        jobs.start(root, "b" * 32, kind="verify", arguments={}, about="t", by="")
    assert list((tmp_path / "outside").iterdir()) == []


def test_one_person_with_two_spellings_is_one(root):
    from understudy.errors import ParameterError

    (root / "studio.toml").write_text('people = ["A. Meyer", "A. Meyer "]\napprovals = 2\n')
    with pytest.raises(ParameterError, match="two people"):
        assert Root.at(root).settings


def test_a_data_set_that_points_outside_shows_nothing(root, tmp_path):
    (tmp_path / "secret.csv").write_text("name\nAlice\n")
    with_dataset(root, data="../../secret.csv")
    visitor = Visitor(root)
    assert visitor.get("/d/t/data").status_code == 403
    assert visitor.get("/").status_code == 200
    answer = visitor.post("/d/t/data/look", came_from="/d/t/data")
    assert answer.status_code == 403 and not (root / "t" / ".looks").exists()


def test_a_codebook_that_names_files_outside_is_not_read(root, tmp_path):
    (tmp_path / "secret.csv").write_text("code,parents,label\nAlice,,x\n")
    own = with_dataset(root)
    packs = '[[packs]]\nname = "own"\nfile = "../../secret.csv"\n'
    column = '[[columns]]\nname = "a"\nkind = "own"\n'
    own.path("codebook.toml").write_text(f"format = 1\n{packs}{column}")
    visitor = Visitor(root)
    answer = visitor.get("/d/t/codebook")
    assert answer.status_code == 403 and "Alice" not in answer.text
    assert "outside the root" in visitor.get("/").text, "the shelf says so on its card and shows the rest"
    own.path("codebook.toml").write_text('format = 1\n[tables.a]\ndata = "../../secret.csv"\n')
    assert visitor.get("/d/t/codebook").status_code == 403


def test_a_linked_codebook_names_files_from_the_folder_of_the_data_on(root, tmp_path):
    """The root itself may be that folder: then one step up leads out, though it would not from the codebook."""
    (tmp_path / "secret.csv").write_text("name\nAlice\n")
    own = with_dataset(root, data="..")
    own.path("codebook.toml").write_text('format = 1\n[tables.a]\ndata = "../secret.csv"\n')
    assert Visitor(root).get("/d/t/codebook").status_code == 403


def test_the_layout_of_a_file_and_parts_of_a_table_stay_below_the_root(root, tmp_path):
    (tmp_path / "secret.csv").write_text("name,start,end\nAlice,1,2\n")
    inside = Root.at(root)
    (root / "rows.txt").write_text("ab\n")
    with pytest.raises(OutsideRootError):
        inside.address("rows.txt?layout=../secret.csv")
    (root / "tables" / "stays").mkdir(parents=True)
    (root / "tables" / "stays" / "part-1.parquet").symlink_to(tmp_path / "secret.csv")
    with pytest.raises(OutsideRootError):
        inside.address("tables")


def test_a_view_in_a_database_reads_no_other_file(root, tmp_path):
    """DuckDB would follow it; the processes of the studio forbid it, for files and addresses alike."""
    import duckdb

    secret = tmp_path / "secret.csv"
    secret.write_text("name,age\nAlice,42\n")
    with duckdb.connect(str(root / "study.duckdb")) as connection:
        connection.execute(f"CREATE VIEW stolen AS SELECT * FROM read_csv('{secret}')")
        connection.execute("CREATE TABLE mine AS SELECT 'F' AS sex")
        connection.execute("CREATE VIEW own AS SELECT * FROM mine")
    visitor = Visitor(root)
    for table in ("stolen", "own"):
        visitor.done("/new", {"other": "duckdb:///study.duckdb", "table": table, "name": table})
        visitor.wait(table)
    seen = visitor.get("/d/stolen/data").text
    assert "Alice" not in seen and "A view in the database reads a file beside it" in seen
    assert "<td>F</td>" in visitor.get("/d/own/data").text, "a view of its own tables is read"


BROKEN = (
    "format = ",
    "x = " + "[" * 5000,
    "format = 1\n[[columns]]\nname = 3",
    "\0",
    "format = 99",
    "format = 1\n[packs]\nx = 1",
    "tables = 3",
    'format = 1\n[[columns]]\nname = "a"\nkind = "integer"\nedges = [0, 1e999]',
)


@pytest.mark.parametrize("text", BROKEN)
def test_a_broken_codebook_costs_its_screen_only(root, text):
    own = with_dataset(root)
    own.path("codebook.toml").write_text(text)
    visitor = Visitor(root)
    for path in ("/d/t/codebook", "/d/t/codebook/attest", "/d/t/codebook/column/0"):
        assert visitor.get(path).status_code in (404, 422), path
    assert visitor.get("/").status_code == 200


DEEP = b"[" * 200_000
JOB = f"../.studio/jobs/{'a' * 32}"
STRANGE = {
    "dataset.toml": (b"x = ", b'data = "rows.csv"\ntable = 3\nrows_about = "x"\nholdout = 4\ntitle = [1]\n'),
    "codebook.toml": (b"\xff\xfe\0",),
    "draft.toml": (b"\xff\xfe\0",),
    "t.account": (b"{}", b"\xff\0"),
    "recipe.toml": (b"x = ", b'method = 3\nrows = "a"\n',
                    b'method = "marginals"\nrows = -4\nepsilon = inf\ndelta = 0.0\n'),
    "board.toml": (b'decided_by = "M\xfcller"\n', b"x = ", b'[limits]\nshare_error = "a"\n'),
    "approvals.jsonl": (DEEP, b"[]\n", b"\xff\n"),
    "releases/1/manifest.json": (DEEP, b"[]", b'{"created": 5, "method": [1], "guarantee": [3], "anonymity": 4}'),
    "releases/\u00b2/manifest.json": (b"{}",),
    f"{JOB}/result.json": (b'{"state": "x"}', b'{"state": [1]}'),
    f"{JOB}/request.json": (b'{"about": "t", "kind": "verify", "arguments": [1]}',),
    ".looks/columns.json": (DEEP, b"[]", b'{"seen": 3}'),
    ".looks/candidates.json": (DEEP, b"x", b'{"candidates": [1], "quasi": 4}'),
    "pages.html": (b"\xff\xfe\0",),
}  # fmt: skip
"""Files of a data set as somebody may damage them."""
SCREENS = ("data", "codebook", "codebook/column/0", "codebook/review", "codebook/rules", "codebook/attest",
           "codebook/difference", "quote", "quote/price", "quote/error?error=0.1", "release", "report", "publish",
           "publish/1", "publish/1/checked", "anonymise", "others")  # fmt: skip


@pytest.mark.parametrize(("name", "content"), [(name, each) for name, all_of in STRANGE.items() for each in all_of])
def test_a_damaged_file_is_told_in_a_sentence(root, name, content):
    """Every screen answers: with what is there, or with what is wrong. None calls it a mistake of ours."""
    own = with_dataset(root)
    other = new_dataset(Root.at(root), "whole", title="The other one", data="../t.csv")
    own.codebook.write_text('format = 1\n[[columns]]\nname = "sex"\nkind = "categorical"\nlevels = ["F", "M"]\n')
    place = own.folder / name
    place.parent.mkdir(exist_ok=True, parents=True)
    place.write_bytes(content)
    visitor = Visitor(root)
    shelf = visitor.get("/")
    assert shelf.status_code == 200 and other.title in shelf.text, "one data set costs no other"
    for screen in SCREENS:
        assert visitor.get(f"/d/t/{screen}").status_code < 500, screen


PIPES = (
    *(name for name in STRANGE if name.count("/") < 2 or JOB in name), "releases/1/manifest.json",
    "releases/1/passport.json", "releases/1/signature.json", "releases/1/index.html", "reports/1.html",
    ".looks/columns.running", *(f"{JOB}/{name}" for name in ("progress.jsonl", "lock", "pid", "charge")),
    "../studio.toml", "../t.csv",
)  # fmt: skip
"""Files that a screen may read; each is told apart from a pipe before it is opened."""


@pytest.mark.parametrize("name", dict.fromkeys(PIPES))
def test_no_screen_waits_for_a_pipe(root, name):
    """A folder that somebody else has filled must not hold up the studio for ever."""
    own = with_dataset(root)
    own.codebook.write_text('format = 1\n[[columns]]\nname = "sex"\nkind = "categorical"\nlevels = ["F", "M"]\n')
    if JOB in name:
        folder = root / jobs.FOLDER / ("a" * 32)
        folder.mkdir(parents=True)
        keep(folder / "request.json", {"about": "t", "kind": "synthesize", "arguments": {"account": "x"}})
    if name.startswith("releases"):
        own.path("releases", "1").mkdir(parents=True)
        (own.folder / "releases/1/manifest.json").write_text("{}")
        line = {"format": 2, "release": "1", "content": "sha256:0", "person": "A", "when": "2026-01-01"}
        own.path("approvals.jsonl").write_text(json.dumps(line) + "\n")
    place = (own.folder / name).resolve()
    place.parent.mkdir(exist_ok=True, parents=True)
    place.unlink(missing_ok=True)
    os.mkfifo(place)
    waited = []

    def let_go(_number, _frame):
        signal.alarm(1)  # there may be several who wait
        try:
            end = os.open(place, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:  # nobody has it open to read: the machine is slow
            return
        waited.append(name)
        os.close(end)

    before = signal.signal(signal.SIGALRM, let_go)
    signal.alarm(60)
    try:
        visitor = Visitor(root)
        statuses = {screen: visitor.get(f"/d/t/{screen}").status_code for screen in SCREENS}
        assert visitor.get("/").status_code < 500
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    assert not waited and max(statuses.values()) < 500, (waited, statuses)


def test_a_codebook_of_many_megabytes_is_refused(root):
    own = with_dataset(root)
    with own.path("codebook.toml").open("wb") as file:
        file.truncate(30_000_000)
    assert "at most" in Visitor(root).get("/d/t/codebook").text


def test_scripts_in_names_stay_text(root):
    (root / f"{SCRIPT.replace('/', '_')}.csv").write_text("a\n1\n")
    own = with_dataset(root, title=SCRIPT)
    own.path("codebook.toml").write_text(BOOK)
    visitor = Visitor(root)
    for path in ("/", "/new", "/d/t/data", "/d/t/codebook", "/d/t/codebook/column/0", "/d/t/codebook/attest"):
        text = visitor.get(path).text
        assert "<script>" not in text and "&lt;script&gt;" in text, path
        assert all(src.startswith('src="/static/') for src in re.findall(r"<script ([^>]*)", text)), path
        assert not re.search(r"<[^>]+ (style|on[a-z]+)=", text), path


class Tags(HTMLParser):
    """The tags of a page as a browser reads them, and whatever among them could run."""

    def __init__(self, page):
        super().__init__()
        self.seen, self.runs = set(), []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.seen.add(tag)
        known = dict(attrs)
        if tag == "script" and not known.get("src", "").startswith("/static/"):
            self.runs.append(tag)
        if tag in (
            "b",
            "img",
            "iframe",
            "style",
            "object",
            "base",
        ):  # none is on these screens, unless somebody adds it
            self.runs.append(tag)
        self.runs += [f"{tag} {name}" for name in known if name == "style" or name.startswith("on")]
        self.runs += [f"{tag} {name}" for name in ("href", "src") if (known.get(name) or "").startswith("javascript:")]


HOSTILE = (SCRIPT, '<img src=x onerror="alert(2)">', "</text></svg><b>c</b>", "]]>'\"&lt;b&gt;")
"""Levels that end what a page puts around them: text, a drawing, an attribute."""


def hostile_table(root):
    """Two columns with hostile names and levels, one of which fixes the other, and a person with several rows."""
    names = ("id", SCRIPT, '"><img src=x onerror=alert(3)>', "age")
    own = new_dataset(Root.at(root), "t", title=SCRIPT, data="../t.csv")
    rows = [(n // 2, HOSTILE[n % 4], HOSTILE[n % 4][::-1], n % 90) for n in range(400)]
    with (root / "t.csv").open("w", newline="") as file:
        csv.writer(file).writerows([names, *rows])
    return own, names


def test_scripts_in_rows_and_levels_stay_text_after_every_look(root):
    """Only then are they drawn as a histogram, asked about, proposed as rules and counted by person."""
    own, names = hostile_table(root)
    for kind in ("rows", "draft"):
        assert look(own, kind), find_look(own, kind).problem
    book = codebooks.load_codebook(own.codebook)
    assert book.column(SCRIPT).levels and set(book.column(SCRIPT).levels) == set(HOSTILE)
    book_edits.set_person(own.codebook, "id", 2)
    for kind in ("columns", "rules", "persons"):
        assert look(own, kind), find_look(own, kind).problem
    places = {name: number for number, name in enumerate(column.name for column in book.written)}
    told = {f"codebook/column/{places[name]}": 4 for name in names[1:3]}
    told |= {"codebook/review": 1, "codebook/rules": 1, "codebook/attest": 2, "codebook": 2, "data": 4, "split": 1}
    told |= dict.fromkeys(("codebook/difference", "quote", "release", "report", "publish", "anonymise", "others"), 0)
    visitor = Visitor(root)
    for screen, least in told.items():
        text = visitor.get(f"/d/t/{screen}").text
        assert Tags(text).runs == [], screen
        assert text.count("&lt;") >= least, f"{screen} shows no hostile word, so this proves nothing"
    for name in names[1:3]:
        text = visitor.get(f"/d/t/codebook/column/{places[name]}").text
        (figure,) = re.findall(r'<figure class="histogram">(.*?)</figure>', text, flags=re.DOTALL)
        assert figure.count("<rect") >= 4 and figure.count("&lt;") >= 4 and figure.count("<svg") == 1
        assert Tags(figure).seen <= {"svg", "title", "desc", "rect", "text", "path", "g", "figcaption", "line"}
    assert 'name="accept"' in visitor.get("/d/t/codebook/rules").text, "a rule about hostile levels is proposed"
    assert 'name="panel-' in visitor.get("/d/t/codebook/review").text


def test_ten_gigabytes_do_not_stop_the_studio(root):
    with (root / "huge.csv").open("wb") as file:
        file.write(b"a,b\n1,2\n")
        file.truncate(10_000_000_000)  # sparse: it takes no room
    visitor = Visitor(root)
    assert "huge.csv" in visitor.get("/new").text
    assert visitor.done("/new", {"file": "huge.csv"}).status_code == 200
    own = visitor.root.dataset("huge")
    for path in ("/", "/d/huge/data", "/d/huge/data/rows", "/d/huge/codebook"):
        assert visitor.get(path).status_code == 200
    visitor.done("/d/huge/stop")
    assert not is_looking(own)


def test_what_is_written_belongs_to_its_owner_alone(root):
    visitor = Visitor(root)
    visitor.done("/example")
    example = root / "example"
    assert example.stat().st_mode & 0o077 == 0
    assert {path.name for path in example.rglob("*") if path.is_file() and path.stat().st_mode & 0o077} == set()
    visitor.done("/d/example/codebook/column/2", {"kind": "categorical", "missing": "NA", "levels": "Male\nFemale\nX"})
    kept = example / ".undo" / "000001.toml"
    assert kept.stat().st_mode & 0o777 == 0o600 and (example / "codebook.toml").stat().st_mode & 0o077 == 0


def test_the_studio_listens_to_this_machine_alone(root):
    from understudy.errors import ParameterError
    from understudy.studio.run import studio

    for host in ("0.0.0.0", "::", "example.org"):
        with pytest.raises(ParameterError, match="--behind"):
            studio(root, ready=lambda addresses: None, host=host)
    for words in ("http://studio.example.org", "https://", "https://a/b", "https://u@a"):
        with pytest.raises(ParameterError, match="behind"):
            studio(root, ready=lambda addresses: None, public_address=[words])


def test_behind_a_proxy_the_cookie_needs_tls(root):
    from understudy.studio.app import create_app
    from understudy.studio.guard import Keys

    keys = Keys()
    app = create_app(Root.at(root), keys, hosts={HOST}, origins={ORIGIN}, port=0, secure=True)
    visitor = Visitor(root, keys=keys, app=app, enter=False)
    (token,) = keys.waiting
    assert "secure" in visitor.get(f"/enter?token={token}").headers["set-cookie"].lower()


def test_a_mistake_of_ours_shows_nothing(visitor, monkeypatch):
    monkeypatch.delenv("UNDERSTUDY_TRACEBACK", raising=False)

    def broken(self):
        raise RuntimeError("Alice, 42, diabetes")

    monkeypatch.setattr(Root, "datasets", broken)
    answer = visitor.get("/")
    assert answer.status_code == 500 and "Alice" not in answer.text and "mistake" in answer.text
    assert os.environ.get("UNDERSTUDY_TRACEBACK") is None
