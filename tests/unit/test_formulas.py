"""What may stand in a formula: nothing that Python would run, whatever the columns are called."""

import pytest

from understudy.errors import ParameterError
from understudy.evaluate.formulas import check_formula, sides_of

COLUMNS = ("charge", "age", "sex", "open", "x.eval", "age.yrs", "to_pickle")


@pytest.mark.parametrize(
    ("formula", "told"),
    [
        ("charge ~ open('here', 'w')", "'open'"),
        ("charge ~ age + eval('1')", "'eval'"),
        ("charge ~ age.to_pickle('here')", "'to_pickle'"),
        ("charge ~ Q('np').to_pickle('here')", "'to_pickle'"),
        ("charge ~ (np).open('here')", "'open'"),
        ("charge) + I(__import__('os').getpid()) + (charge ~ age", "no partner|__import__"),
        ("charge ~ $age", r"'\$'"),
        ("charge ~ age?", r"'\?'"),
        ("charge # ~ __import__('os')", "'#'"),
        ("charge '~ __import__(1)'", 'no partner|"\'"'),
        ("charge ~ I(9**9**9)", "no further power"),
        ("charge ~ I(9**(9**9))", "no further power"),
        ("charge ~ I(2**age)", "no further power"),
        ("charge ~ I((((((9**9)**9)**9)**9)**9)**9)", "no further power"),
        ("charge ~ I(age ** 11)", "no further power"),
        ("charge ~ age **", "no further power"),
        ("charge ~ I(1 << 9999999999)", "'<<'"),
        ("charge ~ I((0,) * 9999999999)", "is multiplied"),
        ("charge ~ I(9999999999 * (0, 1))", "is multiplied"),
        ("charge ~ I([0] * 9999999999)", "is multiplied"),
        ("charge ~ I('a' * 9999999999)", "is multiplied"),
        ("charge ~ I(9999999999 * ((0, 1)))", "is multiplied"),
        ("charge ~ age.yrs", r"Q\('age.yrs'\)"),
        ("charge ~ I((age)", "no partner"),
    ],
)
def test_no_column_name_lets_a_formula_run_anything(formula, told):
    with pytest.raises(ParameterError, match=told):
        sides_of(formula, COLUMNS)


@pytest.mark.parametrize(
    "side",
    [
        "open > 3",
        "(age + sex)**2 + I(age**3) + I(age ** -0.5)",
        "not (age > 3)",
        "C(sex, Treatment(reference='M')) : np.log(age)",
        "Q('x.eval') + open",
        "(age in (1, 2))",
        "np.maximum(age, 3) * C(sex, levels=['M', 'F']) + age * 2",
        "C(sex, levels=['M', 'F']) * Q('x.eval') * age",
    ],
)
def test_columns_are_named_whatever_they_are_called(side):
    check_formula(side, COLUMNS)
