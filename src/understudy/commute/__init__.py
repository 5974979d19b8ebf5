"""Origin-destination tables: synthetic origins for public destinations (OnTheMap), and a map of them."""

from understudy.commute.places import (
    CommuteInput,
    Places,
    Regions,
    Rings,
    Sizes,
    ctpp_minnesota,
    read_origins,
    read_places,
    read_regions,
    read_rings,
    read_sizes,
)
from understudy.commute.recipe import CommuteRecipe
from understudy.sources.flows import Flows, read_flows

__all__ = [
    "CommuteInput",
    "CommuteRecipe",
    "Flows",
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
