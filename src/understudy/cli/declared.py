"""Flags that follow from declarations: a command takes the options that a recipe class declares.

The classes are looked at only when such a command runs, so that `understudy --help` stays fast.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer
from rich.markup import escape

from understudy.cli.shared import AsWritten
from understudy.errors import MissingExtraError, ParameterError
from understudy.facade import tables
from understudy.parameters import Flag, Option, name_file

Find = Callable[[str | None], Mapping[str, Option]]
_META, _FILE = "understudy.declared", "understudy.recipe"


@dataclass(frozen=True, kw_only=True)
class Declarations:
    """Where a command finds its declared options."""

    find: Find
    """The options of a method by its name; None means all methods."""
    common: Callable[[], Mapping[str, Option]] = dict
    """Options that the command has whatever the method."""
    hint: str | None = None
    """What the help says instead of options of a method while none is chosen."""
    chooser: tuple[str, ...] = ("--method", "-m")
    """Flags that choose the method."""


def declared_command(find: Find, **more: Any) -> type[AsWritten]:
    """A class of commands that take the options which ``find`` returns; ``more`` as in :class:`Declarations`."""
    return type("Command", (DeclaredCommand,), {"declarations": Declarations(find=find, **more)})


class DeclaredCommand(AsWritten):
    """A command whose flags are those of its function, and those that are declared elsewhere."""

    declarations: ClassVar[Declarations]

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._fixed = list(self.params)
        self.declared: dict[str, Option] = {}

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Take the flags of the chosen method; those of other methods too, to say that they belong there."""
        chosen = self._chosen(args)
        if not args:
            pass  # an argument is missing, which can be said at once
        elif "--help" not in args:
            self.take_flags(None, first=chosen)
        elif chosen is not None or self.declarations.hint is None:
            try:
                self.take_flags(chosen)
            except MissingExtraError as reason:  # the rest of the help can be read all the same
                self.epilog = escape(str(reason))
        else:
            self._take({})
            self.epilog = self.declarations.hint
        return super().parse_args(ctx, args)

    def take_flags(self, method: str | None, *, first: str | None = None) -> None:
        """Add the declared flags; those of ``first`` where several methods declare one of the same name."""
        declared = dict(self.declarations.find(first)) if first is not None else {}
        for name, option in self.declarations.find(method).items():
            declared.setdefault(name, option)
        self._take(declared)

    def _take(self, declared: Mapping[str, Option]) -> None:
        self.declared = {**self.declarations.common(), **declared}
        self.params = [*self._fixed, *_parameters(self.declared)]

    def invoke(self, ctx: Any) -> Any:
        """The function gets what it names itself; the rest waits in the context, see :func:`given_options`."""
        given = {name: ctx.params.pop(name) for name in self.declared if name in ctx.params}
        ctx.meta[_META] = {name: value for name, value in given.items() if value not in (None, [], ())}
        try:
            return super().invoke(ctx)
        except ParameterError as reason:
            if _FILE in ctx.meta:
                path, keys = ctx.meta[_FILE]
                name_file(reason, path, keys, but=ctx.meta[_META])
            raise

    def _chosen(self, args: Sequence[str]) -> str | None:
        for place, word in enumerate(args):
            if word in self.declarations.chooser and place + 1 < len(args):
                return args[place + 1]
            for flag in self.declarations.chooser:
                if flag.startswith("--") and word.startswith(f"{flag}="):
                    return word.removeprefix(f"{flag}=")
        return None


def options_of_file(context: typer.Context, recipe: Path | None, words: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a recipe file says; errors about it will name the file instead of a flag."""
    context.meta[_FILE] = (recipe, words)
    return words


def given_options(context: typer.Context) -> dict[str, Any]:
    """The declared options that were really given on the command line, as words."""
    return dict(context.meta.get(_META, {}))


def chosen_options(context: typer.Context, recipe: Path | None = None) -> dict[str, Any]:
    """What was asked for: the recipe file, and what the flags say instead; None where a choice is lacking."""
    declared: Mapping[str, Option] = getattr(context.command, "declared", {})
    lacking = {name: None for name, option in declared.items() if option.is_required}
    return {**lacking, **options_of_file(context, recipe, tables.read_words(recipe)), **given_options(context)}


def chosen_method(
    context: typer.Context, method: str | None, recipe: Path | None, *, default: str
) -> tuple[str, dict[str, Any]]:
    """The method that was asked for, by its flag or in the recipe file, and its options."""
    words = chosen_options(context, recipe)
    return agreed_method(method, words.pop("method", None), recipe) or default, words


def agreed_method(method: str | None, written: str | None, recipe: Path | None) -> str | None:
    """The method of the flag or of the recipe file, which must not contradict each other."""
    if None not in (recipe, method, written) and method != written:
        raise ParameterError(
            f"--method is {method!r} and the recipe {str(recipe)!r} is for {written!r}; leave one of them out."
        )
    return method or written


def _parameters(declared: Mapping[str, Option]) -> list[Any]:
    """Typer's own objects for the flags, made the way it makes those of a function."""

    def holder(**_: Any) -> None: ...

    parameters = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=_annotation(option))
        for name, option in declared.items()
    ]
    holder.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    holder.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    app = typer.Typer(add_completion=False)
    app.command()(holder)
    made = typer.main.get_command(app).params
    return [parameter for parameter in made if parameter.name in declared]


def _annotation(option: Option) -> Any:
    rule = option.rule
    kind: Any = bool | None if isinstance(rule, Flag) else list[str] | None if rule.repeats else str | None
    default = None if option.is_required else rule.plain(option.default)
    default = ",".join(map(str, default)) if isinstance(default, list) else default
    told = "" if default in (None, "", {}) or isinstance(rule, Flag) else f" Default: {default}."
    return Annotated[
        kind,
        typer.Option(
            *option.flags.split(),
            help=escape(option.help + (" Required." if option.is_required else told)),
            rich_help_panel=option.panel.value,
            show_default=False,
            metavar=None if isinstance(rule, Flag) else rule.metavar,
        ),
    ]
