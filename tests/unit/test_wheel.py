"""What is shipped: the package with its types and data, one command, light dependencies, and no tests."""

import configparser
import zipfile
from email.parser import HeaderParser
from pathlib import Path

import pytest

import understudy

PROJECT = Path(__file__).parents[2]
SRC = PROJECT / "src" / "understudy"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    builder = pytest.importorskip("hatchling.builders.wheel", reason="hatchling comes with `make install`")
    folder = tmp_path_factory.mktemp("wheel")
    (built,) = builder.WheelBuilder(str(PROJECT)).build(directory=str(folder), versions=["standard"])
    with zipfile.ZipFile(built) as opened:
        yield opened


def metadata(wheel, name):
    (path,) = [path for path in wheel.namelist() if path.endswith(f".dist-info/{name}")]
    return wheel.read(path).decode()


def test_it_holds_the_whole_package_and_nothing_else(wheel):
    shipped = {name for name in wheel.namelist() if ".dist-info/" not in name}
    kept = {path for path in SRC.rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    assert shipped == {path.relative_to(SRC.parent).as_posix() for path in kept}
    assert "understudy/py.typed" in shipped
    assert not [name for name in shipped if Path(name).name.startswith("test") or "tests" in Path(name).parts]


def test_it_has_one_command(wheel):
    points = configparser.ConfigParser()
    points.read_string(metadata(wheel, "entry_points.txt"))
    assert {section: dict(points[section]) for section in points.sections()} == {
        "console_scripts": {"understudy": "understudy.cli.start:main"}
    }


def test_its_base_is_light_and_its_extras_are_known(wheel):
    told = HeaderParser().parsestr(metadata(wheel, "METADATA"))
    assert told["Version"] == understudy.__version__
    assert told["License-Expression"] == "Apache-2.0" and told.get_all("Project-URL") is None
    base = {line.split(">")[0].split("[")[0] for line in told.get_all("Requires-Dist") if "extra ==" not in line}
    heavy = {"scipy", "pandas", "scikit-learn", "jinja2", "statsmodels", "patsy", "dp-accounting", "polars"}
    assert base & heavy == set()
    assert "ibis-framework[duckdb]" not in str(told.get_all("Requires-Dist"))  # it brings pandas
    extras = {
        "report",
        "models",
        "formats",
        "postgres",
        "mariadb",
        "spark",
        "service",
        "studio",
        "mcp",
        "all",
        "docs",
        "dev",
    }
    assert set(told.get_all("Provides-Extra")) == extras


def test_every_extra_that_is_recommended_exists(wheel):
    """`need(..., extra="report")` in the code against the extras of the package."""
    import re

    named = {word for path in SRC.rglob("*.py") for word in re.findall(r'extra="(\w+)"', path.read_text("utf-8"))}
    assert named <= set(HeaderParser().parsestr(metadata(wheel, "METADATA")).get_all("Provides-Extra"))
