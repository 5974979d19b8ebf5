"""Newborns of the generated discharges, as the dissertation prepares its newborns of one hospital, and 3-anonymity.

The dissertation reads ZIP codes of five digits and joins them by city and by three digits; the generated table has
areas of three digits, which are joined by region (made up, as the areas are) and by two digits.
"""

from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

import understudy as us
from understudy.anonymize import Anonymized, FullDomain, Generalise, Keep, Recipe, Rule, SuppressRows, anonymize
from understudy.codebook import Codebook, Generalisation, Role

__all__ = ["COLUMNS", "QUASI", "REGIONS", "Study", "codebook", "number", "prepare"]

ROWS, SEED = 12_000, 2006
COLUMNS = ("sex", "patzip", "pay", "los", "charge")
QUASI = ("sex", "pay", "patzip")
K, LIMIT = 3, 0.05
REGIONS = {
    "Central": ("900xx", "902xx", "903xx"),
    "South Bay": ("904xx", "905xx", "907xx", "908xx"),
    "East": ("906xx", "917xx"),
    "Foothills": ("910xx", "911xx", "912xx"),
    "Valley": ("913xx", "914xx", "916xx"),
    "North": ("935xx",),
}
DEAR = ("20K", "25K", "30K", "35K", "40K", "45K", "50K", "55K", "60K", "65K", "70K", "75K", "80K", "90K", "100K+")
"""Charges so rare among newborns that a neighbour may know whose they are."""


@dataclass(frozen=True, kw_only=True)
class Study:
    """The table at every stage."""

    original: pa.Table
    """Newborns, all columns reduced to five."""
    prepared: pa.Table
    """Without missing stays and without the dearest."""
    by_region: pa.Table
    by_digits: pa.Table
    anonymous: Anonymized

    @property
    def released(self) -> pa.Table:
        """3-anonymous on sex, payer and place."""
        return self.anonymous.release.table


def codebook() -> Codebook:
    """The discharges' codebook with regions, and with sex, payer and place as what an intruder knows."""
    step = Generalisation(name="region", groups=tuple(REGIONS.items()))
    columns = []
    for column in us.datasets.discharges_codebook().columns:
        role = Role.QUASI_IDENTIFIER if column.name in QUASI else Role.OTHER
        hierarchy = (step,) if column.name == "patzip" else ()
        columns.append(replace(column, role=role, hierarchy=hierarchy, parents=None))
    return Codebook(columns=tuple(columns), title="Simulated newborns")


def prepare(*, rows: int = ROWS, seed: int = SEED) -> Study:
    """Reduce, filter, generalise and suppress."""
    table = us.datasets.discharges(rows=rows, seed=seed)
    newborns = table.filter(pc.equal(table.column("MDC"), "Newborn"))
    source = us.open(newborns, codebook())
    reduced = (Keep(columns=COLUMNS),)
    filtered = (*reduced, SuppressRows(column="los", when=("NA",)), SuppressRows(column="charge", when=DEAR))

    def made(*steps, **more):
        return anonymize(source, Recipe(steps=(*filtered, *steps), **more))

    hold = dict.fromkeys(QUASI, 0)
    return Study(
        original=anonymize(source, Recipe(steps=reduced)).release.table,
        prepared=made().release.table,
        by_region=made(Generalise(column="patzip", to="region")).release.table,
        by_digits=made(
            Generalise(column="patzip", to="first 2"), hierarchies={"patzip": Rule(prefix=(2,))}
        ).release.table,
        anonymous=made(
            Generalise(column="patzip", to="region"),
            FullDomain(k=K, suppression=LIMIT, at_most=hold),
        ),
    )


def number(level: str | None) -> float:
    """A level of stay or charges as a number: its lower end.

    >>> number("2K"), number("10-29"), number("3")
    (2000.0, 10.0, 3.0)
    """
    if level is None:
        return float("nan")
    plain = level.rstrip("+").split("-")[0]
    return float(plain[:-1]) * 1000 if plain.endswith("K") else float(plain)
