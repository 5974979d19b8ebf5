"""What l asks of a recipe whose sampling distributions are entropy l-diverse: PeGS with ``l``, LUGS and PLUGS.

The promise is not differential privacy. How the blocks, their keys or their parents came about does not matter to it:
every block is made l-diverse, whichever it is (proofs/l_diversity.md).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from understudy.codebook import Codebook
from understudy.mechanisms.l_diversity import LDiverseDraws, check_l, largest_probability
from understudy.parameters import REQUIRED, Flag, Number, Panel, option
from understudy.privacy.ledger import Entry
from understudy.synth.options import NumbersByColumn

FLOOR = 2.0**-20


def l_option(default: Any = REQUIRED) -> Any:
    """Entropy log l of every sampling distribution."""
    return option(
        default,
        rule=NumbersByColumn(Number(least=1, tried=2.0), also_alone=True),
        panel=Panel.PRIVACY,
        help="Entropy of every sampling distribution at least log l (not differential privacy): one number, or "
        "COLUMN=NUMBER for each column.",
    )


def cap_option() -> Any:
    """What happens to columns of too few levels."""
    return option(
        False,
        rule=Flag(),
        panel=Panel.PRIVACY,
        help="Give columns of fewer than l levels the l that they can have, instead of refusing.",
    )


def floor_option() -> Any:
    """The least smoothing of any block."""
    return option(
        FLOOR,
        rule=Number(least=0, below=1, tried=1e-6),
        panel=Panel.PRIVACY,
        help="Smallest mixing weight of an l-diverse block: above 0 the chains reach every state; 0 is what the papers "
        "print.",
    )


@dataclass(frozen=True, kw_only=True)
class Diversity:
    """An l for every column, and what follows from it."""

    l: float | Mapping[str, float]  # noqa: E741 - the field's own name for it
    cap: bool
    floor: float

    def __post_init__(self) -> None:
        names = list(self.l) if isinstance(self.l, Mapping) else ["l"]
        check_l(self.l, names=names, levels=[1] * len(names), cap=True)  # numbers only; columns come with a codebook

    def ls(self, book: Codebook) -> tuple[float, ...]:
        """The l of each column; refuses what its levels cannot have."""
        return check_l(self.l, names=book.names, levels=book.sizes, cap=self.cap)

    def event(self, book: Codebook) -> LDiverseDraws:
        """What the draws promise; the number of rows does not matter to it."""
        return LDiverseDraws(ls=self.ls(book), levels=tuple(book.sizes), floor=float(self.floor))

    def entries(self, book: Codebook, reads: str) -> list[Entry]:
        """A promise per draw, and none for values that the rules of the codebook narrow."""
        entries = [Entry(stage="rows", reads=reads, event=self.event(book), assumptions=book.assumptions)]
        narrowed = [
            name for name, step in zip(book.names, book.allowed.plan(range(len(book.names))), strict=True) if step
        ]
        if narrowed:
            entries.append(
                Entry.unpriced(
                    stage="rules",
                    reads=f"blocks of {', '.join(narrowed)}, within the rules of the codebook",
                    why=f"rules narrow {', '.join(narrowed)}, and a value with fewer than l levels to choose from "
                    "cannot be l-diverse",
                )
            )
        return entries

    def paper_figure(self, book: Codebook) -> dict[str, Any]:
        """l column by column, and how likely one value may still be."""
        ls = dict(zip(book.names, self.ls(book), strict=True))
        asked_l = self.l if isinstance(self.l, Mapping) else dict.fromkeys(book.names, self.l)
        chances = {name: largest_probability(l=ls[name], levels=book.column(name).size) for name in book.names}
        worst = max(chances, key=chances.__getitem__)
        return {
            "l_by_column": ls,
            "capped": [name for name in book.names if ls[name] < asked_l[name]],
            "largest_probability": chances[worst],
            "statement": f"It is weak even against a good guess: one value of {worst!r} ({book.column(worst).size} "
            f"levels, l = {ls[worst]:.4g}) may still have probability {chances[worst]:.4f}.",
        }

    def warnings(self) -> list[str]:
        """What positivity costs, before anything is read."""
        if self.floor > 0:
            return []
        return [
            "floor is 0: blocks that are diverse enough as counted keep levels without any chance, so the chains may "
            "be reducible and what they converge to may depend on where they start. `diagnose` counts such blocks of "
            "lugs."
        ]
