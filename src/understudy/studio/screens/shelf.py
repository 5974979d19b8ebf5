"""Screen 1, the shelf: data sets below the root, their accounts, releases and attestations."""

from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from understudy.errors import UnderstudyError
from understudy.studio.approvals import missing
from understudy.studio.books import Progress, progress_of
from understudy.studio.example import EXAMPLE, make_example
from understudy.studio.frame import Audience, Equivalent, go, page, root_of, say
from understudy.studio.released import Released, all_releases
from understudy.studio.stored_books import is_linked, load_book
from understudy.studio.texts import texts
from understudy.studio.workspace import Dataset, Root

router = APIRouter()
_WIDTH = 300


@dataclass(frozen=True, kw_only=True)
class Card:
    """One data set on the shelf."""

    own: Dataset
    progress: Progress
    budget: dict[str, Any] | None
    """Cap and spending of its account; None where there is none yet."""
    bar: float
    """Width of the spent part of the bar."""
    releases: list[Any]
    attested: list[Any]
    problem: str = ""

    @property
    def next(self) -> str:
        """The screen to go on with."""
        return "publish" if self.releases and self.progress.state == "ready" else self.progress.next


@router.get("/")
def show(request: Request) -> Response:
    """Every data set of the root."""
    root = root_of(request)
    cards = [card_of(own, root) for own in root.datasets()]
    same = _same([card.own for card in cards if not card.problem])
    taken = {card.own.name for card in cards}
    return page(
        request,
        "shelf",
        audience=Audience.DECISION,
        equivalent=same,
        cards=cards,
        has_example=EXAMPLE in taken,
        screens=request.app.state.screens,
        width=_WIDTH,
    )


@router.post("/example")
def example(request: Request) -> Response:
    """Make the example, whose patients are simulated."""
    own = make_example(root_of(request))
    say(request, texts("shelf")["example_made"])
    return go(f"/d/{own.name}/codebook")


def card_of(own: Dataset, root: Root) -> Card:
    """What the files of one data set say; a broken file costs its card, not the shelf."""
    from understudy.facade.releases import open_account
    from understudy.facade.shelves import attestations

    try:
        own.declared  # noqa: B018 - whoever broke it is told here
        budget = open_account(own.account).summary() if own.account.is_file() else None
        releases = [_line(one) for one in reversed(all_releases(own))]
        attested = list(attestations(load_book(own))) if own.codebook.is_file() else []
        progress = progress_of(own)
    except (UnderstudyError, OSError) as reason:
        empty = Progress(state="broken", reviewed=0, attested=0, columns=0)
        return Card(own=own, progress=empty, budget=None, bar=0, releases=[], attested=[], problem=str(reason))
    return Card(own=own, progress=progress, budget=budget, bar=_bar(budget), releases=releases, attested=attested)


def _line(one: Released) -> dict[str, Any]:
    """A release and where it stands: in the house it is not out before it is approved and signed."""
    from understudy.facade.shelves import glance_at_release

    glance = glance_at_release(one.folder)
    lacking, status = missing(one), glance.status
    if status == "out":
        status = "waits" if lacking else "signed" if one.is_signed else "unsigned"
    return {"glance": glance, "status": status, "lacking": lacking}


def _bar(budget: dict[str, Any] | None) -> float:
    if budget is None:
        return 0.0
    spent, cap = budget["spent"].get("epsilon", 0.0), budget["cap"]["epsilon"]
    return round(float(_WIDTH * min(1.0, spent / cap)), 1)


def _same(owned: list[Dataset]) -> Equivalent:
    """The same about every data set that has files to show; on an empty shelf, the example."""
    if not owned:
        made = (f"understudy example -o {EXAMPLE}",), ("import understudy as us", f'us.example_patients("{EXAMPLE}")')
        return Equivalent(commands=made[0], python=made[1])
    commands, python = [], ["import understudy as us"]
    for own in owned:
        account, book = own.path(f"{own.name}.account"), own.path("codebook.toml")
        if account.is_file():
            commands.append(f"understudy account show {own.shown(account)}")
            python.append(f'us.Account.open("{own.shown(account)}").summary()')
        if book.is_file():
            commands.append(f"understudy codebook show {own.shown(book)}")
            python.append(f'us.{"LinkedCodebook" if is_linked(own) else "Codebook"}.load("{own.shown(book)}")')
        for one in reversed(all_releases(own)):
            commands.append(f"understudy verify {own.shown(one.folder)}")
            python.append(f'us.verify("{own.shown(one.folder)}").is_valid')
    return Equivalent(commands=commands or ["understudy studio --root ."], python=python)
