"""Origin-destination tables: synthetic origins for public destinations (OnTheMap), and a map of them."""

from understudy.commute.lists import Origins, Sizes, read_origins, read_sizes
from understudy.commute.places import Places, read_places
from understudy.commute.recipe import CommuteRecipe
from understudy.commute.regions import Regions, read_regions
from understudy.commute.rings import Rings, ctpp_minnesota, read_rings
from understudy.sources.flows import Flows, read_flows

__all__ = [
    "CommuteRecipe",
    "Flows",
    "Origins",
    "Places",
    "Regions",
    "Rings",
    "Sizes",
    "ctpp_minnesota",
    "read_flows",
    "read_origins",
    "read_places",
    "read_regions",
    "read_rings",
    "read_sizes",
]
