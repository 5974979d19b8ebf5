"""A release is verified by a process of its own: reading all its rows again would fill the memory of the studio."""

import json
import subprocess
import sys
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from understudy.errors import ParameterError
from understudy.studio.jobs import child_environment
from understudy.studio.texts import texts

_PARTS = ("what", "is_valid", "passed", "problems", "notices", "signed_by")


def verdict_on(folder: Path) -> Mapping[str, Any]:
    """What ``verify`` says about a release; asked again only where a file of it has changed."""
    stamps = [(place.name, place.stat()) for place in sorted(folder.rglob("*")) if place.is_file()]
    return _verdict(folder, tuple((name, stat.st_size, stat.st_mtime_ns, stat.st_ino) for name, stat in stamps))


@lru_cache(maxsize=32)
def _verdict(folder: Path, _stamps: Any) -> Mapping[str, Any]:
    asked = [sys.executable, "-P", "-m", "understudy.studio.checking", str(folder)]
    try:
        done = subprocess.run(asked, check=True, capture_output=True, env=child_environment(), stdin=subprocess.DEVNULL)
        told: dict[str, Any] = json.loads(done.stdout)
    except (subprocess.CalledProcessError, ValueError):
        raise ParameterError(texts("publish")["not_checked"]) from None
    return told


if __name__ == "__main__":
    from understudy.facade.releases import verify

    found = verify(sys.argv[1])
    sys.stdout.write(json.dumps({name: getattr(found, name) for name in _PARTS}, default=list))
