"""People kept back by lot: whether they still can be, and the data set that is left.

::

    NAME/for-releases.parquet      the data from then on
    NAME/kept-back.parquet         for reports alone
"""

from collections.abc import Iterator
from itertools import count
from pathlib import Path

from understudy.errors import ParameterError, UnderstudyError
from understudy.facade import releases
from understudy.studio import jobs, written
from understudy.studio.looks import find_look
from understudy.studio.stored_books import is_linked, table_of
from understudy.studio.texts import texts
from understudy.studio.workspace import Dataset

LOOK = "divided"
REST, HELD = "for-releases", "kept-back"
SHARE = 0.2
"""What the form says at first; a person presses the button."""


def obstacle(own: Dataset) -> str:
    """Why nobody can be kept back here, as the texts call it; empty where they can be."""
    if own.holdout is not None:
        return "named"
    if not own.codebook.is_file():
        return "later"
    if is_linked(own) or Path(own.data).is_dir():
        return "linked"
    if own.is_on_server:
        return "server"
    return "released" if took_part(own) else ""


def took_part(own: Dataset) -> bool:
    """Whether anything was made of all these people, paid for, or is being made right now."""
    if own.releases.is_dir() and any(not place.name.startswith(".") for place in own.releases.iterdir()):
        return True
    if own.account.is_file():
        try:
            history = releases.open_account(own.account).history()
        except UnderstudyError:  # one that cannot be read may hold any charge
            return True
        if any(charge.state.value != "cancelled" for charge in history):
            return True
    return jobs.releasing(own.root.folder, own.name) is not None


def check(own: Dataset) -> None:
    """Refuse where nobody can be kept back."""
    if why := obstacle(own):
        raise ParameterError(texts("data")["lot"][why])


def is_drawn(own: Dataset) -> bool:
    """Whether the data set is what a lot has left."""
    data, held = (str(own.declared.get(name, "")) for name in ("data", "holdout"))
    ending = data.removeprefix(REST)
    return data != ending and held == HELD + ending


def is_drawing(own: Dataset) -> bool:
    """Whether the lot is being drawn right now: nothing is paid for people who may be kept back."""
    return find_look(own, LOOK).is_running


def refuse_while_drawing(own: Dataset) -> None:
    """For whoever is about to make a release, or to change what the data are."""
    if is_drawing(own):
        raise ParameterError(texts("data")["lot"]["drawing"])


def places_of(own: Dataset) -> tuple[Path, Path]:
    """Two files that are not there yet; what somebody else has put there stays."""
    return next(pair for pair in _named(own) if not any(place.exists() for place in pair))


def _named(own: Dataset) -> Iterator[tuple[Path, Path]]:
    for number in count(1):
        ending = f"{'' if number == 1 else f'-{number}'}.parquet"
        yield own.path(REST + ending), own.path(HELD + ending)


def take(own: Dataset, rest: Path, held: Path) -> Dataset:
    """From now on the data set is what is left, and reports know those who were kept back."""
    return own.declare(**_declared(rest, held))


def in_python(own: Dataset, share: float = SHARE) -> tuple[str, ...]:
    """The same without the studio."""
    rest, held = places_of(own)
    table = "" if (name := table_of(own)) is None else f", table={name!r}"
    changed = written.declared_lines(own, **_declared(rest, held))
    return (
        f'us.keep_back({own.root.spelled(own.data)!r}, "{own.shown(own.codebook)}", rest="{own.shown(rest)}", '
        f'held="{own.shown(held)}", share={share:g}{table})',
        *written.in_python(changed),
    )


def _declared(rest: Path, held: Path) -> dict[str, str]:
    return {"data": rest.name, "holdout": held.name, "table": ""}
