"""Screen 4, budget and quote: one epsilon, what it promises, what it costs and what it buys. Reads no row."""

import math
import shlex
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from understudy.errors import ParameterError, UnderstudyError
from understudy.facade import forecasts, outlooks, releases
from understudy.studio import plans, written
from understudy.studio.drawings import account_figures, spans
from understudy.studio.forms import FieldError
from understudy.studio.frame import Audience, Equivalent, dataset_of, fragment, go, page, plain_fault, refuse, say
from understudy.studio.guard import form_of
from understudy.studio.plans import Offer, Plan
from understudy.studio.stored_books import is_linked, one_book
from understudy.studio.texts import texts
from understudy.studio.workspace import Dataset

router = APIRouter()
BELIEFS = (0.01, 0.1, 0.5)
"""How sure somebody may have been before, for the odds in words."""
_NAMED = ("error", "first", "second")
"""Of an address: the error that was named, and the table that it is about."""
_BOARD_LIMIT = 0.03
"""The public default of `share_error`."""


@router.get("/d/{dataset}/quote")
def show(request: Request, dataset: str) -> Response:
    """The controls, and the price of where they stand."""
    own = dataset_of(request, dataset)
    try:
        plans.saved_plan(own)
    except ParameterError as reason:
        say(request, plain_fault(reason), is_problem=True)
    try:
        plan = plans.asked_plan(own, request.query_params)
    except FieldError as reason:
        refuse(request, reason)
        plan = plans.asked_plan(own, {})
    return page(
        request,
        "quote",
        audience=Audience.DECISION,
        equivalent=_equivalent(own, plan, _named_error(request.query_params)),
        dataset=own,
        plan=plan,
        methods=plans.offered_methods(),
        people=plans.people_reason(own),
        deltas=plans.DELTAS,
        ends=(plans.LEAST_EPSILON, plans.MOST_EPSILON, plans.STEP),
        named=_named_error(request.query_params),
        columns=[] if is_linked(own) else list(one_book(own).names),
        **_shown(own, plan),
    )


@router.get("/d/{dataset}/quote/price")
def price(request: Request, dataset: str) -> Response:
    """The same price as a part of the screen, while the controls move."""
    own = dataset_of(request, dataset)
    try:
        plan = plans.asked_plan(own, request.query_params)
    except UnderstudyError as reason:
        return fragment(request, "price.html", "quote", dataset=own, fault=plain_fault(reason), plan=None)
    shown = _shown(own, plan)
    shown["is_moving"] = True
    if shown["fault"]:
        answer = fragment(request, "price.html", "quote", dataset=own, plan=plan, **shown)
    else:
        same = _equivalent(own, plan, {})
        answer = fragment(request, "price_part.html", "quote", dataset=own, plan=plan, equivalent=same, **shown)
    answer.headers["HX-Replace-Url"] = f"/d/{own.name}/quote?{plan.words()}"
    return answer


@router.get("/d/{dataset}/quote/error")
def find_epsilon(request: Request, dataset: str) -> Response:
    """Name the error, get the epsilon: the controls go there."""
    own = dataset_of(request, dataset)
    plan = plans.asked_plan(own, request.query_params)
    try:
        error, epsilon = _found(own, plan, request.query_params)
    except UnderstudyError as reason:
        refuse(request, reason)
        return go(f"/d/{own.name}/quote?{plan.words()}")
    say(request, texts("quote")["found"].format(error=f"{error:g}", epsilon=f"{epsilon:.2f}"))
    named = {name: words for name in _NAMED if (words := request.query_params.get(name))}
    return go(f"/d/{own.name}/quote?{plans.replaced(plan, epsilon=round(epsilon, 2)).words()}&{urlencode(named)}")


def _found(own: Dataset, plan: Plan, asked: Mapping[str, str]) -> tuple[float, float]:
    """The error that was named, and the smallest epsilon of the slider that reaches it."""
    words = texts("quote")
    if is_linked(own):
        raise ParameterError(words["no_forecast_linked"])
    try:
        error = float(asked.get("error") or "")
    except ValueError:
        raise FieldError("error", words["no_error"]) from None
    options = {name: value for name, value in plan.options.items() if name != "epsilon"}
    first, second = asked.get("first", ""), asked.get("second", "")
    if bool(first) != bool(second) or (first and first == second):
        raise FieldError("second" if first else "first", words["no_pair"])
    wanted = f"{first} by {second}" if first else None
    found = forecasts.forecast(
        one_book(own), plan.rows_about, plan.method, error=error, wanted=wanted, **options
    ).epsilon
    if found is None or found > plans.MOST_EPSILON:
        raise FieldError("error", words["too_much"].format(most=f"{plans.MOST_EPSILON:g}"))
    return error, max(plans.LEAST_EPSILON, math.ceil(found / plans.STEP - 1e-9) * plans.STEP)


@router.post("/d/{dataset}/quote/account")
def open_account(request: Request, dataset: str) -> Response:
    """Open the account of the data set, with a cap that never changes."""
    own, form = dataset_of(request, dataset), form_of(request)
    plan = plans.asked_plan(own, request.query_params)
    if lacking := [name for name in ("epsilon", "delta") if not form.get(name)]:
        raise FieldError(lacking[0], texts("quote")["no_cap"].format(what=lacking[0]))
    numbers = {name: plans.read_number(form.get(name), name) for name in ("epsilon", "delta")}
    relation, composition = form.get("neighbours"), form.get("composition", "basic")
    releases.create_account(own.account, dataset=own.title, neighbours=relation, composition=composition, **numbers)
    say(request, texts("quote")["opened"].format(epsilon=f"{numbers['epsilon']:g}"))
    return go(f"/d/{own.name}/quote?{plan.words()}")


@router.post("/d/{dataset}/quote")
def keep(request: Request, dataset: str) -> Response:
    """Keep the plan: from here on it is fixed in the account."""
    own, form = dataset_of(request, dataset), form_of(request)
    plan = plans.asked_plan(own, dict(form.pairs))
    plans.keep(own, plan)
    say(request, texts("quote")["kept"].format(file=own.shown(own.path(plans.RECIPE))))
    return go(f"/d/{own.name}/release")


def _shown(own: Dataset, plan: Plan) -> dict[str, Any]:
    """What the part with the price needs, and the reasons of methods, which follow the same controls."""
    reasons = plans.reasons(own, plan)
    try:
        made = plans.offer(own, plan)
    except UnderstudyError as reason:
        return {"fault": plain_fault(reason), "linked": is_linked(own), "reasons": reasons}
    words = texts("quote")
    quote, account, forecast = made.quote, made.account, made.quote.forecast
    beliefs = [(before, after) for before in BELIEFS if (after := outlooks.belief_after(quote.total, before))]
    shown: dict[str, Any] = {
        "fault": "",
        "linked": is_linked(own),
        "reasons": reasons,
        "offer": made,
        "odds": outlooks.odds(quote.total, whose=words["person" if made.is_about_people else "record"]),
        "beliefs": beliefs,
        "entries": [(one.stage, one.reads, releases.spelled_promise(one.guarantee)) for one in quote.ledger.entries],
        "forecast": forecast,
        "outlook": [] if forecast is None else [line.removeprefix("- ") for line in forecast.lines()[1:]],
        "errors": _error_spans(made),
    }
    return shown | account_figures(account, words["bar"])


def _error_spans(made: Offer) -> Any:
    words, forecast = texts("quote"), made.quote.forecast
    if forecast is None:
        return None
    named = [(words["one_way"], forecast.one_way), (words["two_way"], forecast.two_way)]
    named.append((words["interval"], forecast.share_noise))
    known = [(name, span.low, span.high) for name, span in named if span is not None]
    return spans(known, limit=_BOARD_LIMIT, limit_words=words["limit"], title=words["spans"]) if known else None


def _named_error(asked: Mapping[str, str]) -> dict[str, str]:
    """What was named before, to be shown in the form again: nothing where it is no number."""
    named = {name: asked.get(name, "") for name in _NAMED}
    try:
        float(named["error"])
    except ValueError:
        return {**named, "error": ""}
    return named


def _equivalent(own: Dataset, plan: Plan, named: Mapping[str, str]) -> Equivalent:
    """The price; before it the account where there is none yet, and after it the error that was named."""
    data, book = plans.source_words(own)
    there, place = own.account.is_file(), own.shown(own.account)
    account, paid = (f" --account {place}", f', account="{place}"') if there else ("", "")
    about, guess = (
        ("", "") if is_linked(own) else (f" --rows-about {plan.rows_about}", f", rows_about={plan.rows_about}")
    )
    opened, opening = ((), ()) if there else _account_words(own, plan)
    recipe = (own.shown(own.path(plans.RECIPE)), plan.recipe())
    files = (recipe, written.declared_lines(own, rows_about=str(plan.rows_about)))
    found, finding = ((), ()) if is_linked(own) or not named.get("error") else _error_words(own, plan, named)
    return Equivalent(
        commands=(*opened, f"understudy quote {data} -c {book} {plan.flags()}{about}{account}", *found),
        python=(
            "import understudy as us",
            *opening,
            f'quote = us.quote("{own.shown(own.codebook)}", {plan.keywords()}{guess}{paid})',
            "quote.total, quote.statement, quote.forecast",
            *finding,
            *written.in_python(*files),
        ),
        files=files,
    )


def _account_words(own: Dataset, plan: Plan) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """How the account is opened; for its cap stands a word in capitals, because nobody but the holder chooses it."""
    try:
        relation = plans.offer(own, plan).relation
    except UnderstudyError:  # there is no price yet, and the screen says why
        return (), ()
    place, title = own.shown(own.account), own.title
    cap = f"--epsilon CAP --delta CAP_DELTA --neighbours {relation}"
    return (
        (f"understudy account create {place} --dataset {shlex.quote(title)} {cap}",),
        (
            f'us.Account.create("{place}", dataset={title!r}, epsilon=CAP, delta=CAP_DELTA, '
            f'neighbours=us.Neighbours("{relation}"))',
        ),
    )


def _error_words(own: Dataset, plan: Plan, named: Mapping[str, str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """How the smallest epsilon for an error is found."""
    searched = plans.replaced(plan, epsilon=None)
    options = "".join(f", {name}={value}" for name, value in searched.options.items())
    pair = f"{named['first']} by {named['second']}" if named["first"] and named["second"] else ""
    wanted, about = (f" --for {shlex.quote(pair)}", f", wanted={pair!r}") if pair else ("", "")
    flags = searched.flags().rpartition("--rows ")[0]
    return (
        (
            f"understudy forecast -c {shlex.quote(own.shown(own.codebook))} {flags}--rows-about {plan.rows_about} "
            f"--error {named['error']}{wanted}",
        ),
        (
            f'us.forecast("{own.shown(own.codebook)}", {plan.rows_about}, {plan.method!r}, error={named["error"]}'
            f"{about}{options}).epsilon",
        ),
    )
