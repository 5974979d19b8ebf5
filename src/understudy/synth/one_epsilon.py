"""One epsilon for everything that a release pays for: how much the model, the details, people and certificate get.

Whoever names an epsilon means the whole release. Parts that were given no epsilon of their own get a share of it, by
rules that know only codebook and options: details by the bits that they describe beside those of the model, numbers of
records per person a twentieth, a certificate a fifth. ``split`` names other shares.

A share is one of the budget that noise is paid from. Without a delta that is epsilon itself, which adds up. With one,
what adds up under Gaussian noise is about epsilon squared, so a part gets the root of its share; then all parts are
raised together as far as the ledger's total allows. Both are computed from public choices, before anything is read.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from understudy.codebook import Codebook
from understudy.errors import ParameterError
from understudy.mechanisms.laplace_tables import share_of
from understudy.parameters import Number
from understudy.privacy.guarantees import ApproxDP, PureDP
from understudy.sources.tables import counts_people
from understudy.synth.options import NumbersByColumn

if TYPE_CHECKING:
    from understudy.synth.recipe import Recipe

AnyRecipe = TypeVar("AnyRecipe", bound="Recipe")
PARTS = {"details": "detail_epsilon", "people": "people_epsilon", "certificate": "certify_epsilon"}
"""What may be paid beside the model, and the option that would give it an epsilon of its own."""
_ASKED_BY = {
    "details": "detail columns or measured numbers in the codebook",
    "people": 'records_per_person = "counted" in the codebook\'s [unit]',
    "certificate": "`certify`",
}
_LEAST_DETAILS, _MOST_DETAILS, _PEOPLE, _CERTIFICATE = 0.05, 0.5, 0.05, 0.2
_STEPS, _MOST_RAISED = 14, 2.0
"""Halvings of the search for what all parts are raised by, and the most that it may be."""


class SplitRule(NumbersByColumn):
    """Shares of the parts."""

    metavar = "PART=SHARE"
    words = "a share above 0 and below 1 for each part (PART=SHARE)"
    example = "details=0.3"

    def __init__(self) -> None:
        super().__init__(Number(above=0, below=1, tried=0.3), also_alone=False)

    def check(self, name: str, value: Any) -> Any:
        """Known parts, and something is left for the model."""
        super().check(name, value)
        if strange := [part for part in value or {} if part not in PARTS]:
            raise ParameterError(
                f"`{name}` names {strange[0]!r}; parts are {', '.join(PARTS)}, and the model gets what they leave."
            )
        if value and (total := math.fsum(value.values())) >= 1:
            raise ParameterError(
                f"`{name}` adds up to {total:g}; the parts share one epsilon with the model, so their shares together "
                "stay below 1. Try details=0.3."
            )
        return value


def with_shares(recipe: AnyRecipe, book: Codebook) -> AnyRecipe:
    """The recipe with an epsilon for every part; what was asked stays in ``one_epsilon``."""
    if recipe.one_epsilon is not None:
        return recipe
    epsilon = getattr(recipe, "epsilon", None)
    wanted = [part for part in _parts(recipe, book) if getattr(recipe, PARTS[part]) is None]
    _check_split(recipe, wanted)
    if epsilon is None or recipe.route == "none" or not wanted:
        return recipe
    shares = _shares(recipe, book, wanted)
    names = ("epsilon", "delta", "detail_delta", *(PARTS[part] for part in wanted))
    asked = {name: getattr(recipe, name) for name in names if hasattr(recipe, name)}
    searched = recipe.route == "N" and asked.get("delta") is not None
    raised = _raised(recipe, book, shares, asked) if searched else None
    made = _with_epsilons(recipe, book, shares, raised)
    parts = {"model": getattr(made, "epsilon", None), **{part: getattr(made, PARTS[part]) for part in wanted}}
    object.__setattr__(made, "one_epsilon", {"asked": asked, "shares": shares, "epsilons": parts})
    return made


def _parts(recipe: "Recipe", book: Codebook) -> list[str]:
    asked = {
        "details": bool(book.details or book.measured),
        "people": counts_people(book),
        "certificate": bool(recipe.certify),
    }
    return [part for part, is_asked in asked.items() if is_asked]


def _check_split(recipe: "Recipe", wanted: list[str]) -> None:
    for part in recipe.split or {}:
        if getattr(recipe, PARTS[part]) is not None:
            raise ParameterError(
                f"`split` gives {part} a share of epsilon, and `{PARTS[part]}` an epsilon of its own; give one of them."
            )
        if part not in wanted:
            raise ParameterError(
                f"`split` gives {part} a share, and nothing asks for it ({_ASKED_BY[part]} would); leave it out."
            )
    if recipe.split and getattr(recipe, "epsilon", None) is None:
        raise ParameterError("`split` shares `epsilon` out, and there is none; give `epsilon`, or leave `split` out.")


def _shares(recipe: "Recipe", book: Codebook, wanted: list[str]) -> dict[str, float]:
    """Of every part, the model first."""
    ruled = {"details": details_share([book]), "people": _PEOPLE, "certificate": _CERTIFICATE}
    shares = {part: float((recipe.split or {}).get(part, ruled[part])) for part in wanted}
    total = math.fsum(shares.values())
    if total >= 1:
        raise ParameterError(
            f"`split` leaves nothing for the model: with the shares of the other parts it adds up to {total:g}, and "
            "must stay below 1. Lower it."
        )
    return {"model": 1 - total, **shares}


def details_share(books: Sequence[Codebook]) -> float:
    """By bits: what codes and pieces say beyond the levels and bins of the model, beside what those say."""
    beyond = [math.log2(detail.size / book.column(detail.detail_of).size) for book in books for detail in book.details]
    beyond += [math.log2(number.fine.size / number.size) for book in books for number in book.measured]
    bits = math.fsum(max(0.0, own) for own in beyond)
    model = math.fsum(math.log2(size) for book in books for size in book.sizes)
    return min(max(bits / max(bits + model, 1.0), _LEAST_DETAILS), _MOST_DETAILS)


def _with_epsilons(recipe: AnyRecipe, book: Codebook, shares: Mapping[str, float], raised: float | None) -> AnyRecipe:
    """Shares of epsilon that add up to it; or roots of shares, raised together."""
    epsilon, delta = float(getattr(recipe, "epsilon", 0)), getattr(recipe, "delta", None)
    each = {
        part: math.nextafter(epsilon * share, 0.0) if raised is None else epsilon * math.sqrt(share) * raised
        for part, share in shares.items()
    }
    changes: dict[str, Any] = {PARTS.get(part, "epsilon"): own for part, own in each.items()}
    if delta is not None and book.details and recipe.detail_delta is None and "details" in shares:
        changes |= {"delta": share_of(delta, 2), "detail_delta": share_of(delta, 2)}
    made = replace(recipe, **changes)
    object.__setattr__(made, "one_epsilon", {})
    return made


def _raised(recipe: "Recipe", book: Codebook, shares: Mapping[str, float], asked: Mapping[str, Any]) -> float:
    """The largest factor, up to one in sixteen thousand, at which all parts together stay within what was asked."""

    def fits(factor: float) -> bool:
        made = _with_epsilons(recipe, book, shares, factor)
        total = made.own_ledger(book, 1).total(delta=made.total_delta)
        return isinstance(total, PureDP | ApproxDP) and total.epsilon <= float(asked["epsilon"])

    # epsilons that add up to what was asked always fit
    low = (1 - 1e-9) / math.fsum(math.sqrt(share) for share in shares.values())
    high = _MOST_RAISED
    if fits(high):
        return high
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def split_words(one: Mapping[str, Any] | None) -> str:
    """How one epsilon was shared out, in a sentence."""
    if not one:
        return ""
    parts = ", ".join(f"{part} {own:.3g}" for part, own in one["epsilons"].items())
    return (
        f"epsilon {one['asked']['epsilon']:g} pays for all of it: {parts}; together they compose to no more than that. "
        "Other shares: `split`, for example details=0.3."
    )
