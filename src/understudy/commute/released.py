"""A commuting release read back from its folder: public places, synthetic flows, and what its manifest says."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet

from understudy.codebook import Codebook
from understudy.commute.places import Places, read_places
from understudy.commute.recheck import recheck_commute
from understudy.commute.synthesize import PLACES
from understudy.errors import ReleaseError
from understudy.loading import loader
from understudy.release.release import CODEBOOK, MANIFEST, TABLE
from understudy.release.verify import verify_release
from understudy.sources.flows import Flows, read_flows


@dataclass(frozen=True, kw_only=True, eq=False)
class ReleasedCommutes:
    """What a map or an evaluation needs of a release."""

    folder: Path
    manifest: dict[str, Any]
    origins: tuple[str, ...]
    flows: Flows
    """Synthetic flows, counted as a source would be; nothing in them is private."""
    places: Places | None
    problems: tuple[str, ...]
    """What did not verify."""


@loader("the release", remedy="take the folder again from where it was published.", error=ReleaseError)
def read_release(folder: str | Path, *, places: Places | None = None) -> ReleasedCommutes:
    """Read and verify a release; ``places`` replaces the coordinates that lie in its folder."""
    place = Path(folder)
    verdict = verify_release(place, [recheck_commute])
    manifest = json.loads((place / MANIFEST).read_text(encoding="utf-8"))
    if not str(manifest.get("method", "")).startswith("commute-"):
        raise ReleaseError(
            f"{str(place)!r} is a release by {manifest.get('method')!r}, not of commutes; make one with "
            "`understudy commute synth`."
        )
    book = Codebook.load(place / CODEBOOK)
    origin, destination = book.names
    table = pyarrow.parquet.read_table(place / TABLE)
    levels = book.column(origin).labels
    if table.num_rows == 0:
        raise ReleaseError(f"{str(place)!r} holds no synthetic worker; there is nothing to show.")
    table = table.replace_schema_metadata(None)  # read to be shown, not to be drawn from again
    flows = read_flows(table, origin=origin, destination=destination, origins=list(levels))
    if places is None and (place / PLACES).is_file():
        places = read_places(str(place / PLACES))
    return ReleasedCommutes(
        folder=place,
        manifest=manifest,
        origins=tuple(levels),
        flows=flows,
        places=places,
        problems=verdict.problems,
    )
