"""What a reader who distrusts us wants to know about a method, side by side: claim, truth, proof, test, attack."""

from dataclasses import dataclass
from typing import Any

from understudy.codec import to_plain
from understudy.errors import ParameterError
from understudy.parameters import OneOf
from understudy.privacy.guarantees import Neighbours

BOTH_RELATIONS = (Neighbours.ADD_REMOVE, Neighbours.REPLACE)
_SOUND = OneOf(("holds", "holds with conditions", "unsound", "no claim", "our own"))


@dataclass(frozen=True, kw_only=True)
class MethodFacts:
    """One line of ``docs/methods/index.md``. Paths are relative to the root of the repository."""

    name: str
    command: str
    """How it is called from the command line."""
    route: str
    """``N``: noise once, rows free. ``S``: every draw costs. ``call``: every answer costs. ``none``: no promise."""
    neighbours: tuple[Neighbours, ...]
    """Relations under which it can be priced; none where there is nothing to price."""
    guarantee: str
    """What a release of it promises, in a few words."""
    public: str
    """What must be public knowledge for the promise to be true, beside the codebook."""
    paper: str
    """Where the method comes from."""
    paper_claim: str
    sound: str
    """Whether the paper's own claim is true: holds, holds with conditions, unsound, no claim, our own."""
    truth: str
    """What is true, and what the software says."""
    page: str
    proofs: tuple[str, ...] = ()
    exact_tests: tuple[str, ...] = ()
    audits: tuple[str, ...] = ()
    instead: str | None = None
    """A method that is proved, beside one that is not."""

    def __post_init__(self) -> None:
        _SOUND.check("sound", self.sound)
        if self.neighbours and not self.proofs:
            raise ParameterError(f"{self.name!r} is priced under a relation and names no proof; name its proof files.")
        if self.sound == "unsound" and self.instead is None:
            raise ParameterError(f"the claim behind {self.name!r} is unsound; name a proved method to use `instead`.")

    def to_dict(self) -> dict[str, Any]:
        """As plain data, for ``understudy methods --json``."""
        return {name: to_plain(value) for name, value in vars(self).items()}
