"""A damaged manifest beside a table that is named as a file: a sentence, and no look is written down for it."""

import json
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from fuzz.targets import BOOK, TABLE

import understudy as us
from understudy.cli.app import main
from understudy.errors import UnderstudyError
from understudy.evaluate.report.release_facts import find_release
from understudy.privacy import Neighbours
from understudy.privacy.account import Account


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    place = tmp_path_factory.mktemp("damaged")
    BOOK.save(place / "book.toml")
    pq.write_table(TABLE, place / "data.parquet")
    us.synthesize(place / "data.parquet", BOOK, rows=30, method="laplace", epsilon=1.0, out=place / "release")
    return place


@pytest.fixture
def place(made, tmp_path):
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    Account.create(tmp_path / "a.account", dataset="d", epsilon=9.0, delta=0.1, neighbours=Neighbours.ADD_REMOVE)
    return tmp_path


def edited(**changes):
    def edit(text: str) -> str:
        return json.dumps({**json.loads(text), **changes})

    return edit


DAMAGES = {
    "files is null": edited(files=None),
    "files is a list of lists": edited(files=[["synthetic.parquet"]]),
    "nested too deep": lambda text: "[" * 100_000 + text,
    "cut": lambda text: text[: len(text) // 2],
    "of a later version": edited(format=99),
    "no statement": edited(statement=None, codebook=None),
    "a ledger of words": edited(ledger="x"),
}


def code(*words):
    with pytest.raises(SystemExit) as stop:
        main(list(map(str, words)))
    return stop.value.code


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("more", [(), ("--large",)])
def test_evaluating_a_file_beside_it_is_refused_before_the_account_hears_of_it(place, damage, more, capsys):
    manifest = place / "release" / "manifest.json"
    manifest.write_text(DAMAGES[damage](manifest.read_text(encoding="utf-8")), encoding="utf-8")
    words = ("evaluate", place / "data.parquet", place / "release" / "synthetic.parquet", "-c", place / "book.toml")
    ended = code(*words, *more, "-o", place / "out", "--account", place / "a.account")
    told = " ".join(capsys.readouterr().err.split())
    assert ended == 2 and "manifest" in told, told
    assert not (place / "out").exists()
    assert Account.open(place / "a.account").looks() == []
    with pytest.raises(UnderstudyError):
        find_release(str(place / "release" / "synthetic.parquet"))
    assert code("combine", place / "release" / "synthetic.parquet", "--kind", "plug-in", "--share", "sex=F") == 2


@pytest.mark.parametrize(
    "text", ['{"name": "an app", "files": null}', "[" * 100_000, '["x"]', "{", '{"files": {"data.parquet": 1}}']
)
def test_the_manifest_of_something_else_is_no_release(place, text):
    (place / "app").mkdir()
    (place / "app" / "manifest.json").write_text(text, encoding="utf-8")
    copy = shutil.copy(place / "release" / "synthetic.parquet", place / "app" / "data.parquet")
    words = ("evaluate", place / "data.parquet", copy, "-c", place / "book.toml", "--risk", "none")
    assert find_release(str(copy)) == (str(copy), None)
    assert code(*words, "-o", place / "out.html", "--account", place / "a.account") == 0
    assert len(Account.open(place / "a.account").looks()) == 1


def test_a_file_of_a_sound_release_brings_its_statement(place):
    table, facts = find_release(str(place / "release" / "synthetic.parquet"))
    assert Path(table).name == "synthetic.parquet" and facts is not None and facts.method == "laplace"
    assert not facts.problems
