"""One function per use case of commuting tables; the command line calls only these."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from understudy.commute.places import Places, read_places
from understudy.commute.recipe import CommuteRecipe, Plan
from understudy.commute.regions import Regions, read_regions
from understudy.commute.synthesize import releasing
from understudy.commute.tables import read_columns
from understudy.errors import DataError, ParameterError, ReleaseError
from understudy.privacy.account import Account
from understudy.release import Release
from understudy.release.release import refuse_existing
from understudy.sources.flows import Flows, read_flows

__all__ = ["CommuteInput", "open_commutes", "quote_commutes", "read_sizes", "synthesize_commutes", "write_example"]


@dataclass(frozen=True, kw_only=True, eq=False)
class CommuteInput:
    """A table of commutes with what is public about its places."""

    flows: Flows
    places: Places | None
    regions: Regions | None
    names: tuple[str, str]


def open_commutes(
    data: Any,
    *,
    origin: str = "origin",
    destination: str = "destination",
    count: str | None = None,
    table: str | None = None,
    places: Any = None,
    origins: Any = None,
    regions: Any = None,
) -> CommuteInput:
    """Read the public tables first and then count the confidential one."""
    known = places if isinstance(places, Places) or places is None else read_places(places)
    listed: Any = None
    if origins is not None:
        listed = (
            origins if isinstance(origins, list | tuple) else read_columns(origins).texts("origin", "place", "geocode")
        )
        if len(set(listed)) < len(listed):
            raise DataError("the list of origins names one twice; keep each once.")
    elif known is not None:
        listed = known.names if known.homes is None else known.homes
    flows = read_flows(data, origin=origin, destination=destination, count=count, table=table, origins=listed)
    if known is not None:
        known.positions(tuple(flows.origins.to_pylist()), "origin")
        known.positions(flows.destinations, "destination")
    coarse = None
    if regions is not None:
        coarse = regions if isinstance(regions, Regions) else read_regions(regions, tuple(flows.origins.to_pylist()))
    return CommuteInput(flows=flows, places=known, regions=coarse, names=(origin, destination))


def quote_commutes(recipe: CommuteRecipe, given: CommuteInput) -> Plan:
    """The price, from public facts alone."""
    return recipe.plan(given.flows, places=given.places, regions=given.regions)


def synthesize_commutes(
    recipe: CommuteRecipe,
    given: CommuteInput,
    *,
    out: str | Path,
    csv: bool = False,
    account: str | Path | None = None,
    seed: int | None = None,
    report: Any = None,
) -> Release:
    """Pay, draw and write; the price is given back if nothing could be written."""
    target = Path(out)
    refuse_existing(target)
    if not target.absolute().parent.is_dir():
        raise ReleaseError(
            f"the folder {str(target.absolute().parent)!r} does not exist; make it first, then run again."
        )
    opened = None if account is None else Account.open(account)
    with releasing(
        recipe,
        given.flows,
        places=given.places,
        regions=given.regions,
        account=opened,
        seed=seed,
        names=given.names,
        report=report,
    ) as release:
        release.save(target, csv=csv)
    return release


def read_sizes(what: Any) -> dict[str, int]:
    """A public table of ``destination`` and ``workers``: how many synthetic ones each gets."""
    columns = read_columns(what)
    numbers = columns.numbers("workers", "count", "size")
    if not all(number == int(number) for number in numbers if number == number) or (numbers != numbers).any():  # noqa: PLR0124 - NaN
        raise DataError(f"an output size of {columns.label} is no whole number; give one for each destination.")
    return dict(zip(columns.texts("destination", "place"), (int(number) for number in numbers), strict=True))


def write_example(folder: Path, *, workers: int, seed: int) -> list[Path]:
    """A simulated town to try the commands on: flows.csv and places.csv in a new folder."""
    import pyarrow.csv

    from understudy.datasets import commutes

    if folder.exists():
        raise ParameterError(f"{str(folder)!r} exists already; an example never overwrites. Choose another folder.")
    if seed < 0:
        raise ParameterError(f"`seed` is {seed}; it must be 0 or more. Try 1.")
    town = commutes(workers, seed)
    try:
        folder.mkdir(parents=False)
    except OSError as reason:
        raise ReleaseError(f"the folder {str(folder)!r} cannot be made ({reason.strerror}).") from None
    paths = [folder / "flows.csv", folder / "places.csv"]
    for path, table in zip(paths, town, strict=True):
        pyarrow.csv.write_csv(table, path)
    return paths
