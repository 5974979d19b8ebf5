"""What the metrics of linked tables may be told besides the two sides."""

from dataclasses import dataclass

from understudy.evaluate.linked.rows import LinkedRows


@dataclass(frozen=True, kw_only=True)
class LinkedOptions:
    """Options of the downstream task; the rest needs none."""

    holdout: LinkedRows | None = None
    """Real people set aside before synthesis; the task is left out without them."""
    label: str | None = None
    """``table.column=level`` that is predicted; by default that the next row follows within ``within`` days."""
    within: float = 30.0
