"""Confidential looks: the account remembers them, and what is chosen afterwards says so."""

import json

import pytest

SAID = "It was chosen or approved after a confidential look at the data, which is not in the price."


@pytest.fixture
def account(run, tmp_path):
    made = run("account", "create", tmp_path / "a.account", "--dataset", "d", "--epsilon", 9, "--delta", 1e-3)
    assert made.code == 0
    return tmp_path / "a.account"


def synth(run, discharges, account, out, epsilon=1):
    data, book = discharges
    words = ("-m", "laplace", "--epsilon", epsilon, "-n", 30, "-o", out, "--account", account, "--json")
    done = run("synth", data, "-c", book, *words)
    assert done.code == 0, done.err
    return done.json["manifest"]


@pytest.fixture
def small(run, tmp_path):
    """A table that the Laplace histogram can hold."""
    (tmp_path / "data.csv").write_text("sex,sick\n" + "F,0\nM,1\nF,1\n" * 40)
    columns = (("sex", '["F", "M"]'), ("sick", '["0", "1"]'))
    text = "format = 1\n" + "".join(
        f'\n[[columns]]\nname = "{name}"\nkind = "categorical"\nlevels = {levels}\n' for name, levels in columns
    )
    (tmp_path / "book.toml").write_text(text)
    return tmp_path / "data.csv", tmp_path / "book.toml"


@pytest.mark.parametrize("look", ["evaluate", "rumap", "audit"])
def test_a_release_after_a_look_says_so_unless_its_choices_were_fixed_before(run, small, account, tmp_path, look):
    data, book = small
    first = synth(run, small, account, tmp_path / "first")
    assert SAID not in first["statement"] and first["confidential_look"] is False
    fixed = ("-m", "laplace", "--epsilon", 0.5, "-n", 30, "--account", account)
    assert run("quote", data, "-c", book, *fixed).code == 0
    words = {
        "evaluate": ("evaluate", data, tmp_path / "first", "-c", book, "-o", tmp_path / "r.html", "--risk", "none"),
        "rumap": (
            *("rumap", data, "-c", book, "--epsilons", 1, "--methods", "laplace", "--repeat", 1),
            *("-n", 20, "-o", tmp_path / "map"),
        ),
        "audit": ("audit", data, "-c", book, "-m", "laplace", "--epsilon", 1, "-n", 5, "--runs", 40),
    }[look]
    assert run(*words, "--account", account).code == 0
    before = synth(run, small, account, tmp_path / "before", epsilon=0.5)
    after = synth(run, small, account, tmp_path / "after", epsilon=0.25)
    assert SAID not in before["statement"]
    assert SAID in after["statement"] and after["confidential_look"] is True
    assert run("verify", tmp_path / "after").code == 0
    cut = json.loads((tmp_path / "after" / "manifest.json").read_text())
    (tmp_path / "after" / "manifest.json").write_text(json.dumps({**cut, "confidential_look": False}))
    assert run("verify", tmp_path / "after").code == 1
    shown = run("account", "show", account)
    assert shown.code == 0 and "looked" in shown.out and "not in the price" in " ".join(shown.out.split())


def test_a_map_on_a_public_stand_in_is_no_look(run, small, account, tmp_path):
    data, book = small
    public = tmp_path / "public.csv"
    public.write_text("sex,sick\n" + "F,1\nM,0\n" * 40)
    words = ("--epsilons", 1, "--methods", "laplace", "--repeat", 1, "-n", 20, "-o", tmp_path / "map")
    assert run("rumap", data, "-c", book, *words, "--stand-in", public, "--account", account).code == 0
    assert run("account", "show", account, "--json").json["looks"] == []


def test_an_account_that_is_not_there_ends_the_look_before_it_begins(run, small, tmp_path):
    data, book = small
    done = run("audit", data, "-c", book, "-m", "laplace", "--epsilon", 1, "-n", 5, "--runs", 40, "--account", "none")
    assert done.code == 2 and "does not exist" in " ".join(done.err.split())
