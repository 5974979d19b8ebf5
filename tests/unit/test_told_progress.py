"""`verify` tells how far it is: by the bytes of the files of a release, digests first and rows after."""

from pathlib import Path

import pyarrow as pa

import understudy as us
from understudy.codebook import Categorical, Codebook
from understudy.sources.base import told_by_size
from understudy.synth.ranged import synthesize_parts

BOOK = Codebook(columns=(Categorical(name="a", levels=("x", "y")), Categorical(name="b", levels=("u", "v"))))


def test_verify_tells_of_every_file(tmp_path: Path) -> None:
    rows = pa.table({"a": ["x", "y"] * 50, "b": ["u"] * 50 + ["v"] * 50})
    recipe = us.make_recipe("laplace", epsilon=1.0)
    synthesize_parts(rows, BOOK, recipe, rows=90, part_rows=30, out=tmp_path / "r")
    told: list[tuple[str, int, int]] = []
    assert us.verify(tmp_path / "r", report=lambda *line: told.append(line)).is_valid
    sizes = {path.name: path.stat().st_size for path in (tmp_path / "r").rglob("*") if path.is_file()}
    parts = sum(size for name, size in sizes.items() if name.startswith("part-"))
    steps = {step: [line for line in told if line[0] == step] for step in dict.fromkeys(line[0] for line in told)}
    assert list(steps) == ["comparing digests", "checking rows"]
    assert len(steps["checking rows"]) == 3 and steps["checking rows"][-1][1:] == (parts, parts)
    for lines in steps.values():
        done = [line[1] for line in lines]
        assert done == sorted(done) and lines[-1][1] == lines[-1][2], "it ends with everything done"


def test_what_is_not_there_has_no_size(tmp_path: Path) -> None:
    (tmp_path / "here").write_bytes(b"12345")
    told: list[tuple[str, int, int]] = []
    paths = [tmp_path / "gone", tmp_path / "here", tmp_path / ("long" * 100)]
    assert list(told_by_size(paths, "s", lambda *line: told.append(line))) == paths
    assert told == [("s", 0, 5), ("s", 5, 5), ("s", 5, 5)] and list(told_by_size(paths, "s", None)) == paths
