"""`keys`: who may ask the service, and how much each may spend."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from understudy.cli import options as o
from understudy.cli.console import table, tell
from understudy.cli.serve import Database, ModelKey, SecretFile
from understudy.cli.shared import App, number_option, option, whole_option
from understudy.facade import service

app = App(help="API keys of the service, and their budgets.")

KeyId = Annotated[str, typer.Argument(help="Id of a key; see `understudy keys list`.")]


@app.command()
def create(
    label: Annotated[str, option("Whose key it is.")],
    scope: Annotated[
        list[str] | None,
        option(
            "score, budget, metrics, answer (ask on data), review or ledger; with :NAME for one model or data set "
            "only; may be repeated. [default: score, budget]"
        ),
    ] = None,
    identity: Annotated[
        str | None, option("Whom a proxy in front logs in under this name has the rights of the key too.")
    ] = None,
    rate: Annotated[int, whole_option("Requests a minute.")] = 600,
    database: Database = None,
    secret_file: SecretFile = None,
    json: o.Json = False,
) -> None:
    """Make a key. It is shown once: only its id and a keyed hash are kept."""
    scopes = scope or ("score", "budget")
    made = service.create_key(
        label, scopes=scopes, rate=rate, identity=identity, database=database, secret_file=secret_file
    )
    about = (
        f"id {made.key.key_id}, scopes {', '.join(made.key.scopes)}, {rate:,} requests a minute. Keep the key now: "
        "it is not shown again."
    )
    tell({"key": made.text, **made.key.to_dict()}, [made.text, about], json=json)


@app.command("list")
def list_keys(database: Database = None, secret_file: SecretFile = None, json: o.Json = False) -> None:
    """Every key ever made; never the key itself."""
    keys = service.list_keys(database=database, secret_file=secret_file)
    headings = ("id", "label", "scopes", "a minute", "made", "revoked")
    rows = (
        (key.key_id, key.label, " ".join(key.scopes), f"{key.rate:,}", key.created[:10], (key.revoked or "")[:10])
        for key in keys
    )
    tell(keys, [table(headings, rows, whole=("id",))], json=json)


@app.command()
def revoke(key: KeyId, database: Database = None, secret_file: SecretFile = None, json: o.Json = False) -> None:
    """Stop a key for ever. What it spent stays spent."""
    revoked = service.revoke_key(key, database=database, secret_file=secret_file)
    tell(revoked, [f"{revoked.key_id} ({revoked.label}) was revoked on {revoked.revoked}."], json=json)


@app.command()
def budget(
    key: Annotated[str | None, typer.Argument(help="Id of a key; leave it out for the cap over all keys.")] = None,
    model: Annotated[str | None, option("Per-call model: its file, or its name once it was served.")] = None,
    epsilon: Annotated[float | None, number_option("Set the cap; without it, only show.")] = None,
    account: Annotated[
        Path | None,
        option("Account of the training data, to which the cap over all keys is charged (see `understudy account`)."),
    ] = None,
    database: Database = None,
    secret_file: SecretFile = None,
    model_key: ModelKey = None,
    json: o.Json = False,
) -> None:
    """Show what was spent, or set the cap of a key on a model, or of a model over all keys."""
    lines, faults = service.service_budget(
        key=key,
        model=model,
        epsilon=epsilon,
        account=account,
        model_key=model_key,
        database=database,
        secret_file=secret_file,
    )
    tell({"budgets": lines, "faults": faults}, _budget_lines(lines, faults), json=json)


def _budget_lines(budgets: list[service.BudgetLine], faults: list[str]) -> Iterator[Any]:
    if not budgets:
        yield "no per-call model is known yet; name its file with --model and a cap with --epsilon."
        return
    rows = []
    for line in map(service.BudgetLine.to_dict, budgets):
        amounts = ["none"] if line["cap"] is None else [f"{line[name]:.9g}" for name in ("cap", "spent", "remaining")]
        rows.append([line["model"], line["key_id"], *amounts])
    yield table(("model", "key", "cap", "spent", "left"), rows, whole=("key",))
    for fault in faults:
        yield f"the ledger does not add up: {fault}"
