import shutil

import pytest
from agents_bench import House, furnish


@pytest.fixture(scope="session")
def furnished(tmp_path_factory):
    return furnish(tmp_path_factory.mktemp("house") / "root")


@pytest.fixture
def house(furnished, tmp_path):
    """A house of its own, with the same things in it."""
    shutil.copytree(furnished.root, tmp_path / "root")
    return House(root=tmp_path / "root")
