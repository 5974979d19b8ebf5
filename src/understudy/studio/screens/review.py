"""The questions of a review, and the answers: what looks dangerous in every column."""

from dataclasses import replace
from shlex import quote as quote_word
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from understudy.studio.books import DANGEROUS, panel_of, progress_of
from understudy.studio.changes import check_number, number_of
from understudy.studio.forms import FieldError, Refused
from understudy.studio.frame import Audience, Equivalent, dataset_of, go, page, say
from understudy.studio.guard import Form, form_of, session_of
from understudy.studio.looks import find_look, is_looking, start_look
from understudy.studio.plans import reviewed_words
from understudy.studio.stored_books import load_book, spelled, tables_of
from understudy.studio.texts import texts
from understudy.studio.workspace import toml_text

router = APIRouter()


@router.get("/d/{dataset}/codebook/review")
def show(request: Request, dataset: str) -> Response:
    """One question per panel of columns, each with what was seen."""
    own = dataset_of(request, dataset)
    look = find_look(own, "columns")
    has_book = own.codebook.is_file()
    book = load_book(own) if has_book else None
    parts = tables_of(book) if book else {}
    reviewed = {spelled(name, each.name) for name, part in parts.items() for each in part.written if each.is_reviewed}
    session, trouble = session_of(request), find_look(own, "answers").problem
    if trouble and session.answered is not None and session.answered.action == request.url.path:
        session.refused = replace(session.answered, sentence=trouble)
    path, data, (table, named) = own.shown(own.path("codebook.toml")), *reviewed_words(own)
    answers = proposed_answers((look.seen or {}).get("questions", ()))
    answered = f"understudy codebook review {path} --data {quote_word(data)}{table} --answers answers.toml --by NAME"
    same = Equivalent(
        commands=(f"understudy codebook review {path} --data {quote_word(data)}{table} --by NAME", answered),
        python=(
            "import understudy as us",
            f'us.review("{path}", {data!r}{named}).questions',
            f'us.review("{path}", {data!r}{named}, answers={answers!r}, by="NAME")',
        ),
        files=(("answers.toml", toml_text(answers)),),
    )
    return page(
        request,
        "codebook",
        audience=Audience.CONFIDENTIAL,
        equivalent=same,
        dataset=own,
        shown=number_of(own, (look.seen or {}).get("questions", ())),
        template="review.html",
        tab="review",
        look=look,
        has_book=has_book,
        on_server=own.is_on_server,
        questions=[
            {**question, "panel": panel_of(question["id"]), "table": question["id"].rpartition(".")[0]}
            for question in (look.seen or {}).get("questions", ())
        ],
        reviewed=reviewed,
        progress=progress_of(own),
        dangerous=DANGEROUS,
        looking=is_looking(own),
        name=session_of(request).name,
    )


@router.post("/d/{dataset}/codebook/review")
def answer(request: Request, dataset: str) -> Response:
    """Write the answers into the codebook, beside the data, and look again."""
    own, form = dataset_of(request, dataset), form_of(request)
    questions = (find_look(own, "columns").seen or {}).get("questions", ())
    check_number(own, form, questions)
    if not form["by"]:
        raise FieldError("by", texts("codebook")["review"]["no_name"])
    session_of(request).called = form["by"]
    answers = answers_of(questions, form)
    start_look(own, "answers", "columns", given={"by": form["by"], "answers": answers})
    session_of(request).answered = Refused(action=request.url.path, pairs=form.pairs, sentence="", field="")
    say(request, texts("codebook")["review"]["taken"])
    return go(f"/d/{own.name}/codebook")


def proposed_answers(questions: Any) -> dict[str, Any]:
    """The answers that the questions propose, as a file of answers has them."""
    panels = {question["id"]: question["proposed"] for question in questions if question["columns"]}
    person = {"person": "no"} if any(not question["columns"] for question in questions) else {}
    return {**person, "panels": panels or {"levels": "yes"}}


def answers_of(questions: Any, form: Form) -> dict[str, Any]:
    """The answers of the form, panel by panel; a column has its own where it differs from its panel's.

    Fields carry numbers, not names: a column may be called anything.
    """
    panels: dict[str, str] = {}
    columns: dict[str, str] = {}
    person = None
    for place, question in enumerate(questions):
        if not question["columns"]:
            person = _person(form)
            continue
        panel = form[f"panel-{place}"]
        if panel:
            panels[question["id"]] = panel
        for number, name in enumerate(question["columns"]):
            own = _own_answer(form, place, number)
            if own and own != panel:
                columns[name] = own
    return {"panels": panels, "columns": columns, **({} if person is None else {"person": person})}


def _own_answer(form: Form, place: int, number: int) -> str:
    chosen, code = form[f"column-{place}-{number}"], form[f"missing-{place}-{number}"]
    return f"missing={code}" if code and chosen == "missing=CODE" else "" if chosen == "missing=CODE" else chosen


def _person(form: Form) -> str:
    if form["who"] != "column":
        return "no"
    if not form["cap"].isdecimal():
        raise FieldError("cap", texts("data")["person"]["no_cap"])
    return f"{form['column']} {form['cap']}"
