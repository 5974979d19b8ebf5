"""Screen 7, publish and account: the release as outsiders see it, approvals, passport, signature, and the ledger."""

from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import FileResponse, Response

from understudy.errors import ParameterError, UnderstudyError
from understudy.facade import editions, releases
from understudy.studio import approvals, publishing, released
from understudy.studio.drawings import account_bar, running_total
from understudy.studio.frame import Audience, Equivalent, dataset_of, fragment, go, page, plain_fault, say, stored_page
from understudy.studio.guard import form_of, session_of
from understudy.studio.jobs import JobState
from understudy.studio.packing import pack_of
from understudy.studio.released import FACE, Released
from understudy.studio.texts import texts
from understudy.studio.workspace import Dataset

router = APIRouter()


@router.get("/d/{dataset}/publish")
def show(request: Request, dataset: str) -> Response:
    """The account as a time line, and the releases."""
    own = dataset_of(request, dataset)
    same = Equivalent(
        commands=(
            f"understudy account show {own.shown(own.account)}",
            f"understudy account history {own.shown(own.account)}",
        ),
        python=("import understudy as us", f'us.Account.open("{own.shown(own.account)}").history()'),
    )
    return page(
        request,
        "publish",
        audience=Audience.DECISION,
        equivalent=same,
        dataset=own,
        releases=[_line(one) for one in released.all_releases(own)],
        needs_two=own.root.settings["approvals"] == 2,
        **_account(own),
    )


def _line(one: Released) -> dict[str, Any]:
    facts = one.manifest
    return {
        "name": one.name,
        "created": str(facts.get("created", "")),
        "method": str(facts.get("method", "")),
        "signed": one.is_signed,
        "lacking": approvals.missing(one),
        "approved": [approval.person for approval in approvals.approvals_of(one)],
    }


def _account(own: Dataset) -> dict[str, Any]:
    if not own.account.is_file():
        return {"summary": None}
    words, account = texts("publish"), releases.open_account(own.account)
    summary, charges = account.summary(), account.history()
    spent = float(summary["spent"].get("epsilon", 0.0))
    title = words["bar"].format(spent=f"{spent:.3g}", cap=f"{account.epsilon:g}")
    events = [
        {"when": summary["created"], "kind": "opened", "words": words["line"]["opened"], "price": "", "total": ""}
    ]
    for charge in charges:
        price, total = (", ".join(releases.spelled_price(one.to_dict())) for one in (charge.guarantee, charge.running))
        noted = "; ".join([charge.label, *charge.notices])
        events.append({"when": charge.when, "kind": charge.state.value, "words": noted, "price": price, "total": total})
    events += [
        {"when": look["when"], "kind": "looked", "words": look["what"], "price": "", "total": ""}
        for look in summary["looks"]
    ]
    counted = [float(getattr(one.running, "epsilon", 0.0)) for one in charges if one.state.value != "cancelled"]
    return {
        "summary": summary,
        "change": account.neighbours.plain,
        "bar": account_bar(cap=account.epsilon, before=spent, after=None, title=title),
        "bar_words": title,
        "stairs": running_total(counted, cap=account.epsilon, title=words["stairs"]) if len(counted) > 1 else "",
        "events": sorted(events, key=lambda event: event["when"]),
        "editions": _editions(own) if counted else [],
    }


def _editions(own: Dataset) -> list[str]:
    try:
        return list(editions.forecast_editions(own.account).lines())
    except UnderstudyError as reason:
        return [plain_fault(reason)]


@router.get("/d/{dataset}/publish/{release}")
def show_release(request: Request, dataset: str, release: str) -> Response:
    """One release, as outsiders will see it."""
    own = dataset_of(request, dataset)
    chosen = released.find_release(own, release)
    person = session_of(request).person
    given = approvals.approvals_of(chosen)
    needs_two = own.root.settings["approvals"] == 2
    told = (texts("published")["approve"]["no_command"],) if needs_two else ()
    return page(
        request,
        "published",
        audience=Audience.DECISION,
        equivalent=Equivalent(
            commands=(*told, *publishing.commands_of(chosen, "sign")),
            python=(*told, *publishing.python_of(chosen, "sign")),
        ),
        dataset=own,
        step="publish",
        release=chosen,
        files=sorted(place.name for place in chosen.folder.iterdir() if not place.name.startswith(".")),
        has_face=(chosen.folder / FACE).is_file(),
        approvals=given,
        shown=chosen.stamp if needs_two else "",
        needs_two=needs_two,
        may_approve=bool(person) and person not in {one.person for one in given},
        **_check(chosen),
        **_taking(chosen),
    )


@router.get("/d/{dataset}/publish/{release}/checked")
def checked(request: Request, dataset: str, release: str) -> Response:
    """How the check stands: asked for again and again while it runs."""
    own = dataset_of(request, dataset)
    return _check_part(request, own, released.find_release(own, release))


@router.post("/d/{dataset}/publish/{release}/check")
def check(request: Request, dataset: str, release: str) -> Response:
    """Check it, once; the screen asks for this itself, and a person where an earlier check did not come to an end."""
    own = dataset_of(request, dataset)
    chosen = released.find_release(own, release)
    publishing.start_check(chosen, by=session_of(request).person)
    if "hx-request" in request.headers:
        return _check_part(request, own, chosen)
    return go(f"/d/{own.name}/publish/{release}")


def _check_part(request: Request, own: Dataset, chosen: Released) -> Response:
    return fragment(request, "checked.html", "published", dataset=own, release=chosen, **_check(chosen))


def _check(chosen: Released) -> dict[str, Any]:
    """The check of the release as it is now, if somebody has asked for it."""
    job = publishing.check_of(chosen)
    if job is None:
        return {"check": None, "check_state": "none", "verdict": {}}
    return {"check": job, "check_state": job.state.value, "verdict": job.result.get("told", {})}


@router.get("/d/{dataset}/publish/{release}/page")
def face(request: Request, dataset: str, release: str) -> Response:
    """Its `index.html`, in an origin of its own."""
    chosen = released.find_release(dataset_of(request, dataset), release)
    if not chosen.file(FACE).is_file():
        raise ParameterError(texts("published")["no_face"])
    return stored_page(chosen.file(FACE))


@router.post("/d/{dataset}/publish/{release}/approve")
def approve(request: Request, dataset: str, release: str) -> Response:
    """The approval of the person who is signed in."""
    own = dataset_of(request, dataset)
    person, chosen = session_of(request).person, released.find_release(own, release)
    shown = chosen.stamp
    if form_of(request).get("shown", shown) != shown:
        raise ParameterError(texts("published")["approve"]["changed"])
    approvals.approve(chosen, person)
    say(request, texts("publish")["approved"].format(person=person))
    return go(f"/d/{own.name}/publish/{release}")


@router.post("/d/{dataset}/publish/{release}/sign")
def sign(request: Request, dataset: str, release: str) -> Response:
    """Write the passport, sign and pack; the pair of keys is made on first use."""
    return _hand_out(request, dataset, release, "sign")


@router.post("/d/{dataset}/publish/{release}/pack")
def pack(request: Request, dataset: str, release: str) -> Response:
    """Pack what may leave the house."""
    return _hand_out(request, dataset, release, "pack")


def _hand_out(request: Request, dataset: str, release: str, kind: str) -> Response:
    own = dataset_of(request, dataset)
    chosen = released.find_release(own, release)
    approvals.check_approved(chosen)
    publishing.start_handing_out(chosen, kind, by=session_of(request).person)
    return go(f"/d/{own.name}/publish/{release}#take")


@router.get("/d/{dataset}/publish/{release}/taking")
def taking(request: Request, dataset: str, release: str) -> Response:
    """How signing and packing stand, asked for while they run; then the whole screen is loaded anew."""
    own = dataset_of(request, dataset)
    chosen = released.find_release(own, release)
    values = _taking(chosen)
    answer = fragment(request, "taking.html", "published", dataset=own, release=chosen, **values)
    if values["taking_state"] != JobState.RUNNING and "hx-request" in request.headers:
        answer.headers["HX-Refresh"] = "true"
    return answer


def _taking(chosen: Released) -> dict[str, Any]:
    job = publishing.handing_out(chosen)
    packed = pack_of(chosen)
    return {
        "taking": job,
        "taking_state": "" if job is None else job.state.value,
        "taken": {} if job is None else job.result.get("told", {}),
        "fault": "" if job is None else job.result.get("sentence", ""),
        "packed": packed.stat().st_size if packed.is_file() else None,
        "lacking": approvals.missing(chosen),
    }


@router.get("/d/{dataset}/publish/{release}/zip")
def zipped(request: Request, dataset: str, release: str) -> Response:
    """The whole folder in one file, packed before: what may leave the house."""
    own = dataset_of(request, dataset)
    chosen = released.find_release(own, release)
    approvals.check_approved(chosen)
    packed = pack_of(chosen)
    if not packed.is_file():
        raise ParameterError(texts("published")["not_packed"])
    return FileResponse(
        packed,
        filename=f"{own.name}-{chosen.name}.zip",
        media_type="application/zip",
        headers={"X-Understudy-Audience": Audience.PUBLIC.value},
    )
