"""A small table, its codebook, every method that draws in parts, and an account that pays for them."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import understudy as us
from understudy.codebook import Categorical, Codebook
from understudy.privacy.guarantees import Neighbours
from understudy.synth.drawers import RangeDrawer
from understudy.synth.part_work import PartJob
from understudy.synth.workers import LocalWorkers

BOOK = Codebook(
    columns=(
        Categorical(name="a", levels=("x", "y"), attestation=None),
        Categorical(name="b", levels=("u", "v", "w"), missing="NA"),
        Categorical(name="c", levels=tuple("abcdefgh")),
    )
)
METHODS: dict[str, dict[str, Any]] = {
    "pegs": {"alpha": 1.0},
    "pegs-rs": {"alpha": 1.0, "block_size": 7},
    "marginal-bootstrap": {"alpha": 1.0},
    "laplace": {"epsilon": 1.0},
    "sba": {"epsilon": 5.0, "delta": 1e-3},
    "marginals": {"epsilon": 5.0, "delta": 1e-6},
    "sbhg": {"epsilon": 50.0, "delta": 1e-3, "parents": "declared"},
    "privbayes": {"epsilon": 5.0, "public_rows": 3000},
    "contingency": {},
    "gibbs": {},
    "lugs": {"l": 1.2},
    "plugs": {"l": 1.2, "partitions": 2},
}


def table(rows: int = 3000) -> pa.Table:
    rng = np.random.default_rng(5)
    a = rng.integers(0, 2, rows)
    return pa.table(
        {
            "a": np.array(["x", "y"])[a],
            "b": np.array(["u", "v", "w"])[(a + rng.integers(0, 2, rows)) % 3],
            "c": np.array(list("abcdefgh"))[rng.integers(0, 8, rows)],
        }
    )


def rows_of(folder: Path) -> pa.Table:
    manifest = json.loads((folder / "manifest.json").read_text())
    names = [name for name in manifest["files"] if name.startswith("synthetic/")]
    return pa.concat_tables([pq.read_table(folder / name) for name in names])


def new_account(path: Path) -> us.Account:
    return us.Account.create(path, dataset="t", epsilon=1e9, delta=0.5, neighbours=Neighbours.ADD_REMOVE)


def declared() -> Codebook:
    """The same codebook, attested as public."""
    import datetime as dt
    from dataclasses import replace

    from understudy.codebook.attestation import Attestation

    said = Attestation(by="J. Doe", source="form 7", on=dt.date(2024, 1, 1))
    return Codebook(columns=tuple(replace(column, attestation=said) for column in BOOK.columns))


class Explodes(LocalWorkers):
    """Draws some parts and then fails as asked."""

    def draw(self, job: PartJob, drawer: RangeDrawer, missing: Any, told: Any) -> None:
        super().draw(job, drawer, missing[:2], told)
        (job.parts_folder / ".half-a-part").write_bytes(b"PAR1")  # what a crash leaves
        shutil.copy(next(job.parts_folder.glob("part-00000-*")), job.parts_folder / f"part-00002-{'0' * 32}.parquet")
        raise REASONS.pop()


REASONS: list[BaseException] = []
