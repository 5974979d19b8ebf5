"""Large releases and large comparisons by the command line."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.engines.part_tables import declared, table
from understudy.cli.app import main

OPTIONS = ("-m", "laplace", "--epsilon", "1")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    import pyarrow.parquet as pq

    pq.write_table(table(), tmp_path / "t.parquet")
    declared().save(tmp_path / "book.toml")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stopped:
        main(list(words))
    said = capsys.readouterr()
    return int(stopped.value.code or 0), said.out, said.err


def test_synth_verify_evaluate_in_parts(folder: Path, capsys: Any) -> None:
    words = ("synth", "t.parquet", "-c", "book.toml", *OPTIONS, "-n", "2000", "-o", "r", "--engine", "local")
    code, said, _ = run(*words, "--part-rows", "700", "--workers", "2", capsys=capsys)
    assert code == 0 and "differentially private" in said
    assert len(list((folder / "r/synthetic").iterdir())) == 3
    code, said, _ = run("verify", "r", capsys=capsys)
    assert code == 0 and "3 parts have the digests" in said and "all 2,000 rows fit" in said
    code, said, err = run("evaluate", "t.parquet", "r", "-c", "book.toml", "-o", "c.json", "--large", capsys=capsys)
    assert code == 0, err
    found = json.loads((folder / "c.json").read_text())
    assert set(found["scores"]) >= {"tvd_one_way", "tvd_two_way"} and found["confidential"]
    assert 0 <= found["scores"]["tvd_two_way"]["value"] < 0.2
    code, _, err = run("evaluate", "t.parquet", "r", "-c", "book.toml", "-o", "p.html", "--risk", "none", capsys=capsys)
    assert code == 0, err  # the whole page reads parts too


def test_draw_in_parts(folder: Path, capsys: Any) -> None:
    words = ("synth", "t.parquet", "-c", "book.toml", *OPTIONS, "-n", "10", "-o", "r", "--save-model", "m.zip")
    assert run(*words, capsys=capsys)[0] == 0
    code, said, err = run(
        "draw", "m.zip", "-n", "500", "-o", "more", "--engine", "local", "--part-rows", "200", "--json", capsys=capsys
    )
    assert code == 0, err
    assert json.loads(said)["manifest"]["parts"] == 3


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--engine", "hadoop"), "one of local, spark"),
        (("--engine", "local", "--csv"), "a release in parts is Parquet"),
        (("--engine", "local", "--files", "2"), "one table"),
        (("--engine", "local", "--save-model", "m.zip"), "draw from it"),
        (("--workers", "2"), "--workers belongs to --engine"),
        (("--part-rows", "2"), "--part-rows belongs to --engine"),
        (("--engine", "local", "--part-rows", "0"), "1 or more"),
        (("--engine", "local", "--workers", "0"), "1 or more"),
        (("--engine", "local", "--master", "spark://h:1"), "--master is for --engine spark"),
    ],
)
def test_bad_input(more: tuple[str, ...], said: str, folder: Path, capsys: Any) -> None:
    words = ("synth", "t.parquet", "-c", "book.toml", *OPTIONS, "-n", "10", "-o", "r", *more)
    code, _, err = run(*words, capsys=capsys)
    assert code == 2 and said in " ".join(err.split()), err
    assert {path.name for path in folder.iterdir()} == {"t.parquet", "book.toml"}


@pytest.mark.parametrize("address", ["postgresql://ann:hunter2@h/d?table=t", "spark://ann:hunter2@h:1?table=t"])
@pytest.mark.parametrize("command", ["synth", "evaluate", "codebook draft", "codebook check"])
def test_a_password_on_the_command_line_is_refused_and_not_repeated(
    command: str, address: str, folder: Path, capsys: Any
) -> None:
    tails = {
        "synth": ("-c", "book.toml", *OPTIONS, "-n", "10", "-o", "r"),
        "evaluate": ("t.parquet", "-c", "book.toml", "-o", "p.html"),
        "codebook draft": ("-o", "draft.toml"),
        "codebook check": ("-c", "book.toml"),
    }
    code, out, err = run(*command.split(), address, *tails[command], capsys=capsys)
    assert code == 2
    assert "holds a password or key" in " ".join(err.split())
    assert "hunter2" not in out + err


def test_models_need_more_than_counting(folder: Path, capsys: Any) -> None:
    words = ("evaluate", "t.parquet", "t.parquet", "-c", "book.toml", "-o", "c.json", "--large", "--target", "a")
    code, _, err = run(*words, capsys=capsys)
    assert code == 2 and "--target needs models" in err
