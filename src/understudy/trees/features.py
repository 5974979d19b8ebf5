"""What a score model asks for: features by name, each with its codebook column, and values to small codes."""

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from understudy.codebook import Codebook, Column, Dates, Number
from understudy.codebook.encode import encode_value
from understudy.errors import DataError, RefusalError

CodeMatrix = npt.NDArray[np.uint8]
MOST_CODES = 256
"""Codes of one feature, the missing level included, that fit in a byte."""

_SHOWN = 40


class FeatureError(DataError):
    """A question that the model cannot take; ``feature`` and ``problem`` are for machines."""

    def __init__(self, message: str, *, feature: str, problem: str) -> None:
        self.feature = feature
        self.problem = problem
        """``unknown-feature``, ``missing-feature`` or ``outside-codebook``."""
        super().__init__(message)


@dataclass(frozen=True, kw_only=True)
class Feature:
    """One input of a model: public knowledge, straight from the codebook."""

    column: Column

    @property
    def name(self) -> str:
        """As the codebook calls it."""
        return self.column.name

    @property
    def kind(self) -> str:
        """``number``, ``date`` or ``category``."""
        if isinstance(self.column, Number):
            return "number"
        return "date" if isinstance(self.column, Dates) else "category"

    @property
    def levels(self) -> tuple[str, ...] | None:
        """Allowed words of a category."""
        return self.column.labels[: self.column.proper_levels] if self.kind == "category" else None

    @property
    def low(self) -> float | str | None:
        """Smallest allowed number or first allowed day."""
        if isinstance(self.column, Number):
            return None if self.column.clip else float(self.column.edges[0])
        return self.column.start.isoformat() if isinstance(self.column, Dates) else None

    @property
    def high(self) -> float | str | None:
        """Largest allowed number or last allowed day."""
        if isinstance(self.column, Number):
            return None if self.column.clip else float(self.column.edges[-1])
        return self.column.end.isoformat() if isinstance(self.column, Dates) else None

    @property
    def thresholds(self) -> tuple[float, ...]:
        """The codebook's inner edges: the only places where a tree may cut a number."""
        return tuple(map(float, self.column.edges[1:-1])) if isinstance(self.column, Number) else ()

    @property
    def required(self) -> bool:
        """Whether a question without this feature is refused."""
        return self.column.missing is None

    @property
    def missing(self) -> str:
        """How a missing value is treated, in words."""
        if self.required:
            return "refused: the codebook declares no missing level for this feature"
        return f"allowed: leave it out, or send null or {self.column.missing!r}; it then counts as a level of its own"

    @property
    def rule(self) -> str:
        """What a value must be, in words."""
        if self.levels is not None:
            shown = ", ".join(map(repr, self.levels[:12]))
            return f"one of {shown}" + (f" and {len(self.levels) - 12} more" if len(self.levels) > 12 else "")
        noun = "a whole number" if self.column.kind == "integer" else {"date": "a day"}.get(self.kind, "a number")
        words = "".join(f", or {text!r}" for text in self.column.special)
        if self.low is None:
            return f"{noun} of any size{words}"
        return f"{noun} from {_short(self.low)} to {_short(self.high)}{words}"

    def code(self, value: Any) -> int:
        """Code of one value, or an error that says what would do."""
        code = None
        if value is None or isinstance(value, str | Real | Decimal | dt.date):
            try:
                code = encode_value(self.column, value.item() if isinstance(value, np.generic) else value)
            except (OverflowError, ValueError):  # a number beyond any float; digits beyond what Python converts
                code = None
        if code is not None:
            return code
        if value is None:
            raise FeatureError(
                f"feature {self.name!r} is missing; this model needs it, as {self.rule}. Send a value.",
                feature=self.name,
                problem="missing-feature",
            )
        raise FeatureError(
            f"feature {self.name!r} is {_shortened(value)}; it must be {self.rule}"
            + ("." if self.required else f", or null or {self.column.missing!r} when it is not known.")
            + " Send such a value.",
            feature=self.name,
            problem="outside-codebook",
        )

    def to_dict(self) -> dict[str, Any]:
        """As the card shows it."""
        return {
            "name": self.name,
            "kind": self.kind,
            "description": self.column.description,
            "allowed": {"levels": list(self.levels)}
            if self.levels is not None
            else {"low": self.low, "high": self.high},
            "rule": self.rule,
            "thresholds": list(self.thresholds),
            "required": self.required,
            "missing": self.missing,
            "missing_token": self.column.missing,
        }


def _short(value: float | str | None) -> str:
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def _shortened(value: Any) -> str:
    """A value quoted so that a megabyte of it stays a line."""
    if not isinstance(value, str | int | float | bool):
        return f"of type {type(value).__name__}"
    if isinstance(value, int) and abs(value) >= 10**_SHOWN:
        return f"a whole number beyond 1e{_SHOWN}"
    text = value[: _SHOWN + 1] if isinstance(value, str) else value
    shown = repr(text)
    return (
        shown if not isinstance(value, str) or len(value) <= _SHOWN else f"{shown} and {len(value) - _SHOWN - 1} more"
    )


def features_of(codebook: Codebook, target: str) -> tuple[Feature, ...]:
    """Every modelled column but the target."""
    features = tuple(Feature(column=column) for column in codebook.modelled if column.name != target)
    if len(features) == len(codebook.modelled):
        codebook.column(target)  # raises with the names there are
        raise RefusalError(f"the target {target!r} is an identifier, which is dropped; choose a modelled column.")
    for feature in features:
        if feature.column.size > MOST_CODES:
            raise RefusalError(
                f"feature {feature.name!r} has {feature.column.size:,} levels; a tree takes at most {MOST_CODES}. "
                'Declare wider bins or fewer levels, or drop it with role = "identifier".'
            )
    return features


def encode_rows(features: Sequence[Feature], rows: Mapping[str, Any] | Iterable[Mapping[str, Any]]) -> CodeMatrix:
    """One row of codes for each question; raises :class:`FeatureError` at the first value that does not fit."""
    asked = [rows] if isinstance(rows, Mapping) else list(rows)
    names = {feature.name for feature in features}
    out = np.empty((len(asked), len(features)), dtype=np.uint8)
    for number, row in enumerate(asked):
        if len(row) > len(names) or not names.issuperset(row):
            strange = next((name for name in row if name not in names), None)
            if strange is not None:
                shown = ", ".join(sorted(names)[:20])
                raise FeatureError(
                    f"feature {_shortened(strange)} is unknown to this model; it knows {shown}. Remove it.",
                    feature=str(strange)[:_SHOWN],
                    problem="unknown-feature",
                )
        for place, feature in enumerate(features):
            try:
                out[number, place] = feature.code(row.get(feature.name))
            except FeatureError as fault:
                raise _with_others(fault, features, row) from None
    return out


def _with_others(fault: FeatureError, features: Sequence[Feature], row: Mapping[str, Any]) -> FeatureError:
    """A missing feature names the others that are missing too: nobody wants to learn them one request at a time."""
    others = [
        feature.name
        for feature in features
        if feature.required and row.get(feature.name) is None and feature.name != fault.feature
    ]
    if fault.problem != "missing-feature" or not others:
        return fault
    more = ", ".join(others[:20]) + ("" if len(others) <= 20 else f" and {len(others) - 20} more")
    return FeatureError(f"{fault} Also missing: {more}.", feature=fault.feature, problem=fault.problem)
