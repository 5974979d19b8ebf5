"""One table that repeats people becomes two linked ones: the persons, and their records."""

from collections.abc import Mapping
from shlex import quote as quote_word
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from understudy.errors import ParameterError
from understudy.studio.changes import check_number, number_of
from understudy.studio.forms import FieldError
from understudy.studio.frame import Audience, Equivalent, dataset_of, go, page, say
from understudy.studio.guard import Form, form_of
from understudy.studio.looks import find_look, is_looking, start_look
from understudy.studio.plans import table_words
from understudy.studio.stored_books import load_book
from understudy.studio.texts import texts
from understudy.studio.workspace import Dataset

router = APIRouter()
RULES = ("", "first", "latest", "most frequent")
"""Which value counts where the records of one person differ; without a rule such tables are refused."""
_NAMES = ("patients", "encounters")


@router.post("/d/{dataset}/split/look")
def look(request: Request, dataset: str) -> Response:
    """Count how the records of each person repeat each other."""
    own = dataset_of(request, dataset)
    _one_table(own)
    start_look(own, "persons")
    return go(f"/d/{own.name}/split")


@router.get("/d/{dataset}/split")
def show(request: Request, dataset: str) -> Response:
    """Which columns stay the same within a person, and what the two tables are called."""
    own = dataset_of(request, dataset)
    book = _one_table(own)
    found = find_look(own, "persons")
    seen = found.seen or {}
    return page(
        request,
        "data",
        audience=Audience.CONFIDENTIAL,
        equivalent=_same(own, book, seen),
        dataset=own,
        shown=number_of(own, list(seen.get("differing", {}))),
        template="split.html",
        title=texts("data")["split"]["title"],
        step="data",
        look=found,
        looking=is_looking(own),
        lines=[(name, people, name in seen["constant"]) for name, people in seen.get("differing", {}).items()],
        several=seen.get("several", 0),
        people=seen.get("people", 0),
        unit=book.unit,
        columns=[column.name for column in book.written if column.name != book.unit.id],
        rules=RULES,
        names=_NAMES,
        here=f"/d/{own.name}/split",
    )


@router.post("/d/{dataset}/split")
def split(request: Request, dataset: str) -> Response:
    """Write the codebook of the two tables, then look at their columns."""
    own, form = dataset_of(request, dataset), form_of(request)
    _one_table(own)
    columns = list((find_look(own, "persons").seen or {}).get("differing", {}))
    check_number(own, form, columns)
    start_look(own, "parted", "columns", given=wanted_split(columns, form))
    say(request, texts("data")["split"]["taken"])
    return go(f"/d/{own.name}/codebook")


def wanted_split(columns: list[str], form: Form) -> dict[str, Any]:
    """What the form says, as the use case takes it. Fields carry numbers: a column may be called anything."""
    words = texts("data")["split"]
    constants = {
        name: (rule if (rule := form[f"rule-{number}"]) in RULES[1:] else None)
        for number, name in enumerate(columns)
        if form[f"constant-{number}"]
    }
    if not constants:
        raise ParameterError(words["no_constant"])
    if not form["cap"].isdecimal() or int(form["cap"]) < 1:
        raise FieldError("cap", texts("data")["person"]["no_cap"])
    names = [form["upper"], form["lower"]]
    if not all(name.replace("_", "").replace("-", "").isalnum() for name in names) or names[0] == names[1]:
        raise FieldError("upper", words["no_names"])
    return {
        "constants": constants,
        "cap": int(form["cap"]),
        "names": names,
        "key": form["key"] or None,
        "order": form["order"] or None,
    }


def _one_table(own: Dataset) -> Any:
    """The codebook of one table that names its persons."""
    book = load_book(own)
    if hasattr(book, "tables") or book.unit is None:
        raise ParameterError(texts("data")["split"]["linked_already" if hasattr(book, "tables") else "no_person"])
    return book


def _same(own: Dataset, book: Any, seen: Mapping[str, Any]) -> Equivalent:
    """With the answers as the screen proposes them; before anybody has looked, how to look."""
    data, described = own.root.spelled(own.data), own.shown(own.path("codebook.toml"))
    new, (table, named) = own.shown(own.path("linked.toml")), table_words(own)
    differing, same = seen.get("differing", {}), seen.get("constant", ())
    chosen = {name: "most frequent" if people else None for name, people in differing.items() if name in same}
    rules = {name: name if rule is None else f"{name}={rule.replace(' ', '-')}" for name, rule in chosen.items()}
    flags = "".join(f" --constant {quote_word(words)}" for words in rules.values())
    source = f"{quote_word(data)} -c {described}{table} --person {quote_word(book.unit.id)}"
    written = f" --cap {book.unit.cap} --out {new}{flags}" if chosen else " --json"
    answered = f", constants={chosen!r}, cap={book.unit.cap}" if chosen else ""
    out = f'"{new}", ' if chosen else ""
    return Equivalent(
        commands=(f"understudy codebook split {source}{written}",),
        python=(
            "import understudy as us",
            f'us.split({data!r}, {out}person={book.unit.id!r}, book="{described}"{answered}{named}).looked',
        ),
    )
