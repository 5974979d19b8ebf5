"""Projects on data sets that a service answers on: their caps and keys, what waits for a steward, the ledger."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from understudy.errors import ParameterError
from understudy.facade.service import service_books

if TYPE_CHECKING:
    from understudy.service.amounts import Amount

_BY = "command"
"""Who decided, where a steward did so without a key."""


def data_cap(
    name: str,
    data: str | Path,
    *,
    epsilon: float,
    delta: float | None = None,
    database: str | None = None,
    secret_file: Path | None = None,
) -> dict[str, Any]:
    """Set what answers on a data set of the file ``data`` may cost all projects together.

    What it newly allows is charged to the data set's account first. A lower cap gives nothing back. Without ``delta``
    that of the cap of before stays.
    """
    _amount(epsilon, delta or 0.0)  # what cannot be a cap is refused before a database is opened
    with service_books(database, secret_file) as books:
        from understudy.privacy.account import Account
        from understudy.service.amounts import PER_DELTA
        from understudy.service.caps import set_data_cap
        from understudy.service.data_sets import read_data_sets

        sets = read_data_sets(data)
        if name not in sets:
            raise ParameterError(f"{str(data)!r} names no data set {name[:80]!r}; it has {', '.join(sorted(sets))}.")
        account = Account.open(Path(data).parent / sets[name]["account"])
        before = None if books.projects.account_of(name) is None else books.projects.budget_of(name).cap
        kept_delta = Fraction(0) if before is None else Fraction(before.delta, PER_DELTA)
        cap = _amount(epsilon, kept_delta if delta is None else delta)
        set_data_cap(books.projects, name, cap, account=account, database=books.database)
        kept = None if before is None else before.to_dict()
        return {
            "data": name,
            "before": kept,
            **books.projects.budget_of(name).to_dict(),
            "account_left": account.remaining(),
        }


def create_project(
    project: str,
    data: str,
    *,
    epsilon: float,
    delta: float = 0.0,
    database: str | None = None,
    secret_file: Path | None = None,
) -> dict[str, Any]:
    """A new project on a data set, with a cap of its own."""
    cap = _amount(epsilon, delta)
    with service_books(database, secret_file) as books:
        books.projects.create(project, data, cap)
        return _project(books.projects.all(data), project)


def project_cap(
    project: str,
    *,
    epsilon: float,
    delta: float | None = None,
    database: str | None = None,
    secret_file: Path | None = None,
) -> dict[str, Any]:
    """Change the cap of a project; not below what is spent. Without ``delta`` that of before stays."""
    _amount(epsilon, delta or 0.0)
    with service_books(database, secret_file) as books:
        before = [each["cap"]["delta"] for each in books.projects.all() if each["project"] == project]
        books.projects.set_cap(project, _amount(epsilon, _kept(before) if delta is None else delta))
        return _project(books.projects.all(), project)


def join_project(
    project: str,
    key: str,
    *,
    epsilon: float,
    delta: float | None = None,
    database: str | None = None,
    secret_file: Path | None = None,
) -> dict[str, Any]:
    """Let a key ask for a project, up to a cap of its own; again, to change it. The delta of before is kept."""
    _amount(epsilon, delta or 0.0)
    with service_books(database, secret_file) as books:
        books.keys.find(key)
        members = [one for each in books.projects.all() if each["project"] == project for one in each["members"]]
        before = [one["cap"]["delta"] for one in members if one["key_id"] == key]
        books.projects.join(project, key, _amount(epsilon, _kept(before) if delta is None else delta))
        return _project(books.projects.all(), project)


def list_projects(
    data: str | None = None, *, database: str | None = None, secret_file: Path | None = None
) -> tuple[list[dict[str, Any]], list[str]]:
    """Every project with its budget and keys, and what does not add up."""
    with service_books(database, secret_file) as books:
        return books.projects.all(data), books.projects.faults()


def data_ledger(
    data: str, *, database: str | None = None, secret_file: Path | None = None
) -> tuple[list[dict[str, Any]], list[str]]:
    """Every cap and every paid attempt of a data set, and what does not add up."""
    with service_books(database, secret_file) as books:
        books.projects.budget_of(data)
        return books.projects.ledger(data), books.projects.faults(data)


def review_queue(
    data: str | None = None, *, database: str | None = None, secret_file: Path | None = None
) -> list[dict[str, Any]]:
    """Questions that wait for a steward: words, price and what the release says."""
    with service_books(database, secret_file) as books:
        from understudy.service.records import waiting

        names = {line["data"] for line in books.projects.all(data)}
        return [waiting(line) for line in books.questions.queue(sorted(names))]


def review_question(
    answer: str,
    *,
    approve: bool,
    words: str = "",
    database: str | None = None,
    secret_file: Path | None = None,
) -> dict[str, Any]:
    """Approve a question, or decline it with words. Nothing is charged: the asker's next request pays and draws."""
    with service_books(database, secret_file) as books:
        from understudy.service.records import waiting

        return waiting(books.questions.decide(answer, approve=approve, words=words, by=_BY))


def _kept(before: list[float]) -> float:
    """The delta of a cap that there was; 0 where there was none."""
    return before[0] if before else 0.0


def _amount(epsilon: float, delta: float | Fraction) -> Amount:
    from understudy.facade.service import require_service

    require_service()
    from understudy.service.amounts import Amount

    return Amount.cap(epsilon, delta)


def _project(projects: list[dict[str, Any]], name: str) -> dict[str, Any]:
    return next(line for line in projects if line["project"] == name)
