"""A released model of histories as one file: perturbed tables of every view, codebook, ledger. No private count."""

import io
import json
import math
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
from understudy.loading import loader
from understudy.release.folders import Commit, new_file
from understudy.sources.tables import CountTable
from understudy.synth.details import DetailTable
from understudy.synth.model_file import BROKEN, MOST_CLASSES, array_bytes
from understudy.synth.model_parts import ModelParts

FORMAT = 2
_READ = (1, 2)
"""Files of format 1 have no detailed codes."""
KIND = "histories"
_SCALE = 1 << 30
"""Shares of classes and counts of tables are kept as whole numbers of so many parts."""


def write_histories(model: HistoriesModel, path: Path, *, commit: Commit | None) -> Path:
    """Write a new file, all or nothing; ``commit`` hears its digest at the last moment before it appears."""
    return new_file(path, _packed(model), what="the model", commit=commit)


@loader("the model", remedy="copy it again from its source.", error=ReleaseError)
def is_histories(path: str | Path) -> bool:
    """Whether a model file holds linked tables; a file that is no model is left to whoever reads it."""
    try:
        with zipfile.ZipFile(path) as archive:
            return bool(ModelParts(archive).described().get("kind") == KIND)
    except BROKEN:
        return False


def _packed(model: HistoriesModel) -> bytes:
    buffer = io.BytesIO()
    views = [
        {
            "table": one.view.table.name,
            "steps": one.steps,
            "pairs": [list(pair) for pair in one.tables.twos],
            "codes": len(one.codes),
        }
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
            for place, codes in enumerate(one.codes):
                cells, weights = codes.pairs.occupied()
                archive.writestr(f"view-{number}-codes-{place}-totals.npy", array_bytes(codes.totals.to_grid()))
                archive.writestr(f"view-{number}-codes-{place}-cells.npy", array_bytes(cells))
                archive.writestr(f"view-{number}-codes-{place}-weights.npy", array_bytes(weights))
    return buffer.getvalue()


def _whole(values: Any) -> Any:
    return np.rint(values * _SCALE).astype(np.int64)


@loader("the model", remedy="copy it again from its source.", error=ReleaseError)
def load_histories(path: str | Path) -> HistoriesModel:
    """Read a released model back; one that contradicts itself or its price is refused."""
    try:
        with zipfile.ZipFile(path) as archive:
            parts = ModelParts(archive)
            described = parts.described()
            if described.get("format") not in _READ or described.get("kind") != KIND:
                raise ReleaseError(f"the model {str(path)!r} is not of format {FORMAT}; use the version that wrote it.")
            model = _unpacked(parts, described)
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


def _unpacked(parts: ModelParts, described: dict[str, Any]) -> HistoriesModel:
    book = LinkedCodebook.from_toml(parts.codebook())
    views = views_of(book)
    if [one["table"] for one in described["views"]] != [view.table.name for view in views]:
        raise ValueError("its views are not those of its codebook")
    measured = [
        Measured(
            view=view,
            tables=_read(parts, number, view, one["pairs"]),
            steps=int(one["steps"]),
            codes=_read_codes(parts, number, view, int(one.get("codes", 0))),
        )
        for number, (view, one) in enumerate(zip(views, described["views"], strict=True))
    ]
    return HistoriesModel(book=book, measured=tuple(measured), **HistoriesModel.read_head(described))


def _read(parts: ModelParts, number: int, view: View, pairs: list[list[int]]) -> ViewTables:
    def read(name: str, *shape: int | None) -> Any:
        most = math.prod(size or MOST_CLASSES for size in shape)
        values = parts.array(f"view-{number}-{name}.npy", most=most, dimensions=len(shape))
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


def _least(values: Any) -> int:
    return int(values.min(initial=0))


def _read_codes(parts: ModelParts, number: int, view: View, columns: int) -> tuple[DetailTable, ...]:
    """What detailed codes are drawn from."""
    if columns != len(view.codes):
        raise ValueError(f"{view.table.name} has codes of {columns} columns and not of {len(view.codes)}")
    tables = []
    for place, one in enumerate(view.codes):
        coarse = one.book.column(one.detail.detail_of)
        sizes = (coarse.size, one.detail.size)
        most = math.prod(sizes)
        totals, cells, weights = (
            parts.array(f"view-{number}-codes-{place}-{name}.npy", most=bound, dimensions=dimensions)
            for name, bound, dimensions in (("totals", coarse.size, 1), ("cells", 2 * most, 2), ("weights", most, 1))
        )
        fits = len(totals) == coarse.size and cells.shape == (len(weights), 2)
        if not fits or (cells >= sizes).any() or min(map(_least, (totals, cells, weights))) < 0:
            raise ValueError(f"the codes of {view.spelled(one.detail.name)} do not have the levels of the codebook")
        pairs = CountTable.sparse((coarse.name, one.detail.name), sizes, cells, weights)
        tables.append(DetailTable(totals=CountTable.dense((coarse.name,), totals), pairs=pairs))
    return tuple(tables)


def _shares(levels: Any) -> Any:
    if (levels.sum(axis=1) <= 0).any():
        raise ValueError("one of its latent classes is empty")
    return levels / levels.sum(axis=1, keepdims=True)


def _faults(model: HistoriesModel) -> list[str]:
    from understudy.histories.recheck import price_faults

    rows = tuple(one.steps for one in model.measured)
    faults = price_faults(model.parameters, model.book, model.ledger, model.delta)
    return faults or ([] if all(0 < steps <= 1_000 for steps in rows) else [f"its numbers of steps are {rows}"])
