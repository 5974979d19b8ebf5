"""The choice of :mod:`understudy.sources.capping`, made again by hand."""

import hashlib
from collections import Counter
from collections.abc import Iterable


def kept_records_of(
    records: Iterable[tuple[str, tuple[int, ...]]], *, cap: int, key: str
) -> Counter[tuple[str, tuple[int, ...]]]:
    """(person, codes) of every record that takes part."""
    by_person: dict[str, list[tuple[str, tuple[int, ...]]]] = {}
    seen: Counter[tuple[str, tuple[int, ...]]] = Counter()
    for person, codes in records:
        pieces = [*map(str, codes), str(seen[person, codes]), f"{len(person)}:{person}"]
        seen[person, codes] += 1
        digest = hashlib.sha256(",".join([key, *pieces]).encode()).hexdigest()
        by_person.setdefault(person, []).append((digest, codes))
    return Counter((person, codes) for person, own in by_person.items() for _, codes in sorted(own)[:cap])
