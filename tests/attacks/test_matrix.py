"""Every producer of a table x every consumer x seeded or not x role of the input: what may the promise say?

The lists come from the registries, so that a new method, step or role is in the matrix without being named here. What
each cell must say is worked out here from facts about the producer, not from the provenance that the software found.
Most cells are decided on provenance values; some of every kind are run end to end, through files and commands.
"""

import json
import shlex
import shutil
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from registry_examples import EXAMPLES

from understudy.anonymize.recipe import STEPS
from understudy.cli.app import main
from understudy.codebook import Categorical, Codebook, Continuous, Integer, Role
from understudy.commute.recipe import METHODS as COMMUTE
from understudy.errors import DataError
from understudy.facade.agents import provenance_of
from understudy.privacy.guarantees import ApproxDP, PureDP
from understudy.privacy.provenance import InputRole
from understudy.release.face import FACE
from understudy.release.folders import digest_of
from understudy.release.reading import read_manifest_file
from understudy.release.verify_face import face_faults
from understudy.sources.inputs import find_provenance
from understudy.synth import METHODS, make_recipe
from understudy.synth.facts import FACTS

ROWS = 400
BOOK = Codebook(
    columns=(
        Categorical(name="a", levels=("x", "y", "z"), missing="NA", role=Role.QUASI_IDENTIFIER),
        Categorical(name="b", levels=("0", "1")),
        Integer(name="n", edges=(0, 10, 20, 30), role=Role.QUASI_IDENTIFIER),
    )
)
# of every step: whether it treats each record by itself, whether it draws, and how a recipe spells it
RECIPES = {
    "keep": (True, False, 'columns = ["a", "n"]'),
    "drop": (True, False, 'columns = ["b"]'),
    "top-code": (True, False, 'column = "n"\nat = 10'),
    "bottom-code": (True, False, 'column = "n"\nat = 20'),
    "bin": (True, False, 'column = "n"\nedges = [0, 20, 30]'),
    "round": (True, False, 'column = "n"\nto = 100'),
    "group": (True, False, 'column = "a"\nlevels = ["x", "y"]\ninto = "xy"'),
    "group-rare": (False, False, 'column = "a"\nbelow = 2'),
    "generalise": (True, False, 'column = "n"\nto = 1'),
    "suppress-cells": (True, False, 'columns = ["a"]\nwhen = ["x"]'),
    "suppress-rows": (False, False, "rarer_than = 2"),
    "rank-swap": (False, True, 'columns = ["n"]\nshare = 0.1'),
    "swap": (False, True, 'columns = ["a"]\nshare = 0.5\nwithin = ["b"]'),
    "noise": (True, True, 'column = "n"\nscale = 5'),
    "full-domain": (False, False, "k = 3\nsuppression = 0.2"),
    "mondrian": (False, False, "k = 3"),
}


@dataclass(frozen=True, kw_only=True)
class Producer:
    """Something that writes a table, and what is true of that table, whatever the software says."""

    name: str
    words: str
    """The command, without its seed and its output."""
    table: str = "synthetic.parquet"
    private: bool = False
    """Whether its rows are differentially private as long as nobody knows a seed."""
    record_wise: bool = False
    """Whether one record more is one row more, as long as nobody knows a seed."""
    draws: bool = True
    takes_seed: bool = True
    fits: bool = False
    """Whether its table has the columns of BOOK, so that it can serve as starts of chains."""


def _options(method: str) -> str:
    return " ".join(f"--{name.replace('_', '-')} {value}" for name, value in EXAMPLES[method].items())


def producers() -> dict[str, Producer]:
    book = "data.parquet -c book.toml"
    found = [
        Producer(
            name=f"synth {method}",
            words=f"synth {book} -m {method} -n 60 {_options(method)}",
            private=bool(FACTS[method].neighbours),
            fits=True,
        )
        for method in METHODS
    ]
    found += [
        Producer(
            name=f"commute {method}",
            words=f"commute synth flows.csv --origins homes.csv --epsilon 4 --method {method}"
            + ("" if method == "levels" else " --certificate exact")
            + ("" if method == "laplace" else " --delta 1e-6"),
            private=True,
        )
        for method in COMMUTE
    ]
    found += [
        Producer(
            name=f"anonymize {step}",
            words=f"anonymize run {book} --recipe {step}.toml",
            table="anonymized.parquet",
            record_wise=alone,
            draws=draws,
        )
        for step, (alone, draws, _) in RECIPES.items()
    ]
    found += [
        Producer(name="count", words=f"count {book} --by a,b --epsilon 1", table="counts.parquet", private=True),
        Producer(name="answer", words=f"answer {book} count --epsilon 1", table="answer.parquet", private=True),
        Producer(name="impute", words=f"impute {book} --files 1", table="1/completed.parquet", fits=True),
        Producer(name="draw", words="draw model.us -n 60", private=True, takes_seed=False, fits=True),
        Producer(
            name="synth in parts",
            words=f"synth {book} -m laplace --epsilon 1 -n 60 --engine local --workers 1",
            table="synthetic/part-*.parquet",
            private=True,
            fits=True,
        ),
        Producer(
            name="synth one of several files",
            words=f"synth {book} -m marginals --epsilon 1 --delta 1e-6 -n 60 --files 2",
            table="2/synthetic.parquet",
            private=True,
            fits=True,
        ),
        Producer(
            name="synth certified",
            words=f"synth {book} -m laplace --epsilon 1 -n 60 --certify 'a within 0.9' --certify-epsilon 0.5",
            private=True,
            fits=True,
        ),
        Producer(
            name="reconstruct",
            words="reconstruct people.csv -a groups.csv:g:y -m mp",
            table="reconstructed.parquet",
            takes_seed=False,
        ),
    ]
    return {one.name: one for one in found}


PRODUCERS = producers()
MADE = [
    pytest.param(name, seeded, id=f"{name}{', seeded' * seeded}")
    for name, one in PRODUCERS.items()
    for seeded in ((False, True) if one.takes_seed else (False,))
]


def test_every_step_and_method_is_in_the_matrix():
    assert set(RECIPES) == set(STEPS), "a new step must say here whether it treats each record by itself"
    assert {f"synth {name}" for name in METHODS} <= set(PRODUCERS)
    assert {f"commute {name}" for name in COMMUTE} <= set(PRODUCERS)


def call(folder: Path, words: str) -> tuple[int, str]:
    """A command in its folder: the exit code, and everything it said on one line."""
    import contextlib
    import io

    said, warned = io.StringIO(), io.StringIO()
    with (
        contextlib.chdir(folder),
        contextlib.redirect_stdout(said),
        contextlib.redirect_stderr(warned),
        pytest.raises(SystemExit) as stop,
    ):
        main(shlex.split(words))
    told = said.getvalue() if "--json" in words else said.getvalue() + warned.getvalue()
    return int(stop.value.code or 0), " ".join(told.split())


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """A folder with the confidential tables, and everything that a producer may need."""
    folder = tmp_path_factory.mktemp("matrix")
    drawn = np.random.default_rng(11)
    a = [None if k % 9 == 0 else v for k, v in enumerate(drawn.choice(["x", "y", "z"], ROWS))]
    rows = {"a": a, "b": drawn.choice(["0", "1"], ROWS), "n": drawn.integers(0, 30, ROWS)}
    pq.write_table(pa.table(rows), folder / "data.parquet")
    BOOK.save(folder / "book.toml")
    for step, (_, _, words) in RECIPES.items():
        (folder / f"{step}.toml").write_text(f'format = 1\n[[steps]]\ndo = "{step}"\n{words}\n')
    homes = [f"h{k}" for k in range(12)]
    pa.csv.write_csv(pa.table({"origin": homes}), folder / "homes.csv")
    trips = {"origin": drawn.choice(homes, 300), "destination": drawn.choice(["w1", "w2"], 300)}
    pa.csv.write_csv(pa.table(trips), folder / "flows.csv")
    people = {"g": drawn.choice(["g1", "g2"], 60), "x": np.round(drawn.normal(size=60), 3)}
    pa.csv.write_csv(pa.table(people), folder / "people.csv")
    pa.csv.write_csv(pa.table({"g": ["g1", "g2"], "y": [1.0, 2.0]}), folder / "groups.csv")
    first = "synth data.parquet -c book.toml -m laplace --epsilon 1 -n 9 -o first --save-model model.us"
    assert call(folder, first)[0] == 0
    return folder


@pytest.fixture(scope="module")
def shelf(place):
    """Every product, made when it is first asked for."""
    made: dict[tuple[str, bool], Path] = {}

    def get(name: str, seeded: bool) -> Path:
        if (name, seeded) not in made:
            out = f"p{len(made)}"
            words = f"{PRODUCERS[name].words} -o {out}" + (" --seed 5" if seeded else "")
            code, said = call(place, words)
            assert code == 0, (words, said)
            made[name, seeded] = place / out / PRODUCERS[name].table
        return made[name, seeded]

    return get


def is_public(name: str, seeded: bool) -> bool:
    return PRODUCERS[name].private and not seeded


def keeps_records_apart(name: str, seeded: bool) -> bool:
    one = PRODUCERS[name]
    return one.record_wise and not (one.draws and seeded)


# Cells that are decided on provenance


@pytest.mark.parametrize(("name", "seeded"), MADE)
def test_what_may_be_promised_follows_from_what_the_table_is(shelf, name, seeded):
    """All methods of synthesis and all refusing consumers for the data, all public roles: every cell of the row."""
    provenance = find_provenance(str(shelf(name, seeded)))
    alone, public = keeps_records_apart(name, seeded), is_public(name, seeded)
    decided = 0
    for method in METHODS:
        quote = make_recipe(method, **EXAMPLES[method]).quote(BOOK, 60)
        promise = quote.with_data(provenance).total
        formal = isinstance(quote.total, PureDP | ApproxDP)
        assert isinstance(promise, PureDP | ApproxDP) == (formal and alone), (method, promise)
        decided += 1
    for consumer in ("a table of counts", "a risk score", "a priced draft", "a commuting release"):
        if alone:
            provenance.refuse_as_data(consumer)
        else:
            with pytest.raises(DataError, match="one person can change the rows of many"):
                provenance.refuse_as_data(consumer)
        decided += 1
    with nullcontext() if alone else pytest.raises(DataError, match="one person can change the rows of many"):
        provenance_of(str(shelf(name, seeded)))  # the data of agents
    for role in InputRole:
        if role.is_public:
            if public:
                bought = provenance.as_public(role)
                assert bought is not None and bought.ledger.total(delta=bought.delta).is_formal
            else:
                with pytest.raises(DataError, match="must be public, and it is not"):
                    provenance.as_public(role)
            decided += 1
    assert decided == len(METHODS) + 4 + sum(role.is_public for role in InputRole)


@pytest.mark.parametrize(("name", "seeded"), MADE)
def test_what_a_table_is_goes_with_it_wherever_it_is_carried(shelf, name, seeded, tmp_path):
    """A lone copy, an Arrow table, pandas there and back, a renamed folder: never more than in its own folder."""
    path = shelf(name, seeded)
    found = find_provenance(str(path))
    file = next(path.parent.glob(path.name))
    table = pq.read_table(file)
    frame = table.to_pandas()
    frame.to_parquet(tmp_path / "by pandas.parquet")
    alone = shutil.copy(file, tmp_path / "alone.parquet")
    whole = file.parent.parent if file.parent.name in ("synthetic", "1") else file.parent
    renamed = shutil.copytree(whole, tmp_path / "renamed") / file.relative_to(whole)
    ways = (str(alone), table, frame, pd.read_parquet(file), pa.Table.from_pandas(frame), str(renamed))
    for carried in (*ways, str(tmp_path / "by pandas.parquet")):
        carries = find_provenance(carried)
        assert carries.is_release and carries.made is found.made
        assert (carries.record_wise, carries.seeded, carries.real_records) == (
            found.record_wise,
            found.seeded,
            found.real_records,
        )
        assert carries.promise.is_formal == found.promise.is_formal


@pytest.mark.parametrize(("name", "seeded"), [one for one in MADE if one.values[0] != "reconstruct"])
def test_every_release_has_a_page_that_says_no_more_than_it_may(shelf, name, seeded):
    """Reconstructions alone have none: they are estimates of the owner, and no release."""
    path = shelf(name, seeded)
    folder = path.parent.parent if path.parent.name == "synthetic" else path.parent
    facts, book = read_manifest_file(folder), Codebook.load(folder / "codebook.toml")
    page = (folder / FACE).read_text(encoding="utf-8")
    assert facts["files"][FACE] == digest_of(folder / FACE)
    assert face_faults(folder, facts, book, []) == [], "it is made again from the folder, runs nothing, loads nothing"
    told = is_public(name, seeded) or facts["guarantee"]["kind"] == "LDiverse"
    assert ("<svg" in page) == told, "neither rows nor shares of what no promise covers"
    assert ("Sample rows" in page) == (told and name not in ("count", "answer"))
    assert ("No formal privacy promise" in page) == (facts["guarantee"]["kind"] == "NoFormal")


# Cells that are run

SOME = [
    *("synth laplace", "synth pegs", "synth lugs", "synth contingency", "synth marginals", "synth imputation"),
    *("commute dirichlet", "anonymize top-code", "anonymize noise", "anonymize mondrian", "anonymize rank-swap"),
    *("count", "impute", "draw", "synth in parts", "reconstruct"),
]
RUN = [one for one in MADE if one.values[0] in SOME]


def codebook_for(path: Path, folder: Path) -> str:
    """The release's own; tables without one get what a person would write."""
    for beside in (path.parent / "codebook.toml", path.parent.parent / "codebook.toml"):
        if beside.is_file():
            return str(beside)
    written = folder / "reconstructed.toml"
    if not written.exists():
        number = Continuous(name="x", edges=(-10, 0, 10), precision=6)
        Codebook(columns=(Categorical(name="g", levels=("g1", "g2")), number)).save(written)
    return str(written)


@pytest.mark.parametrize(("name", "seeded"), RUN)
def test_as_data_it_is_synthesized_without_a_promise_unless_records_stayed_apart(place, shelf, name, seeded, tmp_path):
    path = shelf(name, seeded)
    words = f"synth {path} -c {codebook_for(path, place)} -m laplace --epsilon 1 -n 20 -o {tmp_path / 'out'} --json"
    code, said = call(place, words)
    if code:  # a bin of an anonymised number is a level now, which its own codebook may not read back
        pytest.fail(said)
    total = json.loads(said)["manifest"]["guarantee"]
    assert (total["kind"] != "NoFormal") == keeps_records_apart(name, seeded)
    code, said = call(place, f"verify {tmp_path / 'out'}")
    assert code == 0, said


@pytest.mark.parametrize("consumer", ["count", "answer", "draft", "train"])
@pytest.mark.parametrize(("name", "seeded"), RUN)
def test_as_data_it_is_refused_where_the_promise_could_not_say_so(place, shelf, name, seeded, consumer, tmp_path):
    path = shelf(name, seeded)
    book = Codebook.load(codebook_for(path, place))
    levelled = next(column.name for column in book.modelled if column.kind == "categorical")
    out = tmp_path / "out"
    words = {
        "count": f"count {path} -c {codebook_for(path, place)} --by {levelled} --epsilon 1 -o {out}",
        "answer": f"answer {path} count -c {codebook_for(path, place)} --epsilon 1 -o {out}",
        "draft": f"codebook draft {path} --epsilon 4 --delta 1e-6 -o {out}",
        "train": f"train {path} -c {codebook_for(path, place)} --target {levelled} --positive "
        f"{book.column(levelled).labels[0]} --method forest --epsilon 1 -o {out}",
    }[consumer]
    code, said = call(place, words)
    if keeps_records_apart(name, seeded):
        assert "one person can change the rows of many" not in said
        assert code == 0 or "draft" in words, said  # 400 records may be too few to show a level
    else:
        assert code == 2 and "one person can change the rows of many" in said, said
        assert not out.exists()


@pytest.mark.parametrize("role", ["seeds", "prior"])
@pytest.mark.parametrize(("name", "seeded"), RUN)
def test_as_public_knowledge_it_is_paid_for_or_refused(place, shelf, name, seeded, role, tmp_path):
    path = shelf(name, seeded)
    words = f"synth data.parquet -c book.toml -m pegs --alpha 200 --delta 1e-6 -n 20 --{role} {path} --json"
    code, said = call(place, f"{words} -o {tmp_path / 'r'}")
    if not is_public(name, seeded):
        assert code == 2 and "must be public, and it is not" in said, said
        return
    if not PRODUCERS[name].fits:
        assert code == 2 and "lacks the columns" in said, said
        return
    assert code == 0, said
    manifest = json.loads(said)["manifest"]
    own = make_recipe("pegs", alpha=200.0, delta=1e-6).quote(BOOK, 20)
    earlier = find_provenance(str(path))
    assert manifest["guarantee"]["kind"] != "NoFormal"
    assert len(manifest["ledger"]) == len(own.ledger) + len(earlier.ledger)
    slack = 1e-6 + (earlier.delta or 0.0)  # what is proved of both together, at both slacks
    assert manifest["delta_for_total"] == pytest.approx(slack)
    assert manifest["ledger"][: len(earlier.ledger)] == earlier.ledger.to_list()
    assert manifest["guarantee"]["epsilon"] > 10 * own.total.epsilon
    assert f"The release {earlier.release}, used as" in manifest["statement"]
    assert call(place, f"verify {tmp_path / 'r'}")[0] == 0
    cut = json.loads((tmp_path / "r" / "manifest.json").read_text())
    cut["ledger"] = cut["ledger"][len(earlier.ledger) :]
    (tmp_path / "r" / "manifest.json").write_text(json.dumps(cut))
    assert call(place, f"verify {tmp_path / 'r'}")[0] == 1


@pytest.mark.parametrize("role", ["origins", "places", "regions", "rings", "sizes", "quality", "stand-in"])
@pytest.mark.parametrize("name", ["synth contingency", "anonymize mondrian", "impute", "synth lugs", "reconstruct"])
def test_what_is_not_public_is_public_in_no_role(place, shelf, name, role, tmp_path):
    path, out = shelf(name, False), tmp_path / "out"
    commute = f"commute synth flows.csv --epsilon 4 --delta 1e-6 --certificate exact -o {out}"
    words = {
        "quality": f"train data.parquet -c book.toml --target b --method forest --epsilon 1 --quality-data {path} "
        f"-o {out}",
        "stand-in": "rumap data.parquet -c book.toml --epsilons 1 --methods laplace --repeat 1 -n 20 "
        f"--stand-in {path} -o {out}",
    }.get(role, f"{commute} --{role} {path}" + ("" if role in ("origins", "places") else " --origins homes.csv"))
    code, said = call(place, words)
    assert code == 2 and "must be public, and it is not" in said, said
    assert not out.exists()


def test_at_least_sixty_cells_were_run():
    assert 4 * len(RUN) + 2 * len(RUN) + 35 >= 60
