"""`serve`: risk scores and answers on data over HTTP."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from understudy.cli import options as o
from understudy.cli.console import tell, warn
from understudy.cli.numbers import number
from understudy.cli.shared import option, whole_option
from understudy.errors import ParameterError
from understudy.facade import service

if TYPE_CHECKING:
    from understudy.service.run import Settings

Database = Annotated[
    str | None,
    option(
        "sqlite:///FILE (one server) or postgresql://USER@HOST/NAME, without a password; holds keys, budgets and "
        "stored answers. Default: "
        f"{service.DATABASE_VARIABLE}, else sqlite:///understudy-service.db."
    ),
]
SecretFile = Annotated[
    Path | None,
    option(
        "Service secret, 32 bytes in base64; made on first use. Default: UNDERSTUDY_SERVICE_SECRET, else the file "
        "that UNDERSTUDY_SERVICE_SECRET_FILE names, else one beside the SQLite database."
    ),
]
ModelKey = Annotated[
    Path | None, option("Key file of a model with a confidential part. Default: UNDERSTUDY_MODEL_KEY.")
]


def serve(
    models: Annotated[list[Path] | None, typer.Argument(help="Model files (see `understudy train`).")] = None,
    database: Database = None,
    secret_file: SecretFile = None,
    model_key: ModelKey = None,
    budget: Annotated[
        list[str] | None,
        option("MODEL=EPSILON: cap over all keys of a per-call model, the first time it is served; may be repeated."),
    ] = None,
    data: Annotated[
        Path | None,
        option("TOML file that names data sets to answer questions on: source, codebook, account, release, rules."),
    ] = None,
    identity_header: Annotated[
        str | None,
        option("Header in which a proxy in front says who is asking, for example X-Remote-User."),
    ] = None,
    identity_secret_file: Annotated[
        Path | None,
        option("Secret that the proxy must send in X-Understudy-Proxy: 32 bytes in base64, for its owner only."),
    ] = None,
    alias: Annotated[list[str] | None, option("/PATH=MODEL: a further address, answering with a percentage.")] = None,
    host: Annotated[str, option("Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, whole_option("Port to listen on; 0 for any free one.")] = 8000,
    certificate: Annotated[Path | None, option("TLS certificate chain (PEM).")] = None,
    certificate_key: Annotated[Path | None, option("Private key of the certificate (PEM).")] = None,
    without_promise: Annotated[
        bool, option("Serve models without a formal guarantee too; their page says so.", "--without-promise")
    ] = False,
    example: Annotated[bool, option("Serve two invented models, to look around; needs no data.", "--example")] = False,
    log_level: Annotated[
        str, option("Least level of log lines on standard error: info (every request), warning or error.")
    ] = "info",
    json: o.Json = False,
) -> None:
    """Answer scoring requests and questions on data over HTTP, with keys and budgets that cannot be overspent."""

    def ready(url: str, names: list[str], settings: "Settings", key: str | None) -> None:
        if settings.is_exposed:
            warn(["keys and features cross the network in the clear; give --certificate, or put a TLS proxy in front."])
        lines = [f"serving {', '.join(names)} at {url} (page /, interface /docs); stop with Ctrl-C"]
        lines += [] if key is None else [f"key for this example: {key}"]
        tell({"url": url, "models": names, "key": key}, lines, json=json)
        sys.stdout.flush()

    service.serve(
        models or (),
        ready=ready,
        database=database,
        secret_file=secret_file,
        model_key=model_key,
        caps={name: number(text) for name, text in (_pair(text, "budget", "sepsis=100") for text in budget or ())},
        without_promise=without_promise,
        example=example,
        data=data,
        identity_header=identity_header,
        identity_secret_file=identity_secret_file,
        host=host,
        port=port,
        aliases=dict(_pair(text, "alias", "/diabeteScore=diabetes") for text in alias or ()),
        certificate=certificate,
        certificate_key=certificate_key,
        log_level=log_level,
    )


def _pair(text: str, option: str, example: str) -> tuple[str, str]:
    left, sign, right = text.rpartition("=")
    if not sign or not left or not right:
        raise ParameterError(f"`{option}` is {text[:80]!r}; write it like {example}.")
    return left, right
