"""Screen 6, report: the board fixes its limits first; then opening the report is a look that the account remembers."""

import datetime as dt
import json
import shlex
from pathlib import Path
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from understudy.errors import ParameterError, UnderstudyError
from understudy.facade import boards, releases
from understudy.facade.codebooks import load_any
from understudy.studio import jobs, plans, released, written
from understudy.studio.forms import FieldError
from understudy.studio.frame import Audience, Equivalent, dataset_of, download, go, page, say, stored_page
from understudy.studio.guard import form_of, session_of
from understudy.studio.released import Released
from understudy.studio.stored_books import is_linked, load_book, table_of, tables_of
from understudy.studio.texts import texts
from understudy.studio.workspace import Dataset, private_folder

router = APIRouter()
BOARD = "board.toml"
RISKS = ("quick", "none", "full")


@router.get("/d/{dataset}/report")
def show(request: Request, dataset: str) -> Response:
    """Limits, and the releases that can be looked at."""
    own = dataset_of(request, dataset)
    board = own.path(BOARD)
    fixed = boards.read_board(board) if board.is_file() else None
    known = released.all_releases(own)
    may_change = _may_change(own, known)
    chosen = next(
        (one for one in known if one.name == request.query_params.get("release")), known[0] if known else None
    )
    linked = is_linked(own)
    return page(
        request,
        "report",
        audience=Audience.DECISION,
        equivalent=_equivalent(own, chosen),
        dataset=own,
        board=fixed,
        limits=(fixed or boards.read_board()).lines(),
        may_change=may_change,
        editing=fixed is None or (bool(request.query_params.get("edit")) and may_change),
        releases=[(one, one.report.is_file()) for one in known],
        chosen=chosen,
        is_made=chosen is not None and chosen.report.is_file(),
        columns=[] if linked or not own.codebook.is_file() else list(load_book(own).names),
        linked=linked,
        risks=RISKS,
        nonce="" if chosen is None else _number(chosen),
        account_there=own.account.is_file(),
        making=_making(own),
    )


def _may_change(own: Dataset, known: list[Released]) -> bool:
    """Limits may be set as long as nobody has looked at the newest release, whatever became of the page."""
    if not known:
        return True
    looks = releases.open_account(own.account).looks() if own.account.is_file() else []
    is_remembered = any(what == f"evaluation of {own.shown(known[0].folder)}" for _, what in looks)
    return not (is_remembered or known[0].report.is_file())


def _making(own: Dataset) -> jobs.Job | None:
    """The report that is being made right now, if any: nobody needs a second one beside it."""
    known = jobs.all_jobs(own.root.folder, about=own.name, kinds=("evaluate",))
    return next((job for job in known if job.state is jobs.JobState.RUNNING), None)


def _number(release: Released) -> str:
    own = release.own
    tried = sorted(job.nonce for job in jobs.all_jobs(own.root.folder, about=own.name, kinds=("evaluate",)))
    return plans.form_number("report", release.name, release.digest, tried)


@router.post("/d/{dataset}/report/board")
def fix(request: Request, dataset: str) -> Response:
    """Fix the limits."""
    own, form, words = dataset_of(request, dataset), form_of(request), texts("report")
    if own.path(BOARD).is_file() and not _may_change(own, released.all_releases(own)):
        raise ParameterError(words["fixed_already"])
    known = {name for name, *_ in boards.read_board().lines()}
    sent = form.beginning("limit-")
    limits = {name: plans.read_number(value, f"limit-{name}") for name, value in sent.items() if name in known}
    by = form.get("by") or session_of(request).person
    if not by:
        raise FieldError("by", words["no_board"])
    try:
        boards.save_board(own.path(BOARD), limits, by=by)
    except ParameterError as reason:  # about the file, whose name says nothing here
        wrong = next((f"limit-{name}" for name in limits if f"'{name}'" in str(reason)), "")
        raise FieldError(wrong, str(reason).partition(": ")[2] or str(reason)) from None
    say(request, words["fixed"].format(file=own.shown(own.path(BOARD))))
    return go(f"/d/{own.name}/report")


@router.post("/d/{dataset}/report/{release}")
def open_report(request: Request, dataset: str, release: str) -> Response:
    """Look: compute the report and let the account remember it."""
    own, form, words = dataset_of(request, dataset), form_of(request), texts("report")
    chosen, nonce = released.find_release(own, release), form.get("nonce")
    if jobs.find(own.root.folder, nonce) is not None:
        return go(f"/d/{own.name}/job/{nonce}")
    _limits_first(own)
    if (running := _making(own)) is not None:
        return go(f"/d/{own.name}/job/{running.nonce}")
    if nonce != _number(chosen):
        raise ParameterError(words["changed"])
    if form.get("risk", "quick") not in RISKS:
        raise FieldError("risk", words["no_risk"])
    private_folder(own.reports)
    folder = own.shown(chosen.folder)
    asked: dict[str, Any] = {
        "real": plans.data_words(own),
        "synthetic": folder,
        "out": own.shown(chosen.report),
        "holdout": None if own.holdout is None else own.root.spelled(own.holdout),
        "account": own.shown(own.account) if own.account.is_file() else None,
        "target": form.get("target") or None,
        "table": table_of(own),
        "book": None if (book := _reading_book(own, chosen)) is None else own.shown(book),
        "risk": form.get("risk", "quick"),
        "board": own.shown(own.path(BOARD)),
    }
    same = _equivalent(own, chosen, asked["target"] or "", asked["risk"])
    job, _ = jobs.start(
        own.root.folder,
        nonce,
        kind="evaluate",
        arguments={name: value for name, value in asked.items() if value is not None},
        about=own.name,
        by=session_of(request).person,
        commands=same.commands,
        python=same.python,
    )
    return go(f"/d/{own.name}/job/{job.nonce}")


def _limits_first(own: Dataset) -> None:
    """No report is opened, and none is read, before the board has fixed its limits; also one that a command made."""
    if not own.path(BOARD).is_file():
        raise ParameterError(texts("report")["board_first"])


def _readable(own: Dataset, release: str) -> Released:
    """A release whose report may be read. Anonymised ones were made to a demand, and their page has no limits."""
    chosen = released.find_release(own, release)
    if not chosen.report.is_file():
        raise ParameterError(texts("report")["not_made"])
    if not chosen.is_anonymised:
        _limits_first(own)
    return chosen


@router.get("/d/{dataset}/report/{release}")
def read(request: Request, dataset: str, release: str) -> Response:
    """The report in a frame of its own."""
    own = dataset_of(request, dataset)
    chosen = released.find_release(own, release)
    if not chosen.report.is_file():
        return go(f"/d/{own.name}/report?release={chosen.name}")
    chosen = _readable(own, release)
    return page(
        request,
        "report_read",
        audience=Audience.CONFIDENTIAL,
        equivalent=_equivalent(own, chosen),
        dataset=own,
        step="report",
        release=chosen,
    )


@router.get("/d/{dataset}/report/{release}/page")
def report_page(request: Request, dataset: str, release: str) -> Response:
    """The file itself."""
    return stored_page(_readable(dataset_of(request, dataset), release).report)


@router.get("/d/{dataset}/report/{release}/file")
def report_file(request: Request, dataset: str, release: str) -> Response:
    """The file to keep; its name says that it is confidential."""
    own = dataset_of(request, dataset)
    chosen = _readable(own, release)
    return download(chosen.report, audience=Audience.CONFIDENTIAL, name=f"{own.name}-{chosen.name}-report.html")


def _reading_book(own: Dataset, release: Released) -> Path | None:
    """The codebook of the data set, where it says how values are read: a release's own knows its own rows alone.

    It has to be the same codebook otherwise; one that was edited since is about another release.
    """
    if not own.codebook.is_file():
        return None
    book = load_book(own)
    if book.plain == book:
        return None
    try:
        released = load_any(release.file("codebook.toml"))
    except (UnderstudyError, OSError):
        return None
    return own.codebook if _contents(released) == _contents(book.plain) else None


def _contents(book: Any) -> list[tuple[str, str]]:
    """What every column may hold, table by table."""
    return [(name, column.content) for name, part in tables_of(book).items() for column in part.columns]


def _equivalent(own: Dataset, release: Released | None, target: str = "", risk: str = RISKS[0]) -> Equivalent:
    data, _ = plans.source_words(own)
    table, named = plans.table_words(own)
    chosen = Released(own=own, name="1") if release is None else release  # as the first one will be called
    folder, out = own.shown(chosen.folder), own.shown(chosen.report)
    known = [("board", own.path(BOARD)), ("account", own.account)]
    known = [(name, place) for name, place in known if place.is_file()]
    spelled = [(name, own.shown(place)) for name, place in known]
    if own.holdout is not None:
        spelled.append(("holdout", own.root.spelled(own.holdout)))
    spelled += [("target", target)] if target else []
    spelled += [("risk", risk)] if risk != RISKS[0] and not is_linked(own) else []
    if (book := _reading_book(own, chosen)) is not None:
        spelled.append(("codebook", own.shown(book)))
    flags = "".join(f" --{name} {shlex.quote(words)}" for name, words in spelled)
    named_so = [("book" if name == "codebook" else name, words) for name, words in spelled]
    words = "".join(f", {name}={json.dumps(words, ensure_ascii=False)}" for name, words in named_so)
    call = "evaluate_linked" if is_linked(own) else "evaluate"
    fixing, board = _board_words(own)
    return Equivalent(
        commands=(
            *plans.making(own, own.reports),
            f"understudy evaluate {data} {folder} -o {out}{table}{flags}",
        ),
        python=(
            "import understudy as us",
            *fixing,
            f'us.{call}({plans.data_words(own)!r}, "{folder}", out="{out}"{named}{words})',
        ),
        files=(board,),
    )


def _board_words(own: Dataset) -> tuple[tuple[str, ...], written.Written]:
    """The file of the limits as it stands; before there is one, how the proposed ones are written down."""
    place = own.path(BOARD)
    if place.is_file():
        boards.read_board(place)  # says what is wrong with it
        return (), (own.shown(place), place.read_text(encoding="utf-8-sig"))
    limits = {name: value for name, _, value, _ in boards.read_board().lines()}
    today = dt.datetime.now(dt.UTC).date()
    return (
        (f'us.save_board("{own.shown(place)}", {limits!r}, by="NAME")',),
        written.lines(own, BOARD, {**limits, "decided_by": "NAME", "decided_on": today.isoformat()}),
    )
