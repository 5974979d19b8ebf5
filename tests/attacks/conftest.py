"""A small confidential table, its codebook and its account, for everybody who tries to make the software lie."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from matrix_bench import place, shelf  # noqa: F401 - fixtures

from understudy.codebook import Categorical, Codebook
from understudy.privacy import Neighbours
from understudy.privacy.account import Account

ROWS = 300


@pytest.fixture(scope="session")
def book() -> Codebook:
    return Codebook(
        columns=(Categorical(name="a", levels=("x", "y", "z"), missing="NA"), Categorical(name="b", levels=("0", "1")))
    )


@pytest.fixture(scope="session")
def table() -> pa.Table:
    drawn = np.random.default_rng(1)
    a = drawn.choice(["x", "y", "z"], ROWS).tolist()
    return pa.table({"a": [None if k % 10 == 0 else v for k, v in enumerate(a)], "b": drawn.choice(["0", "1"], ROWS)})


@pytest.fixture(scope="session")
def data(table, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("confidential") / "patients.parquet"
    pq.write_table(table, path)
    return path


@pytest.fixture
def account(tmp_path) -> Account:
    return Account.create(
        tmp_path / "patients.account", dataset="patients", epsilon=2.0, delta=1e-5, neighbours=Neighbours.ADD_REMOVE
    )
