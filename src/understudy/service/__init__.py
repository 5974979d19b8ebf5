"""Risk scores and answers on data over HTTP: keys, budgets that are never exceeded, pages that explain the price."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from understudy.service.app import create_app
    from understudy.service.budgets import Budgets
    from understudy.service.desk import Desk
    from understudy.service.keys import KeyBook
    from understudy.service.served import Served
    from understudy.service.store import Store

_WHERE = {
    "Budgets": "understudy.service.budgets",
    "Desk": "understudy.service.desk",
    "KeyBook": "understudy.service.keys",
    "Served": "understudy.service.served",
    "Store": "understudy.service.store",
    "create_app": "understudy.service.app",
}

__all__ = ["Budgets", "Desk", "KeyBook", "Served", "Store", "create_app"]


def __getattr__(name: str) -> Any:
    """Import on first use: the web framework takes a third of a second."""
    if name in _WHERE:
        return getattr(import_module(_WHERE[name]), name)
    raise AttributeError(f"module 'understudy.service' has no attribute {name!r}")
