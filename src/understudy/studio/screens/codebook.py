"""Screen 3, the codebook: one line per column with a light; undo, and the difference from the draft."""

import re
from collections.abc import Mapping, Sequence
from shlex import quote as quote_word
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from understudy.errors import ParameterError
from understudy.studio.books import Line, lines_of, progress_of
from understudy.studio.changes import check_number, last_kept, number_of, steps_back, undo
from understudy.studio.frame import Audience, Equivalent, dataset_of, fragment, go, page, say
from understudy.studio.guard import form_of
from understudy.studio.looks import find_look, is_looking, looking_for, start_look, stop_looks
from understudy.studio.plans import reviewed_words, table_words
from understudy.studio.stored_books import is_linked, load_book, tables_of
from understudy.studio.texts import texts
from understudy.studio.workspace import Dataset

router = APIRouter()


@router.get("/d/{dataset}/codebook")
def show(request: Request, dataset: str) -> Response:
    """Every column of the codebook."""
    from understudy.facade.book_edits import code_packs

    own = dataset_of(request, dataset)
    has_book = own.codebook.is_file()
    look, draft_look = find_look(own, "columns"), find_look(own, "draft")
    lines = lines_of(own) if has_book else []
    reasons = (draft_look.seen or {}).get("left_out", {})
    taken = {line.spelled for line in lines if line.state != "left_out"}
    left_out = [left_out_line(why, name, lines) for name, why in reasons.items() if name not in taken]
    codes = [] if has_book and is_linked(own) else _packs_of(left_out)
    return page(
        request,
        "codebook",
        audience=Audience.CONFIDENTIAL,
        equivalent=_same(own, codes),
        dataset=own,
        shown=number_of(own),
        has_book=has_book,
        on_server=own.is_on_server,
        lines=lines,
        groups=_groups(own, lines) if has_book else [],
        is_described=not any(line.state in ("open", "dangerous") for line in lines),
        has_quasi=any(line.role == "quasi-identifier" for line in lines),
        counted={state: sum(line.state == state for line in lines) for state in texts("codebook")["state"]},
        progress=progress_of(own),
        look=look,
        guesses=(draft_look.seen or {}).get("guesses", ()),
        left_out=left_out,
        taken_in=[one for one in codes if len(one["names"]) > 1],
        is_linked=has_book and is_linked(own),
        packs=code_packs(),
        trouble=[
            found.problem
            for kind in ("draft", "answers", "accepted", "parted", "taken")
            if (found := find_look(own, kind)).problem
        ],
        looking=is_looking(own),
        undo=steps_back(own),
        tab="columns",
        rules=len(_rules(own)) if has_book else 0,
        title=texts("codebook")["title"],
    )


@router.get("/d/{dataset}/codebook/state")
def state(request: Request, dataset: str) -> Response:
    """Asked again and again while somebody looks; the screen is loaded anew when that has ended."""
    own = dataset_of(request, dataset)
    if is_looking(own):
        return fragment(request, "looking.html", "codebook", dataset=own, since=looking_for(own))
    return Response(status_code=204, headers={"HX-Refresh": "true"})


@router.post("/d/{dataset}/codebook/look")
def look_again(request: Request, dataset: str) -> Response:
    """Look at every column in the data, or for rules that they keep."""
    own, kind = dataset_of(request, dataset), form_of(request)["what"]
    start_look(own, "rules" if kind == "rules" else "columns")
    return go(f"/d/{own.name}/codebook" + ("/rules" if kind == "rules" else ""))


@router.post("/d/{dataset}/codebook/take")
def take_in(request: Request, dataset: str) -> Response:
    """Columns that the draft left out become codes of a pack, beside the data; then every column is looked at again."""
    own, form = dataset_of(request, dataset), form_of(request)
    check_number(own, form)
    left = (find_look(own, "draft").seen or {}).get("left_out", {})
    lines = [left_out_line(why, name, lines_of(own)) for name, why in left.items()]
    columns = [one["name"] for one in lines if one["pack"] == form["pack"] and one["number"] is not None]
    chosen = [name for name in columns if form["column"] in ("", name)]
    if not chosen:
        raise ParameterError(texts("codebook")["left_out"]["none"])
    start_look(own, "taken", "columns", given={"columns": chosen, "pack": form["pack"]})
    return go(f"/d/{own.name}/codebook")


@router.post("/d/{dataset}/stop")
def stop(request: Request, dataset: str) -> Response:
    """End a look that takes too long."""
    own = dataset_of(request, dataset)
    stop_looks(own)
    say(request, texts("common")["stopped"])
    return go(f"/d/{own.name}/{'codebook' if own.codebook.is_file() else 'data'}")


@router.post("/d/{dataset}/codebook/undo")
def take_back(request: Request, dataset: str) -> Response:
    """Undo the last change."""
    own = dataset_of(request, dataset)
    check_number(own, form_of(request))
    undo(own)
    say(request, texts("codebook")["undone"])
    return go(f"/d/{own.name}/codebook")


@router.get("/d/{dataset}/codebook/difference")
def difference(request: Request, dataset: str) -> Response:
    """What has changed since the draft."""
    from understudy.facade.book_edits import difference as compare

    own = dataset_of(request, dataset)
    after = own.codebook.read_text(encoding="utf-8-sig", errors="replace") if own.codebook.is_file() else ""
    before = own.draft.read_text(encoding="utf-8-sig", errors="replace") if own.draft.is_file() else after
    book = own.shown(own.path("codebook.toml"))
    draft = own.shown(own.draft)
    same = Equivalent(
        commands=(f"diff -u {draft} {book}",),
        python=(
            "import difflib",
            "from pathlib import Path",
            f'before, after = (Path(name).read_text("utf-8").splitlines() for name in ("{draft}", "{book}"))',
            'print(*difflib.unified_diff(before, after, lineterm=""), sep="\\n")',
        ),
    )
    return page(
        request,
        "codebook",
        audience=Audience.CONFIDENTIAL,
        equivalent=same,
        dataset=own,
        template="difference.html",
        changes=compare(before, after),
        has_draft=own.draft.is_file(),
        tab="difference",
    )


def left_out_line(why: str, name: str, lines: list[Line]) -> dict[str, Any]:
    """Why a draft left a column out; where it saw codes of a pack, that is a button instead of a flag.

    >>> left_out_line("too many texts; nearly all are codes of the pack icd9: draft it with `--kind a=icd9`", "a", [])
    {'name': 'a', 'why': 'too many texts; nearly all are codes of the pack icd9', 'pack': 'icd9', 'number': None}
    """
    flag = re.search(r": draft it with `--kind .*=([a-z0-9_]+)`$", why)
    number = next((line.number for line in lines if line.spelled == name and line.kind == "text"), None)
    told = why[: flag.start()] if flag else why
    return {"name": name, "why": told, "pack": flag[1] if flag else "", "number": number}


def _packs_of(left_out: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Packs of which columns hold codes; where several do, one button takes them all in."""
    found: dict[str, list[str]] = {}
    for one in left_out:
        if one["pack"] and one["number"] is not None:
            found.setdefault(one["pack"], []).append(one["name"])
    return [{"pack": pack, "names": names} for pack, names in found.items()]


def _groups(own: Dataset, lines: list[Line]) -> list[dict[str, Any]]:
    """The lines table by table, each with its place among the others; one group where there is one table."""
    if not is_linked(own):
        return [{"table": None, "lines": lines}]
    linked: Any = load_book(own)
    return [
        {
            "table": table,
            "lines": [line for line in lines if line.table == table.name],
            "most": linked.most_rows(table.name),
        }
        for table in linked.tables
    ]


def _rules(own: Dataset) -> tuple[object, ...]:
    book = load_book(own)
    return tuple(rule for part in tables_of(book).values() for rule in part.constraints)


def _same(own: Dataset, codes: Sequence[Mapping[str, Any]]) -> Equivalent:
    book, data = own.shown(own.path("codebook.toml")), own.root.spelled(own.data)
    table, named = table_words(own)
    reviewed, (of_reviewed, in_reviewed) = reviewed_words(own)
    kind = "LinkedCodebook" if is_linked(own) else "Codebook"
    kept = last_kept(own)
    back = "" if kept is None else own.shown(kept)
    return Equivalent(
        commands=(
            f"understudy codebook show {book}",
            f"understudy codebook check {quote_word(data)} -c {book}{table}",
            f"understudy codebook review {book} --data {quote_word(reviewed)}{of_reviewed} --by NAME",
            f"understudy codebook declare {book} --by NAME --from SOURCE",
            *((f"cp {back} {book}",) if back else ()),
        ),
        python=(
            "import understudy as us",
            f'us.{kind}.load("{book}")',
            f'us.check({data!r}, "{book}"{named}).faults',
            f'us.review("{book}", {reviewed!r}{in_reviewed}).questions',
            f'us.column_counts({data!r}, "{book}"{named}).counts',
            *(f'us.take_codes("{book}", {data!r}, {one["names"]!r}, {one["pack"]!r}{named})' for one in codes),
            f'us.declare("{book}", by="NAME", source="SOURCE")',
            *(("import shutil", f'shutil.copy("{back}", "{book}")') if back else ()),
        ),
    )
