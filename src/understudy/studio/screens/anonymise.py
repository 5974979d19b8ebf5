"""A guided way to an anonymised table: name what an intruder may know, weigh candidates, make one."""

import shlex
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from understudy.errors import ParameterError
from understudy.facade import anonymity
from understudy.studio import jobs, lots, plans, released
from understudy.studio.books import is_dropped
from understudy.studio.frame import Audience, Equivalent, dataset_of, go, page
from understudy.studio.guard import Form, form_of, session_of
from understudy.studio.stored_books import is_linked, one_book
from understudy.studio.texts import texts
from understudy.studio.workspace import Dataset, private_folder

if TYPE_CHECKING:
    from understudy.codebook.columns import Column

router = APIRouter()
FILE = "candidates.json"
SUPPRESSIONS = (0.0, 0.01, 0.05, 0.1)


@router.get("/d/{dataset}/anonymise")
def show(request: Request, dataset: str) -> Response:
    """Columns, candidates and the button."""
    own = dataset_of(request, dataset)
    linked = is_linked(own)
    columns = [] if linked else [(one.name, one.role.value) for one in _modelled(own)]
    weighed = _weighed(own)
    ticked = weighed.get("quasi") or [name for name, role in columns if role == "quasi-identifier"]
    return page(
        request,
        "anonymise",
        audience=Audience.CONFIDENTIAL,
        equivalent=_both(own, ticked),
        dataset=own,
        linked=linked,
        columns=[(name, role, name in ticked) for name, role in columns],
        candidates=weighed.get("candidates", []),
        quasi=ticked,
        suppressions=SUPPRESSIONS,
        nonce=_number(own),
        has_account=own.account.is_file(),
    )


def _modelled(own: Dataset) -> "list[Column]":
    """Columns that a release can hold: an intruder finds nobody by what is left out."""
    return [one for one in one_book(own).columns if not is_dropped(one)]


def _weighed(own: Dataset) -> dict[str, Any]:
    """What was weighed last; nothing where the codebook has changed since."""
    place = own.path(".looks", FILE)
    if not place.is_file() or place.stat().st_mtime < own.codebook.stat().st_mtime:
        return {}
    try:
        quasi, candidates = anonymity.read_weighed(place)
    except ParameterError:  # damaged: as if nothing had been weighed
        return {}
    return {"quasi": quasi, "candidates": candidates}


def _number(own: Dataset) -> str:
    known = jobs.all_jobs(own.root.folder, about=own.name, kinds=("candidates", "anonymize"))
    tried = sorted(job.nonce for job in known)
    return plans.form_number("anonymise", own.codebook.read_bytes(), tried)


def _chosen(own: Dataset, form: Form) -> list[str]:
    known = {one.name for one in _modelled(own)}
    names = [name for name in form.all("quasi") if name in known]
    if not names:
        raise ParameterError(texts("anonymise")["no_columns"])
    return names


def _start(request: Request, own: Dataset, kind: str, arguments: dict[str, Any], same: Equivalent) -> Response:
    nonce = form_of(request).get("nonce")
    if jobs.find(own.root.folder, nonce) is None and nonce != _number(own):
        raise ParameterError(texts("anonymise")["changed"])
    source = {"data": plans.data_words(own), "book": own.shown(own.codebook)}
    more = {"table": own.table} if own.table else {}
    job, _ = jobs.start(
        own.root.folder,
        nonce,
        kind=kind,
        arguments={**source, **more, **arguments},
        about=own.name,
        by=session_of(request).person,
        commands=same.commands,
        python=same.python,
    )
    return go(f"/d/{own.name}/job/{job.nonce}")


@router.post("/d/{dataset}/anonymise/weigh")
def weigh(request: Request, dataset: str) -> Response:
    """Try several demands on the table; the account remembers the look."""
    own, form = dataset_of(request, dataset), form_of(request)
    quasi, k = _chosen(own, form), plans.read_whole(form.get("k"), "k")
    place = private_folder(own.looks) / FILE
    asked: dict[str, Any] = {
        "k": k,
        "suppression": plans.read_number(form.get("suppression"), "suppression"),
        "quasi": quasi,
        "out": own.shown(place),
    }
    if own.account.is_file():
        asked["account"] = own.shown(own.account)
    return _start(request, own, "candidates", asked, _weighing(own, k, asked["suppression"], quasi))


@router.post("/d/{dataset}/anonymise")
def make(request: Request, dataset: str) -> Response:
    """Make the chosen one."""
    own, form = dataset_of(request, dataset), form_of(request)
    if jobs.find(own.root.folder, form.get("nonce")) is None and jobs.releasing(own.root.folder, own.name):
        raise ParameterError(texts("release")["one_at_a_time"])
    lots.refuse_while_drawing(own)
    quasi, name = _chosen(own, form), released.next_name(own)
    way: dict[str, Any] = {"k": plans.read_whole(form.get("k"), "k")}
    if form.get("mondrian"):
        way["mondrian"] = True
    else:
        way["suppression"] = plans.read_number(form.get("suppression"), "suppression")
    private_folder(own.releases)
    private_folder(own.reports)
    asked = {
        **way,
        "quasi": quasi,
        "out": own.shown(own.releases / name),
        "page": own.shown(own.reports / f"{name}.html"),
        **({"account": own.shown(own.account)} if own.account.is_file() else {}),
    }
    return _start(request, own, "anonymize", asked, _equivalent(own, way, quasi, name))


def _both(own: Dataset, quasi: list[str]) -> Equivalent:
    """What the screen offers as it stands: to weigh, and to make the next one."""
    k, suppression = 5, 0.05
    weighing = _weighing(own, k, suppression, quasi)
    making = _equivalent(own, {"k": k, "suppression": suppression}, quasi, released.next_name(own))
    return Equivalent(commands=(*weighing.commands, *making.commands), python=(*weighing.python, *making.python[1:]))


def _weighing(own: Dataset, k: int, suppression: float, quasi: list[str]) -> Equivalent:
    """Several demands at once; the figures lie where this screen finds them."""
    data, book = plans.source_words(own)
    table, named = plans.table_words(own)
    account, paid = _account_words(own)
    place, ticked = own.shown(own.path(".looks", FILE)), shlex.quote(",".join(quasi) or "COLUMNS")
    return Equivalent(
        commands=(
            *plans.making(own, own.looks),
            f"understudy anonymize weigh {data} -c {book}{table} --k {k} --suppression {suppression:g} "
            f"--quasi {ticked}{account} -o {place}",
        ),
        python=(
            "import understudy as us",
            f'us.weigh_anonymity({plans.data_words(own)!r}, "{own.shown(own.codebook)}", k={k}, '
            f'suppression={suppression:g}{named}, quasi={quasi or ["COLUMNS"]!r}, out="{place}"{paid})',
        ),
    )


def _account_words(own: Dataset) -> tuple[str, str]:
    if not own.account.is_file():
        return "", ""
    return f" --account {own.shown(own.account)}", f', account="{own.shown(own.account)}"'


def _equivalent(own: Dataset, way: dict[str, Any], quasi: list[str], name: str) -> Equivalent:
    data, book = plans.source_words(own)
    table, named = plans.table_words(own)
    folder, report = own.shown(own.releases / name), own.shown(own.reports / f"{name}.html")
    how = "--mondrian" if way.get("mondrian") else f"--suppression {way['suppression']:g}"
    words = "mondrian=True" if way.get("mondrian") else f"suppression={way['suppression']:g}"
    known = ",".join(quasi) or "COLUMNS"
    ticked = shlex.quote(known)
    account, paid = _account_words(own)
    source = f'{plans.data_words(own)!r}, "{own.shown(own.codebook)}"'
    return Equivalent(
        commands=(
            *plans.making(own, own.releases, own.reports),
            f"understudy anonymize run {data} -c {book}{table} --quasi {ticked} --k {way['k']} {how} -o {folder}",
            f"understudy anonymize report {data} {folder} -c {book}{table} -o {report}{account}",
        ),
        python=(
            "import understudy as us",
            f'us.anonymize({source}, k={way["k"]}, {words}{named}, quasi={quasi or [known]!r}, out="{folder}")',
            f'us.report_anonymity({plans.data_words(own)!r}, "{folder}", "{own.shown(own.codebook)}", '
            f'"{report}"{named}{paid})',
        ),
    )
