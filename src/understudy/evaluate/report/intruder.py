"""What an intruder gains, against the limit of the board; or why nobody can tell."""

from collections.abc import Sequence
from dataclasses import dataclass

from understudy.evaluate.board import Board
from understudy.evaluate.report.facts import Fact, Held
from understudy.evaluate.risk.cells import Cells, open_cells
from understudy.evaluate.risk.copies import copied
from understudy.evaluate.risk.gains import Gain, difference
from understudy.evaluate.risk.intervals import Rate, wilson
from understudy.pages.numbers import number, percent
from understudy.pages.numbers import points as signed
from understudy.sources.base import Source


@dataclass(frozen=True, kw_only=True)
class LoneCopies:
    """Synthetic rows that equal the record of one person, and how many would by chance. Similarity, no proof."""

    share: float
    chance: float
    low: float
    """Lower end of the 95 % interval of their difference."""
    held_out: bool
    """Whether chance was measured on people held out; else from the data themselves, one record left out at a time."""
    copies: str = "rows equal the record"
    """What is a copy: of linked tables, people with the whole history."""

    def held(self, board: Board) -> Held:
        """Against the limit of the board."""
        return "beyond" if self.low > board.attack_gain else "within"

    @property
    def sentence(self) -> str:
        """In words."""
        where = "among people held out" if self.held_out else "by chance, judged from the data alone"
        return (
            f"{percent(self.share)} of the synthetic {self.copies} of exactly one person, "
            f"{percent(self.chance)} {where}"
        )


def lone_copies(real: Source, synthetic: Source, holdout: Source | None) -> LoneCopies:
    """Count them over all columns.

    Without a hold-out, chance is that of a new person: of every record of the data, whether the others hold exactly
    one like it, which is the share of records in cells of two.
    """
    names = real.codebook.names
    truth, copy = open_cells(real, names), open_cells(synthetic, names)

    def share_of_lone(cells: Cells) -> Rate:
        return wilson(copied(cells, truth, lone=True), cells.rows)

    here = share_of_lone(copy)
    if holdout is None:
        chance = wilson(float(truth.counts[truth.counts == 2].sum()), truth.rows)
    else:
        chance = share_of_lone(open_cells(holdout, names))
    low = difference(here, chance).low
    return LoneCopies(share=here.value, chance=chance.value, low=low, held_out=holdout is not None)


@dataclass(frozen=True, kw_only=True)
class Attacks:
    """What is known about risk."""

    level: str
    """none, quick or full."""
    quasi: Sequence[str]
    sensitive: Sequence[str]
    gains: Sequence[Gain] | None
    """None where nobody was held out."""
    copies: LoneCopies | None


def gain_held(gain: Gain, board: Board) -> Held:
    """Beyond where the whole interval is, within where it is not reached, and open otherwise."""
    if gain.low > board.attack_gain:
        return "beyond"
    return "within" if gain.high <= board.attack_gain else "open"


def gain_fact(gain: Gain, board: Board) -> Fact:
    """An attack as a fact."""
    says = (
        f"{gain.attack}: {signed(gain.value)} points over people held out, {signed(gain.low)} to {signed(gain.high)} "
        f"(limit {number(100 * board.attack_gain)})"
    )
    return Fact(says=says, severity=gain.value / board.attack_gain, held=gain_held(gain, board))


def risk_facts(attacks: Attacks, board: Board) -> list[Fact]:
    """Worst first: beyond the limit, then what cannot be told, then the rest."""
    facts = [gain_fact(gain, board) for gain in attacks.gains or ()]
    if attacks.gains is None and attacks.copies is not None:
        held, copies = attacks.copies.held(board), attacks.copies
        facts.append(Fact(says=copies.sentence, severity=(copies.share - copies.chance) / board.attack_gain, held=held))
    order: dict[Held, int] = {"beyond": 0, "open": 1, "within": 2}
    return sorted(facts, key=lambda fact: (order[fact.held], -fact.severity))
