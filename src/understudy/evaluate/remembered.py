"""A source that counts every table once, however many metrics ask for it."""

from collections.abc import Sequence

from understudy.privacy.secret import Secret
from understudy.sources.base import Clique, Report, Source
from understudy.sources.tables import CountTable


class Remembered(Source):
    """Counts of another source, kept in memory; tables of a few columns are small whatever the number of rows."""

    def __init__(self, source: Source) -> None:
        super().__init__(codebook=source.codebook, account=source.account)
        self.provenance = source.provenance
        self._source = source
        self._kept: dict[tuple[str, ...], Secret[CountTable]] = {}

    def count(self, cliques: Sequence[Clique], report: Report | None = None) -> list[Secret[CountTable]]:
        """Counts from memory where they are known; the rest in one call."""
        wanted = [tuple(clique) for clique in cliques]
        new = list(dict.fromkeys(clique for clique in wanted if clique not in self._kept))
        if new:
            self._kept.update(zip(new, self._source.count(new, report), strict=True))
        return [self._kept[clique] for clique in wanted]

    def frequencies(self, clique: Clique) -> Secret[dict[int, int]]:
        """Asked of the source."""
        return self._source.frequencies(clique)

    def lone(self, clique: Clique, part: int, parts: int) -> Secret[CountTable]:
        """Asked of the source."""
        return self._source.lone(clique, part, parts)
