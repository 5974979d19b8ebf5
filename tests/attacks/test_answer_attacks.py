"""Attempts to get more out of answers than was paid for: rephrasing, small groups, differences, code in formulas."""

import numpy as np
import pyarrow as pa
import pytest

import understudy as us
from understudy.answers import parse_question, plan_answer
from understudy.codebook import Categorical, Codebook, Integer
from understudy.errors import BudgetError, UnderstudyError
from understudy.mechanisms.stream import Stream
from understudy.privacy.account import Account
from understudy.privacy.guarantees import Neighbours

BOOK = Codebook(
    columns=(
        Categorical(name="sex", levels=("F", "M")),
        Categorical(name="region", levels=("North", "South")),
        Integer(name="age", edges=(0, 50, 100)),
    )
)
TABLE = pa.table({"sex": ["F", "M"] * 50, "region": ["North"] * 99 + ["South"], "age": list(range(100))})


def test_averaging_by_rephrasing_is_one_question_or_is_paid_each_time(tmp_path):
    words = [
        "mean of age by sex",
        "Average  of age by sex",
        'mean of "age" by "sex"',
        "mean of age by sex where sex=F, sex=M",
    ]
    assert len({parse_question(one, BOOK).digest(BOOK) for one in words}) == 1
    account = Account.create(tmp_path / "a", dataset="d", epsilon=3.0, delta=0.0, neighbours=Neighbours.ADD_REMOVE)
    for _ in range(3):
        us.answer(TABLE, BOOK, words[0], epsilon=1.0, account=account)
    with pytest.raises(BudgetError):
        us.answer(TABLE, BOOK, words[1], epsilon=1.0, account=account)
    assert account.spent().epsilon == 3.0


def test_a_group_of_one_and_an_empty_group_look_alike():
    """Told figures of both are noise around the same nothing: their counts overlap, and their means are withheld."""
    plan = plan_answer(parse_question("mean of age by region", BOOK), BOOK, epsilon=0.5)
    empty = TABLE.filter(pa.compute.equal(TABLE["region"], "North"))
    hidden = [
        [plan.draw(source, Stream.seeded(seed))[1].refused is not None for seed in range(40)]
        for source in (plan.open(TABLE), plan.open(empty))
    ]
    # a record changes no chance by more than a factor of e^0.5; five deviations of 40 draws beyond that
    shares = np.mean(hidden, axis=1)
    assert shares.min() > 0.5
    assert abs(shares[0] - shares[1]) < (np.exp(0.5) - 1) * (1 - shares.min()) + 5 * np.sqrt(0.25 / 40)


def test_the_difference_of_two_groups_is_paid_for_twice(tmp_path):
    """A group with a person and the group without: two questions, two prices, and the noise of both in between."""
    account = Account.create(tmp_path / "a", dataset="d", epsilon=2.0, delta=0.0, neighbours=Neighbours.ADD_REMOVE)
    first = us.answer(TABLE, BOOK, "count", epsilon=1.0, account=account)
    second = us.answer(TABLE, BOOK, "count where region=North", epsilon=1.0, account=account)
    assert account.spent().epsilon == 2.0
    assert first.figures[0].error == second.figures[0].error > 0.9  # of discrete Laplace noise at epsilon 1
    assert parse_question("count", BOOK).digest(BOOK) != parse_question("count where region=North", BOOK).digest(BOOK)


CODE = [
    "linear age ~ I(open('MARK', 'w'))",
    "linear age ~ __import__('pathlib').Path('MARK').touch()",
    "linear age ~ sex + eval(\"open('MARK','w')\")",
    "linear age ~ np.load('MARK')",
    "linear age ~ np.ctypeslib.os.system('touch MARK')",
    "linear age ~ sex.__class__",
    "linear age ~ (lambda: open('MARK','w'))()",
    "linear age ~ [open(x, 'w') for x in ['MARK']]",
    "linear age ~ C(sex, levels=exec(\"open('MARK','w')\"))",
    'linear age ~ f\'{open("MARK", "w")}\'',
    "logistic exec(\"open('MARK','w')\") ~ age",
    "mean of age where sex=F; DROP TABLE x",
    "share of sex=F' OR '1'='1",
    "quantile __import__('os') of age",
]


@pytest.mark.parametrize("words", CODE)
def test_no_question_runs_code(words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UnderstudyError):
        us.answer(TABLE, BOOK, words, epsilon=1.0)
    with pytest.raises(UnderstudyError):
        us.quote_answer(BOOK, words, epsilon=1.0)
    assert list(tmp_path.iterdir()) == []
