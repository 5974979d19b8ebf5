"""Peers from the package registry, each in an environment of its own: ``python -m benchmarks.environments FOLDER``.

``make peers`` makes them in ``.venv-peers``; it takes some minutes and 7 GB, most of it two copies of torch.

Nothing is installed by a benchmark or a test. A peer that does not install leaves its reason in the folder, and the
benchmark repeats it by name.
"""

import subprocess
import sys
import venv
from pathlib import Path

__all__ = ["ENVIRONMENTS", "RUNNERS", "interpreter", "make", "versions", "why_absent"]

ENVIRONMENTS = {
    "dpmm": ("dpmm==0.1.9",),
    "DataSynthesizer": ("DataSynthesizer==0.1.13", "pandas==3.1.1", "numpy==2.4.6", "scikit-learn==1.9.1"),
    "smartnoise-synth": ("smartnoise-synth==1.0.8", "mbi==1.1.0", "jax==0.10.2", "numpy==2.4.6"),
    "opendp": ("opendp[mbi]==0.16.0", "jax==0.10.2", "pandas==2.3.3", "numpy==2.4.6"),
    "sdv": ("sdv==2.0.0", "numpy==2.4.6"),
    "interpret-core": ("interpret-core==0.7.8", "scikit-learn==1.9.1", "numpy==2.4.6"),
    "diffprivlib": ("diffprivlib==0.6.6", "scikit-learn==1.5.2"),
    "smartnoise-sql": ("smartnoise-sql==1.0.10",),
}
"""What is installed for each (Python 3.11): the peer as measured, and those of its libraries that it does not pin."""

RUNNERS = {
    "understudy_marginals": None,
    "independent_columns": None,
    "aim_from_its_paper": None,
    "dpmm_aim": "dpmm",
    "dpmm_mst": "dpmm",
    "opendp_aim": "opendp",
    "opendp_mst": "opendp",
    "smartnoise_mst": "smartnoise-synth",
    "datasynthesizer_privbayes": "DataSynthesizer",
    "sdv_copula": "sdv",
}
"""The environment that a runner needs; ours, and those written here, need none."""

_SHOWN = (
    "interpret-core",
    "diffprivlib",
    "dpmm",
    "DataSynthesizer",
    "smartnoise-synth",
    "opendp",
    "sdv",
    "mbi",
    "jax",
    "torch",
    "numpy",
    "pandas",
)
_ASK = """
import sys
from importlib.metadata import PackageNotFoundError, version
found = ["Python " + sys.version.split()[0]]
for name in sys.argv[1:]:
    try:
        found.append(name + " " + version(name))
    except PackageNotFoundError:
        pass
print(", ".join(found))
"""


def interpreter(runner: str, folder: Path | None) -> Path | None:
    """The Python that can run it, or none."""
    name = RUNNERS[runner]
    if name is None:
        return Path(sys.executable)
    python = folder / f"{name}-env" / "bin" / "python" if folder else None
    return python if python and python.exists() and why_absent(runner, folder) == "" else None


def why_absent(runner: str, folder: Path | None) -> str:
    """Why a peer could not be installed, or nothing."""
    name = RUNNERS[runner]
    if folder is None:
        return "UNDERSTUDY_PEERS is not set"
    note = folder / f"{name}-env.failed"
    if note.exists():
        return note.read_text(encoding="utf-8").strip()
    return "" if name is None or (folder / f"{name}-env").exists() else f"no {name}-env in UNDERSTUDY_PEERS"


def versions(python: Path) -> str:
    """What is really in an environment."""
    asked = subprocess.run([python, "-c", _ASK, *_SHOWN], capture_output=True, text=True, check=True)
    return asked.stdout.strip()


def make(folder: Path, names: list[str]) -> None:
    """Make the environments; one that does not install leaves its reason."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        place, note = folder / f"{name}-env", folder / f"{name}-env.failed"
        note.unlink(missing_ok=True)
        venv.create(place, with_pip=True, clear=True)
        words = [place / "bin" / "python", "-m", "pip", "install", "-q", "--disable-pip-version-check"]
        done = subprocess.run([*words, *ENVIRONMENTS[name]], check=False, capture_output=True, text=True)
        if done.returncode:
            errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or [
                "ERROR: pip gave no reason"
            ]
            note.write_text(f"does not install: {errors[0][7:]}\n", encoding="utf-8")
            print(f"{name}: {note.read_text(encoding='utf-8').strip()}", flush=True)
        else:
            print(f"{name}: {versions(place / 'bin' / 'python')}", flush=True)


if __name__ == "__main__":
    wrong = [word for word in sys.argv[2:] if word not in ENVIRONMENTS]
    if len(sys.argv) < 2 or wrong:
        sys.exit(f"usage: python -m benchmarks.environments FOLDER [{' | '.join(ENVIRONMENTS)} ...]")
    make(Path(sys.argv[1]), sys.argv[2:] or list(ENVIRONMENTS))
