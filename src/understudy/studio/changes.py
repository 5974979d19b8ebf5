"""Every change of a codebook can be undone: its text before the change is kept, newest last, under ``.undo/``."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from understudy.errors import ParameterError
from understudy.studio.guard import Form
from understudy.studio.looks import is_writing
from understudy.studio.plans import form_number
from understudy.studio.texts import texts
from understudy.studio.workspace import Dataset, private_folder, write_private


class StaleFormError(ParameterError):
    """A form of a codebook that has changed since it was shown. It is not filled in again."""


def number_of(own: Dataset, *facts: Any) -> str:
    """The number of a form: of the codebook, and of what else it shows, as they are."""
    return form_number(own.codebook.read_bytes() if own.codebook.is_file() else b"", *facts)


def check_number(own: Dataset, form: Form, *facts: Any) -> None:
    """Nobody puts their name to something else than was shown: another tab or a command may have changed it."""
    now = number_of(own, *facts)
    if form.get("shown", now) != now:
        raise StaleFormError(texts("codebook")["changed"])


_MOST = 200
"""Earlier texts that are kept."""


def _refuse_beside(own: Dataset) -> None:
    """What is changed beside a look that writes would be lost without a word as soon as that look has ended."""
    if is_writing(own):
        raise ParameterError(texts("common")["busy"])


@contextmanager
def changing(own: Dataset, *, by_look: bool = False) -> Iterator[None]:
    """Keep the text as it was, if what happens inside changes it; ``by_look``: a look is about to write it."""
    if not by_look:
        _refuse_beside(own)
    if not own.codebook.is_file():
        raise ParameterError(texts("codebook")["no_book"])
    before = own.codebook.read_bytes()
    yield
    if own.codebook.read_bytes() != before:
        folder = private_folder(own.undo)
        kept = _kept(own)
        number = int(kept[-1].stem) + 1 if kept else 1
        write_private(folder / f"{number:06d}.toml", before)
        for old in kept[: max(0, len(kept) + 1 - _MOST)]:
            old.unlink()


def _kept(own: Dataset) -> list[Path]:
    """Earlier texts, oldest first. The studio makes no links, so one that lies there is none of them."""
    known = own.undo.glob("*.toml") if own.undo.is_dir() else ()
    return sorted(path for path in known if path.stem.isdecimal() and not path.is_symlink())


def steps_back(own: Dataset) -> int:
    """How many changes can be undone."""
    return len(_kept(own))


def last_kept(own: Dataset) -> Path | None:
    """The text before the last change, which `undo` brings back."""
    return next(iter(_kept(own)[-1:]), None)


def undo(own: Dataset) -> None:
    """Take the last change back."""
    _refuse_beside(own)
    kept = _kept(own)
    if not kept:
        raise ParameterError(texts("codebook")["nothing_to_undo"])
    write_private(own.codebook, own.path(".undo", kept[-1].name).read_bytes())
    kept[-1].unlink()
