"""Linked tables joined along one path, as a source of counts whose unit is the person."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from understudy.codebook import Codebook, LinkedCodebook
from understudy.codebook.joined import narrowed
from understudy.codebook.linked_rules import table_of
from understudy.errors import RefusalError
from understudy.privacy.account import Account
from understudy.privacy.secret import Secret
from understudy.sources.base import Choice, Clique, Report, Source
from understudy.sources.linked import LinkedSource, open_linked
from understudy.sources.linked_joins import joined_codes
from understudy.sources.tables import CountTable


class JoinedSource(Source):
    """One row for each row of the lowest table. It is capped table by table before anything is counted."""

    def __init__(self, *, codebook: Codebook, linked: LinkedSource) -> None:
        super().__init__(
            codebook=codebook, account=linked.account, provenance=linked.provenance, unknown=linked.unknown
        )
        self._linked = linked

    def capped(self, choice: Choice) -> Source:
        """The rows that take part, chosen in every table from the persons down; ``choice`` gives the key."""
        chosen = self._linked.capped(choice.key())
        names = list(self.codebook.names)
        view = joined_codes(chosen, chosen.codebook.deepest(map(table_of, names)).name, names)
        codes = view.select(**{f"c{place}": view[f"v{place}"] for place in range(len(names))})
        return chosen.counting(self.codebook, codes)

    def count(self, cliques: Sequence[Clique], report: Report | None = None) -> list[Secret[CountTable]]:
        """Refused: nobody's rows are capped yet."""
        raise RefusalError("rows of a person are not capped yet; use `capped` before counting.")


def open_joined(
    what: Any,
    book: LinkedCodebook,
    codebook: Codebook,
    by: Sequence[str],
    *,
    unknown: str = "error",
    account: Account | str | Path | None = None,
) -> JoinedSource:
    """Linked tables behind the codebook of their join; only the columns ``by`` and what they need are read."""
    linked = open_linked(what, narrowed(book, by), unknown=unknown, account=account)
    return JoinedSource(codebook=codebook, linked=linked)
