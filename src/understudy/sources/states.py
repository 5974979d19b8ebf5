"""Files that are read more than once must be the same each time: counts of two states of a table are never mixed."""

from collections.abc import Sequence
from pathlib import Path

from understudy.errors import DataError

State = tuple[int, int, int]
"""Size, time of the last change and place on the disk."""


class FileStates:
    """Some files as they were when they were first seen."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self.of = {path: _state_of(path) for path in paths}

    def refuse_changes(self) -> None:
        """Raise unless all of them are as they were."""
        for path in self.of:
            self.refuse_change_of(path)

    def refuse_change_of(self, path: Path) -> None:
        """The same, of one of them."""
        if _state_of(path) != self.of[path]:
            raise DataError(
                f"{str(path)!r} was changed or removed while the table was counted; counts of two states are never "
                "mixed. Run again when nobody writes to the table."
            )


def _state_of(path: Path) -> State | None:
    """None where there is no such file: whoever reads it says so."""
    try:
        told = path.stat()
    except OSError:
        return None
    return told.st_size, told.st_mtime_ns, told.st_ino
