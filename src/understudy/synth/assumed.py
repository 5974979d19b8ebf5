"""What every price of a table takes as public knowledge, whatever the method."""

from understudy.codebook import Codebook
from understudy.privacy.guarantees import Neighbours


def public_size(book: Codebook, neighbours: Neighbours) -> tuple[str, ...]:
    """What a priced table takes as public knowledge."""
    if neighbours is Neighbours.REPLACE:
        return (*book.assumptions, "the number of confidential records is public")
    return book.assumptions
