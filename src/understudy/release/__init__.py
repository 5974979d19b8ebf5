"""Releases: a table and its manifest, written and verified."""

from understudy.release.manifest import Manifest, describe
from understudy.release.release import Release

__all__ = ["Manifest", "Release", "describe"]
