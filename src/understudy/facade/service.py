"""Scores and answers over HTTP: the server, who may ask it, and how much each may spend."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from understudy.errors import ParameterError
from understudy.extras import need

if TYPE_CHECKING:
    from fastapi import FastAPI

    from understudy.privacy.account import Account
    from understudy.service.budgets import Balance, Budgets
    from understudy.service.data_sets import DataSet
    from understudy.service.keys import ApiKey, KeyBook, NewKey
    from understudy.service.projects import Projects
    from understudy.service.questions import Questions
    from understudy.service.run import Settings
    from understudy.service.served import Served

DATABASE_VARIABLE = "UNDERSTUDY_DATABASE"
_FILE_VARIABLE = f"{DATABASE_VARIABLE}_FILE"


@dataclass(frozen=True, kw_only=True)
class ServiceBooks:
    """Who may ask the service, and how much each may spend."""

    keys: KeyBook
    budgets: Budgets
    projects: Projects
    questions: Questions
    database: str
    """Identity of the database."""


@contextmanager
def service_books(
    database: str | None = None, secret_file: Path | None = None, *, may_create: bool = True
) -> Iterator[ServiceBooks]:
    """Keys and budgets of the service, in the database that is named, else that of the environment, else a file."""
    require_service()
    from understudy.service.budgets import Budgets
    from understudy.service.keys import KeyBook
    from understudy.service.projects import Projects
    from understudy.service.questions import Questions
    from understudy.service.store import Store

    with Store.open(_database(database), secret_file=secret_file, may_create=may_create) as store, store.telling():
        projects = Projects(store)
        yield ServiceBooks(
            keys=KeyBook(store),
            budgets=Budgets(store),
            projects=projects,
            questions=Questions(projects),
            database=store.identity,
        )


def require_service() -> None:
    """The web framework and the database layer are an extra; say so before an import fails."""
    need("fastapi", "uvicorn", "sqlalchemy", "prometheus_client", extra="service", what="the service")


def _database(database: str | None) -> str:
    """From the argument, which may hold no password; the environment; a file that it names; or the default."""
    from understudy.files import refuse_special
    from understudy.service.store import DEFAULT_DATABASE, without_password

    if database is not None:
        return without_password(database)
    named = os.environ.get(_FILE_VARIABLE)
    if named and not os.environ.get(DATABASE_VARIABLE):
        try:
            refuse_special(Path(named), follow=True)
            return Path(named).read_text(encoding="utf-8").strip()
        except (OSError, ValueError) as reason:
            raise ParameterError(
                f"the file {named!r}, which {_FILE_VARIABLE} names, cannot be read "
                f"({getattr(reason, 'strerror', None) or 'not text'}); write the address of the database into it."
            ) from None
    return os.environ.get(DATABASE_VARIABLE) or DEFAULT_DATABASE


def serve(
    models: Iterable[str | Path],
    *,
    ready: Callable[[str, list[str], Settings, str | None], None],
    database: str | None = None,
    secret_file: Path | None = None,
    model_key: Path | None = None,
    caps: Mapping[str, float] | None = None,
    without_promise: bool = False,
    example: bool = False,
    data: str | Path | None = None,
    identity_header: str | None = None,
    identity_secret_file: Path | None = None,
    **settings: Any,
) -> None:
    """Answer scoring requests, and questions on data sets, over HTTP until it is stopped.

    ``data`` is a file that names data sets. With ``identity_header`` a proxy in front logs people in: it says who is
    asking in that header, and proves itself with the secret of ``identity_secret_file``. ``ready`` hears the address,
    the names of the models and data sets, the settings, and the key of the example. ``settings`` are those of
    :class:`~understudy.service.run.Settings`: ``host``, ``port``, ``aliases``, ``certificate``,
    ``certificate_key`` and ``log_level``.
    """
    require_service()
    from understudy.service.run import Settings, build, example_service
    from understudy.service.run import serve as run

    chosen = Settings(**settings)

    def answer(app: FastAPI, key: str | None) -> None:
        desk = app.state.desk
        names = [*sorted(desk.models), *(sorted(desk.answers.data) if desk.answers is not None else ())]
        run(app, chosen, ready=lambda url: ready(url, names, chosen, key))

    files = list(models)
    if example:
        if files or database or chosen.aliases or caps or data or identity_header:
            raise ParameterError(
                "`example` brings its own models, database, budgets and aliases; leave the others out."
            )
        with example_service() as (app, key):
            answer(app, key)
        return
    from understudy.service.proxy import Proxy
    from understudy.service.store import Store
    from understudy.trees.model import load_model

    if not files and data is None:
        raise ParameterError(
            "there is no model to serve, and no data set; name a model file, a file of data sets with `data`, or try "
            "`example`."
        )
    if identity_header is None and identity_secret_file is not None:
        raise ParameterError("`identity_secret_file` belongs to `identity_header`; name the header too, or neither.")
    proxy = None if identity_header is None else Proxy.of(identity_header, identity_secret_file)
    loaded = [load_model(path, model_key) for path in files]
    sets = {} if data is None else _opened_sets(data)
    with Store.open(_database(database), secret_file=secret_file) as store, store.served_alone():
        app = build(
            loaded,
            store,
            caps=caps or {},
            aliases=chosen.aliases,
            without_promise=without_promise,
            data=sets,
            proxy=proxy,
        )
        answer(app, None)


def _opened_sets(data: str | Path) -> Mapping[str, DataSet]:
    from understudy.service.data_sets import open_data_sets

    return open_data_sets(data)


def create_key(
    label: str,
    *,
    scopes: Sequence[str] = ("score", "budget"),
    rate: int = 600,
    identity: str | None = None,
    database: str | None = None,
    secret_file: Path | None = None,
) -> NewKey:
    """A new key for the service, shown once; ``rate`` is in requests a minute."""
    with service_books(database, secret_file) as books:
        return books.keys.create(label=label, scopes=scopes, rate=rate, identity=identity)


def list_keys(*, database: str | None = None, secret_file: Path | None = None) -> list[ApiKey]:
    """What is known of every key ever made; never the key itself."""
    with service_books(database, secret_file, may_create=False) as books:
        return books.keys.all()


def revoke_key(key: str, *, database: str | None = None, secret_file: Path | None = None) -> ApiKey:
    """Stop a key for ever. What it spent stays spent."""
    with service_books(database, secret_file, may_create=False) as books:
        return books.keys.revoke(key)


@dataclass(frozen=True, kw_only=True)
class BudgetLine:
    """What a key, or all keys together, may spend on a model and has spent."""

    model: str
    key_id: str
    balance: Balance | None
    """None where there is no cap."""

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        amounts = {"cap": None} if self.balance is None else self.balance.to_dict()
        return {"model": self.model, "key_id": self.key_id, **amounts}


def service_budget(
    *,
    key: str | None = None,
    model: str | None = None,
    epsilon: float | None = None,
    account: Account | str | Path | None = None,
    model_key: Path | None = None,
    database: str | None = None,
    secret_file: Path | None = None,
) -> tuple[list[BudgetLine], list[str]]:
    """Budgets, and what does not add up in the ledger; with ``epsilon`` the cap of a key, or of all keys, is set."""
    with service_books(database, secret_file) as books:
        if key is not None:
            books.keys.find(key)
        model_id = None if model is None else _model_id(model, books.budgets, model_key)
        if account is not None and (key is not None or epsilon is None):
            raise ParameterError("an account covers the cap over all keys; give `epsilon`, and no key.")
        if epsilon is not None:
            if model is None or model_id is None:
                raise ParameterError("a cap belongs to a model; name it with `model`.")
            _set_cap(books.budgets, key, model, model_id, epsilon, account=account, model_key=model_key)
        return _budget_lines(books.budgets, key, model_id), books.budgets.faults()


def _set_cap(
    budgets: Budgets,
    key: str | None,
    model: str,
    model_id: str,
    epsilon: float,
    *,
    account: Account | str | Path | None,
    model_key: Path | None,
) -> None:
    from understudy.privacy.account import account_at
    from understudy.service.caps import set_cap

    paying = account_at(account)
    if paying is not None:
        set_cap(budgets, _served(model, model_key), epsilon, account=paying)
    elif key is None:
        budgets.set_cap(model_id, epsilon)
    else:
        budgets.grant(key, model_id, epsilon)


def _budget_lines(budgets: Budgets, key: str | None, model_id: str | None) -> list[BudgetLine]:
    lines = []
    for each, (name, balance) in budgets.model_balances().items():
        if model_id in (None, each):
            lines.append(BudgetLine(model=name, key_id="all keys", balance=balance))
            lines += [
                BudgetLine(model=name, key_id=holder, balance=own)
                for holder, own in budgets.grants_of(each).items()
                if key in (None, holder)
            ]
    return lines


def _model_id(model: str, budgets: Budgets, model_key: Path | None) -> str:
    """By name among the models that the database knows, else by file, which makes it known."""
    known = {model_id: name for model_id, (name, _) in budgets.model_balances().items()}
    named = [model_id for model_id, name in known.items() if name == model]
    if len(named) > 1:
        raise ParameterError(
            f"the database knows {len(named)} models called {model!r} (versions, or trained again); name the file."
        )
    if named:
        return named[0]
    if not Path(model).is_file():
        raise ParameterError(
            f"{model[:80]!r} is neither a file nor a per-call model that this database knows "
            f"({', '.join(sorted(set(known.values()))) or 'it knows none yet'})."
        )
    served = _served(model, model_key)
    assert served.model.price_per_call is not None
    budgets.register(served.model_id, name=served.name, price=served.model.price_per_call)
    return served.model_id


def _served(model: str, model_key: Path | None) -> Served:
    from understudy.service.served import Served
    from understudy.trees.model import load_model

    if not Path(model).is_file():
        raise ParameterError(f"an account is charged with the model's own ledger; name the file of {model[:80]!r}.")
    served = Served(model=load_model(model, model_key))
    if served.model.price_per_call is None:
        raise ParameterError(f"answers of {served.name!r} are free, so it needs no budget; serve it as it is.")
    return served
