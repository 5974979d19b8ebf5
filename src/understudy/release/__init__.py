"""A table plus its manifest: write, verify."""

from understudy.release.manifest import Manifest, describe
from understudy.release.release import Release

__all__ = ["Manifest", "Release", "describe"]
