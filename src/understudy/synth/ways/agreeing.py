"""`marginals`: rows from latent classes, changed until they agree with two-way tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from understudy.codebook import Codebook
from understudy.samplers.agreeing import draw_agreeing
from understudy.sources.tables import CountTable
from understudy.synth.ways.wanted import Codes, Drawn, Wanted
from understudy.synth.ways.way import Read, Way, Whole


@dataclass(frozen=True, kw_only=True, eq=False)
class Agreeing(Way):
    """One table of every column in codebook order, then those of some pairs and triples of columns."""

    kind: ClassVar[str] = "marginals"
    one_by_one: ClassVar[bool] = False
    classes: tuple[Whole, ...]
    """The weights of latent classes, then for every column the weights of its levels in each class."""

    def faults(self, book: Codebook, tables: Sequence[CountTable]) -> list[str]:
        """Other tables, empty ones, or classes of other levels."""
        names = book.names
        shapes = [table.columns for table in tables]
        if shapes[: len(names)] != [(name,) for name in names]:
            return ["it needs one table of every column first"]
        joint = shapes[len(names) :]
        places = [[names.index(column) for column in columns] for columns in joint]
        ordered = all(2 <= len(place) <= 3 and place == sorted(set(place)) for place in places)
        if not ordered or len(set(joint)) < len(joint):
            return ["after the columns it holds pairs and triples, each once and in the order of the codebook"]
        if any(not table.occupied()[1].sum() for table in tables):
            return ["one of its tables is empty"]
        number = len(self.classes[0]) if self.classes else 0
        shapes_of_classes = [(number,), *((number, size) for size in book.sizes)]
        if number < 1 or [weights.shape for weights in self.classes] != shapes_of_classes:
            return ["its latent classes do not have the levels of the codebook"]
        if any((weights < 0).any() or (weights.sum(axis=-1) <= 0).any() for weights in self.classes):
            return ["one of its latent classes is empty"]
        return []

    def draw(self, book: Codebook, tables: Sequence[CountTable], wanted: Wanted) -> Drawn:
        """All rows together, since they agree with the tables only together."""
        weights, *levels = [part.astype(np.float64) for part in self.classes]
        joint = {
            tuple(book.position(column) for column in table.columns): table.to_grid().astype(np.float64)
            for table in tables
            if len(table.columns) > 1
        }

        def draw_rows(rows: int) -> list[Codes]:
            return draw_agreeing(
                weights,
                levels,
                joint,
                allowed=book.allowed,
                rows=rows,
                stream=wanted.stream,
                report=wanted.report,
                threads=wanted.threads,
            )

        return wanted.filtered(book, draw_rows)

    def described(self) -> dict[str, Any]:
        """How many arrays there are."""
        return {"classes": len(self.classes)}

    def arrays(self) -> dict[str, Whole]:
        """The weights."""
        return {f"classes-{number}": weights for number, weights in enumerate(self.classes)}

    @classmethod
    def rebuilt(cls, described: Mapping[str, Any], read: Read) -> "Agreeing":
        """From so many arrays."""
        return cls(classes=tuple(read(f"classes-{n}", 1 if n == 0 else 2) for n in range(described["classes"])))
