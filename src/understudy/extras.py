"""Packages that only some commands need: each belongs to an extra, and whoever misses one is told which.

>>> need("json", extra="report", what="the report page")  # there, so nothing happens
>>> have("json"), have("no_such_package")
(True, False)
"""

import sys
from collections.abc import Iterator
from importlib.util import find_spec

from understudy.errors import MissingExtraError

_DISTRIBUTIONS = {
    "sklearn": "scikit-learn",
    "prometheus_client": "prometheus-client",
    "python_calamine": "python-calamine",
}
"""What pip calls a package that Python knows by another name."""


def need(*modules: str, extra: str, what: str) -> None:
    """Raise unless every module can be imported; imports none, so that nothing is loaded before it is used."""
    missing = list(_missing(modules))
    if missing:
        named = ", ".join(missing)
        raise MissingExtraError(f'{what} needs {named}, not installed here; run `pip install "understudy[{extra}]"`.')


def have(*modules: str) -> bool:
    """Whether every module can be imported."""
    return next(_missing(modules), None) is None


def _missing(modules: tuple[str, ...]) -> Iterator[str]:
    for name in modules:
        if sys.modules.get(name) is None and (name in sys.modules or find_spec(name) is None):
            yield _DISTRIBUTIONS.get(name, name)
