"""Attest: who says that columns and rules are public knowledge, and from where."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from understudy.errors import ParameterError
from understudy.studio.books import lines_of, progress_of
from understudy.studio.changes import changing
from understudy.studio.frame import Audience, Equivalent, dataset_of, go, page, say
from understudy.studio.guard import form_of, session_of
from understudy.studio.stored_books import load_book
from understudy.studio.texts import texts

router = APIRouter()


@router.get("/d/{dataset}/codebook/attest")
def show(request: Request, dataset: str) -> Response:
    """What nobody vouches for yet, and who vouches for the rest."""
    from understudy.facade.shelves import attestations

    own = dataset_of(request, dataset)
    has_book = own.codebook.is_file()
    book = load_book(own) if has_book else None
    states = {(f"{line.table}." if line.table else "") + line.name: line for line in lines_of(own)} if book else {}
    path = own.shown(own.path("codebook.toml"))
    same = Equivalent(
        commands=(f"understudy codebook declare {path} --column COLUMN --by NAME --from SOURCE",),
        python=("import understudy as us", f'us.declare("{path}", columns=["COLUMN"], by="NAME", source="SOURCE")'),
    )
    return page(
        request,
        "codebook",
        audience=Audience.CONFIDENTIAL,
        equivalent=same,
        dataset=own,
        template="attest.html",
        tab="attest",
        has_book=has_book,
        waiting=[(name, states.get(name)) for name in getattr(book, "unattested", ())],
        rules=getattr(book, "unsourced_rules", ()),
        attested=attestations(book) if book else (),
        progress=progress_of(own),
        name=session_of(request).name,
    )


@router.post("/d/{dataset}/codebook/attest")
def attest(request: Request, dataset: str) -> Response:
    """Write the attestation."""
    from understudy.facade.codebooks import declare

    own, form = dataset_of(request, dataset), form_of(request)
    columns, rules = form.all("column"), form.all("rule")
    words = texts("codebook")["attest"]
    if not columns and not rules:
        raise ParameterError(words["none_chosen"])
    session_of(request).called = form["by"]
    with changing(own):
        declare(own.codebook, columns=columns, rules=rules, by=form["by"], source=form["source"])
    say(request, words["done"].format(n=len(columns) + len(rules), by=form["by"]))
    return go(f"/d/{own.name}/codebook")
