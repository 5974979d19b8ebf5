"""Keep people back before anything is released."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from understudy.codebook import Codebook


def keep_back(
    data: Any,
    book: Codebook | str | Path,
    *,
    rest: str | Path,
    held: str | Path,
    share: float = 0.2,
    table: str | None = None,
) -> tuple[Path, Path]:
    """Draw by lot who stays out of all releases, and write two confidential tables.

    Do this before the first release: who took part in one can no longer be kept back from it. Each person goes or stays
    by a coin of their own, with all their records where the codebook says who is a person, so that what a release of
    the rest promises holds for everybody. Releases that were made elsewhere are not known here. Both files, and the
    first one, stay confidential: each is refused as a public table beside the others.

    Parameters
    ----------
    rest
        New Parquet file: the table to make releases of.
    held
        New Parquet file: the people kept back, for ``evaluate(holdout=...)``.
    share
        Chance of each person to be kept back.
    """
    from understudy.errors import ParameterError
    from understudy.evaluate.set_aside import set_aside
    from understudy.facade.codebooks import load_any
    from understudy.mechanisms.stream import Stream

    loaded: Any = load_any(book)
    if hasattr(loaded, "tables"):
        raise ParameterError(
            "`book` describes linked tables; people are kept back by lot from one table. Set whole people aside where "
            "the files were made, with all rows of theirs in every table."
        )
    places = Path(rest), Path(held)
    set_aside(data, loaded, rest=places[0], held=places[1], share=share, stream=Stream.from_system(), table=table)
    return places
