"""`keys`: who may ask the service, and how much each may spend."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from understudy.cli import options as o
from understudy.cli.console import out, print_json
from understudy.cli.serve import Database, ModelKey, SecretFile, chosen_database, require_service
from understudy.errors import ParameterError

if TYPE_CHECKING:
    from understudy.service.budgets import Balance, Budgets
    from understudy.service.served import Served
    from understudy.service.store import Store

app = typer.Typer(help="API keys of the scoring service, and their budgets.", no_args_is_help=True)

KeyId = Annotated[str, typer.Argument(help="Id of a key; see `understudy keys list`.")]


@app.command()
def create(
    label: Annotated[str, typer.Option(help="Whose key it is.")],
    scope: Annotated[
        list[str] | None,
        typer.Option(
            help="score, score:MODEL, budget or metrics; may be repeated. [default: score, budget]", show_default=False
        ),
    ] = None,
    rate: Annotated[int, typer.Option(help="Requests a minute.", parser=o.whole_number, metavar="NUMBER")] = 600,
    database: Database = None,
    secret_file: SecretFile = None,
    json: o.Json = False,
) -> None:
    """Make a key. It is shown once: only its id and a keyed hash are kept."""
    require_service()
    from understudy.service.keys import KeyBook

    with _store(database, secret_file) as store:
        made = KeyBook(store).create(label=label, scopes=scope or ("score", "budget"), rate=rate)
    if json:
        print_json({"key": made.text, **made.key.to_dict()})
        return
    out.print(made.text, markup=False)
    out.print(
        f"id {made.key.key_id}, scopes {', '.join(made.key.scopes)}, {rate:,} requests a minute. Keep the key now: "
        "it is not shown again.",
        markup=False,
    )


@app.command("list")
def list_keys(database: Database = None, secret_file: SecretFile = None, json: o.Json = False) -> None:
    """Every key ever made; never the key itself."""
    from rich.table import Table

    require_service()
    from understudy.service.keys import KeyBook

    with _store(database, secret_file) as store:
        keys = KeyBook(store).all()
    if json:
        print_json([key.to_dict() for key in keys])
        return
    table = Table(box=None, pad_edge=False)
    for heading in ("id", "label", "scopes", "a minute", "made", "revoked"):
        table.add_column(heading, overflow="fold", no_wrap=heading == "id")
    from rich.text import Text

    for key in keys:
        days = (key.created[:10], (key.revoked or "")[:10])
        cells = (key.key_id, key.label, " ".join(key.scopes), f"{key.rate:,}", *days)
        table.add_row(*map(Text, cells))
    out.print(table)


@app.command()
def revoke(key: KeyId, database: Database = None, secret_file: SecretFile = None, json: o.Json = False) -> None:
    """Stop a key for ever. What it spent stays spent."""
    require_service()
    from understudy.service.keys import KeyBook

    with _store(database, secret_file) as store:
        revoked = KeyBook(store).revoke(key)
    if json:
        print_json(revoked.to_dict())
        return
    out.print(f"{revoked.key_id} ({revoked.label}) was revoked on {revoked.revoked}.", markup=False)


@app.command()
def budget(
    key: Annotated[
        str | None, typer.Argument(help="Id of a key; leave it out for the cap over all keys.", show_default=False)
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(help="Per-call model: its file, or its name once it was served.", show_default=False),
    ] = None,
    epsilon: Annotated[
        float | None,
        typer.Option(help="Set the cap; without it, only show.", show_default=False, parser=o.number, metavar="NUMBER"),
    ] = None,
    account: Annotated[
        Path | None,
        typer.Option(
            help="Account of the training data, to which the cap over all keys is charged (see `understudy account`).",
            show_default=False,
        ),
    ] = None,
    database: Database = None,
    secret_file: SecretFile = None,
    model_key: ModelKey = None,
    json: o.Json = False,
) -> None:
    """Show what was spent, or set the cap of a key on a model, or of a model over all keys."""
    require_service()
    from understudy.service.budgets import Budgets
    from understudy.service.keys import KeyBook

    with _store(database, secret_file) as store:
        budgets = Budgets(store)
        if key is not None:
            KeyBook(store).find(key)
        model_id = None if model is None else _model_id(model, budgets, model_key)
        if epsilon is not None and (model is None or model_id is None):
            raise ParameterError("a cap belongs to a model; name it with --model.")
        if account is not None and (key is not None or epsilon is None):
            raise ParameterError("an account covers the cap over all keys; give --epsilon, and no key.")
        if epsilon is not None and model is not None and model_id is not None:
            if account is not None:
                from understudy.privacy.account import Account
                from understudy.service.caps import set_cap

                set_cap(budgets, _served(model, model_key), epsilon, account=Account.open(account))
            elif key is None:
                budgets.set_cap(model_id, epsilon)
            else:
                budgets.grant(key, model_id, epsilon)
        lines, faults = _lines(budgets, key, model_id), budgets.faults()
    if json:
        print_json({"budgets": lines, "faults": faults})
        return
    _show(lines, faults)


def _store(database: str | None, secret_file: Path | None) -> "Store":
    from understudy.service.store import Store

    return Store.open(chosen_database(database), secret_file=secret_file)


def _model_id(model: str, budgets: "Budgets", model_key: Path | None) -> str:
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


def _served(model: str, model_key: Path | None) -> "Served":
    from understudy.service.served import Served
    from understudy.trees.model import load_model

    if not Path(model).is_file():
        raise ParameterError(f"an account is charged with the model's own ledger; name the file of {model[:80]!r}.")
    served = Served(model=load_model(model, model_key))
    if served.model.price_per_call is None:
        raise ParameterError(f"answers of {served.name!r} are free, so it needs no budget; serve it as it is.")
    return served


def _lines(budgets: "Budgets", key: str | None, model_id: str | None) -> list[dict[str, Any]]:
    def line(name: str, which: str, of: "Balance | None") -> dict[str, Any]:
        return (
            {"model": name, "key_id": which, "cap": None}
            if of is None
            else {"model": name, "key_id": which, **of.to_dict()}
        )

    names = budgets.model_balances()
    found = []
    for each, (name, balance) in names.items():
        if model_id in (None, each):
            found.append(line(name, "all keys", balance))
            found += [
                line(name, holder, own) for holder, own in budgets.grants_of(each).items() if key in (None, holder)
            ]
    return found  # fmt: skip


def _show(lines: list[dict[str, Any]], faults: list[str]) -> None:
    from rich.table import Table
    from rich.text import Text

    if not lines:
        out.print("no per-call model is known yet; name its file with --model and a cap with --epsilon.")
        return
    table = Table(box=None, pad_edge=False)
    for heading in ("model", "key", "cap", "spent", "left"):
        table.add_column(heading, overflow="fold", no_wrap=heading == "key")
    for line in lines:
        amounts = ["none"] if line["cap"] is None else [f"{line[name]:.9g}" for name in ("cap", "spent", "remaining")]
        table.add_row(*map(Text, (line["model"], line["key_id"], *amounts)))
    out.print(table)
    for fault in faults:
        out.print(f"the ledger does not add up: {fault}", markup=False)
