"""The command line: its commands, and how each of them ends (see ``endings``)."""

import contextlib
import os
import sys
from typing import Annotated, Any, NoReturn, cast

import typer

from understudy.cli import (
    account,
    anonymize,
    answer,
    audit,
    codebook,
    combine,
    commute,
    count,
    demo,
    diagnose,
    endings,
    evaluate,
    forecast,
    impute,
    infer,
    keys,
    mcp,
    methods,
    passport,
    plan,
    projects,
    recipe,
    reconstruct,
    release,
    review,
    rumap,
    serve,
    studio,
    synth,
    train,
    verify,
)
from understudy.cli.console import STOPPED, UnwritableError, errors_to, print_json, printing, quoted
from understudy.cli.shared import App, AsWritten
from understudy.errors import ParameterError, StoppedError, UnderstudyError
from understudy.version import __version__

app = App(
    name="understudy",
    help="Tables that are realistic but not real, under a privacy promise that is true.",
    add_completion=False,
    pretty_exceptions_enable=False,  # a pretty traceback would print local variables, confidential ones among them
)

PANELS: dict[str, tuple[Any, ...]] = {
    "Make": (
        demo.demo,
        demo.example,
        synth.synth,
        recipe.recipe,
        synth.draw,
        impute.impute,
        count.count,
        answer.answer,
        ("anonymize", anonymize.app),
        ("reconstruct", reconstruct.app),
        ("commute", commute.app),
        train.train,
    ),
    "Look": (methods.methods, evaluate.evaluate, infer.infer, combine.combine, rumap.rumap, diagnose.diagnose),
    "Guard": (
        ("codebook", codebook.app),
        synth.quote,
        forecast.forecast,
        plan.plan,
        ("account", account.app),
        verify.verify,
        ("release", release.app),
        passport.passport,
        passport.sign,
        audit.audit,
    ),
    "Serve": (
        studio.studio,
        serve.serve,
        mcp.mcp,
        ("keys", keys.app),
        ("projects", projects.app),
        ("review", review.app),
    ),
}
"""Commands by what a person wants: make tables and scores, look at them, guard the promise, serve."""
_CLASSES: dict[Any, Any] = {
    **dict.fromkeys((synth.quote, forecast.forecast, synth.synth, audit.audit), synth.MethodCommand),
    impute.impute: impute.FillingCommand,
    count.count: count.CountCommand,
    diagnose.diagnose: diagnose.DiagnoseCommand,
    train.train: train.ScoreCommand,
    rumap.rumap: rumap.MapCommand,
}
"""Commands whose flags follow from declarations."""


def _tell_version(asked: bool) -> None:
    if asked:
        sys.stdout.write(f"understudy {__version__}\n")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[  # by a callback: the body of a root is not reached without a command
        bool, typer.Option("--version", help="Print the version.", is_eager=True, callback=_tell_version)
    ] = False,
) -> None:
    pass


for _panel, _commands in PANELS.items():
    for _entry in _commands:
        if isinstance(_entry, tuple):
            app.add_typer(_entry[1], name=_entry[0], rich_help_panel=_panel)
        else:
            app.command(rich_help_panel=_panel, cls=_CLASSES.get(_entry, AsWritten))(_entry)


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run, and turn every mistake of a user into one sentence."""
    words = sys.argv[1:] if arguments is None else arguments
    as_json = "--json" in words
    endings.open_streams()
    started = endings.Started(words)
    code: Any = 0
    try:
        with endings.stop_on_signals():
            try:
                _refuse_null_bytes(words)
                with endings.answers_that_end():
                    code = _run(words, as_json=as_json)
                with printing():
                    sys.stdout.flush()
            except KeyboardInterrupt:
                raise StoppedError(STOPPED) from None
    except UnderstudyError as reason:
        message = started.interrupted() if str(reason) == STOPPED else " ".join([str(reason), *_notes(reason)])
        sentence = endings.as_typed(message, typer.main.get_command(app), words)
        _fail(type(reason).__name__, sentence, as_json=as_json)
        code = endings.code_of(reason)
    except SystemExit as ended:
        if not isinstance(ended.__context__, BrokenPipeError):  # Rich ends a program whose output nobody reads with 1
            raise
        code = endings.UNREAD
    except BrokenPipeError:
        code = endings.UNREAD
    except UnwritableError as reason:
        _fail("UnwritableError", str(reason), as_json=False)
        code = endings.UNREAD
    except MemoryError as error:
        _fail("MemoryError", endings.our_mistake(error), as_json=as_json)
        code = endings.MEND
    except Exception as error:
        if sentence := endings.impossible_place(error):
            _fail("PathError", sentence, as_json=as_json)
            code = endings.MEND
        elif os.environ.get(endings.TRACEBACK_VARIABLE):
            raise
        else:
            _fail("InternalError", endings.our_mistake(error), as_json=as_json)
            code = endings.OURS
    endings.flush_quietly()
    sys.exit(code or 0)


def _refuse_null_bytes(words: list[str]) -> None:
    """No path may hold one; the operating system would say so with a traceback."""
    for before, word in zip(["", *words], words, strict=False):
        if "\0" in word:
            raise ParameterError(f"{before} is {word!r}; it holds a null byte, which no path may. Leave it out.")


def _notes(reason: BaseException) -> list[str]:
    """What was added on the way, for example that a price stays."""
    return list(getattr(reason, "__notes__", ()))


def _run(words: list[str], *, as_json: bool) -> Any:
    """Usage errors are shown as Typer shows them, unless a machine is listening."""
    command = typer.main.get_command(app)
    try:
        with command.make_context("understudy", list(words)) as context:
            command.invoke(context)
    except typer.Exit as done:
        return done.exit_code
    except typer.TyperException as reason:
        if as_json:
            _fail("UsageError", reason.format_message(), as_json=True)
        else:
            from typer.rich_utils import rich_format_error

            reason.message = quoted(reason.message)
            rich_format_error(cast("Any", reason))  # Typer's own twin of Click's class
        return 2
    return 0


def _fail(kind: str, sentence: str, *, as_json: bool) -> None:
    if as_json:
        with contextlib.suppress(UnwritableError):
            print_json({"error": {"kind": kind, "message": sentence}})
            return
    errors_to.print("[bold red]error:[/] ", end="")
    errors_to.print(sentence, markup=False)
