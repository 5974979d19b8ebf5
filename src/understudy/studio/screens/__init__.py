"""Every screen, by name: one module each. To add one, write the module and list it here."""

from dataclasses import dataclass
from importlib import import_module

from fastapi import APIRouter

_NAMES = (
    "shelf",
    "data",
    "split",
    "codebook",
    "column",
    "review",
    "rules",
    "attest",
    "quote",
    "job",
    "release",
    "report",
    "publish",
    "anonymise",
    "others",
)  # fmt: skip
"""Modules of this folder; each has a ``router``."""


@dataclass(frozen=True)
class Screen:
    """A screen and its addresses."""

    name: str
    router: APIRouter


SCREENS = {name: Screen(name, import_module(f"{__name__}.{name}").router) for name in _NAMES}
