"""What is measured about every release of a map: figures 6 to 12 of the PeGS paper, and the plane of both."""

import math

from understudy.codebook import Role
from understudy.codebook.numbers import Number
from understudy.errors import DataError, ParameterError
from understudy.evaluate.checks import count_rows
from understudy.evaluate.metric import Score
from understudy.evaluate.risk.guesses import mean_attack, mode_attack
from understudy.evaluate.rumap.aside import Parted
from understudy.evaluate.rumap.plan import Questions
from understudy.evaluate.utility.distances import (
    conditional_mae,
    conditional_mse,
    detail_tvd,
    marginal_mae,
    marginal_mse,
)
from understudy.evaluate.utility.measure import Kind
from understudy.evaluate.utility.ranks import (
    kendall_conditional,
    kendall_marginal,
    spearman_conditional,
    spearman_marginal,
)
from understudy.evaluate.utility.references import reference_lines
from understudy.evaluate.utility.regression import (
    compare_models,
    default_formula,
    distance_of_coefficients,
    kind_of,
)
from understudy.evaluate.values import event_of, is_ordered
from understudy.mechanisms.stream import Stream
from understudy.sources.base import Source


class Subject:
    """The table that all releases of a map are measured against."""

    def __init__(self, real: Source, questions: Questions) -> None:
        questions.check(real)
        self.real, self.questions = real, questions
        self.models = self._models()

    def _models(self) -> list[tuple[str, Kind]]:
        """Formula and kind of each model."""
        asked = [(formula, kind_of(formula)) for formula in self.questions.formulas]
        target = self.questions.target
        if asked or target is None:
            return asked
        formula, kind = default_formula(self.real, target)
        if kind == "logistic" or not is_ordered(self.real.codebook.column(target)):
            return [(formula, kind)]
        right = formula.split("~")[1].strip()
        return [(f"{event_of(self.real, target).says} ~ {right}", "logistic"), (formula, kind)]

    def rehearse(self) -> None:
        """Fit the asked models to the table itself: a mistake in one is told before a map begins."""
        for formula in self.questions.formulas:
            compare_models(self.real, self.real, formula=formula, kind=kind_of(formula))

    def roles(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """What the intruder knows, and what they want: as asked, or by role."""
        book, asked = self.real.codebook, self.questions
        known = book.with_role(Role.QUASI_IDENTIFIER) if asked.quasi is None else asked.quasi
        return known, book.with_role(Role.SENSITIVE) if asked.sensitive is None else asked.sensitive

    def attacks(self) -> list[tuple[str, tuple[str, ...]]]:
        """Sensitive columns, and what the intruder knows."""
        known, wanted = self.roles()
        return [(name, tuple(other for other in known if other != name)) for name in wanted]

    def parted(self, stream: Stream) -> Parted | None:
        """The records of one repeat, and those set aside; None where none can be or shall be."""
        can = self.questions.set_aside and self.why_not_parted is None
        return Parted.of(self.real, self.questions.set_aside, stream) if can else None

    @property
    def why_not_parted(self) -> str | None:
        """Why no record is set aside, though it was asked for."""
        if self.real.codebook.unit is not None:
            return "a person may have several records here, and a map sets single records aside"
        return None if count_rows(self.real) > 1 else "the table has a single record"

    def measure(self, synthetic: Source, parted: Parted | None = None) -> dict[str, float | None]:
        """All measures of one release by name; None where one is not defined. ``parted`` is what it was made of."""
        real = self.real
        measures: dict[str, float] = {}
        if parted is not None:
            known, wanted = self.roles()
            quasi = [name for name in known if name not in wanted]
            measures |= parted.gains(synthetic, quasi=quasi, sensitive=wanted)
        for measure in (marginal_mae, marginal_mse, kendall_marginal, spearman_marginal):
            measures |= _named(measure(real, synthetic))
        if real.codebook.details:
            measures |= _named(detail_tvd(real, synthetic))
        if not self.questions.given:
            for measure in (conditional_mae, conditional_mse):
                measures |= _named(measure(real, synthetic))
        for name in self.questions.given:
            for measure in (conditional_mae, conditional_mse, kendall_conditional, spearman_conditional):
                measures |= _named(measure(real, synthetic, conditional_on=name), f" | {name}")
        for formula, kind in self.models:
            measures |= self._model(synthetic, formula, kind)
        for name, known in self.attacks():
            attack = mean_attack if isinstance(real.codebook.column(name), Number) else mode_attack
            score = attack(real, synthetic, quasi=known, sensitive=name)
            measures |= _named(score, f": {name}")
            measures |= {
                f"{score.metric}: {name} ({line})": score.breakdown[line] for line in ("bootstrap", "marginal")
            }
        return {name: float(value) if math.isfinite(value) else None for name, value in measures.items()}

    def _model(self, synthetic: Source, formula: str, kind: Kind) -> dict[str, float]:
        label = f"coefficient_distance: {formula}"
        try:
            fitted = compare_models(self.real, synthetic, formula=formula, kind=kind)
        except (DataError, ParameterError):  # a small or flat release may leave nothing to estimate
            return {label: math.nan}
        parts = {
            f"coefficient: {formula}: {name}": float(value)
            for name, value in zip(fitted.names, fitted.synthetic.estimates, strict=True)
        }
        return {label: distance_of_coefficients(fitted).value, **parts}

    def references(self, rows: int) -> dict[str, dict[str, float]]:
        """What a bootstrap and independent columns of ``rows`` rows would score, where that is known."""
        lines: dict[str, dict[str, float]] = {}
        for given in self.questions.given or (None,):
            tail = "" if given is None else f" | {given}"
            for name, line in reference_lines(self.real, rows=rows, conditional_on=given, three_way=()).items():
                label = f"{name}{tail}" if name.startswith("conditional") else name
                lines[label] = {"bootstrap": line.bootstrap, "independent columns": line.independent}
        return lines

    def coefficients(self) -> dict[str, float]:
        """The coefficients of the real table, by the names that :meth:`measure` gives them."""
        estimates = {}
        for formula, kind in self.models:
            fitted = compare_models(self.real, self.real, formula=formula, kind=kind)
            for name, value in zip(fitted.names, fitted.real.estimates, strict=True):
                estimates[f"coefficient: {formula}: {name}"] = float(value)
        return estimates


def _named(score: Score, tail: str = "") -> dict[str, float]:
    return {f"{score.metric}{tail}": score.value}
