"""What recipes and manifests write down: tables whose keys are the declared options of a class."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from understudy.errors import CodebookError, ParameterError
from understudy.loading import loader, not_text
from understudy.parameters import Class, ExactNumber, Several, Text, make_declared, read_options

_TEXT = Text(admitted=lambda value: isinstance(value, str))
COLUMN = Text(words="the name of a column", example="age")
COLUMNS = Several(each=_TEXT, words="a list of names of columns", example='["age", "sex"]')
LEVELS = Several(each=_TEXT, words="a list of levels", example='["a", "b"]')
NUMBERS = Several(each=ExactNumber(), words="a list of numbers", example="[18, 65]")


@loader("the file", remedy="save it as UTF-8 text.", error=CodebookError)
def read_text(path: Path, called: str, absent: str) -> str:
    """The text of a file that a person wrote, or a sentence about why it cannot be read."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise CodebookError(f"{absent} {str(path)!r}; check the path.") from None
    except UnicodeDecodeError:
        raise CodebookError(f"{called} {str(path)!r} {not_text(path, 'give TOML or CSV')}.") from None
    except OSError as reason:
        raise CodebookError(f"{called} {str(path)!r} cannot be read ({reason.strerror}).") from None


def column_words(name: str, given: Any, form: str) -> Iterator[tuple[str, str]]:
    """Column and value of each word ``COLUMN=VALUE``."""
    for word in [given] if isinstance(given, str) else given:
        column, equals, value = str(word).rpartition("=")
        if not equals or not column or not value:
            raise ParameterError(f"`{name}` is {word!r}; write COLUMN=VALUE, in the form {form}.")
        yield column, value


def read_entry(cls: type[Class], name: str, entry: Mapping[str, Any]) -> Class:
    """The object whose options a table gives; ``name`` is what messages call it."""
    # a text stands for itself in a file; on the command line it may stand for a list or a number
    texts = {key: value for key, value in entry.items() if isinstance(value, str)}
    others = {key: value for key, value in entry.items() if key not in texts}
    return make_declared(cls, name, {**texts, **read_options(cls, others)})
