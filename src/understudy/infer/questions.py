"""What can be asked of a release: shares, means, differences, correlations, models; also of a sub-population."""

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from understudy.codebook.where import code_asked, where_codes
from understudy.errors import ParameterError, RefusalError
from understudy.evaluate.formulas import estimable, left_side, mentioned_in, right_side, sides_of
from understudy.evaluate.values import is_ordered
from understudy.extras import need
from understudy.infer.calibration import Records
from understudy.infer.estimates import Estimate, Inside, Model, correlation_of, difference_of, mean_of
from understudy.infer.opened import OpenedRelease

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
MODELS = ("linear", "logistic", "poisson")


@dataclass(frozen=True, kw_only=True)
class Part:
    """A part of the population: columns, each with the codes it may hold; everybody without any."""

    codes: Mapping[str, Sequence[int]] = field(default_factory=dict)
    words: str = ""

    @classmethod
    def of(cls, release: OpenedRelease, where: Mapping[str, Any]) -> "Part":
        """From values by column."""
        for name in where:
            release.column(name)
        if not where:
            return cls()
        chosen = where_codes(release.codebook, where)
        labels = {name: [release.column(name).labels[code] for code in own] for name, own in chosen.items()}
        return cls(codes=chosen, words=", ".join(f"{name}={' or '.join(own)}" for name, own in labels.items()))

    def narrowed(self, release: OpenedRelease, column: str, code: int) -> "Part":
        """Only those who also have this level."""
        word = f"{column}={release.column(column).labels[code]}"
        return Part(codes={**self.codes, column: [code]}, words=", ".join(filter(None, [self.words, word])))

    @property
    def columns(self) -> set[str]:
        """Those that it is told by."""
        return set(self.codes)

    def among(self, records: Records) -> Bools:
        """Which records belong to it."""
        kept = np.ones(len(records.shares), dtype=np.bool_)
        for name, codes in self.codes.items():
            kept &= np.isin(records.of_column(name), list(codes))
        return kept

    def named(self, what: str) -> str:
        """A figure of it."""
        return f"{what} | {self.words}" if self.words else what


@dataclass(frozen=True, kw_only=True, eq=False)
class Question(ABC):
    """One thing to be estimated, or several that follow from the same columns."""

    part: Part

    @property
    @abstractmethod
    def own(self) -> set[str]:
        """The columns whose values it takes."""

    @property
    @abstractmethod
    def asked(self) -> str:
        """In words."""

    @property
    def group(self) -> str:
        """The kind of figure."""
        return type(self).__name__.lower()

    @property
    def parts(self) -> list[Part]:
        """Of the population, that it speaks of."""
        return [self.part]

    @property
    def columns(self) -> set[str]:
        """All that it depends on."""
        return self.own | self.part.columns

    @property
    def together(self) -> list[tuple[str, ...]]:
        """Columns whose joint table it needs, beyond pairs: nothing but measurements of all of them tell it."""
        return [tuple(sorted(self.columns))] if len(self.columns) > 2 else []

    @abstractmethod
    def answers(self, release: OpenedRelease, records: Records, weights: Floats) -> list[Estimate]:
        """The figures, under these weights of the records."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Share(Question):
    """The share of records with some values, of those that have any."""

    of: Mapping[str, int]
    words: str

    @property
    def own(self) -> set[str]:
        """The columns of the values."""
        return set(self.of)

    @property
    def asked(self) -> str:
        """The values."""
        return self.part.named(self.words)

    def answers(self, release: OpenedRelease, records: Records, weights: Floats) -> list[Estimate]:
        """One figure."""
        hit, among = np.ones(len(weights), dtype=np.bool_), self.part.among(records)
        for name, code in self.of.items():
            own = records.of_column(name)
            hit &= own == code
            missing = release.column(name).missing_code
            if len(self.of) == 1 and missing is not None and code != missing:
                among &= own != missing
        return [mean_of(self.asked, hit.astype(np.float64), among, weights, ends=(0.0, 1.0))]


@dataclass(frozen=True, kw_only=True, eq=False)
class Mean(Question):
    """The mean of a column with an order."""

    of: str

    @property
    def own(self) -> set[str]:
        """The column."""
        return {self.of}

    @property
    def asked(self) -> str:
        """Which mean."""
        return self.part.named(f"mean of {self.of}")

    def answers(self, release: OpenedRelease, records: Records, weights: Floats) -> list[Estimate]:
        """One figure."""
        values = release.values(self.of)[records.of_column(self.of)]
        among = self.part.among(records) & ~np.isnan(values)
        inside = inside_of(release, records, self.of)
        ends = release.ends(self.of)
        return [mean_of(self.asked, np.nan_to_num(values), among, weights, ends=ends, inside=inside)]


@dataclass(frozen=True, kw_only=True, eq=False)
class Difference(Question):
    """What a share or mean is in one part, minus what it is in another."""

    first: Question
    second: Question

    @property
    def own(self) -> set[str]:
        """Those of both."""
        return self.first.columns | self.second.columns

    @property
    def asked(self) -> str:
        """What of which two parts."""
        return f"{self.first.asked} minus {self.second.part.words}"

    @property
    def parts(self) -> list[Part]:
        """Both."""
        return [self.first.part, self.second.part]

    def answers(self, release: OpenedRelease, records: Records, weights: Floats) -> list[Estimate]:
        """One figure."""
        (first,) = self.first.answers(release, records, weights)
        (second,) = self.second.answers(release, records, weights)
        return [difference_of(self.asked, first, second)]


@dataclass(frozen=True, kw_only=True, eq=False)
class Correlation(Question):
    """Of two columns with an order."""

    of: tuple[str, str]

    @property
    def own(self) -> set[str]:
        """Both."""
        return set(self.of)

    @property
    def asked(self) -> str:
        """Which two."""
        return self.part.named(f"correlation of {self.of[0]} and {self.of[1]}")

    def answers(self, release: OpenedRelease, records: Records, weights: Floats) -> list[Estimate]:
        """One figure."""
        x, y = (release.values(name)[records.of_column(name)] for name in self.of)
        among = self.part.among(records) & ~np.isnan(x) & ~np.isnan(y)
        return [correlation_of(self.asked, np.nan_to_num(x), np.nan_to_num(y), among, weights)]


@dataclass(frozen=True, kw_only=True, eq=False)
class Regression(Question):
    """All coefficients of a model."""

    kind: str
    formula: str
    names: tuple[str, ...]

    @property
    def own(self) -> set[str]:
        """Those that the formula names."""
        return set(self.names)

    @property
    def asked(self) -> str:
        """The formula."""
        return self.part.named(self.formula)

    @property
    def group(self) -> str:
        """Kind and formula."""
        return f"{self.kind}: {self.formula}"

    @property
    def together(self) -> list[tuple[str, ...]]:
        """An interaction of the formula works on the response together, and a part of the population on all."""
        left, right = self.formula.split("~")
        answer = {name for name in self.names if _names(left, name)}
        joint = [
            {name for name in self.names if _names(term, name)} | answer
            for term in right.split("+")
            if ":" in term or "*" in term
        ]
        return [tuple(sorted(columns)) for columns in joint if len(columns) > 2]

    def answers(self, release: OpenedRelease, records: Records, weights: Floats) -> list[Estimate]:
        """One figure for each coefficient that can be told."""
        need("pandas", "patsy", extra="report", what="a regression")
        import pandas as pd

        left, right = sides_of(self.formula, release.codebook.names)
        among = self.part.among(records)
        for name in self.names:
            among &= _present(release, records, name)
        if not among.any():
            raise RefusalError(f"no row of the release has all of {', '.join(self.names)}; choose other columns.")
        values: dict[str, Any] = {}
        for name in self.names:
            column, codes = release.column(name), records.of_column(name)[among]
            if is_ordered(column):
                values[name] = release.values(name)[codes]
            else:
                held = np.bincount(codes, minlength=column.size) > 0
                levels = [label for label, ok in zip(column.labels, held, strict=True) if ok]
                values[name] = pd.Categorical(np.array(column.labels, dtype=object)[codes], categories=levels)
        kept = pd.DataFrame(values)
        response = left_side(kept, left, kind=self.kind, called="released", formula=self.formula)
        if self.kind == "poisson" and (response < 0).any():
            raise ParameterError(f"the left side of {self.formula!r} is negative somewhere; a Poisson model counts.")
        terms = right_side(kept, right)
        design = np.asarray(terms, dtype=np.float64)
        free = estimable(design)
        model = Model(
            kind=self.kind,
            terms=[str(name) for name, ok in zip(terms.columns, free, strict=True) if ok],
            design=design[:, free],
            response=response,
            formula=self.formula,
            inside=inside_of(release, records, left.strip(), among) if self.kind == "linear" else None,
        )
        if float(weights[among].sum()) <= 0:
            raise RefusalError(f"{self.asked}: fewer records of the release belong there than its noise; ask for more.")
        begun = model.solve(records.shares[among])  # the rows alone are never far, and show perfect separation
        start = np.array([estimate.value for estimate in begun])
        own = model.solve(weights[among], start)
        return [_everywhere(estimate, among, self.part) for estimate in own]


def inside_of(release: OpenedRelease, records: Records, name: str, among: Bools | None = None) -> Inside | None:
    """How far the values of a number lie from the mean of their bin; nothing for what is no column with bins."""
    if name not in records.names:
        return None
    spread = np.array([values.std() if len(values) else 0.0 for values in release.inside(name)])
    bins = records.of_column(name) if among is None else records.of_column(name)[among]
    return Inside(column=name, bins=bins, moved=spread[bins]) if spread.any() else None


def _everywhere(estimate: Estimate, among: Bools, part: Part) -> Estimate:
    """The influence of all records, of which those outside have none."""

    def all_of(own: npt.NDArray[Any]) -> npt.NDArray[Any]:
        whole = np.zeros(len(among), dtype=own.dtype)
        whole[among] = own
        return whole

    inside = estimate.inside
    if inside is not None:
        inside = replace(inside, bins=all_of(inside.bins), moved=all_of(inside.moved))
    return replace(estimate, name=part.named(estimate.name), influence=all_of(estimate.influence), inside=inside)


def _names(text: str, name: str) -> bool:
    return re.search(rf"(?<![\w.]){re.escape(name)}(?![\w.(])", text) is not None


def _present(release: OpenedRelease, records: Records, name: str) -> Bools:
    codes = records.of_column(name)
    return np.asarray(codes < release.column(name).proper_levels)


def share_of(release: OpenedRelease, of: Mapping[str, int], part: Part) -> Share:
    """The share of some codes."""
    words = ", ".join(f"{name}={release.column(name).labels[code]}" for name, code in of.items())
    return Share(part=part, of=of, words=words)


def share_words(release: OpenedRelease, word: str) -> list[dict[str, int]]:
    """``COLUMN=VALUE``, several of them with commas between, or ``COLUMN`` for all its levels."""
    chosen: dict[str, int] = {}
    if "=" not in word:
        column = release.column(word)
        return [{word: code} for code in range(column.proper_levels + len(column.special))]
    for piece in re.split(r",(?=[^,=]+=)", word):
        name, _, value = piece.partition("=")
        column = release.column(name.strip())
        chosen[column.name] = code_asked(column, value.strip())
    return [chosen]


def cells_of(release: OpenedRelease, word: str) -> list[dict[str, int]]:
    """All cells of a cross table of ``COLUMN,COLUMN``."""
    names = [name.strip() for name in word.split(",")]
    if not 2 <= len(set(names)) == len(names) <= 3:
        raise ParameterError(f"`table` is {word!r}; name two or three columns, as in sex,region.")
    levels = [range(release.column(name).size) for name in names]
    return [dict(zip(names, codes, strict=True)) for codes in product(*levels)]


def pair_of(release: OpenedRelease, word: str) -> tuple[str, str]:
    """``COLUMN,COLUMN``."""
    names = [name.strip() for name in word.split(",")]
    if len(names) != 2 or names[0] == names[1]:
        raise ParameterError(f"`correlation` is {word!r}; name two columns, as in age,charge.")
    for name in names:
        release.values(name)
    return names[0], names[1]


def regression_of(release: OpenedRelease, kind: str, formula: str, part: Part) -> Regression:
    """A model by its formula; what names no column is refused."""
    for detail in release.codebook.details:
        if _names(formula, detail.name):
            release.column(detail.name)
    sides_of(formula, release.codebook.names)
    names = mentioned_in(release.codebook, formula)
    return Regression(part=part, kind=kind, formula=formula, names=names)
