"""One way to ask for counts, whatever holds the rows."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

from understudy.codebook import Codebook
from understudy.privacy.account import Account
from understudy.privacy.secret import Secret
from understudy.sources.ancestry import Ancestor
from understudy.sources.tables import CountTable

__all__ = ["Clique", "Report", "Source"]

Clique = Sequence[str]
"""A set of columns to be counted together."""

Report = Callable[[str, int, int], None]
"""Told the name of the step and how much of how much is done."""


class Source(ABC):
    """A private table behind its codebook. Counts come out as secrets; rows never come out."""

    def __init__(self, *, codebook: Codebook, account: Account | None) -> None:
        self.codebook = codebook
        self.account = account
        self.ancestor: Ancestor | None = None
        """The anonymised release that the rows come from, if they do."""

    @abstractmethod
    def count(self, cliques: Sequence[Clique], report: Report | None = None) -> list[Secret[CountTable]]:
        """Counts for many column sets at once, so that an engine can share one scan."""

    def sizes(self, clique: Clique) -> tuple[int, ...]:
        """Public number of codes of each column of a clique."""
        return tuple(self.codebook.column(name).size for name in clique)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self.codebook.names)} columns, rows withheld>"
