"""A table plus its manifest: write, verify."""

from understudy.release.manifest import Manifest
from understudy.release.release import Release

__all__ = ["Manifest", "Release"]
