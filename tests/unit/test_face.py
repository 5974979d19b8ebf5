"""The page of a release: made from its folder alone, the same every time, true to the manifest, silent about people."""

import json
import math
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from html import unescape
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import understudy as us
from understudy.codebook import Categorical, Codebook, Continuous, Publication, Role
from understudy.privacy.guarantees import ApproxDP, KAnonymous, Neighbours, NoFormal, PureDP
from understudy.release.face import FACE, face_of
from understudy.release.face.promise import best_guess, card_of, not_covered, rightly_suspected
from understudy.release.folders import digest_of
from understudy.release.reading import read_manifest_file, shown_tables
from understudy.release.verify_face import running_or_loading

TELLING = 7.654321
"""A value that one real record has, and that nobody could guess."""
BOOK = Codebook(
    columns=(
        Categorical(name="sex", levels=("F", "M"), description="Sex", role=Role.QUASI_IDENTIFIER),
        Categorical(name="code", levels=tuple(f"c{k}" for k in range(30))),
        Categorical(name="more", levels=("u", "v")),
        Continuous(name="dose", edges=(0, 5, 10), precision=6, missing="NA"),
    ),
    title="Doses & <b>codes</b>",
    publication=Publication(publisher="Example Institute", licence="CC-BY-4.0", version="1.0"),
)


@pytest.fixture(scope="module")
def table() -> pa.Table:
    rng = np.random.default_rng(3)
    rows = 400
    dose = [TELLING, None, *np.round(rng.uniform(0, 10, rows - 2), 6)]
    return pa.table(
        {
            "sex": rng.choice(["F", "M"], rows),
            "code": rng.choice(BOOK.column("code").labels, rows),
            "more": rng.choice(["u", "v"], rows),
            "dose": dose,
        }
    )


@pytest.fixture(scope="module")
def release(table, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("face") / "r"
    us.synthesize(table, BOOK, rows=50, method="marginals", epsilon=1.0, delta=1e-6, out=out)
    return out


def again(folder: Path, **changes) -> str:
    facts = read_manifest_file(folder)
    files = {name: digest for name, digest in facts["files"].items() if name != FACE}
    return face_of(
        {**facts, "files": files, **changes}, shown_tables(folder, facts, Codebook.load(folder / "codebook.toml"))
    )


def words_of(page: str) -> str:
    return " ".join(unescape(re.sub(r"<style>.*?</style>|<[^>]+>", " ", page, flags=re.S)).split())


def test_the_page_is_made_again_from_the_folder_byte_for_byte(release):
    page = (release / FACE).read_text(encoding="utf-8")
    assert again(release) == page
    assert read_manifest_file(release)["files"][FACE] == digest_of(release / FACE)
    assert us.verify(release).is_valid


def test_another_process_makes_the_same_bytes(release):
    """Sets of texts have another order in every process."""
    code = (
        "import sys, hashlib; sys.path.insert(0, sys.argv[2]); from pathlib import Path\n"
        "from test_face import again; print(hashlib.sha256(again(Path(sys.argv[1])).encode()).hexdigest())"
    )
    words = [sys.executable, "-c", code, str(release), str(Path(__file__).parent)]
    done = subprocess.run(
        words, env={**os.environ, "PYTHONHASHSEED": "7"}, capture_output=True, text=True, check=True
    ).stdout
    assert f"sha256:{done.strip()}" == digest_of(release / FACE)


def test_it_says_what_a_recipient_needs(release):
    page = (release / FACE).read_text(encoding="utf-8")
    words = words_of(page)
    for needed in (
        "a coin is right 50 times of 100. Whoever has this release is right at most 73.2 times of 100.",
        "It takes for granted",
        "It does not cover",
        "Good for",
        "Not for",
        "Shares of single columns: noise moves them",
        "Sample rows",
        "Example Institute (",
        "version 1.0",
        "CC-BY-4.0",
        "understudy verify FOLDER",
        "Doses & <b>codes</b>",
    ):
        assert needed in words, needed
    assert page.count("<figure>") == len(BOOK.columns)
    assert "19 other levels" in words, "thirty levels are joined into few bars"
    assert "<b>codes" not in page, "names of a release are escaped"


def test_no_number_on_it_has_an_exponent(release):
    """Names and digests are left out here: they are made by chance, and may look like one."""
    facts = read_manifest_file(release)
    quiet = {**facts, "release": "r", "files": {}}
    words = words_of(face_of(quiet, shown_tables(release, facts, Codebook.load(release / "codebook.toml"))))
    assert "1e-06" in facts["statement"] and "delta = 0.000001" in words
    assert not re.search(r"\d[eE][-+]?\d", words)


def test_it_runs_and_loads_nothing(release):
    page = (release / FACE).read_text(encoding="utf-8")
    assert running_or_loading(page) == []
    assert "default-src 'none'" in page
    for bad in (
        "<script>alert(1)</script>",
        '<img src="x.png">',
        '<p onclick="a()">',
        '<a href="javascript:a()">x</a>',
        '<link rel="stylesheet" href="x.css">',
        '<p style="background:url(x)">',
        "<style>@import 'x';</style>",
        '<svg><use xlink:href="x.svg#a"/></svg>',
        '<meta http-equiv="refresh" content="1">',
    ):
        assert running_or_loading(page.replace("</main>", f"{bad}</main>")), bad


@pytest.mark.parametrize(
    ("kind", "shows"),
    [
        ("synthetic", True),
        ("counts", True),
        ("seeded", False),
        ("exact", False),
        ("anonymised", False),
        ("imputed", False),
    ],
)
def test_rows_are_shown_only_where_a_promise_covers_them(table, tmp_path, kind, shows):
    out = tmp_path / "r"
    if kind == "counts":
        us.count(table, BOOK, by=["sex"], epsilon=1.0, out=out)
    elif kind == "anonymised":
        (tmp_path / "steps.toml").write_text('format = 1\n[[steps]]\ndo = "drop"\ncolumns = ["code"]\n')
        us.anonymize(table, BOOK, recipe=tmp_path / "steps.toml", out=out)
    elif kind == "imputed":
        us.impute(table, BOOK, files=1, out=out)
        out = out / "1"
    else:
        method = {"synthetic": ("laplace", {"epsilon": 1.0}), "seeded": ("laplace", {"epsilon": 1.0, "seed": 4})}
        name, options = method.get(kind, ("contingency", {}))
        us.synthesize(table, BOOK, rows=400, method=name, out=out, **options)
    page = (out / FACE).read_text(encoding="utf-8")
    assert us.verify(out).is_valid
    assert again(out) == page
    assert ("<figure>" in page or "The counts" in page) == shows
    if not shows:
        assert "<svg" not in page and "Sample rows" not in page
        assert str(TELLING) not in page
    if kind in ("seeded", "exact", "imputed"):
        assert "No formal privacy promise" in page and "Why:" in page
    if kind == "imputed":
        assert "must not be published" in page
    assert "No licence" not in page and "CC-BY-4.0" in page


def test_without_a_licence_it_says_so(table, tmp_path):
    us.count(table, replace(BOOK, publication=None), by=["sex"], epsilon=1.0, out=tmp_path / "r")
    assert "No licence was stated" in (tmp_path / "r" / FACE).read_text(encoding="utf-8")


def rewritten(release: Path, folder: Path, old: str, new: str) -> list[str]:
    """Somebody edits the page and makes the manifest agree."""
    place = Path(shutil.copytree(release, folder / "r"))
    page = (place / FACE).read_text(encoding="utf-8")
    assert old in page
    (place / FACE).write_text(page.replace(old, new, 1), encoding="utf-8")
    manifest = json.loads((place / "manifest.json").read_text(encoding="utf-8"))
    manifest["files"][FACE] = digest_of(place / FACE)
    (place / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    return list(us.verify(place).problems)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("(epsilon = 1, delta", "(epsilon = 0.1, delta", "does not state the promise"),
        ("at most 73.2 times", "at most 51 times", "is not the page that this release makes"),
        ("</main>", "<script>1</script></main>", "could run or load something"),
        ("</main>", '<img src="https://example.org/pixel.png"></main>', "could run or load something"),
    ],
)
def test_a_page_that_says_something_else_does_not_verify(release, tmp_path, old, new, says):
    problems = rewritten(release, tmp_path, old, new)
    assert len(problems) == 1 and says in problems[0], problems


def test_a_changed_page_does_not_have_its_digest(release, tmp_path):
    place = Path(shutil.copytree(release, tmp_path / "r"))
    with (place / FACE).open("a", encoding="utf-8") as page:
        page.write("<p>Trust me.</p>")
    assert any("index.html was changed" in problem for problem in us.verify(place).problems)


def test_a_notice_that_the_folder_does_not_have_does_not_verify(release, tmp_path):
    place = Path(shutil.copytree(release, tmp_path / "r"))
    page = (place / FACE).read_text(encoding="utf-8")
    planted = "<body>\n<!-- notice -->\nAll is well.<!-- end of notice -->\n"
    (place / FACE).write_text(page.replace("<body>\n", planted, 1), encoding="utf-8")
    assert us.verify(place).problems == ("index.html has other notices than the folder",)


# The odds


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 1.0, 5.0])
@pytest.mark.parametrize("delta", [0.0, 1e-6, 0.1])
def test_the_odds_are_those_of_the_worst_pair_of_outcomes(epsilon, delta):
    """The pair that (epsilon, delta)-DP allows and nothing beats [KOV15]: four outcomes, all tests enumerated."""
    sure, likely = (1 - delta) * math.exp(epsilon) / (1 + math.exp(epsilon)), (1 - delta) / (1 + math.exp(epsilon))
    inside, outside = (delta, sure, likely, 0.0), (0.0, likely, sure, delta)
    tests = [[k for k in range(4) if mask >> k & 1] for mask in range(16)]
    best = max(sum(inside[k] for k in test) + 1 - sum(outside[k] for k in test) for test in tests) / 2
    assert best_guess(epsilon, delta) == pytest.approx(best, rel=1e-12)
    order = sorted(range(4), key=lambda k: -inside[k] / outside[k] if outside[k] else -math.inf)
    wrong, right = 0.05, 0.0
    for k in order:  # Neyman and Pearson: the likeliest outcomes first, a part of the last one by chance
        taken = min(1.0, wrong / outside[k]) if outside[k] else 1.0
        right, wrong = right + taken * inside[k], wrong - taken * outside[k]
    assert rightly_suspected(epsilon, delta) == pytest.approx(right, rel=1e-9)


def test_every_promise_has_its_card():
    for neighbours in Neighbours:
        pure = PureDP(epsilon=1.0, neighbours=neighbours)
        assert "73.2 times of 100" in card_of(pure).lead
        assert any("two" in line for line in not_covered(pure, looked=False, account="none")) == (
            neighbours.unit == "record"
        )
    weak = card_of(ApproxDP(epsilon=40.0, delta=1e-6, neighbours=Neighbours.ADD_REMOVE))
    assert "hardly a limit" in weak.lines[0] and "100 times of 100" in weak.lead
    assert "at least 5 rows" in card_of(KAnonymous(k=5), ["age"]).lead
    informal = card_of(NoFormal(why="nobody paid"))
    assert "nobody paid" in informal.lines[0] and informal.right is None
    assert "after" not in " ".join(not_covered(NoFormal(why="w"), looked=False, account="none"))
    assert any("look" in line for line in not_covered(NoFormal(why="w"), looked=True, account="none"))
