"""The tables of a commuting release, and one function per use case."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from understudy.commute.characteristics import Characteristics
from understudy.commute.evaluating import evaluate_commutes
from understudy.commute.places import CommuteInput, Places, Regions, read_origins, read_places, read_regions
from understudy.commute.plan import Plan
from understudy.commute.recipe import CommuteRecipe
from understudy.commute.released import ReleasedCommutes, read_release
from understudy.errors import ParameterError, ReleaseError
from understudy.evaluate.commuting import CommuteFindings
from understudy.files import Access, make_folder, write_file
from understudy.mechanisms.stream import Stream
from understudy.parameters import Declared, Panel, Several, Text, Whole, from_words, option
from understudy.privacy.account import Account, account_at, remember_look
from understudy.release import Release
from understudy.release.folders import check_target
from understudy.sources.base import Report
from understudy.sources.flows import Flows, read_flows

_COLUMN = Text(words="the name of a column", example="workers")
_TABLE = Text(words="a public table", example="places.csv", admitted=lambda table: table is not None)


@dataclass(frozen=True, kw_only=True)
class FlowTable(Declared):
    """What the columns of a commuting table mean, and where its places lie."""

    origin: str = option("origin", rule=_COLUMN, help="Column of origins.", panel=Panel.INPUT)
    destination: str = option("destination", rule=_COLUMN, help="Column of destinations.", panel=Panel.INPUT)
    count: str | None = option(
        None, rule=_COLUMN, help="Column of worker counts; else one row is one worker.", panel=Panel.INPUT
    )
    table: str | None = option(None, rule=Text(example="flows"), help="Table in a database.", panel=Panel.INPUT)
    places: Any = option(
        None,
        rule=_TABLE,
        help="Public table of place, latitude, longitude, perhaps home (true where people may live), and levels.",
        panel=Panel.INPUT,
    )
    levels: tuple[str, ...] | None = option(
        None,
        rule=Several(each=_COLUMN, words="columns of the places, coarse to fine", example="county,town,tract"),
        help="Columns of the places that are coarser units, coarse to fine; default: county, town, tract and the like.",
        panel=Panel.INPUT,
    )

    def read(self, data: Any, origins: Any, **more: Any) -> Flows:
        """Count the confidential table."""
        columns: dict[str, Any] = {
            "origin": self.origin,
            "destination": self.destination,
            "count": self.count,
            "table": self.table,
        }
        return read_flows(data, origins=origins, **columns, **more)

    def known_places(self, data: Any) -> Places | None:
        """The public places, read where they are a table; ``data`` is the confidential one."""
        if self.places is None or isinstance(self.places, Places):
            return self.places
        return read_places(self.places, levels=self.levels, confidential=data)


@dataclass(frozen=True, kw_only=True)
class CommuteTables(FlowTable):
    """The tables of a commuting release: the confidential one, and what is public about it."""

    origins: Any = option(
        None, rule=_TABLE, help="Public list of possible origins; default: the places.", panel=Panel.INPUT
    )
    regions: Any = option(
        None,
        rule=_TABLE,
        help="Public partition of origins (origin, region, perhaps density): draw regions, then place.",
        panel=Panel.INPUT,
    )
    characteristics: Mapping[str, tuple[str, ...]] | None = option(
        None,
        rule=Characteristics(),
        help="Columns with the workers of each group, such as age=SA01+SA02+SA03,earnings=SE01+SE02+SE03 (method "
        "levels).",
        panel=Panel.INPUT,
    )

    def open(self, data: Any, account: Account | str | Path | None) -> CommuteInput:
        """Read the public tables first and then count the confidential one."""
        paying = account_at(account)
        known = self.known_places(data)
        listed = None if self.origins is None else read_origins(self.origins, confidential=data)
        names = None if listed is None else listed.names
        if names is None and known is not None:
            names = known.names if known.homes is None else known.homes
        flows = self.read(data, names, characteristics=self.characteristics)
        if known is not None:
            known.positions(tuple(flows.origins.to_pylist()), "origin")
            known.positions(flows.destinations, "destination")
        coarse = self.regions
        if coarse is not None and not isinstance(coarse, Regions):
            coarse = read_regions(coarse, tuple(flows.origins.to_pylist()), confidential=data)
        columns = (self.origin, self.destination)
        return CommuteInput(flows=flows, places=known, regions=coarse, origins=listed, names=columns, account=paying)


def open_commutes(data: Any, *, account: Account | str | Path | None = None, **tables: Any) -> CommuteInput:
    """A commuting table and what is public about it (:class:`CommuteTables`); ``account`` pays for what is drawn."""
    return from_words(CommuteTables, "a commuting table", tables).open(data, account)


def quote_commutes(recipe: CommuteRecipe, given: CommuteInput) -> Plan:
    """The plan and its price, from public facts alone.

    With an account the choices are written down there, so that no later look at the data can have made them.
    """
    plan = recipe.plan(given)
    if given.account is not None:
        given.account.fix(plan.choices, label=f"{plan.quote.method}, {plan.rows:,} rows")
    return plan


def synthesize_commutes(
    recipe: CommuteRecipe,
    given: CommuteInput,
    *,
    out: str | Path | None,
    formats: Sequence[str] = (),
    seed: int | None = None,
    report: Report | None = None,
) -> Release:
    """Pay, draw, and write if ``out`` is given."""
    if out is not None:
        check_target(Path(out))
    fitted = recipe.fit(given, stream=Stream.of_seed(seed), report=report)
    return fitted.sample() if out is None else fitted.write(out, formats=formats)


def compare_commutes(
    data: Any,
    release: str | Path,
    *,
    short: float | None = None,
    account: Account | str | Path | None = None,
    **table: Any,
) -> tuple[CommuteFindings, ReleasedCommutes, Flows]:
    """Hold a release against the confidential table (a :class:`FlowTable`); an account remembers the look."""
    charged = account_at(account)
    given = from_words(FlowTable, "a commuting table", table)
    made = read_release(release, places=given.known_places(data))
    real = given.read(data, list(made.origins))
    findings = evaluate_commutes(real, made, short=short)
    # before anybody sees a figure
    remember_look(charged, f"evaluation of commutes: the release {made.manifest['release']}")
    return findings, made, real


def write_example(folder: Path, *, workers: int, seed: int) -> list[Path]:
    """A simulated town to try the commands on: flows.csv and places.csv in a new folder."""
    import pyarrow as pa
    import pyarrow.csv

    from understudy.datasets import commutes

    if folder.exists():
        raise ParameterError(f"{str(folder)!r} exists already; an example never overwrites. Choose another folder.")
    Whole(least=0, tried=1).check("seed", seed)
    town = commutes(workers, seed)
    try:
        make_folder(folder, Access.EVERYBODY)
    except OSError as reason:
        raise ReleaseError(f"the folder {str(folder)!r} cannot be made ({reason.strerror}).") from None
    paths = [folder / "flows.csv", folder / "places.csv"]
    for path, table in zip(paths, town, strict=True):
        sink = pa.BufferOutputStream()
        pyarrow.csv.write_csv(table, sink)
        write_file(path, sink.getvalue().to_pybytes(), Access.EVERYBODY)
    return paths
