"""Columns of codes in a draft: a column that the holder names, or one of the packs proposed for it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from understudy.codebook import Codebook, Coded, Column, FileReading, Origin
from understudy.codebook.packs import SHIPPED, Pack, pack_of_file, shipped_pack
from understudy.codebook.readings import MISSING_TOKENS
from understudy.errors import CodebookError, ParameterError, listed
from understudy.sources.expressions import as_text, present
from understudy.sources.faults import engine_errors
from understudy.sources.files import Opened, open_table

_ENOUGH, _NEARLY_ALL = 0.5, 0.95
"""Share of the values that a pack must know: where the holder says so, and where it is proposed."""
_PARTS = 3
"""Chapters that codes must come from for a pack to be proposed."""
_PROPOSED = ("icd10", "icd9", "us_counties")
"""Packs whose codes are many and unlike anything else."""


def kinds_of(words: Sequence[str] | Mapping[str, Any]) -> dict[str, Pack]:
    """``COLUMN=PACK`` words: a pack that comes with the package, or the CSV file of an own one.

    >>> kinds_of(["diag_1=icd9"])
    {'diag_1': <Pack 'icd9' of 1,247 codes>}
    """
    given = words.items() if isinstance(words, Mapping) else [str(word).rpartition("=")[::2] for word in words]
    kinds: dict[str, Pack] = {}
    for column, pack in given:
        if not column or not pack or column in kinds:
            raise ParameterError(
                f"`kind` is {listed(words)}; write COLUMN=PACK once for each column, for example diag_1=icd9."
            )
        if isinstance(pack, Pack):
            kinds[column] = pack
        elif pack in SHIPPED or not (Path(pack).suffix or Path(pack).exists()):
            kinds[column] = shipped_pack(pack)
        else:
            kinds[column] = pack_of_file(pack)
    return kinds


def with_codes(book: Codebook, what: Any, kinds: Mapping[str, Pack], *, table: str | None = None) -> Codebook:
    """The draft with some columns as codes of a pack; how missing values and leading zeros are written is looked up."""
    opened = open_table(what, table, file=book.file)
    for name in kinds:
        if name not in opened.header:
            raise ParameterError(f"there is no column {name!r} (`kind`); the table has {listed(opened.header)}.")
    made: dict[str, Column] = {name: _coded(opened, name, pack) for name, pack in kinds.items()}
    return replace(book, columns=tuple(made.get(column.name, column) for column in book.columns))


def proposed(
    what: Any, names: Sequence[str], *, table: str | None = None, file: FileReading | None = None
) -> dict[str, str]:
    """Of these columns, those nearly all of whose values are codes of a pack, and which; for the holder's screen."""
    if not names:
        return {}
    opened = open_table(what, table, file=file)
    found = {}
    for name in names:
        counts = _counts(opened, name)
        for pack in _PROPOSED:
            if counts and _is_spread(counts, shipped_pack(pack)) and _known(counts, shipped_pack(pack)) >= _NEARLY_ALL:
                found[name] = pack
                break
    return found


def _coded(opened: Opened, name: str, pack: Pack) -> Coded:
    counts = _counts(opened, name)
    tokens = {text: counts.pop(text) for text in list(counts) if text is None or text.strip() in MISSING_TOKENS}
    known = _known(counts, pack) if counts else 0.0
    if known < _ENOUGH:
        raise CodebookError(
            f"column {name!r} is to be of kind {pack.name!r} ({pack.title}), and {known:.0%} of its values are such "
            "codes; take the kind away (the draft then describes it as it is), or name another pack."
        )
    spelled = [token for token in sorted(tokens, key=lambda token: -tokens[token]) if token is not None]
    lost = sum(
        count
        for text, count in counts.items()
        if (pack.find(text) or "").startswith("0") and not text.strip().startswith("0")
    )
    kept = sum(count for text, count in counts.items() if text.strip().startswith("0"))
    return Coded(
        name=name,
        pack=pack,
        missing=(spelled[0] if spelled else "NA") if tokens else None,
        leading_zeros=kept >= lost,
        origin=Origin.DRAFTED,
    )


def _counts(opened: Opened, name: str) -> dict[Any, int]:
    with engine_errors(repr(opened.label)):
        text = as_text(present(opened.value(name)))
        table = opened.table.select(text=text).group_by("text").aggregate(n=lambda t: t.count()).to_pyarrow()
    return dict(zip(table.column("text").to_pylist(), table.column("n").to_pylist(), strict=True))


def _is_spread(counts: Mapping[Any, int], pack: Pack) -> bool:
    """Whether the codes come from several parts of the pack; those of ids that begin alike do not."""
    chains = (pack.codes.get(pack.find(text) or "") for text in counts if text is not None)
    return len({chain[0] for chain in chains if chain}) >= _PARTS


def _known(counts: Mapping[Any, int], pack: Pack) -> float:
    """Share of the values that are codes of the pack."""
    written = {text: n for text, n in counts.items() if text is not None and text.strip() not in MISSING_TOKENS}
    known = [n for text, n in written.items() if pack.find(text) in pack.codes]
    return sum(known) / max(sum(written.values()), 1)
