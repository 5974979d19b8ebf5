"""Averages, commuting tables and scores: the commands for this data set, and the pages that they leave."""

import shlex
from pathlib import Path

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from understudy.errors import ParameterError
from understudy.studio import plans
from understudy.studio.frame import Audience, Equivalent, dataset_of, page, stored_page
from understudy.studio.released import FACE, MANIFEST
from understudy.studio.stored_books import is_linked, load_book, one_book
from understudy.studio.texts import texts
from understudy.studio.workspace import OWN_FOLDERS, Dataset

router = APIRouter()
_MARKS = {
    "understudy page, made from confidential data": "confidential",
    "understudy page, made from a release": "public",
    "understudy map, made from a release": "public",
}
"""What the heads of pages say, and who may see them. Pages of releases and models have no such line: they are known by
what lies beside them, and say themselves whom their promise covers."""
_HEAD = 4096
_NUMBERS = ("continuous", "integer", "ordinal")
"""Kinds of columns that have averages, in the order in which one is taken; levels in order have that of their ranks."""


@router.get("/d/{dataset}/others")
def show(request: Request, dataset: str) -> Response:
    """Commands to copy, and pages to open."""
    own = dataset_of(request, dataset)
    data, book = plans.source_words(own)
    table, named = plans.table_words(own)
    described = f"{data} -c {book}{table}"
    folder = own.shown(own.folder)
    group, value, binary = _columns(own)
    has_account = own.account.is_file()
    account = f" --account {own.shown(own.account)}" if has_account else ""
    question = shlex.quote(f"mean of {value} by {group}")
    words = (shlex.quote(group), shlex.quote(value), shlex.quote(binary))
    is_weighted = own.codebook.is_file() and getattr(load_book(own), "weight", None) is not None
    weighted, of_people = (" --weighted", ", weighted=True") if is_weighted else ("", "")
    commands = {
        "averages": (
            f"understudy answer {data} {question} -c {book}{table} --epsilon 0.1{account} -o {folder}/answer",
            f"understudy reconstruct risk {described} --group {words[0]} --value {words[1]}{account} "
            f"-o {folder}/averages.html",
        ),
        "counts": (
            f"understudy count {described} --by {words[0]} --epsilon 0.1{weighted}{account} -o {folder}/counts",
        ),
        "commutes": (
            f"understudy commute synth FLOWS.csv --count workers --places PLACES.csv --epsilon 4.6 --delta 1e-6 "
            f"-o {folder}/commutes",
            f"understudy commute map {folder}/commutes -o {folder}/commutes.html",
        ),
        "scores": (
            f"understudy train {described} --target {words[2]} --epsilon 1 --delta 1e-6{account} -o {folder}/score.us",
        ),
    }
    paid = f', account="{own.shown(own.account)}"' if has_account else ""
    source = f'{plans.data_words(own)!r}, "{own.shown(own.codebook)}"'
    python = (
        "import understudy as us",
        f'us.answer({source}, {f"mean of {value} by {group}"!r}, epsilon=0.1{named}{paid}, out="{folder}/answer")',
        f'us.averages_risk({source}, groups=[{group!r}], value={value!r}{named}{paid}, out="{folder}/averages.html")',
        f'us.count({source}, by=[{group!r}], epsilon=0.1{of_people}{named}{paid}, out="{folder}/counts")',
        f'us.commute("FLOWS.csv", 4.6, delta=1e-6, count="workers", places="PLACES.csv", out="{folder}/commutes")',
        f'us.map_commute("{folder}/commutes", "{folder}/commutes.html")',
        f'us.train({source}, {binary!r}, epsilon=1, delta=1e-6{named}{paid}, out="{folder}/score.us")',
    )
    return page(
        request,
        "others",
        audience=Audience.CONFIDENTIAL,
        equivalent=Equivalent(commands=[line for lines in commands.values() for line in lines], python=python),
        dataset=own,
        commands=commands,
        pages=[(place, _audience_of(own.path(place))) for place in _pages(own)],
    )


def _columns(own: Dataset) -> tuple[str, str, str]:
    """Columns of this data set for the commands: to group by, with numbers, with two levels; else words to replace."""
    columns = [] if not own.codebook.is_file() or is_linked(own) else list(one_book(own).columns)
    levels = {one.name: len(getattr(one, "levels", ())) for one in columns}
    group = next((name for name, count in levels.items() if count), "COLUMN")
    kinds = {kind: next((one.name for one in columns if one.kind == kind), "") for kind in _NUMBERS}
    value = next((name for name in kinds.values() if name), "NUMBER")
    binary = next((name for name, count in levels.items() if count == 2), "COLUMN")
    return group, value, binary


@router.get("/d/{dataset}/others/page")
def open_page(request: Request, dataset: str) -> Response:
    """A page of ours that lies in the folder of the data set."""
    own = dataset_of(request, dataset)
    asked = request.query_params.get("file", "")
    if asked not in _pages(own):
        raise ParameterError(texts("others")["no_page"].format(name=asked[:60]))
    return stored_page(own.path(asked))


def _pages(own: Dataset) -> list[str]:
    """Pages that understudy wrote, in the folder of the data set or one below it. Reports wait on their own screen."""
    below = [place for place in own.folder.iterdir() if place.is_dir() and place.name not in OWN_FOLDERS]
    found = [page for place in (own.folder, *below) if not place.is_symlink() for page in place.glob("*.html")]
    return sorted(
        str(place.relative_to(own.folder))
        for place in found
        if place.is_file() and not place.is_symlink() and _audience_of(place)
    )


def _audience_of(place: Path) -> str:
    """public, confidential, or released with a release or a model beside it; empty for a page that is none of ours."""
    with place.open(encoding="utf-8", errors="replace") as file:
        head = file.read(_HEAD)
    if marked := next((audience for mark, audience in _MARKS.items() if mark in head), ""):
        return marked
    is_face = place.name == FACE and (place.parent / MANIFEST).is_file()
    is_of_model = place.stem.endswith(".us") and place.with_suffix("").is_file()
    return "released" if is_face or is_of_model else ""
