"""Base of all recipes of route N: pay for perturbed tables once, then draw rows from them at no price."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from understudy.codebook.where import Where
from understudy.errors import RefusalError
from understudy.mechanisms.stream import Stream
from understudy.privacy.ledger import Entry, Ledger
from understudy.privacy.provenance import Provenance
from understudy.release import Release
from understudy.release.folders import check_file
from understudy.release.making import PaidOnce
from understudy.sources.base import Report, Source
from understudy.sources.tables import CountTable
from understudy.synth.assumed import public_size as public_size  # noqa: PLC0414 - methods of other packages take it from here
from understudy.synth.drawers import ModelDrawer
from understudy.synth.measurements import attached
from understudy.synth.model_file import write_model
from understudy.synth.models import NOT_CHARGED, ReleasedModel
from understudy.synth.recipe import Fitted, Recipe
from understudy.synth.ways import Way


@dataclass(frozen=True, kw_only=True)
class Perturbed:
    """The result of a fit: perturbed tables, how to draw from them, and the entries of the
    mechanisms."""

    way: Way
    tables: Sequence[CountTable]
    entries: Sequence[Entry]
    pieces: Sequence[CountTable] = ()
    """Of smooth numbers whose pieces were measured too."""
    measurements: pa.Table | None = None
    """What was measured, before it was made plausible (:mod:`understudy.synth.measurements`)."""


@dataclass(frozen=True, kw_only=True)
class ReleasedRecipe(Recipe):
    """Route N, and its baselines without a promise."""

    ranged: ClassVar[bool] = True

    @abstractmethod
    def perturb(self, source: Source, stream: Stream, report: Report | None) -> Perturbed:
        """Count, perturb, forget the counts."""

    def fit_records(self, source: Source, stream: Stream, report: Report | None) -> "FittedReleased":
        """Perturbed tables, ready to draw from."""
        perturbed = self.perturb(source, stream, report)
        return FittedReleased(recipe=self, source=source, perturbed=perturbed, stream=stream, report=report)


class FittedReleased(PaidOnce[Release], Fitted):
    """A released model and the account that pays for it."""

    def __init__(
        self, *, recipe: Recipe, source: Source, perturbed: Perturbed, stream: Stream, report: Report | None
    ) -> None:
        super().__init__(recipe=recipe, source=source, stream=stream, report=report)
        self._perturbed = perturbed
        self._details = replace(self._details, pieces=(*self._details.pieces, *perturbed.pieces))

    @cached_property
    def _model(self) -> ReleasedModel:
        perturbed, quote = self._perturbed, self.quote(1 if self._quoted is None else self._quoted.rows)
        if unpaid := quote.ledger.unpaid(perturbed.entries):
            raise RefusalError(f"the quote does not pay for {unpaid[0].reads}; this is a fault of the recipe.")
        return ReleasedModel(
            way=perturbed.way,
            codebook=self.codebook,
            tables=tuple(perturbed.tables),
            ledger=quote.ledger,
            delta=quote.delta,
            method=self.recipe.name,
            parameters=self.recipe.parameters(),
            secure=self._stream.is_secure,
            warnings=quote.warnings,
            charged=NOT_CHARGED if self._account is None else f"charged to the account of {self._account.dataset!r}",
            details=self._details,
            people=self._people,
            measurements=perturbed.measurements,
        )

    @property
    def model(self) -> ReleasedModel:
        """The released tables, once they are paid for; from then on they may go anywhere."""
        self._require_paid("the perturbed tables")
        return self._model

    def attachments(self, where: Where | None) -> dict[str, pa.Table]:
        """The measurements describe the whole population, so rows of a part of it go without."""
        return {} if where is not None else attached(self._perturbed.measurements)

    def _draw(self, rows: int, ledger: Ledger) -> Sequence[npt.NDArray[np.unsignedinteger]]:
        return self._draw_where(rows, ledger, {})

    def _draw_where(
        self, rows: int, ledger: Ledger, where: Mapping[str, Sequence[int]]
    ) -> Sequence[npt.NDArray[np.unsignedinteger]]:
        drawn = self._model.draw(rows, self._stream, lambda done, of: self._tell("drawing rows", done, of), where=where)
        self.warnings = drawn.warnings
        return drawn.codes

    def drawer(self, rows: int, ledger: Ledger) -> ModelDrawer:
        """The released model itself, once it is paid for."""
        self._require_paid("the perturbed tables")
        return ModelDrawer(self._model)

    def save_model(self, path: str | Path) -> Path:
        """Write the released tables to a new file, from which rows can be drawn without the data; pays if unpaid."""
        if self.recipe.route != "N":
            raise RefusalError(
                f"a fit of {self.recipe.name} holds exact counts, so it is not written to a file; sample it."
            )
        if self._judge is not None and self._is_rejected is not False:
            self._require_accepted("the perturbed tables")
            raise RefusalError("the model is written once the certificate has accepted a release; draw that first.")
        refuse_model_of(self._provenance)
        check_file(Path(path), what="the model")
        with self._paying(self.quote(1)) as payment:
            payment.drawing()
            model = replace(self._model, charged_as=payment.charged_as, looked=payment.looked)
            return write_model(model, Path(path), commit=payment.commit)


def refuse_model_of(provenance: Provenance) -> None:
    """A model file has no room for the manifest of an anonymised input, which every release made from it must keep."""
    if provenance.is_release:
        raise RefusalError(
            f"the input is {provenance.called}, whose manifest must go with every file drawn "
            "from it; a model would lose it. Draw all the rows you need now, without a model."
        )
