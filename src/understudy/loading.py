"""How files are read that somebody else may have written: what is damaged or no file at all ends in one sentence.

A loader knows what its file should hold; what the readers of JSON, TOML, zip, XML or Parquet raise on bytes that nobody
wrote, and what our own code raises on a shape that nobody foresaw, is turned here into an error that names the file,
the fault and the remedy. So a damaged file is never a mistake of ours, and a mistake of ours is never a damaged file:
what no content of a file can cause, such as a name that is not defined, goes through as it is.
"""

import functools
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, Concatenate, ParamSpec, TypeVar

from understudy.errors import MissingExtraError, RefusalError, StoppedError, UnderstudyError
from understudy.files import refuse_special

Place = TypeVar("Place")
Arguments = ParamSpec("Arguments")
Value = TypeVar("Value")
_HOME = Path(__file__).parent.parts
_MOST = 120
"""Characters of a reason that are shown."""


@contextmanager
def loading(
    path: Any, what: str, *, remedy: str, error: Callable[[str], UnderstudyError], quotes: bool = True
) -> Iterator[None]:
    """Turn whatever goes wrong while ``path`` is read into ``error``; ``what`` is its name in sentences.

    A value that is no path is not opened here; it is only called by ``what``. ``quotes`` says whether the words of a
    reason may be shown: those about a table of people may hold a value of theirs.
    """
    is_path = isinstance(path, str | Path) and "://" not in str(path)  # an address may hold a password
    name = f"{what} {str(path)!r}" if is_path else what
    try:
        if is_path:
            refuse_special(Path(path), follow=True)
        yield
    except UnderstudyError as reason:
        told = " ".join([str(reason), *getattr(reason, "__notes__", ())])
        is_ours = isinstance(reason, StoppedError | MissingExtraError | RefusalError)
        if is_path and not is_ours and not any(name in told for name in (str(path), repr(str(path)), Path(path).name)):
            reason.add_note(f"This was found in {name}.")
        raise
    except MemoryError:
        raise error(
            f"{name} asks for more memory than this machine has; it is damaged, or too large. {remedy}"
        ) from None
    except Exception as reason:
        if "Query interrupted" in str(reason) or is_our_mistake(
            reason
        ):  # DuckDB's word for Ctrl-C: no fault of the file
            raise
        raise error(f"{name} cannot be read ({_why(reason, quotes)}); {remedy}") from None


def not_text(path: Path, instead: str) -> str:
    """What to say of a file that should be text and is not UTF-8; ``instead`` is what to give in the place of a table.

    Texts have no zero bytes, except in an encoding that begins with a mark; tables, workbooks and archives have many.
    """
    with path.open("rb") as file:
        first = file.read(4096)
    is_binary = b"\0" in first and not first.startswith((b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff"))
    return f"is no text, but data of another kind; {instead}" if is_binary else "is not UTF-8 text; save it as UTF-8"


def is_our_mistake(reason: Exception) -> bool:
    """Whether it was raised by our own code, for a cause that no file can have.

    ``None.get`` is what a damaged document does to our code; an attribute that our own class lacks is a slip of ours.
    """
    frames = list(traceback.walk_tb(reason.__traceback__))
    if not frames or Path(frames[-1][0].f_code.co_filename).parts[: len(_HOME)] != _HOME:
        return False  # other libraries assert on what they read
    if isinstance(reason, AttributeError):
        owner = reason.obj if isinstance(reason.obj, type) else type(reason.obj)
        is_by_hand = reason.name is None  # raised by our own words, as a package without such a name does
        return is_by_hand or isinstance(reason.obj, ModuleType) or owner.__module__.partition(".")[0] == "understudy"
    return isinstance(reason, NameError | AssertionError | ImportError)


def _why(reason: Exception, quotes: bool) -> str:
    """A reason in a few words, on one line."""
    if isinstance(reason, RecursionError):
        return "it is nested too deep"
    if isinstance(reason, OSError) and reason.strerror:
        return reason.strerror
    words = " ".join(str(reason).split())[:_MOST].rstrip(".") if quotes else ""
    kind = type(reason).__name__
    return f"it is damaged or of another kind, {kind}{f': {words}' if words else ''}"


def loader(
    what: str, *, remedy: str, error: Callable[[str], UnderstudyError], quotes: bool = True
) -> Callable[[Callable[Concatenate[Place, Arguments], Value]], Callable[Concatenate[Place, Arguments], Value]]:
    """The same around a function whose first argument is the path."""

    def guarded(
        load: Callable[Concatenate[Place, Arguments], Value],
    ) -> Callable[Concatenate[Place, Arguments], Value]:
        @functools.wraps(load)
        def guard(path: Place, /, *args: Arguments.args, **more: Arguments.kwargs) -> Value:
            with loading(path, what, remedy=remedy, error=error, quotes=quotes):
                return load(path, *args, **more)

        return guard

    return guarded
