"""One self-contained page of a commuting release: areas with names, four analyses of them, and how far to trust each.

It works offline. Everything in a public page comes from the release and from public tables.
"""

import re
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from understudy.commute.layout import located
from understudy.commute.levels import Level
from understudy.commute.measured import packed_measurements
from understudy.commute.outlines import Drawn, outlines_by_level, read_outlines
from understudy.commute.packing import Pack
from understudy.commute.places import Places
from understudy.commute.released import ReleasedCommutes
from understudy.commute.reliability import draw_errors, expected_invented, own_draws
from understudy.commute.shapes import Frame, Outlines, drawn_outlines
from understudy.errors import ParameterError, ReleaseError
from understudy.evaluate.commuting import opened_flows
from understudy.extras import need
from understudy.files import Access
from understudy.pages.shell import MARKER, html_page, policy
from understudy.pages.write import check_page_target, write_page
from understudy.release.folders import digest_of
from understudy.sources.flows import Flows, Histograms

PUBLIC_MARKER = "understudy map, made from a release"
"""Near the top of a map that holds nothing but a release; a later run may overwrite such a file."""
SCRIPTS = ("data", "areas", "selection", "errors", "analyses", "canvas", "charts", "panels", "export", "page")
"""The parts of the page's script, in the order in which they are put together."""
_HOST = re.compile(r"[A-Za-z0-9.\-]+(:\d+)?|\[[0-9A-Fa-f:.]+\](:\d+)?")
"""A host, perhaps with a port."""


def map_page(
    made: ReleasedCommutes,
    *,
    original: Flows | None = None,
    outlines: Sequence[str | Path] = (),
    tiles: str | None = None,
    title: str | None = None,
) -> str:
    """The page; with ``original`` it holds the real flows and says on top that it is confidential.

    ``outlines`` are GeoJSON files of areas; without one for a level, its areas are drawn around their places.
    """
    need("jinja2", "scipy", extra="report", what="the map page")
    drawn = [read_outlines(path) for path in outlines]
    places, schematic = located(made.places or _bare_places(made), drawn)
    folder = resources.files("understudy.commute").joinpath("page")
    pack = Pack()
    facts = {
        "title": title or f"Commutes: {made.folder.name}",
        "tiles": tiles,
        "place": _place_word(places),
        "schematic": schematic,
        **_packed_places(pack, places, drawn),
        "roles": pack.add("roles", _roles(made, places, original)),
        "sets": {"synthetic": _packed_flows(pack, "synthetic", made.flows, made.origins, places)},
        **_reliability(pack, made, places),
    }
    if original is not None:
        facts["sets"]["original"] = _packed_flows(pack, "original", original, made.origins, places)
    script = "\n".join(folder.joinpath(f"{part}.js").read_text(encoding="utf-8") for part in SCRIPTS)
    return html_page(
        "map.html",
        packages=("understudy.commute",),
        folder="page",
        title=facts["title"],
        marker=PUBLIC_MARKER if original is None else MARKER,
        security=policy(f"data: {_tile_host(tiles)}".rstrip()),
        style=folder.joinpath("map.css").read_text(encoding="utf-8"),
        data=pack.text(facts),
        scripts=[f'"use strict";\n(async function () {{\n{script}\n}})();'],
        confidential=original is not None,
        statement=made.manifest["statement"],
        invented=facts["invented"],
        schematic=schematic,
        problems=made.problems,
    )


def _bare_places(made: ReleasedCommutes) -> Places:
    """Those that the release names, if it came without a table of places."""
    return Places(names=tuple(dict.fromkeys((*made.origins, *made.flows.destinations))))


def _place_word(places: Places) -> str:
    """What one place is called: a block where the levels are those of the Census."""
    return "block" if any(level.name == "block group" for level in places.beside) else "place"


def _tile_host(tiles: str | None) -> str:
    if tiles is None:
        return ""
    parts = urlsplit(tiles)
    named = _HOST.fullmatch(parts.netloc)  # it stands in the page's security policy, where more would be a rule
    if parts.scheme not in ("http", "https") or not named or not all(w in tiles for w in ("{x}", "{y}", "{z}")):
        raise ParameterError(
            f"`tiles` is {tiles!r}; it must be an address with {{z}}, {{x}} and {{y}} in it, such as "
            "https://tiles.example.org/{z}/{x}/{y}.png. Leave it out for a page that needs no network."
        )
    return f"{parts.scheme}://{parts.netloc}"


def _packed_places(pack: Pack, places: Places, given: Sequence[Drawn]) -> dict[str, Any]:
    """Where the places are, and the levels from coarse to fine, the places themselves last."""
    assert places.longitudes is not None and places.latitudes is not None
    degrees = [np.stack([places.longitudes, places.latitudes], axis=1), *(drawn.degrees for drawn in given)]
    frame = Frame.around(*np.concatenate(degrees).T)
    levels = map_levels(places)
    drawn = dict(zip((level.name for level in levels), drawn_outlines(places, levels, frame), strict=True))
    drawn |= outlines_by_level(given, levels, frame)
    steps = np.rint(frame.steps(places.longitudes, places.latitudes)).astype(np.int64)
    return {
        "frame": {"left": frame.left, "top": frame.top, "size": frame.size},
        "spots": pack.add("spots", steps),
        "levels": [
            {**_packed_level(pack, level, drawn[level.name]), "main": level in places.levels} for level in levels
        ],
    }


def map_levels(places: Places) -> list[Level]:
    """All areas that places are put together in, coarse to fine, and the places themselves last."""
    own = Level(name=_place_word(places), codes=places.names, labels=places.labels, of=np.arange(len(places)))
    levels = sorted((*places.levels, *places.beside), key=lambda level: len(level.codes))
    return [*(level for level in levels if len(level.codes) < len(places)), own]


def _packed_level(pack: Pack, level: Level, outlines: Outlines) -> dict[str, Any]:
    called = level.name
    return {
        "name": called,
        "labels": list(level.labels),
        "codes": None if level.codes == level.labels else list(level.codes),
        "of": pack.add(f"{called} of", level.of),
        "areas": pack.add(f"{called} areas", outlines.areas),
        "starts": pack.add(f"{called} starts", np.diff(outlines.starts)),
        "points": pack.add(f"{called} points", outlines.points),
    }


def _roles(made: ReleasedCommutes, places: Places, original: Flows | None) -> Any:
    """1 where people may live, 2 where they work, 3 for both: public lists."""
    roles = np.zeros(len(places), dtype=np.uint8)
    roles[places.positions(made.origins, "origin")] |= 1
    for flows in (made.flows, original):
        if flows is not None:
            roles[places.positions(flows.destinations, "destination")] |= 2
    return roles


def _packed_flows(pack: Pack, name: str, flows: Flows, origins: tuple[str, ...], places: Places) -> dict[str, str]:
    """By destination: how many homes each has, the homes in ascending order, and the workers of each pair."""
    cells: Histograms = opened_flows(flows.cells)
    homes = places.positions(origins, "origin")[cells.units]
    work = places.positions(flows.destinations, "destination")[cells.rows]
    order = np.lexsort((homes, work))
    return {
        "numbers": pack.add(f"{name} numbers", np.bincount(work, minlength=len(places))),
        "homes": pack.add(f"{name} homes", homes[order]),
        "counts": pack.add(f"{name} counts", cells.counts[order]),
    }


def _reliability(pack: Pack, made: ReleasedCommutes, places: Places) -> dict[str, Any]:
    """What is known about errors, and what is expected to be invented: public numbers, no real flow."""
    event = own_draws(made.manifest)
    if event is None:
        return packed_measurements(pack, made, map_levels(places))
    work = places.positions(made.flows.destinations, "destination")
    errors, packed = draw_errors(made, event), {}
    for name in ("gains", "virtual", "factors", "floors"):
        values = np.zeros(len(places))
        values[work] = getattr(errors, name)
        packed[name] = pack.add(f"errors {name}", values)
    invented = expected_invented(made, event, pairs=len(opened_flows(made.flows.cells).units))
    return {
        "errors": {"kind": "draws", **packed},
        "invented": None if invented is None else invented.sentence,
        "characteristics": None,
    }


def check_map_target(path: Path, *, confidential: bool) -> None:
    """A map never overwrites anything but an earlier map."""
    if confidential or not path.is_file():
        check_page_target(path)
        return
    with path.open("rb") as file:
        head = file.read(400)
    if PUBLIC_MARKER.encode() not in head:
        raise ReleaseError(f"{str(path)!r} exists already and is not an earlier map; choose another name or remove it.")


def write_map(path: Path, page: str, *, confidential: bool) -> str:
    """Write the page and say its digest; one with real flows is readable by its owner only."""
    check_map_target(path, confidential=confidential)
    if not confidential and path.exists():
        path.unlink()
    write_page(path, page, Access.OWNER if confidential else Access.EVERYBODY)
    return digest_of(path)
