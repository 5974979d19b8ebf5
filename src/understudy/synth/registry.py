"""Every method by name: those of `understudy.synth.methods`, and those of other packages.

A method is one file: a :class:`Recipe` with its ``facts``. Another package names its own under the entry point group
``understudy.methods``. All methods found here are covered by the conformance, documentation and command-line tests.
"""

from collections.abc import Iterator
from dataclasses import Field
from importlib import import_module
from typing import Any

from understudy.errors import ParameterError
from understudy.parameters import find_declared, make_declared
from understudy.recipe_names import foreign_recipes, own_recipes
from understudy.synth.recipe import Recipe

DEFAULT = "marginals"


def _own_methods() -> Iterator[type[Recipe]]:
    for name, module in own_recipes().items():
        yield getattr(import_module(module), name)


def _foreign_methods() -> Iterator[type[Recipe]]:
    """What other packages register; one that cannot be loaded is named and does not stop the others."""
    for entry in foreign_recipes():
        try:
            cls = entry.load()
        except Exception as reason:
            BROKEN[entry.name] = f"{type(reason).__name__}: {reason}"
            continue
        if not (isinstance(cls, type) and issubclass(cls, Recipe) and "facts" in vars(cls)):
            BROKEN[entry.name] = f"{entry.value} is no Recipe with facts"
        elif cls.name != entry.name:
            BROKEN[entry.name] = f"its facts call it {cls.name!r}"
        elif lacking := _lacking(cls):
            BROKEN[entry.name] = f"{entry.value} lacks {', '.join(lacking)}"
        else:
            yield cls


def _lacking(cls: type[Recipe]) -> list[str]:
    """What every list of methods and every command asks of a method: without it they would all fail, not this one."""
    absent = [f"`{name}`" for name in ("summary", "example") if not hasattr(cls, name)]
    has_fields = any(isinstance(value, Field) for value in vars(cls).values())
    if has_fields and "__dataclass_fields__" not in vars(cls):  # its options would not be known
        absent.append("`@dataclass(frozen=True, kw_only=True)`")
    return absent + [f"`{name}`" for name in sorted(getattr(cls, "__abstractmethods__", ()))]


BROKEN: dict[str, str] = {}
"""Entry points that name no usable method, and why."""


def _find_methods() -> dict[str, type[Recipe]]:
    """The default first, then those with a promise, then those without; by name."""
    own = sorted(_own_methods(), key=lambda cls: (cls.name != DEFAULT, cls.route == "none", cls.name))
    methods = {cls.name: cls for cls in own}
    for cls in sorted(_foreign_methods(), key=lambda cls: cls.name):
        if cls.name in methods:
            BROKEN[cls.name] = "there is a method of this name already"
        else:
            methods[cls.name] = cls
    return methods


METHODS: dict[str, type[Recipe]] = _find_methods()


def find_method(name: str) -> type[Recipe]:
    """The recipe called ``name``; a slip of the pen gets a suggestion."""
    if name in BROKEN and name not in METHODS:
        raise ParameterError(_unusable(name))
    return find_declared(METHODS, name, hint="List them with `understudy methods`.")


def unusable() -> list[str]:
    """A sentence for every entry point that names no usable method."""
    return [_unusable(name) for name in sorted(BROKEN)]


def _unusable(name: str) -> str:
    return f"the method {name!r} of another package cannot be used ({BROKEN[name]}); mend the package."


def make_recipe(name: str, **options: Any) -> Recipe:
    """A recipe from loose options, each of which the method must know."""
    return make_declared(find_method(name), name, options)
