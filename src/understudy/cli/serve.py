"""`serve`: risk scores over HTTP."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from understudy.cli import options as o
from understudy.cli.console import errors_to, out, print_json
from understudy.errors import ParameterError
from understudy.extras import need

if TYPE_CHECKING:
    from understudy.service.run import Settings

DATABASE_VARIABLE = "UNDERSTUDY_DATABASE"

Database = Annotated[
    str | None,
    typer.Option(
        help="sqlite:///FILE or postgresql://...; holds keys, budgets and stored answers. "
        f"Default: {DATABASE_VARIABLE}, else sqlite:///understudy-service.db.",
        show_default=False,
    ),
]
SecretFile = Annotated[
    Path | None,
    typer.Option(
        help="Service secret, 32 bytes in base64; made on first use. Default: UNDERSTUDY_SERVICE_SECRET, "
        "else a file beside the SQLite database.",
        show_default=False,
    ),
]
ModelKey = Annotated[
    Path | None,
    typer.Option(
        help="Key file of a model with a confidential part. Default: UNDERSTUDY_MODEL_KEY.", show_default=False
    ),
]


def require_service() -> None:
    """The web framework and the database layer are an extra; say so before an import fails."""
    need(
        *("fastapi", "uvicorn", "sqlalchemy", "prometheus_client", "jinja2"),
        extra="service",
        what="the scoring service",
    )


def chosen_database(database: str | None) -> str:
    """What was asked for, else the environment, else a file in this folder."""
    from understudy.service.store import DEFAULT_DATABASE

    return database or os.environ.get(DATABASE_VARIABLE) or DEFAULT_DATABASE


def serve(
    models: Annotated[
        list[Path] | None, typer.Argument(help="Model files (see `understudy train`).", show_default=False)
    ] = None,
    database: Database = None,
    secret_file: SecretFile = None,
    model_key: ModelKey = None,
    budget: Annotated[
        list[str] | None,
        typer.Option(
            help="MODEL=EPSILON: cap over all keys of a per-call model, the first time it is served; may be repeated.",
            show_default=False,
        ),
    ] = None,
    alias: Annotated[
        list[str] | None,
        typer.Option(help="/PATH=MODEL: a further address, answering with a percentage.", show_default=False),
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(help="Port to listen on; 0 for any free one.", parser=o.whole_number, metavar="NUMBER")
    ] = 8000,
    certificate: Annotated[Path | None, typer.Option(help="TLS certificate chain (PEM).", show_default=False)] = None,
    certificate_key: Annotated[
        Path | None, typer.Option(help="Private key of the certificate (PEM).", show_default=False)
    ] = None,
    without_promise: Annotated[
        bool, typer.Option("--without-promise", help="Serve models without a formal guarantee too; their page says so.")
    ] = False,
    example: Annotated[
        bool, typer.Option("--example", help="Serve two invented models, to look around; needs no data.")
    ] = False,
    log_level: Annotated[
        str, typer.Option(help="Least level of log lines on standard error: info (every request), warning or error.")
    ] = "info",
    json: o.Json = False,
) -> None:
    """Answer scoring requests over HTTP, with API keys and budgets that cannot be overspent."""
    require_service()
    from understudy.service.run import Settings, build, example_service
    from understudy.service.run import serve as run

    settings = Settings(
        host=host,
        port=port,
        aliases=dict(_pair(text, "alias", "/diabeteScore=diabetes") for text in alias or ()),
        certificate=certificate,
        certificate_key=certificate_key,
        log_level=log_level,
    )
    caps = {name: o.number(text) for name, text in (_pair(text, "budget", "sepsis=100") for text in budget or ())}
    if example:
        if models or database or alias or budget:
            raise ParameterError(
                "--example brings its own models, database, budgets and aliases; leave the others out."
            )
        with example_service() as (app, key):
            run(app, settings, ready=lambda url: _tell(url, app, settings, as_json=json, key=key))
        return
    from understudy.service.store import Store
    from understudy.trees.model import load_model

    if not models:
        raise ParameterError("there is no model to serve; name at least one model file, or try --example.")
    loaded = [load_model(path, model_key) for path in models]
    with Store.open(chosen_database(database), secret_file=secret_file) as store:
        app = build(loaded, store, caps=caps, aliases=settings.aliases, without_promise=without_promise)
        run(app, settings, ready=lambda url: _tell(url, app, settings, as_json=json, key=None))


def _pair(text: str, option: str, example: str) -> tuple[str, str]:
    left, sign, right = text.rpartition("=")
    if not sign or not left or not right:
        raise ParameterError(f"`{option}` is {text[:80]!r}; write it like {example}.")
    return left, right


def _tell(url: str, app: object, settings: "Settings", *, as_json: bool, key: str | None) -> None:
    names = sorted(app.state.desk.models)  # type: ignore[attr-defined]
    if settings.is_exposed:
        errors_to.print(
            "[bold yellow]warning:[/] keys and features cross the network in the clear; give --certificate, or put a "
            "TLS proxy in front."
        )
    if as_json:
        print_json({"url": url, "models": names, "key": key})
        import sys

        sys.stdout.flush()
        return
    out.print(f"serving {', '.join(names)} at {url} (page /, interface /docs); stop with Ctrl-C", markup=False)
    if key is not None:
        out.print(f"key for this example: {key}", markup=False)
