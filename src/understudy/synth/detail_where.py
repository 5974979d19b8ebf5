"""Rows of a sub-population that is named by detailed codes, from tables that are paid for.

Given its coarse level a detail depends on nothing else, so rows with one of the codes asked for are rows of the coarse
levels that have them, each level as often as it has them: P(row | code in D) is proportional to P(row) P(D | level).
Rows are drawn of those levels and thinned by P(D | level) relative to the largest; the code is then drawn within D.
Where all codes belong to one level, as mostly, no row is thinned.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from understudy.codebook import Codebook, Detail
from understudy.codebook.where import where_words
from understudy.errors import ParameterError, RefusalError
from understudy.mechanisms.stream import Stream
from understudy.synth.details import Details, detail_weights

Codes = npt.NDArray[np.unsignedinteger]
Part = Mapping[str, Sequence[int]]
_MOST_TRIES = 200


def public_part(book: Codebook, part: Part) -> tuple[dict[str, list[int]], dict[str, list[int]]]:
    """The part in columns of the model, held to the levels that the codes belong to, and the codes by detail column."""
    own = {name: list(codes) for name, codes in part.items() if name in book.names}
    detail_codes = {name: list(codes) for name, codes in part.items() if name not in book.names}
    for name, codes in detail_codes.items():
        detail = book.column(name)
        assert isinstance(detail, Detail)
        levels = _levels(book, detail, codes)
        before = own.get(detail.detail_of, range(book.column(detail.detail_of).size))
        own[detail.detail_of] = [level for level in before if level in levels]
        if not own[detail.detail_of]:
            words = ", ".join(detail.labels[code] for code in codes)
            raise ParameterError(
                f"`where` asks for {name} = {words}, which belongs to none of the values of {detail.detail_of!r} that "
                "are asked for with it; name the level of the code, or leave the coarse column out."
            )
    return own, detail_codes


def _levels(book: Codebook, detail: Detail, codes: Sequence[int]) -> set[int]:
    """Coarse levels that have one of the codes; other and missing belong to all."""
    labels = book.column(detail.detail_of).labels
    every = {detail.code_of[str(detail.other)], detail.missing_code}
    if every & set(codes):
        return set(range(len(labels)))
    wanted = {detail.labels[code] for code in codes}
    return {labels.index(group) for group, members in detail.groups if wanted & set(members)}


def part_facts(
    book: Codebook, parameters: Mapping[str, Any], part: Part | None
) -> tuple[Mapping[str, Any], tuple[str, ...]]:
    """What a manifest says about a sub-population: its values among the parameters, and a sentence."""
    if part is None:
        return parameters, ()
    words = where_words(book, part)
    population = " and ".join(f"{name} = {' or '.join(values)}" for name, values in words.items())
    sentence = (
        f"all rows are of the sub-population {population}; how large it is among all records does not show in them."
    )
    return {**parameters, "where": words}, (sentence,)


def draw_part(
    book: Codebook,
    details: Details,
    part: Part | None,
    rows: int,
    stream: Stream,
    draw: Callable[[int, Part], Sequence[Codes]],
) -> tuple[Sequence[Codes], dict[str, list[int]] | None]:
    """``rows`` rows of the part, or of everybody, and the codes that its detail columns are to be drawn among.

    ``draw`` makes rows of a part that is named in columns of the model.
    """
    if part is None:
        return draw(rows, {}), None
    own, detail_codes = public_part(book, part)
    chances = {}
    for detail, table in zip(book.details, details.codes, strict=True):
        if detail.name not in detail_codes:
            continue
        size = book.column(detail.detail_of).size
        inside, whole = (
            np.bincount(level, count, size)
            for level, _, count in (
                detail_weights(book, detail, table, detail_codes[detail.name]),
                detail_weights(book, detail, table),
            )
        )
        chance = inside / np.maximum(whole, 1)
        own[detail.detail_of] = [level for level in own[detail.detail_of] if chance[level] > 0]
        if not own[detail.detail_of]:
            words = ", ".join(detail.labels[code] for code in detail_codes[detail.name])
            raise RefusalError(
                f"the released table does not show {detail.name} = {words}: too rare for its threshold, so no row "
                "has it. Ask for a more frequent code, or for its coarse level."
            )
        chances[detail.name] = chance / chance[own[detail.detail_of]].max()
    if not chances:
        return draw(rows, own), detail_codes
    batches: list[list[Codes]] = []
    accepted_rows, batch = 0, max(rows, 1000)
    for _ in range(_MOST_TRIES):
        codes = draw(batch, own)
        chance = np.ones(batch)
        for detail in book.details:
            if detail.name in chances:
                chance = chance * chances[detail.name][codes[book.position(detail.detail_of)]]
        evenly = stream.below_each(np.full(batch, 1 << 53, dtype=np.uint64)).astype(np.float64) / 2.0**53
        accepted = evenly < chance
        batches.append([column[accepted] for column in codes])
        accepted_rows += int(accepted.sum())
        if accepted_rows >= rows:
            return [np.concatenate(parts)[:rows] for parts in zip(*batches, strict=True)], detail_codes
    raise RefusalError(
        f"only {accepted_rows:,} of {batch * _MOST_TRIES:,} rows drawn have the detailed codes asked for, and {rows:,} "
        "were asked for; ask for codes of one coarse level, or for fewer rows."
    )
