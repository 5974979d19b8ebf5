"""Rules: those in the codebook, those that the data seem to keep, and packs of public ones. Each yes has a source."""

from shlex import quote as quote_word
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from understudy.errors import ParameterError
from understudy.studio import written
from understudy.studio.changes import StaleFormError, changing, check_number, number_of
from understudy.studio.forms import FieldError
from understudy.studio.frame import Audience, Equivalent, dataset_of, go, page, say
from understudy.studio.guard import Form, form_of, session_of
from understudy.studio.looks import find_look, is_looking, start_look
from understudy.studio.plans import table_words
from understudy.studio.stored_books import load_book, tables_of
from understudy.studio.texts import texts
from understudy.studio.workspace import Dataset, OutsideRootError

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
    written_rules = [(name, rule) for name, part in parts.items() for rule in part.constraints]
    written_rules += [("", rule) for rule in getattr(book, "rules", ())]
    present = [
        {
            "words": rule.words(),
            "source": rule.attestation or rule.source,
            "open": rule.title in unsourced,
            "table": name,
            "title": rule.title,
        }
        for name, rule in written_rules
    ]
    path, data = own.shown(own.path("codebook.toml")), own.root.spelled(own.data)
    table, named = table_words(own)
    seen = look.seen or {}
    fixing = next((one["columns"] for one in seen.get("proposals", ()) if one["needs_map"]), None)
    mapped = () if fixing is None else _map_words(path, *fixing)
    proposed = next((one["id"] for one in seen.get("proposals", ()) if not one["needs_map"]), "ID")
    fitting = [pack["name"] for pack in seen.get("packs", ())][:1]
    removed = written.rule_lines(own, written_rules[0][0], 0) if written_rules else None
    same = Equivalent(
        commands=(
            f"understudy codebook rules {path} --data {quote_word(data)}{table}",
            f"understudy codebook rules {path} --data {quote_word(data)}{table} --accept {quote_word(proposed)} "
            "--by NAME --from SOURCE",
            *mapped[:1],
            *(f"understudy codebook rules {path} --pack {name}" for name in fitting),
        ),
        python=(
            "import understudy as us",
            f'us.rules("{path}", {data!r}{named}).proposals',
            f'us.rules("{path}", {data!r}{named}, accept=[{proposed!r}], by="NAME", source="SOURCE")',
            *mapped[1:],
            *(f'us.rules("{path}", packs=[{name!r}])' for name in fitting),
            *((_back_words(path, *written_rules[0]),) if written_rules else ()),
        ),
        files=() if removed is None else (removed,),
    )
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
        files=[own.root.relative(path) for path in own.root.row_files() if path.suffix.lower() == ".csv"],
        may_map=has_book,
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
    lacking = [name for name in ("by", "source") if not form[name]]
    if chosen and lacking:  # public packs name their own source
        raise FieldError(lacking[0], words["no_source"])
    maps = _maps(own, form, chosen)
    session_of(request).called = form["by"]
    if packs:  # public rules: no row is read
        with changing(own):
            rules(own.codebook, packs=packs)
    if chosen:
        mapped = {name for name, *_ in maps}
        given = {"accept": [name for name in chosen if name not in mapped], "maps": [one[1:] for one in maps]}
        start_look(own, "accepted", "rules", given={**given, "by": form["by"], "source": form["source"]})
    say(request, words["taken"].format(n=len(chosen) + len(packs)))
    return go(f"/d/{own.name}/codebook/rules")


@router.post("/d/{dataset}/codebook/rules/back")
def take_back(request: Request, dataset: str) -> Response:
    """Take one rule out again, whatever was changed since it was accepted."""
    from understudy.facade.book_edits import remove_rule

    own, form = dataset_of(request, dataset), form_of(request)
    check_number(own, form)
    with changing(own):
        remove_rule(own.codebook, form["rule"], table=form.get("table") or None)
    say(request, texts("codebook")["rules"]["taken_back"])
    return go(f"/d/{own.name}/codebook/rules")


def _back_words(book: str, table: str, rule: Any) -> str:
    """How the first rule is taken out; whoever takes its lines out of the codebook does as well."""
    named = f", table={table!r}" if table else ""
    return f'us.remove_rule("{book}", {rule.title!r}{named})'


def _maps(own: Dataset, form: Form, chosen: list[str]) -> list[tuple[str, str, str, str]]:
    """Chosen rules by which one column fixes another: id, the two columns, and the public table that says how.

    Without the table the map would be read from the data, and no release could promise anything any more.
    """
    words = texts("codebook")["rules"]
    found: list[tuple[str, str, str, str]] = []
    proposals = (find_look(own, "rules").seen or {}).get("proposals", ())
    if set(chosen) - {proposal["id"] for proposal in proposals}:
        raise StaleFormError(words["gone"])
    for proposal in proposals:
        name, needs = proposal["id"], proposal["needs_map"]
        if name not in chosen or not needs:
            continue
        field = f"map-{name}"
        if not (file := form[field]):
            raise FieldError(field, words["no_map"].format(words=proposal["words"]))
        try:
            place = own.root.path(file)
        except OutsideRootError as reason:
            raise FieldError(field, str(reason)) from None
        if not place.is_file():
            raise FieldError(field, texts("data")["new"]["no_file"].format(file=file[:200]))
        first, second = proposal["columns"]
        found.append((name, first, second, str(place)))
    return found


def _map_words(book: str, first: str, second: str) -> tuple[str, str]:
    """How the public table of the first such rule is named, by command and in Python."""
    pair = f"{first}={second}=TABLE.csv"
    return (
        f"understudy codebook rules {book} --map {quote_word(pair)} --by NAME --from SOURCE",
        f'us.rules("{book}", maps={{({first!r}, {second!r}): "TABLE.csv"}}, by="NAME", source="SOURCE")',
    )
