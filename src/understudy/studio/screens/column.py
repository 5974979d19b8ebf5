"""One column of the codebook: kind, levels or bins, role, missing codes, its histogram, and who attests it."""

from shlex import quote as quote_word
from typing import Any

from fastapi import APIRouter
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from understudy.errors import CodebookError
from understudy.pages.drawings import grouped_bars
from understudy.studio import written
from understudy.studio.books import is_dropped, lines_of, told_levels
from understudy.studio.changes import changing, check_number, number_of
from understudy.studio.forms import FieldError
from understudy.studio.frame import Audience, Equivalent, dataset_of, go, page, say
from understudy.studio.guard import Form, form_of, session_of
from understudy.studio.looks import find_look
from understudy.studio.plans import table_words
from understudy.studio.stored_books import load_book, spelled, tables_of
from understudy.studio.texts import texts
from understudy.studio.workspace import Dataset

router = APIRouter()
_LEVELLED, _NUMBERS = ("categorical", "ordinal"), ("integer", "continuous")
_FIELDS = dict.fromkeys(_LEVELLED, "levels") | dict.fromkeys(_NUMBERS, "edges") | {"date": "start"}
"""The field that says what a column of each kind may hold."""
_MOST_DRAWN = 40
_TOO_LONG = 60


@router.get("/d/{dataset}/codebook/column/{number}")
def show(request: Request, dataset: str, number: int) -> Response:
    """What the codebook says about one column, beside what the data hold."""
    from understudy.facade.book_edits import KINDS, code_packs

    own = dataset_of(request, dataset)
    table, column = _column(own, number)
    name = spelled(table, column.name)
    lines = lines_of(own)
    look = find_look(own, "columns")
    counts = (look.seen or {}).get("counts", {}).get(name)
    is_drawn = counts is not None and not look.is_stale and len(counts) == column.size
    return page(
        request,
        "codebook",
        audience=Audience.CONFIDENTIAL,
        equivalent=_same(own, table, column.name),
        dataset=own,
        shown=number_of(own),
        template="column.html",
        title=texts("codebook")["column"]["title"].format(name=name),
        tab="columns",
        line=lines[number],
        before=lines[number - 1] if number else None,
        after=lines[number + 1] if number + 1 < len(lines) else None,
        column=column,
        levels=levels_text(column),
        edges=edges_text(column),
        more_missing=", ".join(column.reading.missing),
        meanings=[] if is_dropped(column) or not column.value_labels else told_levels(column),
        kinds=KINDS,
        packs=code_packs(),
        drawing=_drawing(column, counts) if is_drawn else "",
        counts=list(zip(column.labels, counts, strict=True)) if is_drawn else [],
        looked=look.seen is not None,
        name=session_of(request).name,
        roles=("other", "quasi-identifier", "sensitive"),
    )


@router.post("/d/{dataset}/codebook/column/{number}")
def change(request: Request, dataset: str, number: int) -> Response:
    """Write what the form says into the codebook."""
    from understudy.facade.book_edits import edit_column

    own, form = dataset_of(request, dataset), form_of(request)
    check_number(own, form)
    table, column = _column(own, number)
    wanted = wanted_keys(column, form)
    try:
        with changing(own):
            edit_column(own.codebook, column.name, wanted, table=table or None)
    except CodebookError as reason:  # the codebook was sound before, so what is wrong was typed here
        raise FieldError(_FIELDS.get(wanted["kind"], "kind"), " ".join(reason.faults) or str(reason)) from None
    say(request, texts("codebook")["column"]["saved"].format(name=spelled(table, column.name)))
    return go(f"/d/{own.name}/codebook/column/{number}")


@router.post("/d/{dataset}/codebook/column/{number}/attest")
def attest(request: Request, dataset: str, number: int) -> Response:
    """Record who vouches for this column, and from where."""
    from understudy.facade.codebooks import declare

    own, form = dataset_of(request, dataset), form_of(request)
    check_number(own, form)
    table, column = _column(own, number)
    session_of(request).called = form["by"]
    with changing(own):
        declare(own.codebook, columns=[spelled(table, column.name)], by=form["by"], source=form["source"])
    say(request, texts("codebook")["attest"]["done"].format(n=1, by=form["by"]))
    return go(f"/d/{own.name}/codebook/column/{number}")


def wanted_keys(column: Any, form: Form) -> dict[str, Any]:
    """The keys of the column's table that the form changes. Fields of other kinds than the chosen one do not count."""
    kind = form["kind"] or column.kind
    wanted: dict[str, Any] = {"kind": kind, "description": form["description"] or None}
    if kind == "text":
        return wanted
    if form["role"]:
        wanted["role"] = form["role"]
    wanted["missing"] = form["missing"] or None
    further = [code.strip() for code in form["more_missing"].split(",") if code.strip()]
    if tuple(further) != column.reading.missing:
        wanted["reading"] = {"missing": further}
    levels = form.get("levels").replace("\r\n", "\n")
    if kind in _LEVELLED and (levels.strip() != levels_text(column).strip() or column.kind not in _LEVELLED):
        wanted["levels"] = [line.strip() for line in levels.split("\n") if line.strip()]
    if kind in _NUMBERS and (form["edges"] != edges_text(column) or column.kind not in _NUMBERS):
        wanted["edges"] = [_number(word) for word in form["edges"].replace(";", ",").split(",") if word.strip()]
    if kind == "date":
        wanted |= {key: _day(key, form[key]) for key in ("start", "end") if form[key]}
        wanted |= {"grain": form["grain"]} if form["grain"] else {}
    return wanted


def _number(word: str) -> int | float:
    try:
        return int(word)
    except ValueError:
        pass
    try:
        return float(word)
    except ValueError:
        raise FieldError("edges", texts("codebook")["column"]["no_number"].format(word=word.strip()[:40])) from None


def _day(field: str, word: str) -> Any:
    import datetime as dt

    try:
        return dt.date.fromisoformat(word)
    except ValueError:
        raise FieldError(field, texts("codebook")["column"]["no_day"].format(word=word[:40])) from None


def levels_text(column: Any) -> str:
    """Levels, one in each line."""
    return "\n".join(getattr(column, "levels", ()))


def edges_text(column: Any) -> str:
    """Edges of bins between commas."""
    edges = getattr(column, "edges", ())
    return ", ".join(str(edge) if edge.denominator == 1 else repr(float(edge)) for edge in edges)


def _column(own: Dataset, number: int) -> tuple[str, Any]:
    """The column of this number, and its table; empty where there is one only."""
    columns = [(table, column) for table, part in tables_of(load_book(own)).items() for column in part.written]
    if not 0 <= number < len(columns):
        raise HTTPException(404)
    return columns[number]


def _drawing(column: Any, counts: list[int]) -> str:
    words = texts("codebook")["column"]
    labels = [label if len(label) <= _TOO_LONG else label[: _TOO_LONG - 1] + "…" for label in told_levels(column)]
    shown = list(zip(labels, counts, strict=True))
    if len(shown) > _MOST_DRAWN:
        shown = sorted(shown, key=lambda pair: -pair[1])[:_MOST_DRAWN]
    series = [(words["rows"], [float(count) for _, count in shown])]
    return grouped_bars(
        [label for label, _ in shown],
        series,
        title=words["histogram"].format(name=column.name),
        show=lambda value: f"{value:,.0f}",
    )


def _same(own: Dataset, table: str, name: str) -> Equivalent:
    """The column as it stands: whoever changes a word of it does what the form does."""
    book, full, data = own.shown(own.path("codebook.toml")), spelled(table, name), own.root.spelled(own.data)
    inside = f", table={table!r}" if table else ""
    imports, keys = written.edit_words(written.column_keys(own, table, name))
    _, named = table_words(own)
    return Equivalent(
        commands=(
            f"understudy codebook show {book}",
            f"understudy codebook declare {book} --column {quote_word(full)} --by NAME --from SOURCE",
        ),
        python=(
            "import understudy as us",
            *imports,
            f'us.column_counts({data!r}, "{book}"{named}).counts',
            f'us.edit_column("{book}", {name!r}, {keys}{inside})',
            f'us.declare("{book}", columns=[{full!r}], by="NAME", source="SOURCE")',
        ),
        files=(written.column_lines(own, table, name),),
    )
