"""What the commands are built from: groups, commands, and options of each kind."""

from collections.abc import Callable
from typing import Any, TypeVar

import typer
from rich.markup import escape
from typer.core import TyperCommand

from understudy.cli.numbers import number, whole_number

Command = TypeVar("Command", bound=Callable[..., Any])


class AsWritten(TyperCommand):
    """A command whose help is shown as written: square brackets in it are no markup."""

    def __init__(self, *words: Any, **settings: Any) -> None:
        settings["help"] = escape(settings.get("help") or "")
        super().__init__(*words, **settings)
        parameters: list[Any] = self.params
        for parameter in parameters:
            parameter.help = escape(parameter.help or "")


class App(typer.Typer):
    """A group of commands."""

    def __init__(self, help: str, **settings: Any) -> None:  # noqa: A002 - Typer's own word
        super().__init__(help=escape(help), no_args_is_help=True, rich_markup_mode="rich", **settings)

    def command(self, name: str | None = None, **settings: Any) -> Callable[[Command], Command]:
        """Register a function as a command."""
        return super().command(name, **{"cls": AsWritten, **settings})


def option(help: str, *names: str, panel: str | None = None, **settings: Any) -> Any:  # noqa: A002 - Typer's own word
    """An option; its default is not shown where there is none."""
    return typer.Option(*names, help=help, rich_help_panel=panel, **settings)


def number_option(help: str, *names: str, **settings: Any) -> Any:  # noqa: A002
    """An option that takes a number."""
    return option(help, *names, parser=number, metavar="NUMBER", **settings)


def whole_option(help: str, *names: str, **settings: Any) -> Any:  # noqa: A002
    """An option that takes a whole number."""
    return option(help, *names, parser=whole_number, metavar="NUMBER", **settings)
