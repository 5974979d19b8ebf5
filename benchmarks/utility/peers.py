"""Peers from the package registry, each in an environment of its own: ``python -m benchmarks.utility.peers FOLDER``."""

import subprocess
import sys
import venv
from pathlib import Path

__all__ = ["RUNNERS", "interpreter"]

RUNNERS = {
    "understudy_marginals": None,
    "dpmm_aim": "dpmm",
    "dpmm_mst": "dpmm",
    "datasynthesizer_privbayes": "DataSynthesizer",
    "smartnoise_mst": "smartnoise-synth",
    "sdv_copula": "sdv",
}
"""The package that a runner needs; ours needs none."""


def interpreter(runner: str, folder: Path | None) -> Path | None:
    """The Python that can run it, or none."""
    package = RUNNERS[runner]
    if package is None:
        return Path(sys.executable)
    python = folder / f"{package}-env" / "bin" / "python" if folder else None
    return python if python and python.exists() else None


def install(folder: Path) -> None:
    """Make the environments; a peer that does not install is left out and said so."""
    for package in sorted({package for package in RUNNERS.values() if package}):
        place = folder / f"{package}-env"
        venv.create(place, with_pip=True)
        done = subprocess.run([place / "bin" / "python", "-m", "pip", "install", "-q", package], check=False)
        print(package, "installed" if done.returncode == 0 else "does not install here")


if __name__ == "__main__":
    install(Path(sys.argv[1]))
