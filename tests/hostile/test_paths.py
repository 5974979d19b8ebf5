"""File names that shells, spreadsheets and Windows dislike, and tables that other programs write: they work."""

import unicodedata
from pathlib import Path

import pytest

import understudy as us

NAMES = {
    "spaces": "my data  2024",
    "composed": unicodedata.normalize("NFC", "Übergrößen é"),
    "decomposed": unicodedata.normalize("NFD", "Übergrößen é"),
    "emoji": "😀🏥 data",
    "other scripts": "日本語 данные",
    "right to left": "\u202enoitpmuser",
    "quotes": 'it\'s "quoted"',
    "percent": "100%20done%s",
    "glob": "a[1]*?{b}",
    "colon": "C:data",
    "backslash": "C:\\data\\new",
    "semicolon": "a;b&c|d",
    "hash": "a#b?c=d",
    "dollar": "$HOME `x`",
    "tilde": "~root",
    "reserved on Windows": "CON",
    "ends in a point": "data.",
    "ends in a space": "data ",
    "tab": "a\tb",
    "markup": "[bold]x",
    "equals": "a=b",
    "at": "u@h",
    "long": "n" * 150,
}


@pytest.mark.parametrize("kind", NAMES)
def test_names_of_files(run, bench, here, kind):
    name = NAMES[kind]
    data, book, out, account = f"{name}.csv", f"{name}.toml", f"{name}-out", f"{name}.account"
    (here / data).write_bytes(Path(bench.places["data"]).read_bytes())
    (here / book).write_bytes(Path(bench.places["book"]).read_bytes())
    opened = run("account", "create", account, "--dataset", name, "--epsilon", "3", "--delta", "0")
    assert opened.code == 0, opened.err
    made = run(
        "synth", data, "-c", book, "-m", "laplace", "--epsilon", "1", "-n", "20", "-o", out, "--account", account
    )
    assert made.code == 0, made.err
    shown = out.replace("\u202e", "\\u202e")  # what turns the direction of text is told as it is written in programs
    assert kind == "tab" or f"wrote {shown}/manifest.json" in made.out
    assert run("verify", out).code == 0
    assert us.Account.open(here / account).spent().epsilon > 0.99
    assert sorted(path.name for path in here.iterdir()) == sorted(["a.account", data, book, out, account])


@pytest.mark.parametrize(
    "kind",
    [
        "quotes",
        "decomposed",
        pytest.param("glob", marks=pytest.mark.long),
        pytest.param("percent", marks=pytest.mark.long),
    ],
)
def test_names_before_other_commands(run, bench, here, kind):
    name = NAMES[kind]

    def put(suffix: str, specimen: str) -> str:
        (here / f"{name}{suffix}").write_bytes(Path(bench.places[specimen]).read_bytes())
        return f"{name}{suffix}"

    data, book, model = put(".csv", "data"), put(".toml", "book"), put(".us", "model")
    people, counties = put("-people.csv", "people"), put("-counties.csv", "counties")
    flows, places = put("-flows.csv", "flows"), put("-places.csv", "places")
    for words in (
        ("codebook", "draft", data, "-o", f"{name}-draft.toml"),
        ("codebook", "check", data, "-c", book),
        ("codebook", "show", book),
        ("draw", model, "-n", "20", "-o", f"{name}-drawn"),
        ("evaluate", data, f"{name}-drawn", "-c", book, "-o", f"{name}.html", "--risk", "none"),
        ("anonymize", "run", data, "-c", book, "--k", "3", "--suppression", "0.1", "-o", f"{name}-anonymous"),
        ("train", data, "-c", book, "--target", "readmitted", "--method", "tree", "--epsilon", "1", "-o", f"{name}.t"),
        ("reconstruct", people, "-a", f"{counties}:county:charge", "-m", "er", "-o", f"{name}-again"),
        ("commute", "synth", flows, "--count", "workers", "--places", places, "--epsilon", "4", "--delta", "1e-6",
         "--certificate", "exact", "-o", f"{name}-trips"),
        ("commute", "map", f"{name}-trips", "-o", f"{name}-map.html"),
        ("keys", "create", "--label", name, "--database", f"sqlite:///{name}.db"),
    ):  # fmt: skip
        said = run(*words)
        assert said.code == 0, (words, said.err)


def test_a_leading_dash(run, bench, here):
    """It reads as an option, and the sentence is about options; ./ or -- in front says that it is a file."""
    (here / "-data.csv").write_bytes(Path(bench.places["data"]).read_bytes())
    said = run("codebook", "check", "-data.csv", "-c", "@book")
    assert said.code == 2 and "-d" in said.err
    assert run("codebook", "check", "./-data.csv", "-c", "@book").code == 0
    assert run("codebook", "check", "-c", "@book", "--", "-data.csv").code == 0


HEAD, ROW = "sex,age,region,charge,readmitted", "F,30,north,120.5,no"
TABLES = {
    "byte order mark": "\ufeff" + HEAD + "\n" + ROW + "\n",
    "Windows line ends": f"{HEAD}\r\n{ROW}\r\n{ROW}\r\n",
    "old Macintosh line ends": f"{HEAD}\r{ROW}\r",
    "no last line end": f"{HEAD}\n{ROW}",
    "one row": f"{HEAD}\n{ROW}\n",
    "everything quoted": '"sex","age","region","charge","readmitted"\n"F","30","north","120.5","no"\n',
    "numbers as text": f'{HEAD}\n"F","30","north","120.50","no"\n',
    "semicolons": f"{HEAD}\n{ROW}\n".replace(",", ";"),
    "tabs": f"{HEAD}\n{ROW}\n".replace(",", "\t"),
    "more columns than the codebook": f"id,{HEAD},note\n1,{ROW},hello\n",
    "other order": "readmitted,charge,region,age,sex\nno,120.5,north,30,F\n",
    "scientific": f"{HEAD}\nF,3e1,north,1.205e2,no\n",
}


@pytest.mark.parametrize("kind", TABLES)
def test_tables_that_other_programs_write(run, bench, here, kind):
    (here / "t.csv").write_bytes(TABLES[kind].encode())
    said = run("synth", "t.csv", "-c", "@book", "-m", "laplace", "--epsilon", "1", "-n", "5", "-o", "out")
    if said.code == 0:
        assert run("verify", "out").code == 0
        return
    # or it is refused, in a sentence that says what to change
    assert kind in REFUSED, said.err
    assert all(word in said.sentence for word in REFUSED[kind]), said.err
    assert not (here / "out").exists()


REFUSED: dict[str, tuple[str, ...]] = {}
