"""Attest: who says that columns and rules are public knowledge, and from where."""

from shlex import quote as quote_word

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from understudy.errors import ParameterError
from understudy.studio.books import lines_of, progress_of
from understudy.studio.changes import changing, check_number, number_of
from understudy.studio.frame import Audience, Equivalent, dataset_of, go, page, say
from understudy.studio.guard import form_of, session_of
from understudy.studio.stored_books import load_book
from understudy.studio.texts import texts

router = APIRouter()
_CONSTANT = " is constant"
"""How a codebook of linked tables ends the name of a constant that somebody has to attest."""


@router.get("/d/{dataset}/codebook/attest")
def show(request: Request, dataset: str) -> Response:
    """What nobody vouches for yet, and who vouches for the rest."""
    from understudy.facade.shelves import attestations

    own = dataset_of(request, dataset)
    has_book = own.codebook.is_file()
    book = load_book(own) if has_book else None
    states = {line.spelled: line for line in lines_of(own)} if book else {}
    path = own.shown(own.path("codebook.toml"))
    same = _same(path, list(getattr(book, "unattested", ())), list(getattr(book, "unsourced_rules", ())))
    return page(
        request,
        "codebook",
        audience=Audience.CONFIDENTIAL,
        equivalent=same,
        dataset=own,
        shown=number_of(own),
        template="attest.html",
        tab="attest",
        has_book=has_book,
        waiting=[(name, called(name), states.get(name)) for name in getattr(book, "unattested", ())],
        rules=getattr(book, "unsourced_rules", ()),
        attested=attestations(book) if book else (),
        progress=progress_of(own),
        name=session_of(request).name,
    )


def _same(path: str, columns: list[str], rules: list[str]) -> Equivalent:
    """What waits, all of it; where nothing does, how one column is attested."""
    columns = columns if columns or rules else ["COLUMN"]
    named = [("column", name) for name in columns] + [("rule", title) for title in rules]
    flags = "".join(f" --{flag} {quote_word(words)}" for flag, words in named)
    given = [f"columns={columns!r}"] * bool(columns) + [f"rules={rules!r}"] * bool(rules)
    return Equivalent(
        commands=(f"understudy codebook declare {path}{flags} --by NAME --from SOURCE",),
        python=(
            "import understudy as us",
            f'us.declare("{path}", {", ".join(given)}, by="NAME", source="SOURCE")',
        ),
    )


def called(name: str) -> str:
    """What is attested, in words: a column, or how a file is read, or where a linked table has its place.

    >>> called("sex"), called("[file]"), called("[stays]"), called("[stays.file]")
    ('sex', 'How the file is read', 'Keys, parent and cap of the table stays', 'How the file of stays is read')
    """
    words = texts("codebook")["attest"]
    if name.endswith(_CONSTANT):
        return str(words["constant"]).format(name=name.removesuffix(_CONSTANT))
    if not name.startswith("["):
        return name
    table, _, file = name.strip("[]").rpartition(".") if name.endswith(".file]") else (name.strip("[]"), "", "")
    key = "file" if table == "file" else "file_of" if file else "place"
    return str(words[key]).format(table=table)


@router.post("/d/{dataset}/codebook/attest")
def attest(request: Request, dataset: str) -> Response:
    """Write the attestation."""
    from understudy.facade.codebooks import declare

    own, form = dataset_of(request, dataset), form_of(request)
    check_number(own, form)
    columns, rules = form.all("column"), form.all("rule")
    words = texts("codebook")["attest"]
    if not columns and not rules:
        raise ParameterError(words["none_chosen"])
    session_of(request).called = form["by"]
    with changing(own):
        declare(own.codebook, columns=columns, rules=rules, by=form["by"], source=form["source"])
    say(request, words["done"].format(n=len(columns) + len(rules), by=form["by"]))
    return go(f"/d/{own.name}/codebook")
