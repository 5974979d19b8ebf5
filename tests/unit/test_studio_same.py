"""What a screen shows as the same by command line and in Python is typed in the root folder, and does it."""

import html
import re
import shlex
import shutil

import pytest
from studio_visitor import Visitor
from test_studio_paying import ended, nonce_in, planned, small
from typer.testing import CliRunner

from understudy.cli.app import app
from understudy.codebook import LinkedCodebook
from understudy.facade import demo, releases, tables
from understudy.studio.changes import changing
from understudy.studio.looking import look
from understudy.studio.workspace import Root, new_dataset

WORDS = {"NAME": "anna", "SOURCE": "the form", "COLUMN": "age", "CAP": "3", "CAP_DELTA": "1e-5"}
"""What people put in the place of words in capitals."""


def same_of(page):
    """Commands and Python of a screen, line by line."""
    shown = re.search(r'<div id="same-words".*?</div>', page.text, flags=re.DOTALL)[0]
    parts = re.findall(r"<pre[^>]*>(.*?)</pre>", shown, flags=re.DOTALL)
    return [html.unescape(part).strip().splitlines() for part in parts]


def filled(line):
    for word, meant in WORDS.items():
        line = re.sub(rf"\b{word}\b", meant, line)
    return line


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A data set whose codebook was changed once, with an account and one release; and one with nothing yet."""
    place = tmp_path_factory.mktemp("made") / "root"
    place.mkdir()
    own = small(place)
    own.draft.write_text(own.codebook.read_text())
    with changing(own):
        own.codebook.write_text(own.codebook.read_text().replace("Small", "Small table"))
    new_dataset(own.root, "bare", data="../small/rows.csv")
    planned(Visitor(place))
    own.releases.mkdir()
    given = {"epsilon": 0.2, "delta": 1e-6, "account": own.account, "out": own.path("releases", "1")}
    tables.synthesize(own.path("rows.csv"), own.codebook, 40, **given)
    return place


@pytest.fixture
def root(made, tmp_path, monkeypatch):
    """A copy to work in."""
    place = shutil.copytree(made, tmp_path / "root")
    monkeypatch.chdir(place)
    return place


SCREENS = (
    "/d/bare/data",
    "/d/small/data",
    "/d/small/codebook",
    "/d/small/codebook/column/1",
    "/d/small/codebook/review",
    "/d/small/codebook/difference",
    "/d/small/quote?error=0.3&first=sex&second=age",
    "/d/small/release",
    "/d/small/report",
    "/d/small/publish",
    "/d/small/publish/1",
    "/d/small/anonymise",
    "/",
)


@pytest.mark.parametrize("screen", SCREENS)
def test_the_commands_of_a_screen_work(root, screen):
    commands, _ = same_of(Visitor(root).get(screen))
    assert commands
    for line in map(filled, commands):
        program, *words = shlex.split(line)
        if program == "mkdir":
            for folder in words[1:]:
                (root / folder).mkdir(parents=True, exist_ok=True)
        elif program == "cp":
            shutil.copy(*words)
        elif program != "understudy":
            assert (program, words[0]) in {("python", "-m"), ("diff", "-u")} and (root / words[-1]).exists(), line
        elif words[:2] == ["codebook", "draft"] and (root / words[words.index("--out") + 1]).exists():
            continue  # a draft overwrites nothing
        elif words[:2] not in (["codebook", "review"], ["codebook", "declare"]):  # these ask, or have nothing to do
            done = CliRunner().invoke(app, words, catch_exceptions=False)
            assert done.exit_code == 0, (line, done.output)


@pytest.mark.parametrize("screen", SCREENS)
def test_the_python_of_a_screen_works(root, screen, capsys):
    _, python = same_of(Visitor(root).get(screen))
    for folder in ("releases", "reports", ".looks"):
        (root / "small" / folder).mkdir(exist_ok=True)
    done = ("us.declare(", "us.draft(") if "small" in screen else ()  # a draft overwrites nothing
    lines = [line for line in map(filled, python) if not line.startswith(done or "#")]
    known = {}
    for line in lines:
        exec(compile(line, screen, "exec"), known)
    assert "import" in lines[0]


def test_an_account_is_opened_by_command_and_in_python(tmp_path, monkeypatch):
    own = small(tmp_path)
    visitor = Visitor(tmp_path)
    (created, *_), (_, opening, *_) = same_of(visitor.get("/d/small/quote"))
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, shlex.split(filled(created))[1:], catch_exceptions=False)
    by_command = releases.open_account(own.account).summary()
    own.account.unlink()
    assert "CAP" in created and "CAP" in opening, "nobody chooses it in advance"
    exec(f"import understudy as us\n{filled(opening)}")
    by_python = releases.open_account(own.account).summary()
    for summary in (by_command, by_python):
        summary.pop("created"), summary.pop("identity", None)
    assert done.exit_code == 0 and by_command == by_python and by_python["cap"]["epsilon"] == 3


def test_the_same_by_command_follows_the_slider(tmp_path):
    """The part that is asked for while the slider moves puts new words in the place of the old ones."""
    small(tmp_path)
    part = Visitor(tmp_path).get("/d/small/quote/price?epsilon=2.5")
    commands, python = same_of(part)
    assert 'id="same-words" hx-swap-oob="true"' in part.text
    assert any("--epsilon 2.5" in line for line in commands) and any("epsilon=2.5" in line for line in python)


def test_the_work_of_a_report_tells_what_was_asked_for(root):
    visitor = Visitor(root)
    limits = visitor.get("/d/small/report").text
    sent = dict(re.findall(r'name="(limit-[a-z_]+)" value="([^"]+)"', limits))
    visitor.done("/d/small/report/board", {**sent, "by": "Board"})
    nonce = nonce_in(visitor.get("/d/small/report"))
    visitor.done("/d/small/report/1", {"nonce": nonce, "target": "sex", "risk": "none"})
    request = ended(Root.at(root).dataset("small"), nonce).request
    assert request["commands"][-1].endswith("--target sex --risk none")
    assert 'target="sex", risk="none"' in request["python"][-1]


def test_the_work_of_a_release_tells_its_formats_in_python_too(root):
    visitor = Visitor(root)
    nonce = nonce_in(visitor.get("/d/small/release"))
    visitor.done("/d/small/release", {"nonce": nonce, "confirm": "small", "format": "sav"})
    request = ended(Root.at(root).dataset("small"), nonce).request
    assert "--format sav" in request["commands"][0] and "formats=['sav']" in request["python"][1]


def test_other_products_are_made_by_the_commands_that_are_shown(root):
    """Averages and counts are paid by the account, and looks are remembered by it."""
    visitor = Visitor(root)
    commands, python = same_of(visitor.get("/d/small/others"))
    for line in commands:
        words = shlex.split(line)[1:]
        if words[0] in ("answer", "count", "reconstruct"):
            done = CliRunner().invoke(app, words, catch_exceptions=False)
            assert done.exit_code == 0, (line, done.output)
    account = releases.open_account(Root.at(root).dataset("small").account)
    assert len(account.history()) == 3 and [what for _, what in account.looks()] == ["attack on averages of age"]
    text = visitor.get("/d/small/others").text
    for name in ("answer/index.html", "averages.html", "counts/index.html"):
        assert f"file={name}" in text and visitor.get(f"/d/small/others/page?file={name}").status_code == 200
    assert {line.split("(")[0] for line in python[1:]} == {
        "us.answer", "us.averages_risk", "us.count", "us.commute", "us.map_commute", "us.train"
    }  # fmt: skip
    for line in python[1:]:
        compile(line, "others", "exec")


def test_pages_of_maps_and_models_are_opened_and_no_others(root):
    """A map is known by its first line, the page of a model by the model beside it."""
    folder = root / "small"
    (folder / "map.html").write_text("<!doctype html>\n<!-- understudy map, made from a release -->")
    (folder / "score.us").write_text("{}")
    (folder / "score.us.html").write_text("<!doctype html>")
    (folder / "lost.us.html").write_text("<!doctype html>")
    (folder / "loose").mkdir()
    (folder / "loose" / "index.html").write_text("<!doctype html>")
    visitor = Visitor(root)
    text = visitor.get("/d/small/others").text
    assert re.findall(r"file=([^\"]+)\"", text) == ["map.html", "score.us.html"]
    assert visitor.get("/d/small/others/page?file=loose/index.html").status_code == 422


def test_the_shelf_says_where_a_release_stands(root):
    visitor = Visitor(root)
    assert "made, not signed yet" in visitor.get("/").text
    (root / "small" / "releases" / "1" / "signature.json").write_text("{}")
    shown = visitor.get("/").text
    assert "made, not signed yet" not in shown and "</svg> signed</span>" in shown
    (root / "studio.toml").write_text('people = ["A", "B"]\napprovals = 2\n')
    assert "made, approvals missing: 2" in Visitor(root).get("/").text


def test_a_table_is_split_by_the_command_that_is_shown(tmp_path, monkeypatch):
    """As the screen proposes it; before anybody has looked, the command only looks."""
    demo.example_histories(tmp_path / "stays", patients=40, one_file=True)
    shutil.move(tmp_path / "stays" / "stays.toml", tmp_path / "stays" / "codebook.toml")
    own = new_dataset(Root.at(tmp_path), "stays", data="stays.csv")
    visitor, new = Visitor(tmp_path), own.path("linked.toml")
    monkeypatch.chdir(tmp_path)
    made = []
    for is_looked_at in (False, True):
        assert not is_looked_at or look(own, "persons")
        (command,), python = same_of(visitor.get("/d/stays/split"))
        done = CliRunner().invoke(app, shlex.split(command)[1:], catch_exceptions=False)
        assert done.exit_code == 0 and new.exists() is is_looked_at, (command, done.output)
        if is_looked_at:
            made.append(LinkedCodebook.load(new).tables)
            new.unlink()
        exec("\n".join(python))
    assert made == [LinkedCodebook.load(new).tables]
    assert any('set_person("stays/codebook.toml", ' in line for line in same_of(visitor.get("/d/stays/data"))[1])


def test_an_empty_shelf_shows_how_the_example_is_made(tmp_path):
    assert same_of(Visitor(tmp_path).get("/"))[0] == ["understudy example -o example"]
