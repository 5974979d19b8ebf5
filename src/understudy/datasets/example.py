"""A folder to try the commands on: simulated patients, others kept back, and their public codebook."""

from pathlib import Path

from understudy.datasets.discharges import discharges, discharges_codebook_text
from understudy.errors import ParameterError, ReleaseError


def write_patients(folder: Path, *, rows: int, seed: int) -> list[Path]:
    """Write patients.csv, held-out.csv (a quarter as many others) and patients.toml into a new folder."""
    import pyarrow.csv

    if folder.exists():
        raise ParameterError(f"{str(folder)!r} exists already; an example never overwrites. Choose another folder.")
    tables = (discharges(rows, seed), discharges(max(1, rows // 4), seed + 1))
    try:
        folder.mkdir(parents=False)
    except OSError as reason:
        raise ReleaseError(f"the folder {str(folder)!r} cannot be made ({reason.strerror}).") from None
    paths = [folder / "patients.csv", folder / "held-out.csv", folder / "patients.toml"]
    for path, table in zip(paths, tables, strict=False):
        pyarrow.csv.write_csv(table, path)
    paths[-1].write_text(discharges_codebook_text(), encoding="utf-8")
    return paths
