"""Screen 5, release: recipe and price, a typed confirmation, and one charge however often the button is pressed."""

from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from understudy.errors import ParameterError, UnderstudyError
from understudy.facade import outlooks, releases
from understudy.studio import jobs, lots, plans, released
from understudy.studio.drawings import account_figures
from understudy.studio.forms import FieldError
from understudy.studio.frame import Audience, Equivalent, dataset_of, go, page, plain_fault, root_of, say
from understudy.studio.guard import form_of, session_of
from understudy.studio.plans import Plan
from understudy.studio.stored_books import table_of
from understudy.studio.texts import texts
from understudy.studio.workspace import Dataset, private_folder

router = APIRouter()
FORMATS = ("csv", "xlsx", "sav", "dta")


@router.get("/d/{dataset}/release")
def show(request: Request, dataset: str) -> Response:
    """The plan that was kept, its price, and the button that pays."""
    own = dataset_of(request, dataset)
    try:
        plan, fault = plans.saved_plan(own), ""
    except ParameterError as reason:  # a recipe from elsewhere
        plan, fault = None, plain_fault(reason)
    known = jobs.all_jobs(root_of(request).folder, about=own.name, kinds=jobs.RELEASING)
    values: dict[str, Any] = {
        "plan": plan,
        "fault": fault,
        "jobs": [
            {
                "job": job,
                "state": job.state.value if job.is_readable else "damaged",
                "when": job.request.get("when", ""),
                "by": job.request.get("by", ""),
            }
            for job in known
        ],
        "running": jobs.releasing(root_of(request).folder, own.name),
        "folder": own.shown(own.releases / released.next_name(own)),
        "formats": FORMATS,
        "releases": released.all_releases(own),
    }
    if plan is not None:
        values |= _priced(own, plan)
    same = _equivalent(own, plans.asked_plan(own, {}), values["folder"], ())
    has_holdout = own.holdout is not None
    return page(
        request,
        "release",
        audience=Audience.DECISION,
        equivalent=same,
        dataset=own,
        has_holdout=has_holdout,
        **values,
    )


def _priced(own: Dataset, plan: Plan) -> dict[str, Any]:
    try:
        made = plans.offer(own, plan)
    except UnderstudyError as reason:
        return {"fault": plain_fault(reason)}
    words, account = texts("quote"), made.account
    shown: dict[str, Any] = {
        "offer": made,
        "odds": outlooks.odds(made.quote.total, whose=words["person" if made.is_about_people else "record"]),
        "price": releases.spelled_promise(made.quote.total),
        "nonce": form_number(own),
    }
    return shown | account_figures(account, words["bar"])


def form_number(own: Dataset) -> str:
    """The number of the form: of the account, the plan, the codebook and the data as they are shown.

    Two tabs that show the same have the same number, and start one job. Once anything was charged, tried or changed,
    an old tab has a number that no longer holds.
    """
    account = releases.open_account(own.account) if own.account.is_file() else None
    tried = sorted(job.nonce for job in jobs.all_jobs(own.root.folder, about=own.name, kinds=("synthesize",)))
    return plans.form_number(
        "release",
        None if account is None else (account.identity, len(account.history())),
        own.path(plans.RECIPE).read_bytes(),
        own.codebook.read_bytes(),
        plans.data_facts(own),
        tried,
    )


@router.post("/d/{dataset}/release")
def pay(request: Request, dataset: str) -> Response:
    """Start the release, once."""
    own, form, words = dataset_of(request, dataset), form_of(request), texts("release")
    lots.refuse_while_drawing(own)  # before anything is read of the data set, which a lot changes
    nonce, plan = form.get("nonce"), plans.saved_plan(own)
    # read before anybody is looked for: work of this form that begins meanwhile is found, or refuses a second start
    running = jobs.releasing(own.root.folder, own.name)
    number = None if plan is None else form_number(own)
    if jobs.find(own.root.folder, nonce) is not None:  # the other tab was quicker
        say(request, words["once"])
        return go(f"/d/{own.name}/job/{nonce}")
    if running is not None:
        raise ParameterError(words["one_at_a_time"])
    if plan is None or nonce != number:
        raise ParameterError(words["changed"])
    if form.get("confirm") != own.name:
        raise FieldError("confirm", words["confirm_wrong"].format(name=own.name, typed=form.get("confirm")[:60]))
    if not own.account.is_file():
        raise ParameterError(words["no_account"])
    formats = [name for name in form.all("format") if name in FORMATS]
    folder = own.shown(own.releases / released.next_name(own))
    same = _equivalent(own, plan, folder, formats)
    private_folder(own.releases)
    arguments = {
        "data": plans.data_words(own),
        "book": own.shown(own.codebook),
        "rows": plan.rows,
        "method": plan.method,
        "out": folder,
        "formats": formats,
        "account": own.shown(own.account),
        **({"table": table} if (table := table_of(own)) else {}),
        **plan.options,
    }
    job, is_new = jobs.start(
        own.root.folder,
        nonce,
        kind="synthesize",
        arguments=arguments,
        about=own.name,
        by=session_of(request).person,
        commands=same.commands,
        python=same.python,
    )
    if not is_new:
        say(request, words["once"])
    return go(f"/d/{own.name}/job/{job.nonce}")


def _equivalent(own: Dataset, plan: Plan, folder: str, formats: Any) -> Equivalent:
    data, book = plans.source_words(own)
    table, named = plans.table_words(own)
    flags = "".join(f" --format {name}" for name in formats)
    account = f" --account {own.shown(own.account)}" if own.account.is_file() else ""
    paid = f', account="{own.shown(own.account)}"' if own.account.is_file() else ""
    written = f", formats={list(formats)!r}" if formats else ""
    return Equivalent(
        commands=(
            *plans.making(own, own.releases),
            f"understudy synth {data} -c {book} {plan.flags()}{table}{account}{flags} -o {folder}",
            f"understudy verify {folder}",
        ),
        python=(
            "import understudy as us",
            f'us.synthesize({plans.data_words(own)!r}, "{own.shown(own.codebook)}", {plan.keywords()}{named}, '
            f'out="{folder}"{written}{paid})',
            f'us.verify("{folder}")',
        ),
    )
