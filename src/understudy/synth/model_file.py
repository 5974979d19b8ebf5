"""A released model as one file: perturbed counts, codebook, ledger. No private count, no seed."""

import io
import json
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from understudy.codebook import Codebook
from understudy.codebook.where import Where, where_codes
from understudy.errors import ReleaseError, UnderstudyError
from understudy.loading import loader
from understudy.mechanisms.stream import Stream
from understudy.parameters import ROWS
from understudy.privacy.transaction import Payment
from understudy.release import Manifest, Release, describe
from understudy.release.folders import Commit, new_file
from understudy.release.measurements import MEASUREMENTS
from understudy.release.release import marked
from understudy.sources.base import Report
from understudy.sources.tables import CountTable
from understudy.synth.detail_where import draw_part, part_facts
from understudy.synth.details import Details, decode_drawn
from understudy.synth.grouping import sizes_of
from understudy.synth.measurements import attached
from understudy.synth.model_parts import ModelParts
from understudy.synth.models import ReleasedModel
from understudy.synth.ways import Way

FORMAT = 1
MOST_CLASSES = 1 << 12
"""Latent classes of a model; ours have some hundreds at most."""
_OF_A_WAY: Mapping[str, Any] = {"sweeps": 0, "order": [], "classes": 0}
"""What a file says of ways of drawing other than its own: every file of format 1 has room for all of them."""


def write_model(model: ReleasedModel, path: Path, *, commit: Commit | None) -> Path:
    """Write a new file, all or nothing; ``commit`` hears its digest at the last moment before it appears."""
    return new_file(path, _packed(model), what="the model", commit=commit)


def _packed(model: ReleasedModel) -> bytes:
    """Tables of the model first, then two for each detail column and one for each measured number."""
    tables = [*model.tables, *model.details.tables()]
    described = {
        "format": FORMAT,
        "kind": model.way.kind,
        **model.head(),
        **_OF_A_WAY,
        **model.way.described(),
        "tables": [{"columns": list(table.columns), "sizes": list(table.sizes)} for table in tables],
        "details": len(model.details.codes),
        "measured": len(model.details.pieces),
        "people": list(model.people),
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("model.json", json.dumps(described, indent=2, ensure_ascii=False))
        archive.writestr("codebook.toml", model.codebook.to_toml())
        for number, table in enumerate(tables):
            codes, counts = table.occupied()
            archive.writestr(f"table-{number}-codes.npy", array_bytes(codes))
            archive.writestr(f"table-{number}-noisy-counts.npy", array_bytes(counts))
        for name, values in model.way.arrays().items():
            archive.writestr(f"{name}.npy", array_bytes(values))
        if model.measurements is not None:
            written = io.BytesIO()
            pyarrow.parquet.write_table(model.measurements, written)
            archive.writestr(MEASUREMENTS, written.getvalue())
    return buffer.getvalue()


def array_bytes(values: Any) -> bytes:
    """An array as the file holds it."""
    buffer = io.BytesIO()
    np.save(buffer, values, allow_pickle=False)
    return buffer.getvalue()


@loader("the model", remedy="copy it again from its source.", error=ReleaseError)
def load_model(path: str | Path) -> "LoadedModel":
    """Read a released model back; one that contradicts itself is refused."""
    try:
        with zipfile.ZipFile(path) as archive:
            parts = ModelParts(archive)
            described = parts.described()
            if described.get("format") != FORMAT:
                raise ReleaseError(f"the model {str(path)!r} is not of format {FORMAT}; use the version that wrote it.")
            model = _unpacked(parts, described)
        if faults := [*model.faults(), *_price_faults(model)]:
            raise ValueError(faults[0])
    except FileNotFoundError:
        raise ReleaseError(
            f"there is no model file {str(path)!r}; check the path, or write one with `understudy synth --save-model`."
        ) from None
    except BROKEN as reason:
        if isinstance(reason, ReleaseError):
            raise
        if other := _something_else(Path(path)):
            raise ReleaseError(
                f"{str(path)!r} {other}; give the file that `understudy synth --save-model` wrote."
            ) from None
        raise ReleaseError(f"{str(path)!r} is not a whole model file ({reason}); copy it again.") from None
    return LoadedModel(model)


def _something_else(path: Path) -> str:
    """What a file is that was never a model of ours; nothing for one that may have been cut or changed."""
    if path.is_dir():
        return "is a folder, not a model"
    try:
        with path.open("rb") as stream:
            start = stream.read(64)
    except OSError:
        return ""
    if not start:
        return "is empty"
    if b"understudy-score-model" in start:
        return "is not a model to draw from: it is a risk score, for `understudy serve`"
    return "" if start.startswith(b"PK") else "is not a model file"


# What the readers of zip, JSON, NumPy and TOML raise on bytes that nobody wrote; anything else is our bug.
BROKEN = (
    UnderstudyError,
    OSError,
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    LookupError,
    ValueError,
    TypeError,
    AttributeError,
    pa.ArrowException,
    RuntimeError,  # with NotImplementedError: encrypted, or packed in an unknown way
)


def _price_faults(model: ReleasedModel) -> list[str]:
    """Whether the ledger is what the method, its parameters and the codebook cost."""
    from understudy.synth.recheck import cheaper_than_its_method
    from understudy.synth.registry import METHODS

    if model.method not in METHODS:
        raise ReleaseError(
            f"the model was made by the method {model.method!r}, which is unknown here; install the package that has "
            "it, or the version of Understudy that wrote the model. `understudy methods` lists what is there."
        )
    faults = cheaper_than_its_method(
        model.method, model.parameters, model.codebook, rows=1, ledger=model.ledger, delta=model.delta
    )
    return faults or []


def _unpacked(parts: ModelParts, described: dict[str, Any]) -> ReleasedModel:
    book = Codebook.from_toml(parts.codebook())
    tables = tuple(_table(parts, book, number, shape) for number, shape in enumerate(described["tables"]))
    codes = int(described.get("details", 0))
    own = len(tables) - 2 * codes - int(described.get("measured", 0))
    return ReleasedModel(
        way=_way(parts, described, book),
        codebook=book,
        tables=tables[:own],
        details=Details.of(tables[own:], codes=codes),
        people=tuple(described.get("people", ())),
        measurements=parts.measurements(book) if parts.has(MEASUREMENTS) else None,  # earlier versions had none
        **ReleasedModel.read_head(described),
    )


def _table(parts: ModelParts, book: Codebook, number: int, shape: dict[str, Any]) -> CountTable:
    """A table of columns that the codebook counts, with its levels; what is larger is not unpacked."""
    sizes = {column.name: column.size for column in book.counted}
    if not set(shape["columns"]) <= set(sizes) or shape["sizes"] != [sizes[name] for name in shape["columns"]]:
        raise ValueError(f"its table {number} does not have columns and levels of its codebook")
    return CountTable.sparse(shape["columns"], shape["sizes"], *parts.cells(number, shape["sizes"]))


def _way(parts: ModelParts, described: dict[str, Any], book: Codebook) -> Way:
    most = MOST_CLASSES * max(column.size for column in book.counted)
    way = Way.named(described["kind"]).rebuilt(
        described, lambda name, dimensions: parts.array(f"{name}.npy", most=most, dimensions=dimensions)
    )
    expected = {**_OF_A_WAY, **way.described()}
    if expected != {name: described[name] for name in expected}:
        raise ValueError(f"it says more than the kind {way.kind!r} needs")
    return way


class LoadedModel:
    """A released model without its data: unlimited rows, no further price."""

    def __init__(self, model: ReleasedModel) -> None:
        self.model = model

    def sample(
        self, rows: int, *, where: Where | None = None, stream: Stream | None = None, report: Report | None = None
    ) -> Release:
        """``rows`` new records, of a sub-population if asked for, under the promise that the model came with."""
        stream = Stream.checked(stream)
        model = self.model
        part = None if where is None else where_codes(model.codebook, where)
        warnings: dict[str, None] = {}

        def draw(number: int, own: Mapping[str, Any]) -> Any:
            report_rows = None if report is None else lambda done, of: report("drawing rows", done, of)
            drawn = model.draw(ROWS.check("rows", number), stream, report_rows, where=own)
            warnings.update(dict.fromkeys(drawn.warnings))
            return drawn.codes

        codes, only = draw_part(model.codebook, model.details, part, ROWS.check("rows", rows), stream, draw)
        parameters, part_warnings = part_facts(model.codebook, model.parameters, part)
        manifest = self.manifest(
            rows,
            self.payment(),
            secure=model.secure and stream.is_secure,
            warnings=(*warnings, *part_warnings),
            parameters=parameters,
        )
        sizes = sizes_of(model.codebook, model.people)
        table = decode_drawn(model.codebook, model.details, codes, stream, people=sizes, only=only)
        also = {} if where is not None else attached(model.measurements)  # which describe the whole population
        return Release(
            table=table, manifest=manifest, attachments={name: marked(one, manifest) for name, one in also.items()}
        )

    def payment(self, release_id: str | None = None) -> Payment:
        """Nothing is paid any more, and the manifest says who did."""
        return self.model.payment(release_id)

    def manifest(
        self, rows: int, payment: Payment, *, secure: bool, parameters: Mapping[str, Any] | None = None, **more: Any
    ) -> Manifest:
        """The manifest of ``rows`` rows drawn from this model."""
        model = self.model
        quote = model.quote(rows, secure=secure)
        return describe(
            quote,
            payment,
            parameters=model.parameters if parameters is None else parameters,
            codebook=model.codebook,
            secure=model.secure and secure,
            **more,
        )

    def __repr__(self) -> str:
        return f"<released {self.model.method} model of {len(self.model.codebook.names)} columns>"
