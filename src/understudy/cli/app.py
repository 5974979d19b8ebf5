"""The command line. Exit codes: 0 done, 1 the answer is no (or interrupted), 2 the request needs mending."""

import sys
from typing import Annotated, Any, NoReturn

import typer

from understudy.cli import (
    account,
    anonymize,
    audit,
    codebook,
    commute,
    count,
    demo,
    evaluate,
    impute,
    keys,
    methods,
    reconstruct,
    rumap,
    serve,
    synth,
    train,
    verify,
)
from understudy.cli.console import errors_to, print_json
from understudy.errors import BudgetError, RefusalError, StoppedError, UnderstudyError
from understudy.version import __version__

__all__ = ["app", "main"]

app = typer.Typer(
    name="understudy",
    help="Tables that are realistic but not real, under a privacy promise that is true.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,  # a pretty traceback would print local variables, confidential ones among them
    rich_markup_mode="rich",
)


@app.callback()
def _root(
    version: Annotated[bool, typer.Option("--version", help="Print the version.", is_eager=True)] = False,
) -> None:
    if version:
        sys.stdout.write(f"understudy {__version__}\n")
        raise typer.Exit


app.command()(demo.demo)
app.command()(methods.methods)
app.command()(synth.quote)
app.command()(synth.synth)
app.command()(synth.draw)
app.command()(impute.impute)
app.command()(count.count)
app.command()(verify.verify)
app.command()(audit.audit)
app.command()(evaluate.evaluate)
app.command()(rumap.rumap)
app.add_typer(anonymize.app, name="anonymize")
app.add_typer(reconstruct.app, name="reconstruct")
app.add_typer(codebook.app, name="codebook")
app.add_typer(account.app, name="account")
app.add_typer(commute.app, name="commute")
app.command()(train.train)
app.command()(serve.serve)
app.add_typer(keys.app, name="keys")


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run, and turn every mistake of a user into one sentence."""
    words = sys.argv[1:] if arguments is None else arguments
    as_json = "--json" in words
    code: Any = 0
    try:
        # Typer prints its own usage errors and exits with 2, unless a machine is listening
        code = app(words, standalone_mode=not as_json)
    except UnderstudyError as reason:
        _fail(type(reason).__name__, str(reason), as_json=as_json)
        code = 1 if isinstance(reason, BudgetError | RefusalError | StoppedError) else 2
    except typer.TyperException as reason:
        _fail("UsageError", reason.format_message(), as_json=as_json)
        code = 2
    sys.exit(code or 0)


def _fail(kind: str, sentence: str, *, as_json: bool) -> None:
    if as_json:
        print_json({"error": {"kind": kind, "message": sentence}})
    else:
        errors_to.print("[bold red]error:[/] ", end="")
        errors_to.print(sentence, markup=False)
