"""The runs of a map on disk: one line each, added when the run is finished, so that an interrupt loses one at most."""

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from understudy.codec import from_plain
from understudy.errors import ReleaseError
from understudy.evaluate.rumap.plan import Cell
from understudy.files import Access, append_to, make_folder, refuse_special_in, write_file
from understudy.loading import loading

RUNS, PARQUET, SETTINGS = "runs.jsonl", "runs.parquet", "settings.json"
FORMAT = 1
_KEYS = ("method", "epsilon", "repeat")
_LATER = ("format", "pairs")
"""Settings that folders of earlier versions do not name."""


class Journal:
    """A folder with finished runs. Computed on confidential data unless a stand-in was used: not for release."""

    def __init__(self, folder: Path, settings: Mapping[str, Any]) -> None:
        self.folder = folder
        with loading(folder, "the map in", remedy="name a new folder.", error=ReleaseError):
            refuse_special_in(folder)
            self._open(dict(settings))
            self.runs = self._read()

    def _open(self, settings: dict[str, Any]) -> None:
        """A new folder, or one whose runs were made with the same settings."""
        settings = {"format": FORMAT, **settings}
        place = self.folder / SETTINGS
        if not self.folder.exists():
            if not self.folder.absolute().parent.is_dir():
                raise ReleaseError(f"the folder {str(self.folder.absolute().parent)!r} does not exist; make it first.")
            try:
                make_folder(self.folder)
            except OSError as reason:
                raise ReleaseError(f"the folder {str(self.folder)!r} cannot be made ({reason.strerror}).") from None
        elif not self.folder.is_dir():
            raise ReleaseError(f"{str(self.folder)!r} is not a folder; name a new one for the map.")
        elif not place.is_file() and any(self.folder.iterdir()):
            raise ReleaseError(f"{str(self.folder)!r} holds something else than a map; name a new folder.")
        if not place.is_file():
            write_file(place, json.dumps(settings, indent=2) + "\n", Access.OWNER)
            return
        try:
            earlier = json.loads(place.read_text(encoding="utf-8"))
        except (OSError, ValueError) as reason:
            raise ReleaseError(f"{str(place)!r} cannot be read ({reason}); name a new folder.") from None
        earlier = {name: settings[name] for name in _LATER if name in settings} | earlier
        if earlier["format"] != FORMAT:
            raise ReleaseError(
                f"the map in {str(self.folder)!r} is of format {earlier['format']!r}, not {FORMAT}; use the version "
                "that wrote it, or name a new folder."
            )
        if earlier != settings:
            differing = sorted(name for name in {*earlier, *settings} if earlier.get(name) != settings.get(name))
            raise ReleaseError(
                f"the runs in {str(self.folder)!r} were made with other settings ({', '.join(differing)} differ); a "
                "map compares like with like. Name a new folder, or repeat the settings of this one."
            )

    def _read(self) -> dict[Cell, dict[str, Any]]:
        runs = {}
        place = self.folder / RUNS
        lines = place.read_text(encoding="utf-8").splitlines() if place.is_file() else []
        for line in lines:
            try:
                run = json.loads(line)
                cell = from_plain(Cell, {key: run[key] for key in _KEYS})
                from_plain(dict[str, float | None], run["measures"])
                runs[cell] = run
            except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
                continue  # cut short by an interrupt, or changed: that run is made again
        return runs

    def add(self, cell: Cell, run: Mapping[str, Any]) -> None:
        """One finished run, on disk before the next one starts."""
        whole = {"method": cell.method, "epsilon": cell.epsilon, "repeat": cell.repeat, **run}
        place = self.folder / RUNS
        text = json.dumps(whole, allow_nan=False) + "\n"
        if place.exists() and place.stat().st_size and not _ends_whole(place):
            text = "\n" + text
        append_to(place, text.encode())
        self.runs[cell] = whole

    def write_parquet(self) -> Path:
        """All runs as one table, a row each; measures that a run lacks are null."""
        import pyarrow.parquet as pq

        runs = self.ordered(self.runs)
        names = list(dict.fromkeys(name for run in runs for name in run))
        flat = [{name: run.get(name) for name in names if name != "measures"} | run["measures"] for run in runs]
        columns = list(dict.fromkeys(name for run in flat for name in run))
        table = pa.table(
            {name: pa.array([run.get(name) for run in flat], _KINDS.get(name, pa.float64())) for name in columns}
        )
        place = self.folder / PARQUET
        sink = pa.BufferOutputStream()
        pq.write_table(table, sink)
        write_file(place, sink.getvalue().to_pybytes(), Access.OWNER)
        return place

    def ordered(self, cells: Iterable[Cell]) -> list[dict[str, Any]]:
        """Runs by method, epsilon and repeat."""
        keys = sorted(cells, key=lambda cell: (cell.method, cell.epsilon or 0.0, cell.repeat))
        return [self.runs[cell] for cell in keys if cell in self.runs]


def _ends_whole(place: Path) -> bool:
    with place.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"


_KINDS = {
    **dict.fromkeys(("method", "refused", "total_kind", "total_neighbours"), pa.string()),
    **dict.fromkeys(("repeat", "rows"), pa.int64()),
    "pair_errors": pa.list_(pa.float64()),
}
