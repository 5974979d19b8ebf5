"""Commands of projects and review: an agency sets a validation service up and runs it."""

import json

import pytest
from answer_bench import AnswerService

from understudy.cli.app import main
from understudy.service.amounts import Amount


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    """What a command says, as data; or the sentence with which it fails."""
    monkeypatch.setenv("UNDERSTUDY_DATABASE", f"sqlite:///{tmp_path / 'lite.db'}")

    def go(*words: object, fails: bool = False):
        capsys.readouterr()
        with pytest.raises(SystemExit) as stop:
            main([*map(str, words), "--json"])
        said = capsys.readouterr()
        assert bool(stop.value.code) == fails and "Traceback" not in said.err, said.err
        return " ".join((said.err + said.out).split()) if fails else json.loads(said.out)

    return go


def test_the_whole_path_of_a_steward(run, stays, tmp_path):
    file = ["--data", stays.folder / "data.toml"]
    before = stays.account.spent().epsilon
    cap = run("projects", "cap", "stays", "--epsilon", 2, "--delta", 1e-6, *file)
    assert cap["cap"] == {"epsilon": 2.0, "delta": 1e-6}
    assert stays.account.spent().epsilon == pytest.approx(before + 2.0)
    lower = run("projects", "cap", "stays", "--epsilon", 1.5, *file)
    assert lower["cap"] == {"epsilon": 1.5, "delta": 1e-6} and lower["before"] == cap["cap"], "a delta is not lost"
    assert run("projects", "cap", "stays", "--epsilon", 2, "--delta", 1e-6, *file)["cap"] == cap["cap"]
    run("projects", "create", "readmission", "--of", "stays", "--epsilon", 1)
    key = run("keys", "create", "--label", "Ann", "--scope", "answer", "--identity", "ann@agency.example")
    added = run("projects", "add", "readmission", key["key_id"], "--epsilon", 0.5)
    assert added["members"][0]["cap"]["epsilon"] == 0.5
    assert run("projects", "change", "readmission", "--epsilon", 1.5)["cap"]["epsilon"] == 1.5
    for words in (("change", "readmission"), ("add", "readmission", key["key_id"])):
        for given, kept in ((("--delta", 1e-7), 1e-7), ((), 1e-7), (("--delta", 0), 0.0)):
            made = run("projects", *words, "--epsilon", 0.5 if words[0] == "add" else 1.5, *given)
            now = made["members"][0] if words[0] == "add" else made
            assert now["cap"]["delta"] == kept, (words, given)
    listed = run("projects", "list")
    assert [line["project"] for line in listed["projects"]] == ["readmission"] and listed["faults"] == []
    assert [line["what"] for line in run("projects", "ledger", "stays")["lines"]] == ["cap"] * 12
    assert run("review", "list") == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("projects", "cap", "elsewhere", "--epsilon", 1), "names no data set"),
        (("projects", "create", "x", "--of", "nothing", "--epsilon", 1), "no default for privacy"),
        (("projects", "add", "x", "0" * 16, "--epsilon", 1), "no key"),
        (("projects", "change", "x", "--epsilon", 1), "no project"),
        (("projects", "ledger", "x"), "no cap over all projects"),
        (("review", "approve", "x"), "no question"),
        (("review", "decline", "x", "--words", ""), "words"),
        (("projects", "create", "x", "--of", "y", "--epsilon", 0), "epsilon"),
    ],
)
def test_mistakes_are_sentences(words, said, run, stays):
    more = ["--data", stays.folder / "data.toml"] if words[1] == "cap" else []
    assert said in run(*words, *more, fails=True)


def test_review_by_command_is_review_over_http(lite, stays, run):
    service = AnswerService(lite, stays, review="always")
    asked = service.ask_data("count by sex").json()
    (line,) = run("review", "list")
    assert line["id"] == asked["id"] and line["synthetic"] and "answer" not in line
    assert run("review", "decline", asked["id"], "--words", "Too fine.")["status"] == "declined"
    assert service.ask_data("count by sex").json()["words"] == "Too fine."
    run("review", "approve", asked["id"])
    assert service.ask_data("count by sex").json()["status"] == "answered"
    assert service.spent_on_data == Amount.price(0.5)


def test_the_file_of_data_sets_is_checked(stays, tmp_path):
    from understudy.errors import ParameterError
    from understudy.service.data_sets import open_data_sets, read_data_sets

    opened = open_data_sets(stays.folder / "data.toml")["stays"]
    assert opened.review == "rules" and opened.rules.smallest == 20 and opened.release == stays.folder / "release"
    good = (stays.folder / "data.toml").read_text()
    for change, said in [
        (("format = 1", "format = 99"), "format 99"),
        (('review = "rules"', 'review = "never"'), "review"),
        (('source = "stays.parquet"', ""), "lacks source"),
        (("smallest = 20", "least = 20"), "least"),
        (("smallest = 20", "smallest = -1"), "smallest"),
        (("epsilon = 1.0", "epsilon = 0"), "epsilon"),
        (("epsilon = 1.0", 'columns = "sex"'), "list of names"),
        (("[stays]", "[Stays]"), "Stays"),
        (('account = "stays.account"', "account = 3"), "account"),
    ]:
        path = tmp_path / "bad.toml"
        path.write_text(good.replace(*change))
        with pytest.raises(ParameterError, match=said):
            read_data_sets(path)
    with pytest.raises(ParameterError):
        read_data_sets(tmp_path / "absent.toml")
