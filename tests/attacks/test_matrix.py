"""Every producer of a table x every consumer x seeded or not x role of the input: what may the promise say?

The lists come from the registries, so that a new method, step or role is in the matrix without being named here. What
each cell must say is worked out here from facts about the producer, not from the provenance that the software found.
Most cells are decided on provenance values; some of every kind are run end to end, through files and commands.
"""

import json
import shutil
from contextlib import nullcontext

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from matrix_bench import (
    BOOK,
    MADE,
    PRODUCERS,
    RECIPES,
    call,
    codebook_for,
    first_of,
    folder_of,
    is_public,
    keeps_records_apart,
)
from registry_examples import EXAMPLES

from understudy.anonymize.recipe import STEPS
from understudy.codebook import Codebook
from understudy.codebook.linked_toml import load_book
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


def test_every_step_and_method_is_in_the_matrix():
    assert set(RECIPES) == set(STEPS), "a new step must say here whether it treats each record by itself"
    assert {f"synth {name}" for name in METHODS} <= set(PRODUCERS)
    assert {f"commute {name}" for name in COMMUTE} <= set(PRODUCERS)


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
    file, whole = first_of(path), folder_of(path)
    table = pq.read_table(file)
    frame = table.to_pandas()
    frame.to_parquet(tmp_path / "by pandas.parquet")
    alone = shutil.copy(file, tmp_path / "alone.parquet")
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
    folder = folder_of(path)
    facts, book = read_manifest_file(folder), load_book(folder / "codebook.toml")
    page = (folder / FACE).read_text(encoding="utf-8")
    assert facts["files"][FACE] == digest_of(folder / FACE)
    assert face_faults(folder, facts, book, []) == [], "it is made again from the folder, runs nothing, loads nothing"
    told = is_public(name, seeded) or facts["guarantee"]["kind"] == "LDiverse"
    assert ("<svg" in page) == told, "neither rows nor shares of what no promise covers"
    assert ("Sample rows" in page) == (told and name not in ("count", "count linked", "answer"))
    assert ("No formal privacy promise" in page) == (facts["guarantee"]["kind"] == "NoFormal")


# Cells that are run

SOME = [
    *("synth laplace", "synth pegs", "synth lugs", "synth contingency", "synth marginals", "synth imputation"),
    *("commute dirichlet", "anonymize top-code", "anonymize noise", "anonymize mondrian", "anonymize rank-swap"),
    *("count", "impute", "draw", "synth in parts", "reconstruct"),
]
RUN = [one for one in MADE if one.values[0] in SOME]


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
