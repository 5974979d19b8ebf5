"""What may stand in a formula: nothing that Python would run, whatever the columns are called."""

import pandas as pd
import pytest

from understudy.errors import ParameterError
from understudy.evaluate.formulas import check_formula, right_side, sides_of

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
        ("charge ~ age **", "cannot be read"),
        ("charge ~ age ** " + "9" * 400, "no further power"),
        ("charge ~ I(" + "9" * 5000 + ")", "cannot be read"),
        ("charge ~ I(1 << 9999999999)", "'<<'"),
        ("charge ~ I((0,) * 9999999999)", "a text or a list"),
        ("charge ~ I(9999999999 * (0, 1))", "a text or a list"),
        ("charge ~ I([0] * 9999999999)", "a text or a list"),
        ("charge ~ I('a' * 9999999999)", "a text or a list"),
        ("charge ~ I(9999999999 * ((0, 1)))", "a text or a list"),
        ("charge ~ I('%9999999999d' % 1)", "a text or a list"),
        ("charge ~ age - '%9999999999d' % 1", "a text or a list"),
        ("charge ~ I(((0,) or 0) * 9999999999)", "neither a column"),
        ("charge ~ I(I('a') * 9999999999)", "neither a column"),
        ("charge ~ I((0, 1)[0])", "neither a column"),
        ("charge ~ I(np.power(10**10 * 10**10, 10**10))", "no further power"),
        ("charge ~ bs(age, df=99999999)", "neither a column"),
        ("charge ~ bs(age, df=99*99)", "neither a column"),
        ("charge ~ I(age - age[0])", r"'age\[0\]'"),
        ("charge ~ I((center)(age))", "'center'"),
        ("charge ~ I([center][0](age))", "'center'"),
        ("charge ~ I((age)(sex))", "neither a column"),
        ("charge ~ np.log(age, sex)", "neither a column"),
        ("charge ~ I(age == (1, 2))", "a text or a list"),
        ("charge ~ not (age > 3)", "'not'"),
        ("charge ~ (age in (1, 2))", "'in'"),
        ("charge ~ " + "(" * 900 + "age" + ")" * 900, "cannot be read"),
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
        "I((age > 3) & ~(sex == 'F'))",
        "C(sex, Treatment(reference='M')) : np.log(age)",
        "Q('x.eval') + open",
        "age * (sex == 'F') + age % 10 + bs(age / 365, df=4)",
        "np.maximum(age, 3) * C(sex, levels=['M', 'F']) + age * 2",
        "C(sex, levels=['M', 'F']) * Q('x.eval') * age",
    ],
)
def test_columns_are_named_whatever_they_are_called(side):
    check_formula(side, COLUMNS)


@pytest.mark.parametrize(
    ("right", "columns"),
    [
        ("*".join(f"a{place}" for place in range(26)), None),
        (f"({' + '.join(f'a{place}' for place in range(26))})**10", None),
        ("zip:zip:zip", None),
        ("zip*a0*C(a1)*zip", None),
        ("+".join(["a0"] * 2_000), None),
        ("a0*a1*sex", 8),
        ("(a0 + a1 + a2)**2", 7),
        ("zip == '3'", 2),
        ("C(a0):sex", 6),
        ("0 + zip", 60),
    ],
)
def test_what_would_make_too_many_coefficients_is_refused_before_it_is_made(right, columns):
    frame = pd.DataFrame({f"a{place}": [place, 1, 2] * 20 for place in range(26)})
    frame["sex"] = pd.Categorical(["F", "M"] * 30)
    frame["zip"] = pd.Categorical([str(place) for place in range(60)])
    if columns is None:
        with pytest.raises(ParameterError, match="more than 4,096 coefficients"):
            right_side(frame, right)
    else:
        assert right_side(frame, right).shape == (60, columns)
