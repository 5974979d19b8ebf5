"""A confidential table handed over where something else belongs: the sentence about it shows none of its values."""

import pyarrow as pa
import pytest

import understudy as us
from understudy.codebook import Categorical, Codebook
from understudy.parameters import options_of
from understudy.synth.registry import METHODS
from understudy.synth.seeds import seeds_entry
from understudy.trees.recipe import score_options

VALUE = "stage-four"
BOOK = Codebook(columns=(Categorical(name="a", levels=("x", VALUE)), Categorical(name="b", levels=("0", "1"))))
TABLE = pa.table({"a": [VALUE, "x"] * 20, "b": ["0", "1", "1", "0"] * 10})
FRAMES = {"arrow": TABLE, "pandas": TABLE.to_pandas(), "column": TABLE.to_pandas()["a"], "in a list": [TABLE]}


def said_of(call):
    with pytest.raises(Exception) as failed:
        call()
    return f"{failed.value} {getattr(failed.value, 'faults', '')} {getattr(failed.value, '__notes__', '')}"


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("method", METHODS)
def test_as_an_option_of_a_method(method, frame):
    cls = METHODS[method]
    for name in options_of(cls):
        options = {**cls.example, name: FRAMES[frame]}
        assert VALUE not in said_of(lambda: us.quote(BOOK, rows=2, method=method, **options)), name  # noqa: B023


@pytest.mark.parametrize("frame", FRAMES)
def test_as_an_option_of_a_score(frame):
    for name in score_options("forest"):
        options = {"target": "b", "method": "forest", "epsilon": 1.0, name: FRAMES[frame]}
        assert VALUE not in said_of(lambda: us.train(FRAMES[frame], BOOK, **options)), name  # noqa: B023


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize(
    "call",
    [
        lambda frame: us.PeGS(alpha=100.0, seeds=frame),
        seeds_entry,
        lambda frame: us.count(TABLE, BOOK, by=["a"], epsilon=1.0, neighbours=frame),
        lambda frame: us.make_recipe("laplace", epsilon=1.0).fit(TABLE, BOOK).sample(5, where=frame),
    ],
    ids=["seeds", "priced seeds", "relation", "sub-population"],
)
def test_elsewhere(call, frame):
    assert VALUE not in said_of(lambda: call(FRAMES[frame]))


@pytest.mark.parametrize("frame", ["arrow", "pandas"])
def test_the_confidential_table_itself_as_a_public_one(frame):
    same = FRAMES[frame]
    said = said_of(lambda: us.train(same, BOOK, target="b", method="forest", epsilon=1.0, quality_data=same))
    assert "a table in memory is used as public records" in said and VALUE not in said
