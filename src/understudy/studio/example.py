"""A data set to try everything on: simulated patients with a public codebook, made below the root by one click."""

import subprocess
import sys

from understudy.errors import ParameterError
from understudy.files import Access, settle
from understudy.studio.jobs import child_environment
from understudy.studio.texts import texts
from understudy.studio.workspace import Dataset, Root, new_dataset, write_private

EXAMPLE = "example"


def make_example(root: Root) -> Dataset:
    """``ROOT/example``: what ``understudy example`` writes, under the names of a data set."""
    folder = root.path(EXAMPLE)
    if folder.exists():
        raise ParameterError(texts("shelf")["example_there"])
    # in a process of its own: what simulates patients stays out of the memory of the studio
    made = [sys.executable, "-P", "-m", "understudy.studio.example", str(folder)]
    subprocess.run(made, check=True, capture_output=True, env=child_environment())
    settle(folder, Access.OWNER)
    (folder / "patients.toml").rename(folder / "codebook.toml")
    write_private(folder / "draft.toml", (folder / "codebook.toml").read_bytes())
    return new_dataset(
        root, EXAMPLE, title=texts("shelf")["example_title"], data="patients.csv", holdout="held-out.csv"
    )


if __name__ == "__main__":
    from understudy.facade.demo import example_patients

    example_patients(sys.argv[1])
