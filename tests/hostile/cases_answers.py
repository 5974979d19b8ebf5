"""`answer`: questions that cannot be asked, prices that are none, releases that cannot be compared with."""

from hostile_cases import MISTAKE, cases

_A = "@data|{}|-c|@book|--account|a.account|-o|out"
_PRICED = _A + "|--epsilon|1"
_TERMS = " + ".join(f"I(age > {value})" for value in range(1, 60))
_LONG = " + ".join(f"I(age ** {power})" for power in range(1, 201))


def _asked(question: str, more: str = "") -> str:
    return _PRICED.format(question) + more


ANSWER_CASES = cases(
    "answer",
    ("no price", _A.format("count"), MISTAKE, ("--epsilon",)),
    ("a price of nothing", _A.format("count") + "|--epsilon|0", MISTAKE, ("--epsilon", "0")),
    ("a price in words", _A.format("count") + "|--epsilon|one", MISTAKE, ("'one'",)),
    ("a delta of 1", _asked("count", "|--delta|1"), MISTAKE, ("--delta", "1")),
    ("nothing asked", _asked(" "), MISTAKE, ("ask for something",)),
    ("an unknown word", _asked("variance of age"), MISTAKE, ("'variance of age'", "mean of")),
    ("an unknown column", _asked("mean of nobody"), MISTAKE, ("'nobody'", "choose among")),
    ("a mean of levels", _asked("mean of region"), MISTAKE, ("'region'", "share of")),
    ("an unknown level", _asked("share of sex=X"), MISTAKE, ("'X'", "no level of 'sex'")),
    ("an unknown group", _asked("mean of age by nobody"), MISTAKE, ("'nobody'",)),
    ("an open condition", _asked("mean of age where"), MISTAKE, ("where", "sex=F")),
    ("a group that cannot be", _asked("difference of mean of age by sex where sex=F"), MISTAKE, ("two groups",)),
    ("a share of 2", _asked("quantile 2 of age"), MISTAKE, ("quantile", "2")),
    ("a formula that runs code", _asked("linear charge ~ I(__import__('os'))"), MISTAKE, ("'__import__'",)),
    ("a formula of 200 terms", _asked(f"linear charge ~ {_LONG}"), MISTAKE, ("characters", "Ask for less")),
    ("many terms", _asked(f"linear charge ~ {_TERMS}"), MISTAKE, ("coefficients",)),
    ("foretelling itself", _asked("logistic sex == 'F' ~ sex"), MISTAKE, ("perfect separation",)),
    ("no two answers", _asked("logistic charge ~ age"), MISTAKE, ("two answers",)),
    ("a logarithm of nothing", _asked("linear charge ~ np.log(age)"), MISTAKE, ("no number", "np.log1p")),
    ("an unknown target", _asked("count", "|--for|me"), MISTAKE, ("--for is 'me'", "population")),
    ("certainty", _asked("count", "|--level|1"), MISTAKE, ("--level is 1.0",)),
    ("no such relation", _asked("count", "|--neighbours|all"), MISTAKE, ("--neighbours is 'all'",)),
    ("no release", _asked("mean of age", "|--release|gone"), MISTAKE, ("gone",)),
    ("no measurements", _asked("logistic sex == 'F' ~ age", "|--release|@book"), MISTAKE, ("book.toml",)),
    ("a release as data", "@release|count|-c|@book|--epsilon|1|-o|out", MISTAKE, ("is a folder", "*.parquet")),
    ("no epsilon", "@data|count|-c|@book|-o|out", MISTAKE, ("--epsilon", "no default", "Try 0.5")),
    ("data missing", "gone.csv|count|-c|@book|--epsilon|1|-o|out", MISTAKE, ("gone.csv",)),
    ("codebook missing", "@data|count|-c|gone.toml|--epsilon|1|-o|out", MISTAKE, ("gone.toml",)),
    ("out is there", _asked("count").replace("|out|", "|taken|"), MISTAKE, ("'taken'",), {"taken": b"x"}),
)
