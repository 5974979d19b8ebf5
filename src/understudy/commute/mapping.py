"""One self-contained page: where do the workers of a destination come from, and the reverse. Works offline."""

import base64
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from understudy.commute.places import Places
from understudy.commute.released import ReleasedCommutes
from understudy.errors import ParameterError, ReleaseError
from understudy.evaluate.commuting import opened_flows
from understudy.extras import need
from understudy.pages.shell import MARKER, html_page, policy
from understudy.pages.write import check_page_target, write_page
from understudy.release.folders import digest_of
from understudy.sources.flows import Flows, Histograms

PUBLIC_MARKER = "understudy map, made from a release"
"""Near the top of a map that holds nothing but a release; a later run may overwrite such a file."""


def map_page(
    made: ReleasedCommutes, *, original: Flows | None = None, tiles: str | None = None, title: str | None = None
) -> str:
    """The page; with ``original`` it holds the real flows and says on top that it is confidential."""
    need("jinja2", extra="report", what="the map page")
    places = _coordinates(made)
    folder = resources.files("understudy.commute")
    data = {
        "names": list(places.names),
        "latitudes": _packed(places.latitudes, np.float64),
        "longitudes": _packed(places.longitudes, np.float64),
        "roles": _packed(_roles(made, places, original), np.uint8),
        "synthetic": _packed_flows(made.flows, opened_flows(made.flows.cells), made.origins, places),
        "tiles": tiles,
    }
    if original is not None:
        data["original"] = _packed_flows(original, opened_flows(original.cells), made.origins, places)
    return html_page(
        "map.html",
        packages=("understudy.commute",),
        title=title or f"Commutes: {made.folder.name}",
        marker=PUBLIC_MARKER if original is None else MARKER,
        security=policy(f"data: {_tile_host(tiles)}".rstrip()),
        style=folder.joinpath("map.css").read_text(encoding="utf-8"),
        data=data,
        scripts=[folder.joinpath("map.js").read_text(encoding="utf-8")],
        confidential=original is not None,
        statement=made.manifest["statement"],
    )


def _coordinates(made: ReleasedCommutes) -> Places:
    if made.places is None or not made.places.has_coordinates:
        raise ReleaseError(
            f"the release {str(made.folder)!r} came without coordinates; give `places` with place, latitude and "
            "longitude."
        )
    return made.places


def _tile_host(tiles: str | None) -> str:
    if tiles is None:
        return ""
    parts = urlsplit(tiles)
    if parts.scheme not in ("http", "https") or not parts.netloc or not all(w in tiles for w in ("{x}", "{y}", "{z}")):
        raise ParameterError(
            f"`tiles` is {tiles!r}; it must be an address with {{z}}, {{x}} and {{y}} in it, such as "
            "https://tiles.example.org/{z}/{x}/{y}.png. Leave it out for a page that needs no network."
        )
    return f"{parts.scheme}://{parts.netloc}"


def _roles(made: ReleasedCommutes, places: Places, original: Flows | None) -> Any:
    """1 where people may live, 2 where they work, 3 for both: public lists."""
    roles = np.zeros(len(places), dtype=np.uint8)
    roles[places.positions(made.origins, "origin")] |= 1
    for flows in (made.flows, original):
        if flows is not None:
            roles[places.positions(flows.destinations, "destination")] |= 2
    return roles


def _packed_flows(flows: Flows, cells: Histograms, origins: tuple[str, ...], places: Places) -> dict[str, str]:
    homes = places.positions(origins, "origin")[cells.units]
    work = places.positions(flows.destinations, "destination")[cells.rows]
    return {
        "origins": _packed(homes, np.uint32),
        "destinations": _packed(work, np.uint32),
        "counts": _packed(cells.counts, np.uint32),
    }


def _packed(values: Any, kind: Any) -> str:
    return base64.b64encode(np.ascontiguousarray(values, dtype=np.dtype(kind).newbyteorder("<")).tobytes()).decode()


def check_map_target(path: Path, *, confidential: bool) -> None:
    """A map never overwrites anything but an earlier map."""
    if confidential or not path.exists():
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
    write_page(path, page)
    if not confidential:
        path.chmod(0o644)
    return digest_of(path)
