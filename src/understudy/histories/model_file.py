"""A released model of histories as one file: perturbed tables of every view, codebook, ledger. No private count."""

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from understudy.blocks.latent import LatentClasses
from understudy.codebook import LinkedCodebook
from understudy.codebook.views import View, views_of
from understudy.errors import ReleaseError
from understudy.histories.drawing import Measured
from understudy.histories.measuring import ViewTables
from understudy.histories.model import HistoriesModel
from understudy.release.folders import Commit, new_file
from understudy.synth.model_file import BROKEN, array_bytes, read_array

FORMAT = 1
KIND = "histories"
_SCALE = 1 << 30
"""Shares of classes and counts of tables are kept as whole numbers of so many parts."""


def write_histories(model: HistoriesModel, path: Path, *, commit: Commit | None) -> Path:
    """Write a new file, all or nothing; ``commit`` hears its digest at the last moment before it appears."""
    return new_file(path, _packed(model), what="the model", commit=commit)


def is_histories(path: str | Path) -> bool:
    """Whether a model file holds linked tables; a file that is no model is left to whoever reads it."""
    try:
        with zipfile.ZipFile(path) as archive:
            return bool(json.loads(archive.read("model.json")).get("kind") == KIND)
    except BROKEN:
        return False


def _packed(model: HistoriesModel) -> bytes:
    buffer = io.BytesIO()
    views = [
        {"table": one.view.table.name, "steps": one.steps, "pairs": [list(pair) for pair in one.tables.twos]}
        for one in model.measured
    ]
    described = {"format": FORMAT, "kind": KIND, **model.head(), "views": views}
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("model.json", json.dumps(described, indent=2, ensure_ascii=False))
        archive.writestr("codebook.toml", model.book.plain.to_toml())
        for number, one in enumerate(model.measured):
            tables = one.tables
            archive.writestr(f"view-{number}-classes.npy", array_bytes(_whole(tables.classes.weights)))
            for place, (single, levels) in enumerate(zip(tables.ones, tables.classes.levels, strict=True)):
                archive.writestr(f"view-{number}-one-{place}.npy", array_bytes(_whole(single)))
                archive.writestr(f"view-{number}-levels-{place}.npy", array_bytes(_whole(levels)))
            for place, table in enumerate(tables.twos.values()):
                archive.writestr(f"view-{number}-pair-{place}.npy", array_bytes(_whole(table)))
    return buffer.getvalue()


def _whole(values: Any) -> Any:
    return np.rint(values * _SCALE).astype(np.int64)


def load_histories(path: str | Path) -> HistoriesModel:
    """Read a released model back; one that contradicts itself or its price is refused."""
    try:
        with zipfile.ZipFile(path) as archive:
            described = json.loads(archive.read("model.json"))
            if described.get("format") != FORMAT or described.get("kind") != KIND:
                raise ReleaseError(f"the model {str(path)!r} is not of format {FORMAT}; use the version that wrote it.")
            model = _unpacked(archive, described)
        if faults := _faults(model):
            raise ValueError(faults[0])
    except FileNotFoundError:
        raise ReleaseError(
            f"there is no model file {str(path)!r}; check the path, or write one with `understudy synth --save-model`."
        ) from None
    except BROKEN as reason:
        if isinstance(reason, ReleaseError):
            raise
        raise ReleaseError(f"{str(path)!r} is not a whole model file ({reason}); copy it again.") from None
    return model


def _unpacked(archive: zipfile.ZipFile, described: dict[str, Any]) -> HistoriesModel:
    book = LinkedCodebook.from_toml(archive.read("codebook.toml").decode("utf-8"))
    views = views_of(book)
    if [one["table"] for one in described["views"]] != [view.table.name for view in views]:
        raise ValueError("its views are not those of its codebook")
    measured = [
        Measured(view=view, tables=_read(archive, number, view, one["pairs"]), steps=int(one["steps"]))
        for number, (view, one) in enumerate(zip(views, described["views"], strict=True))
    ]
    return HistoriesModel(book=book, measured=tuple(measured), **HistoriesModel.read_head(described))


def _read(archive: zipfile.ZipFile, number: int, view: View, pairs: list[list[int]]) -> ViewTables:
    def read(name: str, *shape: int | None) -> Any:
        values = read_array(archive, f"view-{number}-{name}.npy", dimensions=len(shape))
        if any(wanted is not None and wanted != size for wanted, size in zip(shape, values.shape, strict=True)):
            raise ValueError(f"a table of the view of {view.table.name} does not have the levels of the codebook")
        if (values < 0).any() or values.sum() <= 0:
            raise ValueError(f"a table of the view of {view.table.name} is empty or has counts below 0")
        return values / _SCALE

    sizes = view.book.sizes
    weights = read("classes", None)
    known = set(view.pairs)
    if not {(i, j) for i, j in pairs} <= known or len({(i, j) for i, j in pairs}) != len(pairs):
        raise ValueError(f"the view of {view.table.name} has tables of other columns than its codebook")
    return ViewTables(
        ones=[read(f"one-{place}", size) for place, size in enumerate(sizes)],
        twos={(i, j): read(f"pair-{place}", sizes[i], sizes[j]) for place, (i, j) in enumerate(pairs)},
        classes=LatentClasses(
            weights=weights / weights.sum(),
            levels=[_shares(read(f"levels-{place}", len(weights), size)) for place, size in enumerate(sizes)],
        ),
    )


def _shares(levels: Any) -> Any:
    if (levels.sum(axis=1) <= 0).any():
        raise ValueError("one of its latent classes is empty")
    return levels / levels.sum(axis=1, keepdims=True)


def _faults(model: HistoriesModel) -> list[str]:
    from understudy.histories.recheck import price_faults

    rows = tuple(one.steps for one in model.measured)
    faults = price_faults(model.parameters, model.book, model.ledger, model.delta)
    return faults or ([] if all(0 < steps <= 1_000 for steps in rows) else [f"its numbers of steps are {rows}"])
