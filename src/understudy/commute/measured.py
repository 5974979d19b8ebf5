"""What a release that was measured level by level says about each flow, total and characteristic, for its page."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet

from understudy.commute.level_tables import CHARACTERISTICS, FLOWS, TOTALS
from understudy.commute.levels import PLACE, Level
from understudy.commute.packing import Pack
from understudy.commute.released import ReleasedCommutes
from understudy.commute.reliability import invented_of_all, invented_of_drawn
from understudy.errors import DataError, ReleaseError
from understudy.loading import loader

LODES_GROUPS = {
    "SA01": "29 or younger", "SA02": "30 to 54", "SA03": "55 or older",
    "SE01": "up to $1,250 a month", "SE02": "$1,251 to $3,333", "SE03": "above $3,333",
    "SI01": "goods producing", "SI02": "trade, transport", "SI03": "other services",
}  # fmt: skip
"""What the US Census Bureau calls the groups of its commuting files."""


def packed_measurements(pack: Pack, made: ReleasedCommutes, levels: Sequence[Level]) -> dict[str, Any]:
    """Estimates with deviations of every pair of areas at the measured levels; nothing where there are none.

    The places themselves are the last of ``levels``.
    """
    if not (made.folder / FLOWS).is_file():
        return {"errors": None, "invented": None, "characteristics": None}
    return _packed(made.folder, pack, made, levels)


@loader("the release", remedy="take the folder again from where it was published.", error=ReleaseError)
def _packed(folder: Path, pack: Pack, made: ReleasedCommutes, levels: Sequence[Level]) -> dict[str, Any]:
    flows, totals = (_columns(folder / name) for name in (FLOWS, TOTALS))
    pairs, homes = {}, {}
    for level in levels:
        number = {code: area for area, code in enumerate(level.codes)}
        called = PLACE if level is levels[-1] else level.name
        mine = flows["level"] == called
        units = len(set(flows["origin"][mine])) * len(set(flows["destination"][mine]))
        if mine.any() and mine.sum() == units:  # every pair is listed: sums over areas are unbiased
            at = _positions(flows["origin"][mine], number) * len(level.codes) + _positions(
                flows["destination"][mine], number
            )
            pairs[level.name] = {
                name: pack.add(f"{level.name} {name}", _placed(flows[name][mine], at, len(level.codes) ** 2))
                for name in ("estimate", "deviation")
            }
        mine = (totals["level"] == called) & (totals["side"] == "home")
        if not mine.any():
            continue
        at = _positions(totals["unit"][mine], number)
        homes[level.name] = {
            name: pack.add(f"{level.name} homes {name}", _placed(totals[name][mine], at, len(level.codes)))
            for name in ("estimate", "deviation")
        }
    return {
        "errors": {"kind": "levels", "levels": pairs, "homes": homes},
        "invented": _invented_words(flows, made.manifest["parameters"]["measured"]),
        "characteristics": _characteristics(pack, made, levels),
    }


def _invented_words(flows: dict[str, Any], measured: Mapping[str, int]) -> str:
    """How many pairs are expected to be invented, level by level from the finest on, in words."""
    told = []
    for level in dict.fromkeys(flows["level"][::-1].tolist()):
        mine = flows["level"] == level
        values = {name: flows[name][mine] for name in ("flow", "estimate", "deviation")}
        pairs = int((values["flow"] > 0).sum())
        between = "single pairs of home and workplace" if level == PLACE else f"{level} pairs"
        if not values["deviation"].any():  # exact
            continue
        if f"drawn:{level}" in measured:  # listed because they were drawn, and measured afterwards
            found = invented_of_drawn(values["estimate"], values["deviation"])
            least, most = (f"{100 * number / max(pairs, 1):.0f}" for number in found)
            told.append(f"of the {pairs:,} {between} in this release, {least} to {most} %")
        else:
            number = min(pairs, invented_of_all(values["flow"], values["estimate"], values["deviation"]))
            told.append(
                f"of the {pairs:,} {between}, at most about {number:,.0f} ({100 * number / max(pairs, 1):.0f} %)"
            )
    words = "; ".join(told)
    return (
        f"Expected to be invented, which means that no real worker has them: {words}. These numbers follow from noisy "
        "measurements, which were paid for, and from the size of their noise, which is public; the real flows were not "
        "used."
    )


def _characteristics(pack: Pack, made: ReleasedCommutes, levels: Sequence[Level]) -> list[dict[str, Any]] | None:
    if not (made.folder / CHARACTERISTICS).is_file():
        return None
    table = _columns(made.folder / CHARACTERISTICS)
    packed = []
    for name, groups in made.manifest["parameters"]["characteristics"].items():
        sides: dict[str, Any] = {"home": {}, "work": {}}
        for side, by_level in sides.items():
            for level in levels:
                mine = (table["characteristic"] == name) & (table["side"] == side) & (table["level"] == level.name)
                if not mine.any():
                    continue
                number = {code: area for area, code in enumerate(level.codes)}
                rank = {group: place for place, group in enumerate(groups)}
                at = _positions(table["unit"][mine], number) * len(groups) + _positions(table["group"][mine], rank)
                by_level[level.name] = {
                    figure: pack.add(
                        f"{name} {side} {level.name} {figure}",
                        _placed(table[figure][mine], at, len(level.codes) * len(groups)),
                    )
                    for figure in ("workers", "estimate", "deviation")
                }
        packed.append({"name": name, "groups": [LODES_GROUPS.get(group, group) for group in groups], "sides": sides})
    return packed


def _columns(path: Path) -> dict[str, Any]:
    table = pyarrow.parquet.read_table(path)
    return {name: np.asarray(table.column(name).to_pylist()) for name in table.column_names}


def _positions(codes: Any, number: dict[str, int]) -> Any:
    if strange := next((code for code in codes if str(code) not in number), None):
        raise DataError(
            f"the release measured the area {str(strange)!r}, which the places do not have; give the places that the "
            "release was made with, or leave them out."
        )
    return np.array([number[str(code)] for code in codes], dtype=np.int64)


def _placed(values: Any, at: Any, length: int) -> Any:
    whole = np.zeros(length)
    whole[at] = values
    return whole
