"""How a command tells of a release that it has made."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from understudy.cli.console import note, tell, warn, wrote


def tell_release(release: Any, folder: Path, *, csv: bool, json: bool, lines: Iterable[Any] = ()) -> None:
    """What a reader should know, the promise, ``lines`` of the command's own, and the files."""
    warn_of(release, csv=csv)
    document = {"folder": folder, "manifest": release.manifest}
    files = () if json else sorted(folder.iterdir())
    tell(document, [release.statement, *([] if json else lines), *wrote(files)], json=json)


def tell_releases(releases: Sequence[Any], folder: Path, *, csv: bool, json: bool) -> None:
    """The same of several files in numbered folders, once for all of them."""
    if not json:
        warn_of(releases[0], csv=csv)
    document = {"folder": folder, "manifests": [release.manifest for release in releases]}
    numbered = (folder / str(number) for number in range(1, len(releases) + 1))
    tell(document, [releases[0].statement, *wrote(numbered)], json=json)


def warn_of(release: Any, *, csv: bool) -> None:
    """Its warnings, and what a spreadsheet would take for a formula."""
    note([shared] if (shared := release.manifest.quote.shared) else [])
    warn(release.manifest.warnings)
    if csv and (names := release.formula_like()):
        note(
            [
                f"{', '.join(names)} have levels that start like a formula; write --format guarded.csv for a "
                "spreadsheet, open the CSV file as text there, or use the Parquet file."
            ]
        )
