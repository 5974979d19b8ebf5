"""Origin-destination tables: synthetic origins for public destinations (OnTheMap), and a map of them."""

from understudy.commute.places import Places, read_places
from understudy.commute.recipe import CommuteRecipe
from understudy.commute.regions import Regions, read_regions
from understudy.commute.rings import Rings, ctpp_minnesota, read_rings
from understudy.sources.flows import Flows, read_flows

__all__ = [
    "CommuteRecipe",
    "Flows",
    "Places",
    "Regions",
    "Rings",
    "ctpp_minnesota",
    "read_flows",
    "read_places",
    "read_regions",
    "read_rings",
]
