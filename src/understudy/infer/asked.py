"""Everything that is asked of a release at once, in words, and the answers."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from understudy.errors import ParameterError, RefusalError
from understudy.infer.inference import Figure, Inference, answered, quantile_of, total_of
from understudy.infer.opened import OpenedRelease, open_release
from understudy.infer.questions import (
    MODELS,
    Correlation,
    Difference,
    Mean,
    Part,
    Question,
    cells_of,
    pair_of,
    regression_of,
    share_of,
    share_words,
)
from understudy.parameters import Number, OneOf
from understudy.release import Release

TARGETS = ("population", "table")
LEVEL = Number(above=0, below=1, tried=0.95)
SIZE = Number(above=0)
_MEDIAN = 0.5


@dataclass(frozen=True, kw_only=True)
class Asked:
    """Lists of words, as a command takes them."""

    share: Sequence[str] = ()
    mean: Sequence[str] = ()
    total: Sequence[str] = ()
    quantile: Sequence[str] = ()
    table: Sequence[str] = ()
    correlation: Sequence[str] = ()
    linear: Sequence[str] = ()
    logistic: Sequence[str] = ()
    poisson: Sequence[str] = ()
    where: Mapping[str, Any] = field(default_factory=dict)
    by: str | None = None
    difference: bool = False
    target: str = "population"
    level: float = 0.95
    population_size: float | None = None

    def __post_init__(self) -> None:
        """Refuse what makes no sense before anything is read."""
        OneOf(TARGETS).check("target", self.target)
        LEVEL.check("level", self.level)
        if self.population_size is not None:
            SIZE.check("population_size", self.population_size)
        if not any((self.share, self.mean, self.total, self.quantile, self.table, self.correlation, *self._models())):
            raise ParameterError(
                "nothing is asked; name a figure, as --share sex=F, --mean age or --logistic 'charge > 25 ~ age + sex'."
            )
        if self.by is not None and "," in self.by:
            raise ParameterError(f"`by` is {self.by!r}; name one column, and a level of the other as `where`.")
        if self.difference and self.by is None:
            raise ParameterError("`difference` compares groups; name the column that tells them apart (`by`).")
        if self.total and self.target == "population" and self.population_size is None:
            raise ParameterError(
                "a total of the population needs its size, which no release holds; give `population_size`, or ask for "
                "the total of the confidential table (`target` table)."
            )

    def _models(self) -> list[Sequence[str]]:
        return [getattr(self, kind) for kind in MODELS]

    def answer(self, source: Release | str | Path) -> Inference:
        """All figures, from the release alone; where none can be told, the reason is an error."""
        release = open_release(source)
        whole = Part.of(release, self.where)
        figures: list[Figure] = []
        for part in self._parts(release, whole):
            figures += self._figures(release, part)
        if self.difference:
            figures += self._differences(release, whole)
        for of in itertools.chain.from_iterable(cells_of(release, word) for word in self.table):
            figures += self._answered(release, share_of(release, of, whole))
        for word in self.correlation:
            figures += self._answered(release, Correlation(part=whole, of=pair_of(release, word)))
        for kind in MODELS:
            for formula in getattr(self, kind):
                figures += self._answered(release, regression_of(release, kind, formula, whole))
        if figures and all(figure.refused is not None for figure in figures):
            raise RefusalError(str(figures[0].refused))
        return Inference(
            figures=tuple(figures),
            target=self.target,
            level=self.level,
            release=release.release_id,
            statement=release.statement,
            notes=release.notes,
        )

    def _answered(self, release: OpenedRelease, question: Question) -> list[Figure]:
        return answered(release, question, target=self.target, level=self.level)

    def _parts(self, release: OpenedRelease, whole: Part) -> list[Part]:
        """The groups that are told apart, or everybody who is asked about."""
        if self.by is None:
            return [whole]
        column = release.column(self.by)
        present = column.proper_levels + len(column.special)
        held = whole.codes.get(self.by, range(present))
        return [whole.narrowed(release, self.by, code) for code in held if code < present]

    def _simple(self, release: OpenedRelease, part: Part) -> list[Question]:
        """Shares and means."""
        shares = itertools.chain.from_iterable(share_words(release, word) for word in self.share)
        questions: list[Question] = [share_of(release, of, part) for of in shares]
        for name in self.mean:
            release.values(name)
            questions.append(Mean(part=part, of=name))
        return questions

    def _figures(self, release: OpenedRelease, part: Part) -> list[Figure]:
        figures = [figure for question in self._simple(release, part) for figure in self._answered(release, question)]
        for word in self.total:
            of = share_words(release, word) if "=" in word else None
            question = Mean(part=Part(), of=word) if of is None else share_of(release, {**of[0], **_only(part)}, Part())
            if of is None and part.columns:
                raise ParameterError("the total of a column is that of everybody; leave `where` and `by` out.")
            if of is None:
                release.values(word)
            for figure in self._answered(release, question):
                figures.append(total_of(figure, release, population=self.population_size, level=self.level))
        for word in self.quantile:
            name, colon, share = word.rpartition(":")
            if not colon:
                name, share = word, str(_MEDIAN)
            try:
                place = LEVEL.check("quantile", float(share))
            except ValueError:
                raise ParameterError(f"`quantile` is {word!r}; write COLUMN:SHARE, for example age:0.5.") from None
            release.values(name)
            mean = Mean(part=part, of=name)
            figures.append(quantile_of(release, mean, place, target=self.target, level=self.level))
        return figures

    def _differences(self, release: OpenedRelease, whole: Part) -> list[Figure]:
        """Every group against the first."""
        parts = self._parts(release, whole)
        figures = []
        for part in parts[1:]:
            pairs = zip(self._simple(release, part), self._simple(release, parts[0]), strict=True)
            for first, second in pairs:
                figures += self._answered(release, Difference(part=whole, first=first, second=second))
        return figures


def _only(part: Part) -> dict[str, int]:
    """A part as codes of cells, where each of its columns holds one value."""
    if any(len(codes) != 1 for codes in part.codes.values()):
        raise ParameterError("a total of several values of `where` is asked for one by one; give one value each.")
    return {name: codes[0] for name, codes in part.codes.items()}
