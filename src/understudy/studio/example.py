"""A data set to try everything on: simulated patients with a public codebook, made below the root by one click."""

from understudy.errors import ParameterError
from understudy.files import Access, settle
from understudy.studio.texts import texts
from understudy.studio.workspace import Dataset, Root, new_dataset, write_private

EXAMPLE = "example"


def make_example(root: Root) -> Dataset:
    """``ROOT/example``: what ``understudy example`` writes, under the names of a data set."""
    from understudy.facade.demo import example_patients

    folder = root.path(EXAMPLE)
    if folder.exists():
        raise ParameterError(texts("shelf")["example_there"])
    example_patients(folder)
    settle(folder, Access.OWNER)
    (folder / "patients.toml").rename(folder / "codebook.toml")
    write_private(folder / "draft.toml", (folder / "codebook.toml").read_bytes())
    return new_dataset(
        root, EXAMPLE, title=texts("shelf")["example_title"], data="patients.csv", holdout="held-out.csv"
    )
