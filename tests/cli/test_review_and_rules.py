"""The steward's path: draft, review, rules, declare, release, and what bad input meets on the way."""

import csv
import io
import json
import random

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import understudy as us
from understudy.codebook import Codebook, Determines
from understudy.errors import CodebookError

COLUMNS = [
    "patient",
    "sex",
    "diagnosis",
    "age",
    "ward_code",
    "facility",
    "county",
    "drug",
    "insulin",
    "metformin",
    "glipizide",
    "left",
    "back",
    "weight",
]
COUNTIES = ("north", "south", "west")
ANSWERS = """
person = "patient 3"
[panels]
"left out" = "yes"
codes = "levels"
mend = "proposed"
numbers = "yes"
levels = "yes"
[columns]
sex = "quasi-identifier"
"""


def rows(number=3000):
    drawn = random.Random(3)
    for _ in range(number):
        person = drawn.randrange(number // 2)
        sex, drug = "FM"[person % 2], drawn.choice(["Yes", "No"])
        doses = [
            drawn.choice(["Steady", "Up", "No"]) if drug == "Yes" and drawn.random() < share else "No"
            for share in (0.7, 0.5, 0.002)
        ]
        facility, died = drawn.randrange(12), drawn.random() < 0.1
        yield [
            f"P{person:05d}", sex, drawn.choice(["heart", "lung", "pregnancy"][: 2 + (sex == "F")]),
            drawn.randrange(90),
            drawn.randrange(100, 140), f"f{facility}", COUNTIES[facility % 3], drug, *doses,
            "expired" if died else "home", "NO" if died else drawn.choice(["NO", "<30", ">30"]),
            999 if drawn.random() < 0.1 else drawn.randrange(40, 120),
        ]  # fmt: skip


@pytest.fixture(scope="module")
def visits(tmp_path_factory):
    """A table of visits, and the codebook that is drafted from it."""
    folder = tmp_path_factory.mktemp("visits")
    with (folder / "visits.csv").open("w", newline="") as target:
        csv.writer(target).writerows([COLUMNS, *rows()])
    us.draft(folder / "visits.csv", folder / "drafted.toml")
    return folder


@pytest.fixture
def book(visits, tmp_path):
    place = tmp_path / "book.toml"
    place.write_bytes((visits / "drafted.toml").read_bytes())
    return place


@pytest.fixture(scope="module")
def reviewed_once(visits):
    place, answers = visits / "reviewed.toml", visits / "answers.toml"
    place.write_bytes((visits / "drafted.toml").read_bytes())
    answers.write_text(ANSWERS)
    us.review(place, visits / "visits.csv", answers=answers, by="A. Meyer")
    return place


@pytest.fixture
def reviewed(reviewed_once, book):
    book.write_bytes(reviewed_once.read_bytes())
    return book


@pytest.fixture(scope="module")
def proposals(reviewed_once, visits):
    found = us.rules(reviewed_once, visits / "visits.csv")
    return {proposal.words: proposal for proposal in found.proposals}


def test_questions_name_what_is_dangerous_and_every_column_once(run, visits, book):
    before = book.read_bytes()
    said = run("codebook", "review", book, "--data", visits / "visits.csv", "--json")
    assert said.code == 0, said.err
    asked = {question["id"]: question for question in said.json["questions"]}
    assert asked["person"]["proposed"] == "patient CAP"
    assert sorted(name for question in asked.values() for name in question["columns"]) == sorted(COLUMNS)
    assert asked["codes"]["columns"] == ["ward_code"]
    assert asked["mend"]["suggested"] == {"weight": "missing=999"}
    assert any("facility determines county" in line for line in asked["levels"]["sees"]["facility"])
    assert any("'No' in all but" in line for line in asked["levels"]["sees"]["glipizide"])
    assert len(asked) <= 6
    assert book.read_bytes() == before


def test_an_input_that_ends_while_it_is_asked_is_said(run, visits, book, monkeypatch):
    before = book.read_bytes()
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    said = run("codebook", "review", book, "--data", visits / "visits.csv", "--by", "A. Meyer")
    assert said.code == 2 and "the input ended" in said.err and book.read_bytes() == before


def test_ctrl_c_where_an_answer_is_asked_for_stops_as_anywhere(run, visits, book, monkeypatch):
    def struck(*_words, **_more):
        raise KeyboardInterrupt

    monkeypatch.setattr("sys.stdin", type("Struck", (), {"readline": struck, "read": struck, "isatty": bool})())
    said = run("codebook", "review", book, "--data", visits / "visits.csv", "--by", "A. Meyer")
    assert said.code == 130 and "mistake" not in said.err


def test_answers_are_kept_and_nothing_that_was_seen(visits, reviewed):
    book = Codebook.load(reviewed)
    assert book.unit is not None and (book.unit.id, book.unit.cap) == ("patient", 3)
    assert all(column.is_reviewed for column in book.columns)
    assert book.column("ward_code").kind == "categorical" and len(book.column("ward_code").levels) == 40
    weight = book.column("weight")  # the draft takes 999 for a code already
    assert weight.missing == "NA" and weight.reading.missing == ("999",) and float(weight.edges[-1]) < 999
    assert book.column("sex").role == "quasi-identifier"
    text = reviewed.read_text()
    for seen in ("on average", "all but", "fewer than", "look like codes", "determines"):
        assert seen not in text
    assert us.check(visits / "visits.csv", reviewed).fits


def test_the_terminal_asks_and_an_empty_answer_takes_what_is_proposed(run, visits, book, monkeypatch):
    answers = iter(["patient 2", "", "", "", "", "yes | drug: sensitive | glipizide: drop"])
    monkeypatch.setattr("typer.prompt", lambda *_, default=None, **__: next(answers) or default)
    said = run("codebook", "review", book, "--data", visits / "visits.csv", "--by", "A. Meyer")
    assert said.code == 0, said.err
    made = Codebook.load(book)
    assert made.unit is not None and made.unit.cap == 2
    assert made.column("drug").role == "sensitive" and not made.column("glipizide").is_modelled
    assert all(column.is_reviewed for column in made.columns)


def test_declare_needs_the_review_or_says_that_there_was_none(run, reviewed, visits, tmp_path):
    other = tmp_path / "other.toml"
    other.write_bytes((visits / "drafted.toml").read_bytes())
    words = ("--by", "A. Meyer", "--from", "form 7", "--json")
    refused = run("codebook", "declare", other, *words)
    assert refused.code != 0 and "nobody has reviewed" in refused.err + refused.out
    assert Codebook.load(other).unattested
    together = run("codebook", "declare", other, "--all", *words)
    assert together.code == 0 and "sex" in together.json["unreviewed"]
    (sentence,) = [said for said in Codebook.load(other).assumptions if "A. Meyer" in said]
    assert "nobody reviewed them one by one" in sentence
    one_by_one = run("codebook", "declare", reviewed, *words)
    assert one_by_one.code == 0 and one_by_one.json["unreviewed"] == []
    assert not any("nobody reviewed" in said for said in Codebook.load(reviewed).assumptions)


def test_codes_that_were_drafted_with_an_order_may_lose_it(tmp_path):
    """Nothing in the name of a race from 1 to 9 says that it is a code: the panel of levels must offer to say so."""
    table = pa.table({"race": [str(1 + k % 9) for k in range(900)], "sex": ["F", "M"] * 450})
    book = tmp_path / "book.toml"
    us.draft(table, book)
    assert Codebook.load(book).column("race").kind == "ordinal"
    (panel,) = [question for question in us.review(book, table).questions if "race" in question.columns]
    assert "levels" in panel.answers
    answers = {"person": "no", "panels": {panel.id: "yes"}, "columns": {"race": "levels"}}
    us.review(book, table, answers=answers, by="A. Meyer")
    assert Codebook.load(book).column("race").kind == "categorical"


def test_a_column_that_changed_after_its_review_was_not_reviewed(reviewed):
    text = reviewed.read_text().replace('levels = ["F", "M"]', 'levels = ["F", "M", "X"]')
    assert "sex" in Codebook.from_toml(text).unreviewed


def test_dependencies_are_proposed_with_their_support(proposals):
    found = proposals
    assert found["facility determines county"].exceptions == 0
    assert found["facility determines county"].support == 3000
    doses = next(proposal for words, proposal in found.items() if words.startswith("drug = No means"))
    assert {"insulin", "metformin", "glipizide"} <= set(doses.rule.columns)  # the rare drug too
    assert any({"sex", "diagnosis"} == set(p.rule.columns) for p in found.values())
    assert any({"left", "back"} == set(p.rule.columns) for p in found.values())
    assert all(p.exceptions == 0 and p.expected >= 20 for p in found.values())
    assert not any("age" in p.rule.columns for p in found.values())  # drawn independently of all others


def test_a_proposed_rule_knows_that_a_special_code_is_a_value(tmp_path):
    """Of children 'N' stands for an income: that is no bin of it, and no rule may say that they are in one."""
    drawn = random.Random(5)
    ages = [drawn.randrange(80) for _ in range(2000)]
    pay = [str(drawn.randrange(-900, 90_000)) if age > 15 else "N" for age in ages]
    single = [drawn.choice(["yes", "no"]) if age > 15 else "child" for age in ages]
    table = pa.table({"single": single, "income": pay, "job": [drawn.choice("abc") for _ in ages]})
    book = tmp_path / "book.toml"
    us.draft(table, book)
    assert Codebook.load(book).column("income").special == ("N",)
    found = us.rules(book, table)
    named = [proposal for proposal in found.proposals if {"single", "income"} == set(proposal.rule.columns)]
    assert named and all(proposal.exceptions == 0 for proposal in named)
    us.rules(book, table, accept=[proposal.id for proposal in named], by="J. Doe", source="form 7")
    assert us.check(table, book).fits  # the rows keep what was proposed about them


def test_accepted_rules_hold_in_a_release_and_no_source_means_no_promise(run, visits, reviewed, proposals, tmp_path):
    data = visits / "visits.csv"
    us.declare(reviewed, by="A. Meyer", source="form 7")
    plain = [proposal.id for proposal in proposals.values() if not proposal.needs_map]
    drafted = tmp_path / "drafted-rules.toml"
    drafted.write_bytes(reviewed.read_bytes())
    us.rules(drafted, data, accept=plain)
    why = us.quote(drafted, rows=10, method="laplace", epsilon=1.0).total
    assert why.kind == "NoFormal" and "no source besides the data" in why.why and "drug = No means" in why.why
    us.rules(reviewed, data, accept=plain, by="A. Meyer", source="prescribing guideline 2020")
    made = Codebook.load(reviewed)
    assert made.is_public and us.quote(reviewed, rows=10, epsilon=1.0, delta=1e-6).total.is_formal
    assert any("noticed in the data" in said and "guideline 2020" in said for said in made.assumptions)
    words = ("synth", data, "-c", reviewed, "--epsilon", 3, "--delta", 1e-6, "-n", 2000, "-o", tmp_path / "r")
    assert run(*words).code == 0
    table = pyarrow.parquet.read_table(tmp_path / "r" / "synthetic.parquet").to_pylist()
    assert not [row for row in table if row["drug"] == "No" and row["glipizide"] != "No"]
    assert not [row for row in table if row["sex"] == "M" and row["diagnosis"] == "pregnancy"]
    assert not [row for row in table if row["left"] == "expired" and row["back"] != "NO"]
    said = us.verify(tmp_path / "r")
    assert said.is_valid and any(line.startswith("0 rows break the") for line in said.passed)
    again = us.rules(reviewed, data)
    assert again.to_dict()["without_source"] == [] and all(proposal.needs_map for proposal in again.proposals)


def test_a_public_map(visits, reviewed, tmp_path):
    table = tmp_path / "facilities.csv"
    table.write_text("facility,county\n" + "".join(f"f{k},{COUNTIES[k % 3]}\n" for k in range(30) if k != 7))
    us.rules(reviewed, maps={("facility", "county"): table}, by="A. Meyer", source="register of facilities 2020")
    (rule,) = Codebook.load(reviewed).constraints
    assert isinstance(rule, Determines) and rule.free == ("f7",) and rule.is_attested
    assert Codebook.load(reviewed).unsourced_rules == ()


def test_a_map_read_from_the_data_has_no_source(visits, reviewed, proposals):
    data = visits / "visits.csv"
    wanted = proposals["facility determines county"].id
    made = us.rules(reviewed, data, accept=[wanted], by="A. Meyer", source="register 2020")
    assert made.codebook.unsourced_rules == ("facility determines county",) and "public table" in made.notes[0]
    with pytest.raises(CodebookError, match="map that was read from the data"):
        us.declare(reviewed, rules=["facility determines county"], by="A. Meyer", source="register 2020")


def test_a_pack_is_matched_by_name_or_by_hand(run, reviewed, visits):
    shown = run("codebook", "rules", reviewed, "--json").json["packs"]
    assert {"name": "pregnancy"}.items() <= next(p for p in shown if p["name"] == "pregnancy").items()
    words = ("--pack", "deaths", "--column", "discharge=left", "--column", "readmission=back")
    assert run("codebook", "rules", reviewed, *words, "--pack", "pregnancy").code != 0  # columns of one pack only
    said = run("codebook", "rules", reviewed, *words, "--json")
    assert said.code == 0 and said.json["added"] == ["nobody comes back who died"]
    assert run("codebook", "rules", reviewed, "--pack", "pregnancy").code == 0
    rules = {rule.title: rule for rule in Codebook.load(reviewed).constraints}
    assert rules["nobody comes back who died"].words() == "never left = expired and back in (<30, >30)"
    assert rules["no pregnancy of a man"].words() == "never sex = M and diagnosis = pregnancy"
    assert all("died" in rule.source or "ICD" in rule.source for rule in rules.values())


def test_evaluate_lists_what_never_occurs_and_the_rule_that_would_forbid_it(run, visits, reviewed, tmp_path):
    data = visits / "visits.csv"
    made = pyarrow.csv.read_csv(data)
    swapped = made.set_column(made.schema.get_field_index("sex"), "sex", pa.array(["M"] * made.num_rows))
    pyarrow.csv.write_csv(swapped, tmp_path / "made.csv")
    words = ("evaluate", data, tmp_path / "made.csv", "-c", reviewed, "-o", tmp_path / "page.html", "--risk", "none")
    said = run(*words, "--json")
    assert said.code == 0, said.err
    listed = said.json["impossible"]
    pregnant = sum(value == "pregnancy" for value in made.column("diagnosis").to_pylist())
    (first,) = [item for item in listed["combinations"] if set(item["columns"]) == {"sex", "diagnosis"}]
    assert first["synthetic"] == pregnant and set(first["levels"]) == {"M", "pregnancy"}
    assert "sex" in first["rule"] and first["proposed"]
    assert "Combinations that never occur in the data" in (tmp_path / "page.html").read_text()


def test_rules_learned_at_a_price(run, visits, reviewed, tmp_path):
    us.declare(reviewed, by="A. Meyer", source="form 7")
    account, out = tmp_path / "v.account", tmp_path / "learned.toml"
    us.Account.create(account, dataset="v", epsilon=9.0, delta=1e-4, neighbours=us.Neighbours.ADD_REMOVE_PERSON)
    words = ("codebook", "rules", reviewed, "--data", visits / "visits.csv", "--learn", "facility,county")
    said = run(*words, "--epsilon", 4, "--delta", 1e-5, "-o", out, "--account", account, "--json")
    assert said.code == 0, said.err
    book = Codebook.load(out)
    (rule,) = book.constraints  # every facility has some 250 visits, far above the threshold
    assert isinstance(rule, Determines) and rule.free == () and rule.origin == "paid"
    assert dict(rule.groups)["north"] == ("f0", "f3", "f6", "f9")
    assert book.is_public
    total = us.quote(out, rows=10, method="laplace", epsilon=1.0).total
    assert total.is_formal and 4.9 < total.epsilon <= 5.0
    changed = out.read_text().replace('north = ["f0", ', "north = [").replace('south = ["f1"', 'south = ["f0", "f1"')
    assert Codebook.from_toml(changed).unsourced_rules == ("facility determines county",)


MISTAKES = {
    "answers name no column": ("review", "[columns]\nnobody = 'yes'", "nobody"),
    "answers name no panel": ("review", "[panels]\nwards = 'yes'", "'wards'"),
    "an answer that is none": ("review", "[columns]\nsex = 'maybe'", "'maybe'"),
    "answers of another shape": ("review", "panels = 3", "table of texts"),
    "answers with strange keys": ("review", "questions = 3", "questions"),
    "answers that are no file of ours": ("review", "= nothing", "give TOML or JSON"),
    "a person without a cap": ("review", "person = 'patient'", "'patient 3'"),
    "a person who is no column": ("review", "person = 'nobody 3'", "'nobody'"),
    "a person with a cap of 0": ("review", "person = 'patient 0'", "cap"),
    "a code that is no level": ("review", "[columns]\nsex = 'missing=X'", "'X'"),
    "no level left": ("review", "[columns]\ncounty = 'missing=north,south,west'", "no level left"),
    "levels of what was left out": ("review", "[columns]\npatient = 'levels'", "no list of values"),
    "a proposal that is none": ("--accept|zzzzz", "", "'zzzzz'"),
    "half a signature": ("--accept|zzzzz|--by|A. Meyer", "", "go together"),
    "a map without a signature": ("--map|facility=county=@map", "facility,county\nf1,south\n", "--by and --from"),
    "a map with two values": ("--map|facility=county=@map|@signed", "a,b\nf1,south\nf1,west\n", "two values"),
    "a map to no level": ("--map|facility=county=@map|@signed", "a,b\nf1,Atlantis\n", "'Atlantis'"),
    "a map of other keys": ("--map|facility=county=@map|@signed", "a,b\nx,south\n", "are its columns swapped"),
    "a map of three columns": ("--map|facility=county=@map|@signed", "a,b,c\nf1,south,3\n", "two columns"),
    "a map of nothing": ("--map|facility=county=@map|@signed", "a,b\n", "no line below its header"),
    "a map that is not there": ("--map|facility=county=gone.csv|@signed", "", "gone.csv"),
    "a map that is spelled wrong": ("--map|facility", "", "COLUMN=FIXED=FILE.csv"),
    "a source that is the data": ("--map|facility=county=@map|--by|A|--from|the data", "a,b\nf1,south\n", "not public"),
    "a pack that is none": ("--pack|witchcraft", "", "'witchcraft'"),
    "a pack whose columns are missing": ("--pack|deaths", "", "--column discharge=COLUMN"),
    "a pack of another meaning": ("--pack|deaths|--column|sex=sex", "", "does not speak about 'sex'"),
    "a pack and a level that is none": ("--pack|pregnancy|--level|male=man", "", "'man'"),
    "a pack and a value that is none": ("--pack|pregnancy|--level|rich=M", "", "'rich'"),
    "a pack that finds nothing": ("--pack|pregnancy|--column|diagnosis=county", "", "--level"),
    "columns without a pack": ("--column|sex=sex", "", "belong to a pack"),
    "learning for nothing": ("--learn|facility,county|-o|new.toml", "", "epsilon"),
    "learning about nobody": ("--learn|facility,nobody|--epsilon|1|--delta|1e-6|-o|new.toml", "", "'nobody'"),
    "learning about one": ("--learn|facility|--epsilon|1|--delta|1e-6|-o|new.toml", "", "two columns"),
    "learning without a file": ("--learn|facility,county|--epsilon|1|--delta|1e-6", "", "--out"),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_bad_input_gets_a_sentence_and_writes_nothing(run, visits, book, monkeypatch, case):
    words, content, expected = MISTAKES[case]
    monkeypatch.chdir(book.parent)
    before = book.read_bytes()
    given = book.parent / "given"
    given.write_text(content)
    if words == "review":
        command = ["review", book, "--data", visits / "visits.csv", "--answers", given, "--by", "A. Meyer"]
    else:
        signed = words.replace("@signed", "--by|A. Meyer|--from|register 2020").replace("@map", str(given))
        read = ["--data", visits / "visits.csv"] if "--accept" in words or "--learn" in words else []
        command = ["rules", book, *read, *signed.split("|")]
    said = run("codebook", *command)
    assert said.code != 0 and expected in said.err, said.err
    assert book.read_bytes() == before
    assert sorted(path.name for path in book.parent.iterdir()) == ["book.toml", "given"]


def test_rules_that_contradict_each_other_are_refused(run, visits, reviewed, tmp_path):
    text = reviewed.read_text()
    reviewed.write_text(text + '\n[[constraints]]\nkind = "impossible"\n[constraints.cells]\nleft = ["home"]\n')
    before = reviewed.read_bytes()
    words = ("--pack", "deaths", "--column", "discharge=left", "--column", "readmission=back")
    said = run("codebook", "rules", reviewed, *words, "--level", "readmitted=<30,>30,NO")
    assert said.code != 0 and "no row satisfies" in said.err
    assert reviewed.read_bytes() == before


def test_a_review_of_a_book_that_does_not_fit_is_refused(run, visits, book):
    book.write_text(book.read_text().replace('levels = ["F", "M"]', 'levels = ["F"]'))
    before = book.read_bytes()
    said = run("codebook", "review", book, "--data", visits / "visits.csv", "--json")
    assert said.code != 0 and "does not fit the data" in said.out + said.err
    assert book.read_bytes() == before


def test_comments_of_a_codebook_stay(run, visits, reviewed):
    reviewed.write_text("# of the registrar\n" + reviewed.read_text())
    assert run("codebook", "rules", reviewed, "--pack", "pregnancy").code == 0
    assert reviewed.read_text().startswith("# of the registrar")


def test_the_questions_are_data(visits, book):
    found = us.review(book, visits / "visits.csv")
    assert "confidential" in repr(found)
    assert json.dumps(found.to_dict()["unreviewed"])
    assert set(found.unreviewed) == set(COLUMNS)


def test_options_of_learning_and_of_proposing_do_not_mix(run, tmp_path):
    book = tmp_path / "book.toml"
    us.datasets.discharges_codebook().save(book)
    before = book.read_bytes()
    mixed = run("codebook", "rules", book, "--pack", "deaths", "--out", tmp_path / "new.toml")
    assert mixed.code == 2 and "--out and --account belong to --learn" in mixed.err
    price = ("--epsilon", 1, "--delta", 1e-6, "--data", "data.csv", "--out", tmp_path / "new.toml")
    both = run("codebook", "rules", book, "--learn", "sex,pay", "--accept", "r1", *price)
    assert both.code == 2 and "--accept cannot be had with --learn" in both.err
    assert book.read_bytes() == before
