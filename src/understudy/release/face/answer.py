"""The section of an answer: its figures with their intervals, beside those of a release that was asked first."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet

from understudy.pages.drawings import Dot, interval_axis
from understudy.pages.numbers import number
from understudy.release.face.markup import paragraph, table

_MOST = 60
_HEADER = ("figure", "answer", "low", "high", "release", "release low", "release high", "gap")
_NUMBERS = ("estimate", "low", "high", "release", "release_low", "release_high", "gap")


def answer_section(path: Path, parameters: Mapping[str, Any]) -> str:
    """Question, picture and table."""
    held = pyarrow.parquet.read_table(path)
    lines = held.slice(0, _MOST).to_pylist()
    compared = any(line["release"] is not None for line in lines)
    rows = []
    for line in lines:
        if line["estimate"] is None:
            continue
        dots = [Dot(value=line["estimate"], low=line["low"], high=line["high"])]
        if line["release"] is not None:
            dots.append(Dot(value=line["release"], low=line["release_low"], high=line["release_high"], series=1))
        rows.append((line["figure"], dots))
    whom = "the population: sampling and noise" if parameters["target"] == "population" else "the table: noise alone"
    lead = f"Asked was: {parameters['question']}. {number(100 * parameters['level'])} % intervals for {whom}."
    if compared:
        lead += " The gap is the answer minus what the release had said."
    if held.num_rows > _MOST:
        lead += f" The first {_MOST} figures; {held.num_rows - _MOST:,} more are in the table."
    series = ("answer", "release") if compared else ("answer",)
    spoken = "; ".join(f"{label}: {number(dots[0].value)}" for label, dots in rows)
    chart = (
        interval_axis(rows, title="Figures", spoken=spoken, series=series, zero=None, name="estimate") if rows else ""
    )
    cells = [
        [line["figure"], *("" if line[name] is None else number(line[name]) for name in _NUMBERS)] for line in lines
    ]
    told = "".join(paragraph(line["note"]) for line in lines if line["note"])
    return paragraph(lead, style="lead") + chart + table("The figures", _HEADER, cells) + told
