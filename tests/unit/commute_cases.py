"""A small town, and tables of ours to use beside it."""

from dataclasses import replace
from functools import cache

import understudy as us
from understudy.commute import CommuteRecipe, read_rings, read_sizes
from understudy.commute.jobs import open_commutes
from understudy.commute.recheck import recheck_commute
from understudy.datasets import commutes
from understudy.privacy.account import Account
from understudy.privacy.provenance import InputRole
from understudy.release.verify import verify_release

TOWN = commutes(400, seed=2, homes=30, workplaces=6)
ROLES = [InputRole.PLACES, InputRole.ORIGINS, InputRole.RINGS, InputRole.REGIONS, InputRole.SIZES]


def exact(**options):
    return CommuteRecipe(**{"epsilon": 4.6, "delta": 1e-6, "certificate": "exact", **options})


@cache
def town():
    return open_commutes(TOWN.flows, count="workers", places=TOWN.places)


def charged(given, file):
    return replace(given, account=Account.open(file))


def verify(folder):
    return verify_release(folder, [recheck_commute])


def columns(role):
    """A table that can be used in this role."""
    names = town().flows.origins.to_pylist()
    work = town().flows.destinations
    return {
        InputRole.PLACES: {name: TOWN.places.column(name) for name in TOWN.places.column_names},
        InputRole.ORIGINS: {"origin": names},
        InputRole.RINGS: {"miles": [5.0, None], "share": [0.8, 0.2]},
        InputRole.REGIONS: {"origin": names, "region": [f"r{i % 4}" for i in range(len(names))]},
        InputRole.SIZES: {"destination": work, "workers": [3] * len(work)},
    }[role]


def with_table(role, table, recipe=exact, **options):
    """The recipe and the input that use ``table`` in this role."""
    asked = {"places": TOWN.places, role.name.lower(): table}
    if role is InputRole.RINGS:
        options["rings"] = read_rings(asked.pop("rings"), confidential=TOWN.flows)
    if role is InputRole.SIZES:
        options["sizes"] = read_sizes(asked.pop("sizes"), confidential=TOWN.flows)
    return recipe(**options), open_commutes(TOWN.flows, count="workers", **asked)


@cache
def earlier():
    return exact(epsilon=2.0).fit(town()).sample()


@cache
def rows_release():
    """A release whose price is one of records, not of origins."""
    sex = replace(us.datasets.discharges_codebook().column("sex"), parents=None)
    source = us.open(us.datasets.discharges(rows=200, seed=1), us.Codebook(columns=(sex,)))
    return us.LaplaceHistogram(epsilon=1.0).fit(source).sample(5)
