"""Screen 4, budget and quote: one epsilon, what it promises, what it costs and what it buys. Reads no row."""

import math
from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from understudy.errors import ParameterError, UnderstudyError
from understudy.facade import forecasts, outlooks, releases
from understudy.studio import plans
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
        equivalent=_equivalent(own, plan),
        dataset=own,
        plan=plan,
        methods=plans.offered_methods(),
        deltas=plans.DELTAS,
        ends=(plans.LEAST_EPSILON, plans.MOST_EPSILON, plans.STEP),
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
    answer = fragment(request, "price.html", "quote", dataset=own, plan=plan, **_shown(own, plan))
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
    return go(f"/d/{own.name}/quote?{plans.replaced(plan, epsilon=round(epsilon, 2)).words()}")


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
    """What the part with the price needs."""
    try:
        made = plans.offer(own, plan)
    except UnderstudyError as reason:
        return {"fault": plain_fault(reason)}
    words = texts("quote")
    quote, account, forecast = made.quote, made.account, made.quote.forecast
    beliefs = [(before, after) for before in BELIEFS if (after := outlooks.belief_after(quote.total, before))]
    shown: dict[str, Any] = {
        "fault": "",
        "linked": is_linked(own),
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


def _equivalent(own: Dataset, plan: Plan) -> Equivalent:
    data, book = plans.source_words(own)
    account = f" --account {own.shown(own.account)}" if own.account.is_file() else ""
    about = "" if is_linked(own) else f" --rows-about {plan.rows_about}"
    paid = f', account="{own.shown(own.account)}"' if own.account.is_file() else ""
    guess = "" if is_linked(own) else f", rows_about={plan.rows_about}"
    return Equivalent(
        commands=(f"understudy quote {data} -c {book} {plan.flags()}{about}{account}",),
        python=(
            "import understudy as us",
            f'quote = us.quote("{own.shown(own.codebook)}", {plan.keywords()}{guess}{paid})',
            "quote.total, quote.statement, quote.forecast",
        ),
    )
