"""Every producer of a table x every consumer that the other matrices leave out, and whether all of them are somewhere.

Each cell says exactly what must come of it: refused in a sentence, no formal promise, or the earlier price with it. The
cells that are decided before a row is read are run for every product, the others for one product of each kind.
"""

import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from matrix_bench import BOOK, LINKED, MADE, PRODUCERS, call, codebook_for, first_of, folder_of, is_public
from matrix_bench import keeps_records_apart as keeps_apart
from typer.main import get_command

import understudy as us
from understudy.agents.run import open_desk
from understudy.agents.tools import TOOLS
from understudy.cli.app import app
from understudy.codebook import Codebook
from understudy.errors import DataError, ParameterError, RefusalError, ReleaseError, UnderstudyError
from understudy.facade.releases import combine_files
from understudy.facade.reviews import learn_rules
from understudy.facade.tables import quote_count
from understudy.privacy import Neighbours
from understudy.privacy.account import Account
from understudy.privacy.guarantees import ApproxDP, NoFormal, PureDP, guarantee_from_dict
from understudy.privacy.provenance import InputRole, Made
from understudy.release.reading import read_manifest_file
from understudy.service.data_sets import DataSet, Terms
from understudy.sources.inputs import find_provenance, public_provenance
from understudy.studio import plans, work
from understudy.studio.workspace import Root, new_dataset
from understudy.synth import METHODS

NOT_PEOPLE = "one person can change the rows of many"
NOT_PUBLIC = "must be public, and it is not"
MEASURED = ("synth marginals", "synth one of several files", "synth all of several files")
"""Of which anything can be inferred."""


KINDS = (
    *("synth laplace", "synth marginals", "synth linked", "synth in parts", "synth all of several files"),
    *("synth one of several files", "synth certified", "count", "answer", "commute levels", "commute laplace"),
    *("anonymize top-code", "anonymize mondrian", "impute", "impute all of several files", "reconstruct", "draw"),
)
FEW = ("synth linked", "count", "anonymize mondrian", "anonymize top-code", "impute all of several files")
"""Of which no more than one promise each: the others of a kind run in `make long`."""


def long_but(name: str, few: tuple[str, ...]) -> object:
    return pytest.param(name, marks=() if name in few else pytest.mark.long)


OF_EACH_KIND = [long_but(name, FEW) for name in KINDS]
CELLS = [
    pytest.param(*one.values, id=one.id, marks=pytest.mark.long if one.values[1] and one.values[0] not in KINDS else ())
    for one in MADE
]
"""Every product; those with a seed of which another of its kind is there run in `make long`."""


@dataclass(frozen=True, kw_only=True)
class Product:
    """One product, and what is true of it."""

    name: str
    path: str
    folder: Path
    """Where its manifest lies."""
    book: Codebook
    alone: bool
    """Whether one record more is one row more."""
    public: bool
    rows_of_file: str
    """One of its files."""

    @property
    def facts(self) -> dict:
        return read_manifest_file(self.folder)

    @property
    def label(self) -> str:
        """A column with levels, and one of them."""
        column = next(column for column in self.book.modelled if column.kind == "categorical")
        return f"{column.name}={column.labels[0]}"


@pytest.fixture(scope="session")
def product(place, shelf) -> Callable[[str, bool], Product]:
    def get(name: str, seeded: bool = False) -> Product:
        path = shelf(name, seeded)
        return Product(
            name=name,
            path=str(path),
            folder=folder_of(path),
            book=Codebook.load(codebook_for(path, place)),
            alone=keeps_apart(name, seeded),
            public=is_public(name, seeded),
            rows_of_file=str(first_of(path)),
        )

    return get


@pytest.fixture
def account(tmp_path) -> Account:
    return Account.create(
        tmp_path / "a.account", dataset="data", epsilon=1000.0, delta=0.5, neighbours=Neighbours.ADD_REMOVE
    )


def is_formal(total: object) -> bool:
    return isinstance(total, PureDP | ApproxDP)


# For every product: as the confidential table


@pytest.mark.parametrize(("name", "seeded"), CELLS)
def test_the_data_sets_of_the_service_are_no_releases_unless_records_stayed_apart(product, account, name, seeded):
    made = product(name, seeded)
    try:
        opened = DataSet(name="data", address=made.path, book=made.book, account=account)
    except DataError as reason:
        lacks = "lacks the columns" in str(reason) and name == "answer"
        assert not made.alone and (NOT_PEOPLE in str(reason) or lacks), reason
        return
    assert made.alone
    assert float(opened.prepare("count", Terms(epsilon=1.0)).stated.total.epsilon) == 1.0


@pytest.mark.parametrize(("name", "seeded"), CELLS)
def test_the_studio_and_quotes_promise_what_the_release_will(product, name, seeded, tmp_path):
    """What the screen of prices says comes from the same quote as the release, data and all."""
    made = product(name, seeded)
    own = new_dataset(Root.at(tmp_path), "own", data="*.parquet")
    for number, file in enumerate(
        sorted(made.folder.parent.glob(str(Path(made.path).relative_to(made.folder.parent))))
    ):
        shutil.copy(file, own.path(f"{number}.parquet"))
    made.book.save(own.path("codebook.toml"))
    plan = plans.asked_plan(own, {"epsilon": "1", "delta": "1e-6", "rows": "20", "rows_about": "100"})
    total = plans.offer(own, plan).quote.total
    assert is_formal(total) == made.alone, total
    beside = {"patients": made.path, "stays": own.path("0.parquet")}
    for tables in (beside, dict.fromkeys(beside, made.path)):
        linked = us.quote(LINKED, 20, data=tables, epsilon=1.0, delta=1e-6).total
        assert isinstance(linked, NoFormal), "two tables may hold the same person"


@pytest.mark.parametrize(("name", "seeded"), CELLS)
def test_whatever_must_carry_a_promise_refuses_it_by_its_function_too(product, place, name, seeded, tmp_path):
    """Priced rules, drafts, counts, answers, scores and commutes; and a model, which has no room for its manifest."""
    made = product(name, seeded)
    with pytest.raises(RefusalError, match="a model would lose it"):
        us.synthesize(made.path, made.book, 9, "laplace", epsilon=1.0, save_model=tmp_path / "m.us")
    if made.alone:
        return
    pair = tuple(made.book.names[:2])
    refusing = [
        lambda: us.commute(made.path, origins=str(place / "homes.csv"), epsilon=4.0, delta=1e-6),
        lambda: us.draft(made.path, tmp_path / "draft.toml", epsilon=4.0, delta=1e-3),
        lambda: quote_count(made.path, made.book, by=[made.book.names[0]], epsilon=1.0),
        lambda: us.quote_answer(made.book, "count", epsilon=1.0, data=made.path),
    ]
    if len(pair) == 2:
        copied = tmp_path / "book.toml"
        made.book.save(copied)
        words = {"out": tmp_path / "learned.toml", "epsilon": 1.0, "delta": 1e-6}
        refusing.append(lambda: learn_rules(copied, made.path, pairs=[pair], **words))
    for refused in refusing:
        with pytest.raises(DataError, match=NOT_PEOPLE):
            refused()


# For every product: as something that everybody may see


@pytest.mark.parametrize(("name", "seeded"), CELLS)
def test_as_a_stand_in_or_asked_first_it_is_public_or_refused(product, place, account, name, seeded):
    made, raw = product(name, seeded), place / "data.parquet"
    if not made.public:
        for refused in (
            lambda: us.forecast(BOOK, 100, public=made.path, epsilon=1.0, delta=1e-6),
            lambda: us.quote(BOOK, 20, rows_about=100, public=made.path, epsilon=1.0, delta=1e-6),
        ):
            with pytest.raises(DataError, match=NOT_PUBLIC):
                refused()
    words = (
        f"{NOT_PUBLIC}|carry no measurements|linked tables carry no|holds no manifest|has not paid for|no rows and no"
    )
    with pytest.raises(UnderstudyError, match=words) as reason:
        DataSet(name="data", address=str(raw), book=BOOK, account=account, release=made.folder)
    assert ("has not paid for" in str(reason.value)) == (made.public and name in MEASURED), reason.value
    if not made.public:
        with pytest.raises(UnderstudyError, match=f"{NOT_PUBLIC}|holds no manifest"):
            us.answer(raw, BOOK, "count", epsilon=1.0, release=made.folder)
        return
    total = us.answer(raw, BOOK, "count", epsilon=1.0, release=made.folder).guarantee
    earlier = guarantee_from_dict(dict(made.facts["guarantee"]))
    if earlier.neighbours is Neighbours.ADD_REMOVE:
        assert max(1.0, earlier.epsilon) < total.epsilon <= 1.0 + earlier.epsilon + 1e-9, (
            "two may be less than their sum"
        )
        assert isinstance(earlier, ApproxDP) or total.epsilon == pytest.approx(1.0 + earlier.epsilon)
        assert getattr(total, "delta", 0.0) >= getattr(earlier, "delta", 0.0)
    else:
        assert isinstance(total, NoFormal) and "neighbour relations" in total.why


@pytest.mark.parametrize(("name", "seeded"), CELLS)
def test_what_is_said_of_it_is_what_its_manifest_says(product, name, seeded, tmp_path):
    """By inference, combination and passport."""
    made = product(name, seeded)
    column = next((column for column in made.book.modelled if column.name in "ag"), made.book.modelled[0])
    label = f"{column.name}={column.labels[0]}"
    if name in MEASURED:
        assert us.infer(made.folder, share=label).statement == made.facts["statement"]
    else:
        with pytest.raises((RefusalError, ReleaseError), match=r"no measurements|linked tables|no manifest"):
            us.infer(made.folder, share=label)
    holds = find_provenance(made.rows_of_file)
    if holds.made.is_statistics:
        with pytest.raises(ParameterError, match="figures and no records"):
            combine_files([made.rows_of_file], kind="plug-in", share=label)
    elif holds.made is Made.COMPLETED:
        with pytest.raises(ParameterError, match="with the kind 'missing'"):
            combine_files([made.rows_of_file], kind="plug-in", share=label)
    else:
        try:
            assert combine_files([made.rows_of_file], kind="plug-in", share=label).files == 1
        except ParameterError as reason:
            assert "so there is nothing to combine" in str(reason), reason
    if name == "reconstruct":
        with pytest.raises(ReleaseError, match="no manifest"):
            us.passport(made.folder, out=tmp_path)
        return
    written = us.passport(made.folder, out=tmp_path)
    texts = {form: Path(file).read_text(encoding="utf-8") for form, file in written.files.items()}
    told = [form for form, text in texts.items() if "differentially private" in text.replace(")-d", ") d")]
    assert bool(told) == made.public, told
    assert made.public or "dp-registry" not in texts


@pytest.mark.parametrize(("name", "seeded"), CELLS)
def test_what_is_made_of_it_promises_no_more(product, name, seeded, tmp_path):
    """By filling and anonymising: no rows become records of people, or stand for as many people, by that."""
    made = product(name, seeded)
    holds = find_provenance(made.path).made
    quasi = [made.book.names[0]]
    if holds in (Made.COMPLETED, Made.RECONSTRUCTED) and "*" not in made.path:
        again = us.anonymize(made.path, made.book, out=tmp_path / "k", quasi=quasi, k=2, mondrian=True)
        assert not again.release.manifest.record_wise and not is_formal(again.release.manifest.total)
        assert find_provenance(tmp_path / "k" / "anonymized.parquet").real_records
    else:
        words = r"no records of people|is itself the anonymised|from several tables"
        with pytest.raises(UnderstudyError, match=words if name != "answer" else "lacks the columns"):
            us.anonymize(made.path, made.book, quasi=quasi, k=2, mondrian=True)
    try:
        filled = us.impute(made.path, made.book, out=tmp_path / "filled", files=1)
    except UnderstudyError as reason:
        assert "no value is missing" in str(reason) or name == "answer", reason
        return
    assert isinstance(filled[0].manifest.total, NoFormal)
    found = find_provenance(tmp_path / "filled" / "1" / "completed.parquet")
    assert found.made is Made.COMPLETED and found.real_records and not found.record_wise


# For one product of each kind: what reads rows


@pytest.mark.parametrize("name", OF_EACH_KIND)
def test_as_data_of_several_files_of_certified_ones_and_of_parts(product, place, name, tmp_path):
    made = product(name)
    if made.book.names[0] not in pq.read_schema(made.rows_of_file).names:
        return  # an answer has no column that its codebook describes
    words = f"synth {made.path} -c {codebook_for(Path(made.path), place)} -m laplace --epsilon 1 -n 9 --json"
    code, said = call(place, f"{words} --files 2 -o {tmp_path / 'two'}")
    assert code == 0, said
    certified = f"--certify '{made.label.partition('=')[0]} within 0.9' --certify-epsilon 1"
    assert call(place, f"{words} {certified} -o {tmp_path / 'certified'}")[0] in (0, 1), "1: the certificate rejects it"
    for folder in (tmp_path / "two" / "1", tmp_path / "two" / "2", tmp_path / "certified"):
        facts = read_manifest_file(folder)
        assert (facts["guarantee"]["kind"] != "NoFormal") == made.alone, facts["guarantee"]
        assert us.verify(folder).is_valid
    if not made.alone:
        code, said = call(place, f"{words} --engine local --workers 1 -o {tmp_path / 'parts'}")
        assert code == 2 and "which is synthesized as a whole" in said, said


@pytest.mark.parametrize("seeded", [False, pytest.param(True, marks=pytest.mark.long)])
@pytest.mark.parametrize("carried", ["whole", "one of them marked", "as patients only"])
def test_linked_tables_one_of_which_is_a_release_promise_nothing(product, place, seeded, carried, tmp_path):
    folder = shutil.copytree(product("synth linked", seeded).folder, tmp_path / "linked")
    data = {name: folder / f"{name}.parquet" for name in ("patients", "stays")}
    if carried != "whole":  # the caller's own table beside one of ours
        own = "patients" if carried == "one of them marked" else "stays"
        data[own] = pq.read_table(data[own]).replace_schema_metadata(None)
    release = us.synthesize(data, LINKED, 10, epsilon=1.0, delta=1e-6, out=tmp_path / "again")
    assert isinstance(release.manifest.total, NoFormal)
    assert us.verify(tmp_path / "again").is_valid
    with pytest.raises(RefusalError, match="a model would lose it"):
        us.synthesize(data, LINKED, 10, epsilon=1.0, delta=1e-6, save_model=tmp_path / "m.us")
    with pytest.raises(DataError, match=NOT_PEOPLE):
        us.count(data, LINKED, by=["stays.b"], epsilon=1.0)


@pytest.mark.parametrize("name", OF_EACH_KIND)
def test_agents_are_offered_what_the_owner_may_offer_and_no_more(product, place, name, tmp_path):
    made = product(name)
    shutil.copy(made.rows_of_file, tmp_path / "rows.parquet")
    shutil.copytree(made.folder, tmp_path / "release")
    shutil.copy(place / "data.parquet", tmp_path / "data.parquet")
    BOOK.save(tmp_path / "book.toml")
    Account.create(tmp_path / "a.account", dataset="d", epsilon=9.0, delta=1e-3, neighbours=Neighbours.ADD_REMOVE)
    desk = {"account": "a.account", "cap_epsilon": 1.0}
    if made.alone:
        assert open_desk(tmp_path, data="rows=rows.parquet", **desk).offers.data is not None
    else:
        with pytest.raises(RefusalError, match="the data cannot be offered"):
            open_desk(tmp_path, data="rows=rows.parquet", **desk)
    if not made.public:
        with pytest.raises(RefusalError, match="the release 'release' cannot be offered"):
            open_desk(tmp_path, releases=["release"], **desk)
        return
    promises = open_desk(tmp_path, releases=["release"], **desk).offers.promises["release"]
    assert promises["statement"] == made.facts["statement"]


def test_what_an_agent_has_bought_is_an_answer_wherever_it_goes(place, tmp_path):
    shutil.copy(place / "data.parquet", tmp_path / "data.parquet")
    BOOK.save(tmp_path / "book.toml")
    Account.create(tmp_path / "a.account", dataset="d", epsilon=9.0, delta=1e-3, neighbours=Neighbours.ADD_REMOVE)
    offered = {"data": "data.parquet", "codebooks": ["book.toml"], "account": "a.account", "cap_epsilon": 1.0}
    open_desk(tmp_path, **offered).answer(question="count", epsilon=0.5)
    (folder,) = (tmp_path / "agents" / "answers").iterdir()
    found = find_provenance(folder / "answer.parquet")
    assert found.made is Made.ANSWER and not found.record_wise and found.ledger.total().epsilon == pytest.approx(0.5)
    shutil.copy(folder / "answer.parquet", tmp_path / "bought.parquet")
    with pytest.raises(RefusalError, match="cannot be offered"):
        open_desk(tmp_path, **{**offered, "data": "bought.parquet", "codebooks": []})
    answered = us.answer(tmp_path / "data.parquet", BOOK, "count", epsilon=1.0, release=folder)
    assert answered.guarantee.epsilon == pytest.approx(1.5)
    assert find_provenance(folder / "answer.parquet").as_public(InputRole.SEEDS) is not None


@pytest.mark.parametrize("name", ["synth laplace", "anonymize mondrian", "anonymize top-code", "count", "impute"])
def test_the_jobs_of_the_studio_make_no_more_of_a_release(product, name, tmp_path):
    made, told = product(name), lambda *_: None
    arguments = {"data": made.path, "book": made.book, "rows": 9, "method": "laplace", "epsilon": 1.0}
    work.synthesize({**arguments, "out": str(tmp_path / "made")}, told)
    assert (read_manifest_file(tmp_path / "made")["guarantee"]["kind"] != "NoFormal") == made.alone
    assert find_provenance(tmp_path / "made" / "synthetic.parquet").made is Made.SYNTHETIC
    packed = work.pack({"folder": str(tmp_path / "made"), "packs": str(tmp_path / "packs"), "base": "made"}, told)
    (archive,) = (tmp_path / "packs").glob("*.zip")
    assert packed["valid"]
    inside = f"{archive}?member=made/synthetic.parquet"
    found = find_provenance(inside)
    assert found.made is Made.SYNTHETIC and not found.record_wise
    assert is_formal(found.promise) == made.alone
    if not made.alone:
        with pytest.raises(DataError, match=NOT_PUBLIC):
            public_provenance(inside, InputRole.SEEDS)


LOOKS: dict[str, tuple[str, str]] = {
    "commute map": ("commute map FOLDER -o OUT.html", "wrote|not of commutes|no manifest"),
    "commute evaluate": ("commute evaluate flows.csv FOLDER -o OUT.html", "confidential|not of commutes|no manifest"),
    "commute quote": (
        "commute quote PATH --origins homes.csv --epsilon 4 --delta 1e-6",
        f"{NOT_PEOPLE}|lacks|no column",
    ),
    "recipe": ("recipe FOLDER -o OUT.toml", "wrote|there is no method|no manifest|No such file|no recipe|there is no"),
    "evaluate": (
        "evaluate data.parquet FOLDER -c book.toml --risk none -o OUT.html",
        "At these limits|linked tables|lacks the columns|no manifest|an anonymised release|is no synthetic|there is no",
    ),
    "evaluate, as the real table": (
        "evaluate PATH first -c BOOK --risk none -o OUT.html",
        "At these limits|lacks the columns|does not know|has no",
    ),
    "evaluate, by counting": (
        "evaluate data.parquet FOLDER --large -o OUT.json",
        "tvd one way|linked tables|lacks the columns|no manifest|an anonymised release|there is no|codebook",
    ),
    "codebook draft": ("codebook draft PATH -o OUT.toml", "drafted from the data"),
    "codebook check": ("codebook check PATH -c BOOK", "fit the codebook|not in the codebook|not in the header"),
    "codebook split": (
        "codebook split PATH -c BOOK --person NAME --cap 2 -o OUT.toml",
        "no column is constant|no column|lacks",
    ),
    "codebook rules": (
        "codebook rules MINE.toml --map a=b=PATH --by J --from R",
        "a rule that was made from data is not public",
    ),
    "anonymize risk": ("anonymize risk PATH -c BOOK --quasi NAME", "quasi-identifiers|lacks the columns"),
    "anonymize weigh": (
        "anonymize weigh PATH -c BOOK --k 2 --suppression 0.5 --quasi NAME -o OUT.json",
        "demand|lacks",
    ),
    "anonymize verify": ("anonymize verify FOLDER", "anonymised table|holds no anonymised|no manifest"),
    "anonymize report": (
        "anonymize report data.parquet FOLDER -c book.toml -o OUT.html",
        "unique rows|holds no anonymised|no manifest",
    ),
    "reconstruct files": (
        "reconstruct files PATH -a groups.csv:g:y -m mp -o OUT",
        "estimates of individual|no column 'g'",
    ),
    "rumap": (
        "rumap PATH -c BOOK --epsilons 1 --methods laplace --repeat 1 -n 20 -o OUT",
        "choosing epsilon by looking at the confidential data is itself not covered",
    ),
    "diagnose": ("diagnose PATH -c BOOK --l 1.2 --chains 4 --after 21", ""),
    "draw": ("draw PATH -n 5 -o OUT", "not a model file|no model file"),
    "sign": ("sign FOLDER --new-key OUT", "signed with|exists already|no manifest"),
    "release withdraw": ("release withdraw FOLDER --why x", "withdrawn|no manifest"),
    "verify": ("verify FOLDER", "ok |no manifest"),
}
"""Commands that promise nothing by themselves: what they may say of any product."""


@pytest.mark.parametrize("name", OF_EACH_KIND)
def test_looks_end_in_a_sentence_and_promise_nothing(product, place, name, tmp_path):
    """None ends in a traceback, and nothing that is written has a promise that the product has not."""
    made = product(name)
    folder = shutil.copytree(made.folder, tmp_path / "folder")
    BOOK.save(tmp_path / "mine.toml")
    places = {
        "FOLDER": str(folder),
        "PATH": made.path,
        "BOOK": codebook_for(Path(made.path), place),
        "MINE": str(tmp_path / "mine"),
        "NAME": made.book.names[0],
    }
    for number, (title, (words, says)) in enumerate(LOOKS.items()):
        known = {**places, "OUT": str(tmp_path / f"out{number}")}
        code, said = call(place, re.sub("|".join(known), lambda found, known=known: known[found[0]], words))
        assert code in (0, 1, 2) and re.search(says, said), (title, code, said)
        for table in (tmp_path / f"out{number}").glob("*.parquet"):
            if title != "rumap":  # its figures are no table of rows
                assert not is_formal(find_provenance(table).promise), title


# Files of the same people, and rows that are no people


@pytest.mark.parametrize("name", ["impute all of several files", "reconstruct"])
def test_the_same_people_in_two_files_make_nobody_harder_to_find(product, name, tmp_path):
    """Everybody would stand twice, and the k of the anonymised table would be of rows and not of people."""
    made = product(name)
    pattern = made.path
    if "*" not in pattern:
        for number in "12":
            shutil.copytree(made.folder, tmp_path / number)
        pattern = str(tmp_path / "*" / Path(made.rows_of_file).name)
    found = find_provenance(pattern)
    assert found.several and (found | find_provenance(made.rows_of_file)).several
    with pytest.raises(ParameterError, match="from several tables"):
        us.anonymize(pattern, made.book, quasi=[made.book.names[0]], k=2, mondrian=True)


@pytest.mark.parametrize("name", ["synth laplace", "synth all of several files", "draw"])
def test_a_release_is_no_hold_out(product, place, name):
    """Attacks would gain nothing beyond rows that are nobody, and the report would say so of people."""
    with pytest.raises(DataError, match="whose rows are no people"):
        us.evaluate(place / "data.parquet", place / "first", BOOK, holdout=product(name).path)


def test_a_table_of_linked_ones_is_combined_and_is_not_said_to_be_damaged(product):
    made = product("synth linked")
    assert combine_files([made.rows_of_file], kind="plug-in", share="a=x").files == 1
    with pytest.raises(ReleaseError, match="holds linked tables"):
        combine_files([made.folder], kind="plug-in", share="a=x")


# Whether all are there

BY_FUNCTION = {
    "train": "test_matrix.py: refused as data, and as public records to measure quality on",
    "codebook rules": "a map by its command, priced rules by their function",
    "anonymize run": "as a producer, and every product as its data",
    "combine": "every product",
    "forecast": "every product as its public table",
    "infer": "every product",
    "mcp": "one product of each kind as the data and as a release",
    "passport": "every product",
    "quote": "every product as its data and as its public table",
    "serve": "every product as the table and as the release of a data set",
    "studio": "every product as a data set; its jobs",
}
"""Commands whose cells are run by the functions behind them, and where."""
EXCEPTIONS = {
    "demo": "its data are simulated by itself",
    "example": "what it writes is simulated and nobody's",
    "commute example": "what it writes is simulated and nobody's",
    "methods": "takes no table",
    "plan": "takes a codebook and public numbers",
    "codebook cells": "takes a codebook and a public number",
    "codebook template": "takes no table",
    "codebook show": "takes a codebook",
    "codebook declare": "takes a codebook; what it attests is the word of a person",
    "codebook review": "asks a person about columns; what it attests is the word of that person",
    "reconstruct risk": "a confidential look at averages, which states no promise",
    "audit": "attacks a method on whatever table it is given and states nothing of that table (tests/audit)",
    "release supersede": "writes the same notices as `release withdraw`",
    **dict.fromkeys(("account create", "account show", "account history", "account forecast"), "takes an account"),
    **dict.fromkeys(("keys create", "keys list", "keys revoke", "keys budget"), "keys of the service"),
    **dict.fromkeys(("projects cap", "projects create", "projects change", "projects add"), "budgets of the service"),
    **dict.fromkeys(("projects list", "projects ledger"), "budgets of the service"),
    **dict.fromkeys(("review list", "review approve", "review decline"), "questions to the service"),
}
"""Commands that are in no row and no column, and why."""


def commands(command: object, words: tuple[str, ...] = ()) -> Iterator[str]:
    below = getattr(command, "commands", {})
    if not below:
        yield " ".join(words)
    for name, child in below.items():
        if not child.hidden:
            yield from commands(child, (*words, name))


def named_in(words: str, known: set[str]) -> str:
    return max((name for name in known if f"{words} ".startswith(f"{name} ")), key=len, default="")


def test_every_command_is_in_a_row_or_a_column_or_says_why_not():
    known = set(commands(get_command(app)))
    rows = {named_in(one.words, known) for one in PRODUCERS.values()}
    columns = {named_in(spelled, known) for spelled, _ in LOOKS.values()} | set(BY_FUNCTION)
    assert "" not in rows | columns, "no command is spelled so any more"
    assert not (rows | columns) & set(EXCEPTIONS), "it is in the matrix, and needs no reason"
    assert known == rows | columns | set(EXCEPTIONS), "a new command belongs in the matrix"


def test_every_tool_of_agents_and_every_job_of_the_studio_is_behind_what_is_tested_here():
    """Tools see what `open_desk` has let in, and jobs call functions of the matrix: a new one has to be looked at."""
    reading = {"answer", "draft_at_price", "draft_for_holder"}
    of_releases, of_words = {"verify", "infer"}, {"offers", "describe", "quote", "forecast", "draft_from_document"}
    assert {tool.name for tool in TOOLS} == reading | of_releases | of_words
    assert set(work.KINDS) == {"synthesize", "anonymize", "evaluate", "candidates", "verify", "sign", "pack"}


def test_every_method_and_every_kind_of_table_is_a_row(product):
    assert {f"synth {name}" for name in METHODS} <= set(PRODUCERS)
    made = {find_provenance(product(name).rows_of_file).made for name in KINDS}
    assert made == set(Made) - {Made.DECLARED}
