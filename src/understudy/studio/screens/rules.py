"""Rules: those in the codebook, those that the data seem to keep, and packs of public ones. Each yes has a source."""

from shlex import quote as quote_word

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from understudy.errors import ParameterError
from understudy.studio.changes import changing, check_number, number_of
from understudy.studio.forms import FieldError
from understudy.studio.frame import Audience, Equivalent, dataset_of, go, page, say
from understudy.studio.guard import form_of, session_of
from understudy.studio.looks import find_look, is_looking, start_look
from understudy.studio.plans import table_words
from understudy.studio.stored_books import load_book, tables_of
from understudy.studio.texts import texts

router = APIRouter()
_MOST = 60


@router.get("/d/{dataset}/codebook/rules")
def show(request: Request, dataset: str) -> Response:
    """Rules and proposals."""
    own = dataset_of(request, dataset)
    look, has_book = find_look(own, "rules"), own.codebook.is_file()
    book = load_book(own) if has_book else None
    parts = tables_of(book) if book is not None else {}
    unsourced = set(getattr(book, "unsourced_rules", ()))
    present = [
        {"words": rule.words(), "source": rule.attestation or rule.source, "open": rule.title in unsourced}
        for rule in (*(rule for part in parts.values() for rule in part.constraints), *getattr(book, "rules", ()))
    ]
    path, data = own.shown(own.path("codebook.toml")), own.root.spelled(own.data)
    table, named = table_words(own)
    same = Equivalent(
        commands=(
            f"understudy codebook rules {path} --data {quote_word(data)}{table}",
            f"understudy codebook rules {path} --data {quote_word(data)}{table} --accept ID --by NAME --from SOURCE",
        ),
        python=(
            "import understudy as us",
            f'us.rules("{path}", {data!r}{named}).proposals',
            f'us.rules("{path}", {data!r}{named}, accept=["ID"], by="NAME", source="SOURCE")',
        ),
    )
    seen = look.seen or {}
    return page(
        request,
        "codebook",
        audience=Audience.CONFIDENTIAL,
        equivalent=same,
        dataset=own,
        shown=number_of(own),
        template="rules.html",
        tab="rules",
        look=look,
        has_book=has_book,
        present=present,
        proposals=seen.get("proposals", [])[:_MOST],
        found=len(seen.get("proposals", ())),
        packs=[pack for pack in seen.get("packs", ()) if not {*pack["rules"]} <= {rule["words"] for rule in present}],
        looking=is_looking(own),
        trouble=[found.problem for kind in ("accepted",) if (found := find_look(own, kind)).problem],
        name=session_of(request).name,
    )


@router.post("/d/{dataset}/codebook/rules")
def accept(request: Request, dataset: str) -> Response:
    """Write the rules that were said yes to; each needs a person and a source."""
    from understudy.facade.reviews import rules

    own, form = dataset_of(request, dataset), form_of(request)
    check_number(own, form)
    words = texts("codebook")["rules"]
    chosen, packs = form.all("accept"), form.all("pack")
    if not chosen and not packs:
        raise ParameterError(words["none_chosen"])
    if lacking := [name for name in ("by", "source") if not form[name]]:
        raise FieldError(lacking[0], words["no_source"])
    session_of(request).called = form["by"]
    if packs:  # public rules: no row is read
        with changing(own):
            rules(own.codebook, packs=packs, by=form["by"], source=form["source"])
    if chosen:
        given = {"accept": chosen, "by": form["by"], "source": form["source"]}
        start_look(own, "accepted", "rules", given=given)
    say(request, words["taken"].format(n=len(chosen) + len(packs)))
    return go(f"/d/{own.name}/codebook/rules")
