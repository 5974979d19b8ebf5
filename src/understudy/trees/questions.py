"""Yes-or-no questions about one feature, from the codebook alone: the binary features of chapter 5.

Of a number they ask "is it above t?" for every inner edge, as the chapter's figures do. Categories are dummy-coded, and
a missing value is asked about too.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from understudy.codebook import Categorical
from understudy.errors import RefusalError
from understudy.trees.features import CodeMatrix, Feature


@dataclass(frozen=True, kw_only=True)
class Question:
    """Whether the code of a feature is among ``yes_codes``."""

    feature: int
    yes_codes: tuple[int, ...]
    words: str
    """For printing: ``glucose > 127``."""


def questions_of(features: Sequence[Feature]) -> tuple[Question, ...]:
    """Every question that the codebook allows."""
    questions: list[Question] = []
    for place, feature in enumerate(features):
        levels = feature.column.proper_levels
        if isinstance(feature.column, Categorical):
            sets: list[tuple[int, ...]] = [(code,) for code in range(levels)] if levels > 2 else [(levels - 1,)]
        else:
            sets = [tuple(range(cut, levels)) for cut in range(1, levels)]
        sets += [(code,) for code in range(levels, feature.column.size)]  # special codes and what is missing
        questions.extend(
            Question(feature=place, yes_codes=codes, words=words_of(feature, codes)) for codes in sets if codes
        )
    if not questions:
        raise RefusalError("no feature has two levels, so that nothing can be asked. Declare more levels.")
    return tuple(questions)


def words_of(feature: Feature, codes: Sequence[int]) -> str:
    """A set of codes in words."""
    column = feature.column
    levels = column.proper_levels
    if tuple(codes) == (column.missing_code,):
        return f"{feature.name} is missing"
    if feature.thresholds and len(codes) and tuple(codes) == tuple(range(codes[0], levels)) and codes[0] > 0:
        sign = ">=" if getattr(column, "closed", "left") == "left" else ">"
        return f"{feature.name} {sign} {feature.thresholds[codes[0] - 1]:.12g}"
    labels = [column.labels[code] for code in codes]
    if len(labels) == 1:
        return f"{feature.name} = {labels[0]}"
    if tuple(codes) == tuple(range(codes[0], levels)):
        return f"{feature.name} from {labels[0]} on"
    return f"{feature.name} in {{{', '.join(labels)}}}"


def answers(questions: Sequence[Question], codes: CodeMatrix) -> npt.NDArray[np.bool_]:
    """One column of answers for each question."""
    answered = np.empty((len(codes), len(questions)), dtype=np.bool_)
    for number, question in enumerate(questions):
        yes = np.zeros(256, dtype=np.bool_)
        yes[list(question.yes_codes)] = True
        answered[:, number] = yes[codes[:, question.feature]]
    return answered
