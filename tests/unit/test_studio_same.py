"""What a screen shows as the same by command line and in Python is typed in the root folder, and does it."""

import html
import re
import shlex
import shutil
import tomllib
from pathlib import Path

import pytest
from studio_visitor import Visitor
from test_studio_paying import ended, nonce_in, planned, small
from typer.testing import CliRunner

import understudy as us
from understudy.cli.app import app
from understudy.codebook import LinkedCodebook
from understudy.errors import DataError
from understudy.facade import demo, releases, tables
from understudy.studio.changes import changing
from understudy.studio.looking import look
from understudy.studio.looks import find_look
from understudy.studio.workspace import Root, new_dataset

WORDS = {
    "NAME": "anna",
    "SOURCE": "form-7",
    "COLUMN": "age",
    "CAP": "3",
    "CAP_DELTA": "1e-5",
    "PERSON_COLUMN": "sex",
    "WEIGHT_COLUMN": "weight",
    "HELD-BACK.csv": "visits.csv",
    "TABLE.csv": "table.csv",
}
"""What people put in the place of words in capitals."""
OPEN_BOOK = """format = 1

[[columns]]
name = "ward"
kind = "categorical"
levels = ["A", "B", "C"]
origin = "drafted"

[[columns]]
name = "house"
kind = "categorical"
levels = ["x", "y"]
origin = "drafted"

[[columns]]
name = "begin"
kind = "date"
grain = "day"
start = 2024-01-01
end = 2024-03-31
origin = "drafted"

[[columns]]
name = "end"
kind = "date"
grain = "day"
start = 2024-01-01
end = 2024-04-30
origin = "drafted"

[[columns]]
name = "weight"
kind = "integer"
edges = [1, 3, 6]
origin = "drafted"

[[columns]]
name = "sex"
kind = "categorical"
levels = ["F", "M"]
origin = "drafted"

[[constraints]]
kind = "impossible"
cells = { ward = "A", house = "y" }
"""
"""Nobody has vouched for it, and it has a rule."""


def same_of(page):
    """Commands and Python of a screen, line by line."""
    shown = re.search(r'<div id="same-words".*?</div>', page.text, flags=re.DOTALL)[0]
    parts = re.findall(r"<pre[^>]*>(.*?)</pre>", shown, flags=re.DOTALL)
    return [html.unescape(part).strip().splitlines() for part in parts[:2]]


def written_of(page):
    """The files of which a screen shows lines for an editor, and the lines."""
    shown = re.search(r'<div id="same-words".*?</div>', page.text, flags=re.DOTALL)[0]
    found = re.findall(
        r"<p class=\"says\">.*?<code>(.*?)</code>.*?</p>\s*<pre[^>]*>(.*?)</pre>", shown, flags=re.DOTALL
    )
    return {name: html.unescape(text) for name, text in found}


def filled(line):
    for word, meant in WORDS.items():
        line = re.sub(rf"\b{re.escape(word)}\b", meant, line)
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
    opened(place)
    planned(Visitor(place), cap="9")
    own.releases.mkdir()
    given = {"epsilon": 0.2, "delta": 1e-6, "account": own.account, "out": own.path("releases", "1")}
    tables.synthesize(own.path("rows.csv"), own.codebook, 40, **given)
    return place


def opened(place):
    """A data set whose codebook waits for answers, with everything that can be seen in its rows."""
    (place / "visits.csv").write_text("sex,age\nF,40\nM,52\n")
    (place / "table.csv").write_text("ward,house\nA,x\nB,x\nC,y\n")
    own = new_dataset(Root.at(place), "open", data="rows.csv")
    days = [f"2024-{1 + n // 20 % 3:02}-{1 + n % 20:02}" for n in range(400)]
    ends = [day[:8] + f"{int(day[8:]) + n % 8:02}" for n, day in enumerate(days)]
    rows = [f"{'ABC'[n * 7 % 3]},{'xxy'[n * 7 % 3]},{days[n]},{ends[n]},{1 + n % 5},{'FM'[n % 2]}" for n in range(400)]
    own.path("rows.csv").write_text("\n".join(["ward,house,begin,end,weight,sex", *rows, ""]))
    own.path("codebook.toml").write_text(OPEN_BOOK)
    for kind in ("columns", "rules"):
        assert look(own, kind), find_look(own, kind).problem


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
    "/new",
    "/d/open/data",
    "/d/open/codebook",
    "/d/open/codebook/column/0",
    "/d/open/codebook/column/2",
    "/d/open/codebook/review",
    "/d/open/codebook/rules",
    "/d/open/codebook/attest",
    "/d/small/codebook/rules",
    "/d/small/codebook/attest",
)


@pytest.mark.parametrize("screen", SCREENS)
def test_the_commands_of_a_screen_work(root, screen):
    page = Visitor(root).get(screen)
    commands, _ = same_of(page)
    assert commands
    for name, text in written_of(page).items():
        if name == "answers.toml":
            (root / name).write_text(text)
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
        elif words[:2] == ["codebook", "review"] and "--answers" not in words:
            continue  # it asks
        elif words[:2] == ["codebook", "declare"] and ("open" not in screen or "--column" not in words):
            continue  # nothing waits there, or it waits for the review
        elif "ID" in words:
            continue  # nobody has looked for rules
        else:
            done = CliRunner().invoke(app, words, catch_exceptions=False)
            assert done.exit_code == 0, (line, done.output)


@pytest.mark.parametrize("screen", SCREENS)
def test_the_python_of_a_screen_works(root, screen, capsys):
    _, python = same_of(Visitor(root).get(screen))
    for folder in ("releases", "reports", ".looks"):
        (root / "small" / folder).mkdir(exist_ok=True)
    there = "small" in screen or "open" in screen  # a draft overwrites nothing
    done = ("us.draft(",) if there else ()
    declared = "us.declare(" if "small" in screen or screen == "/d/open/codebook" else "#"  # or it waits for the review
    lines = [line for line in map(filled, python) if not line.startswith((*done, declared))]
    lines = [line for line in lines if "'ID'" not in line and not ("small" in screen and "set_weight" in line)]
    known = {}
    for line in lines:
        for _ in range(100 if "keep_back(" in line else 1):  # of two people both stay, or go, with a chance of 0.68
            try:
                exec(compile(line, screen, "exec"), known)
                break
            except DataError as reason:
                if "by lot" not in str(reason):
                    raise
        else:
            pytest.fail(f"{line}: never in 100 lots")
    assert "import" in lines[0] and not re.search(r"from understudy\.|import understudy\.", "\n".join(python))


@pytest.mark.parametrize("screen", SCREENS)
def test_lines_for_an_editor_are_those_of_the_file(root, screen):
    """A part of a codebook stands in it as it is shown; whole files are read by the commands that read them."""
    for name, text in written_of(Visitor(root).get(screen)).items():
        shown, place = tomllib.loads(filled(text)), root / name
        if place.name == "codebook.toml":
            known = tomllib.loads(place.read_text())
            for key, value in shown.items():
                listed = isinstance(value, list)
                stands = all(one in known[key] for one in value) if listed else known.get(key) == value
                assert stands or "COLUMN" in text, (screen, key)
        elif place.name == "dataset.toml":
            place.parent.mkdir(exist_ok=True)
            place.write_text(filled(text))
            own = Root.at(root).dataset(place.parent.name)
            assert own.declared == shown and Path(own.data).is_file()
        elif place.name == "recipe.toml":
            assert tables.read_recipe(written(place, text)).options["epsilon"] == shown["epsilon"]
        elif place.name == "board.toml":
            assert us.read_board(written(place, text)).decided_by == "NAME"
        else:
            assert name == "answers.toml" and shown["panels"]


def written(place, text):
    place.write_text(text)
    return place


def changed_on(root, path, fields):
    """The codebook after a form was sent, and as it was before again."""
    book = (root / path.split("/")[2] / "codebook.toml").resolve()
    before = book.read_text()
    visitor = Visitor(root)
    visitor.done(path, fields)
    after = book.read_text()
    book.write_text(before)
    assert after != before
    return after


def run(lines):
    exec("\n".join(["import understudy as us", *lines]), {})


def test_python_and_editor_change_a_column_as_its_form_does(root):
    page = Visitor(root).get("/d/small/codebook/column/1")
    (edit,) = [line for line in same_of(page)[1] if "edit_column" in line]
    fields = {"kind": "integer", "role": "sensitive", "edges": "0, 18, 65, 120", "missing": "", "description": ""}
    by_form = changed_on(root, "/d/small/codebook/column/1", fields)
    run([edit.replace("'quasi-identifier'", "'sensitive'")])
    book = root / "small" / "codebook.toml"
    assert book.read_text() == by_form
    (lines,) = written_of(page).values()
    assert lines.strip() in OLD_AGE and us.Codebook.load(book).column("age").role.value == "sensitive"


OLD_AGE = """[[columns]]
name = "age"
kind = "integer"
role = "quasi-identifier"
edges = [0, 18, 65, 120]
"""


def test_python_says_who_is_a_person_as_the_form_does(root):
    lines = [line for line in map(filled, same_of(Visitor(root).get("/d/small/data"))[1]) if "set_person" in line]
    by_form = changed_on(root, "/d/small/data/person", {"who": "column", "column": "sex", "cap": "3"})
    run(lines)
    book = root / "small" / "codebook.toml"
    assert book.read_text() == by_form
    shown = tomllib.loads(written_of(Visitor(root).get("/d/small/data"))["small/codebook.toml"])
    assert shown["unit"] == tomllib.loads(by_form)["unit"] == {"id": "sex", "cap": 3}


def test_python_takes_a_rule_back_and_an_edit_as_the_buttons_do(root):
    visitor = Visitor(root)
    (back,) = [line for line in same_of(visitor.get("/d/open/codebook/rules"))[1] if "remove_rule" in line]
    title = us.Codebook.load(root / "open" / "codebook.toml").constraints[0].title
    by_form = changed_on(root, "/d/open/codebook/rules/back", {"rule": title})
    run([back])
    assert (root / "open" / "codebook.toml").read_text() == by_form
    lines = same_of(visitor.get("/d/small/codebook"))[1]
    by_button = changed_on(root, "/d/small/codebook/undo", {})
    with changing(Root.at(root).dataset("small")):
        (root / "small" / "codebook.toml").write_text(by_button)  # the button used the kept text up
    (root / "small" / ".undo" / "000001.toml").write_text(by_button)
    (root / "small" / "codebook.toml").write_text(by_button + "# changed\n")
    run([line for line in lines if "shutil" in line])
    assert (root / "small" / "codebook.toml").read_text() == by_button


def test_python_keeps_a_plan_and_limits_as_the_buttons_do(root):
    visitor, folder = Visitor(root), root / "small"
    asked = {"epsilon": "0.7", "delta": "1e-6", "rows": "50", "rows_about": "210", "method": "laplace"}
    visitor.done("/d/small/quote", asked)
    by_button = {name: (folder / name).read_text() for name in ("recipe.toml", "dataset.toml")}
    page = visitor.get("/d/small/quote")
    for name in by_button:
        (folder / name).write_text("")
    (folder / "dataset.toml").write_text('format = 1\ntitle = "x"\n')
    run([line for line in same_of(page)[1] if "Path" in line])
    assert {name: (folder / name).read_text() for name in by_button} == by_button
    assert written_of(page)["small/recipe.toml"].strip() == by_button["recipe.toml"].strip()
    page = visitor.get("/d/small/report")
    sent = dict(re.findall(r'name="(limit-[a-z_]+)" value="([^"]+)"', page.text))
    visitor.done("/d/small/report/board", {**sent, "by": "anna"})
    by_form = us.read_board(folder / "board.toml")
    run([filled(line) for line in same_of(page)[1] if "save_board" in line])
    assert us.read_board(folder / "board.toml") == by_form


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


def test_commutes_and_scores_are_made_as_they_are_shown(root):
    """In Python and by command; the flows are simulated, and named where the screen has words in capitals."""
    us.example_commutes(root / "flows")
    commands, python = same_of(Visitor(root).get("/d/small/others"))
    simulated = {path.name: path for path in (root / "flows").iterdir()}
    meant = {"FLOWS.csv": "flows/flows.csv", "PLACES.csv": "flows/places.csv"}
    assert {Path(path).name for path in meant.values()} <= set(simulated)

    def named(line):
        for word, path in meant.items():
            line = line.replace(word, path)
        return line

    made = [root / "small" / name for name in ("commutes/manifest.json", "commutes.html", "score.us")]
    for line in map(named, commands):
        words = shlex.split(line)[1:]
        if words[0] in ("commute", "train"):
            done = CliRunner().invoke(app, words, catch_exceptions=False)
            assert done.exit_code == 0, (line, done.output)
    assert all(place.exists() for place in made)
    shutil.rmtree(root / "small" / "commutes")
    for place in (root / "small").glob("score.us*"):
        place.unlink()
    made[1].unlink()
    run([named(line) for line in python[1:] if line.startswith(("us.commute(", "us.map_commute(", "us.train("))])
    assert all(place.exists() for place in made)


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
