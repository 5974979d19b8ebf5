"""Averages, commuting tables and scores: the commands for this data set, and the pages that they leave."""

import shlex
from pathlib import Path

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from understudy.errors import ParameterError
from understudy.studio import plans
from understudy.studio.frame import Audience, Equivalent, dataset_of, page, stored_page
from understudy.studio.stored_books import is_linked, one_book
from understudy.studio.texts import texts
from understudy.studio.workspace import OWN_FOLDERS, Dataset

router = APIRouter()
_MARKS = ("understudy page, made from confidential data", "understudy page, made from a release")
_HEAD = 4096


@router.get("/d/{dataset}/others")
def show(request: Request, dataset: str) -> Response:
    """Commands to copy, and pages to open."""
    own = dataset_of(request, dataset)
    data, book = plans.source_words(own)
    table, named = plans.table_words(own)
    described = f"{data} -c {book}{table}"
    folder = own.shown(own.folder)
    group, value, binary = _columns(own)
    paid = f" --account {own.shown(own.account)}"
    commands = {
        "averages": (
            f"understudy reconstruct risk {described} --group {group} --value {value} -o {folder}/averages.html",
        ),
        "counts": (f"understudy count {described} --by {group} --epsilon 0.1{paid} -o {folder}/counts",),
        "commutes": (
            f"understudy commute synth FLOWS.csv --count workers --places PLACES.csv --epsilon 4.6 --delta 1e-6 "
            f"--certificate exact -o {folder}/commutes",
            f"understudy commute map {folder}/commutes -o {folder}/commutes.html",
        ),
        "scores": (
            f"understudy train {described} --target {binary} --epsilon 1 --delta 1e-6{paid} -o {folder}/score.us",
        ),
    }
    python = (
        "import understudy as us",
        f'us.count({plans.data_words(own)!r}, "{own.shown(own.codebook)}", by=["{group}"], epsilon=0.1{named}, '
        f'account="{own.shown(own.account)}", out="{folder}/counts")',
    )
    return page(
        request,
        "others",
        audience=Audience.CONFIDENTIAL,
        equivalent=Equivalent(commands=[line for lines in commands.values() for line in lines], python=python),
        dataset=own,
        commands=commands,
        pages=[(place, _is_public(own.path(place))) for place in _pages(own)],
    )


def _columns(own: Dataset) -> tuple[str, str, str]:
    """Columns of this data set for the commands: to group by, with numbers, with two levels; else words to replace."""
    columns = [] if not own.codebook.is_file() or is_linked(own) else list(one_book(own).columns)
    levels = {one.name: len(getattr(one, "levels", ())) for one in columns}
    group = next((name for name, count in levels.items() if count), "COLUMN")
    value = next((one.name for one in columns if one.kind in ("integer", "continuous")), "NUMBER")
    binary = next((name for name, count in levels.items() if count == 2), "COLUMN")
    return shlex.quote(group), shlex.quote(value), shlex.quote(binary)


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
    return sorted(str(place.relative_to(own.folder)) for place in found if not place.is_symlink() and _mark_of(place))


def _mark_of(place: Path) -> str | None:
    with place.open(encoding="utf-8", errors="replace") as file:
        head = file.read(_HEAD)
    return next((mark for mark in _MARKS if mark in head), None)


def _is_public(place: Path) -> bool:
    return _mark_of(place) == _MARKS[1]
