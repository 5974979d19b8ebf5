"""Rows set aside before synthesis, and the proof that nobody mixed them in again."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from understudy.errors import DataError
from understudy.evaluate.checks import check_same_columns
from understudy.evaluate.risk.cells import joint_keys
from understudy.mechanisms.stream import Stream
from understudy.parameters import Number
from understudy.privacy.provenance import Made, Provenance
from understudy.sources.base import Source
from understudy.sources.rows import people_of
from understudy.sources.tables import CountTable

_HELD_OUT = Number(above=0, below=1, tried=0.2)
_SIGMAS = 6.0  # people who were not in the training table fail less than once in a hundred million times


def hold_out(table: Any, *, share: float, stream: Stream) -> tuple[Any, Any]:
    """(training rows, hold-out rows) of an Arrow table, split at random; synthesize from the first only.

    >>> import pyarrow as pa
    >>> train, rest = hold_out(pa.table({"x": list(range(10))}), share=0.3, stream=Stream.seeded(1))
    >>> len(train), len(rest), sorted(train["x"].to_pylist() + rest["x"].to_pylist()) == list(range(10))
    (7, 3, True)
    """
    _HELD_OUT.check("share", share)
    rows = table.num_rows
    held = round(rows * share)
    if held < 1 or held >= rows:
        raise DataError(
            f"the table has {rows} rows, of which a share of {share:g} leaves one side empty; it needs more rows."
        )
    order = np.argsort(stream.words(rows), kind="stable")  # 64-bit keys: a tie is as good as impossible
    return table.take(np.sort(order[held:])), table.take(np.sort(order[:held]))


def check_holdout(train: Source, holdout: Source) -> float:
    """Refuse a hold-out that shares rows with the training table; otherwise the share of its records known there.

    Different people may have equal records. How often is known from the training table: by Good and Turing, a new row
    finds its record there with chance 1 - (records that occur once) / n. Far more than that are the same rows. In a
    table of few columns every record occurs often, and rows that were mixed in cannot be told: then nothing is claimed.
    """
    refuse_no_people(holdout.provenance)
    check_same_columns(train, holdout, called=("training", "hold-out"))
    names = train.codebook.names
    known, asked = train.count([names])[0].open(), holdout.count([names])[0].open()
    (codes, counts), (others, held) = known.occupied(), asked.occupied()
    n, rows = int(counts.sum()), int(held.sum())
    if not n or not rows:
        raise DataError(f"the {'training' if not n else 'hold-out'} table has no row; give a table with rows.")
    twins = int(held[known_records(known, asked)].sum())
    once, twice = int((counts == 1).sum()), int((counts == 2).sum())
    chance = (n - once + 1) / (n + 1)
    spread = rows * chance * (1 - chance) + (rows / n) ** 2 * (once * (1 - once / n) + 2 * twice + 1)
    same = codes.shape == others.shape and np.array_equal(codes, others) and np.array_equal(counts, held)
    if same or twins > rows * chance + _SIGMAS * math.sqrt(spread):
        raise DataError(
            f"{twins:,} of the {rows:,} hold-out rows have a twin in the training table, where chance would give about "
            f"{rows * chance:,.0f}; a hold-out that overlaps the training rows proves nothing. Set rows aside before "
            "synthesis and synthesize from the others."
        )
    return twins / rows


def refuse_no_people(held: Provenance) -> None:
    """Refuse what is no table of people as a hold-out; nobody of it was set aside."""
    if held.made in (Made.SYNTHETIC, Made.COUNTS, Made.ANSWER):
        raise DataError(
            f"the hold-out is {held.called}, whose rows are no people, so that attacks on it say nothing of people who "
            "were left out. Give real records that were set aside before synthesis."
        )


def check_people(train: Source, holdout: Source) -> bool:
    """Refuse a hold-out with people of the training table; whether the ids of both could be compared.

    A person with several records may have some on either side, of which none has a twin on the other.
    """
    known, asked = people_of(train), people_of(holdout)
    if known is None or asked is None:
        return False
    refuse_same_people(known.open(), asked.open())
    return True


def refuse_same_people(known: Any, held: Any) -> None:
    """Refuse ids of people held out, each of them once, that are among the known ones; both are Arrow arrays."""
    if both := pc.sum(pc.is_in(held, value_set=known)).as_py():
        raise DataError(
            f"{both:,} of the {len(held):,} people held out have an id that is in the training table too; what an "
            "attack learns of them proves nothing. Set whole people aside before synthesis; where every file counts "
            "its people from 1, give each person an id of their own."
        )


def known_records(known: CountTable, asked: CountTable) -> npt.NDArray[np.bool_]:
    """Which occupied cells of ``asked`` are occupied in ``known`` too."""
    (codes, _), (others, _) = known.occupied(), asked.occupied()
    ours, theirs = joint_keys(known.sizes, codes, others)
    return np.isin(theirs, ours)


def unseen_share(table: CountTable) -> float:
    """Good and Turing's estimate of the share of new rows whose record the table lacks: singletons over rows."""
    _, counts = table.occupied()
    return float((counts == 1).sum() / counts.sum())
