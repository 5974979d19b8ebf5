"""From files to a folder: the use case behind `understudy reconstruct`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from understudy.errors import DataError, ParameterError, quoted
from understudy.extras import need
from understudy.parameters import Option, Whole, find_declared, from_words, options_of, options_together
from understudy.reconstruct import METHODS
from understudy.reconstruct.aggregates import Aggregate
from understudy.reconstruct.compare import tried_methods
from understudy.reconstruct.design import as_frame
from understudy.reconstruct.estimators import Reconstructor
from understudy.reconstruct.figures import figures_of
from understudy.reconstruct.files import AggregateSpec, read_aggregate, save
from understudy.reconstruct.grams import Floats
from understudy.reconstruct.page import reconstruction_page
from understudy.reconstruct.result import Reconstruction
from understudy.release.folders import refuse_existing
from understudy.sources.base import Report


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Outcome:
    """What was reconstructed, and what was written."""

    result: Reconstruction
    draws: tuple[Reconstruction, ...] = field(default=(), repr=False)
    """Further plausible reconstructions, where some were asked for."""
    scores: Mapping[str, Mapping[str, float]]
    files: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {
            **self.result.to_dict(),
            "scores": {k: dict(v) for k, v in self.scores.items()},
            "files": list(self.files),
        }

    def __repr__(self) -> str:
        return f"<Outcome of {self.result.method}: estimates of {', '.join(self.result.values)}, not data>"


def method_options(name: str | None) -> dict[str, Option]:
    """The options of a method, or of all methods together; the seed is that of the whole run."""
    declared = options_together(METHODS) if name is None else options_of(find_declared(METHODS, name))
    return {option: found for option, found in declared.items() if option != "seed"}


def reconstruct_files(
    individuals: Any,
    aggregates: Sequence[str | Aggregate],
    *,
    method: str,
    options: Mapping[str, Any],
    out: str | Path | None,
    truth: Sequence[str] = (),
    draws: int = 0,
    spread: float | None = None,
    seed: int | None = None,
    csv: bool = False,
    report: Report | None = None,
) -> Outcome:
    """Fit, reconstruct, score where the truth is given, and write the folder if ``out`` is given."""
    if out is not None:
        refuse_existing(Path(out))
        if not Path(out).absolute().parent.is_dir():
            raise DataError(
                f"the folder {str(Path(out).absolute().parent)!r} does not exist; make it first, then run again."
            )
    Whole(least=0).check("draws", draws)
    chosen = find_declared(METHODS, method)
    seeded = {"seed": seed} if "seed" in options_of(chosen) else {}
    model = from_words(chosen, method, {**options, **seeded})
    published = [
        read_aggregate(AggregateSpec.parse(given)) if isinstance(given, str) else given for given in aggregates
    ]
    frame = as_frame(individuals)
    known = _truth(frame, truth, [aggregate.target for aggregate in published])
    shown = frame.drop(columns=list(dict.fromkeys(column for column, _ in known.values())))
    _tell(report, 1)
    model.fit(shown, published)
    _tell(report, 2)
    result = model.reconstruct()
    several = model.reconstructions(draws, seed=seed, spread=spread) if draws else []
    _tell(report, 3)
    values = {target: numbers for target, (_, numbers) in known.items()}
    scores = _scores(model, result, values)
    files: Sequence[str] = ()
    if out is not None:
        tried = tried_methods(model, shown, published)
        page = reconstruction_page(result, figures_of(model, result, values), scores, tried)
        facts = {**result.to_dict(), "scores": scores, "draws": draws}
        files = save(out, _typed(shown, model), [result, *several], page=page, facts=facts, csv=csv)
    _tell(report, 4)
    return Outcome(result=result, draws=tuple(several), scores=scores, files=tuple(files))


def _typed(frame: Any, model: Reconstructor) -> Any:
    """Columns that served as numbers are written as numbers; labels stay as they were written (01 is not 1)."""
    need("pandas", extra="models", what="reconstruction")
    import pandas as pd

    numbers = [part.name for part in model.design_.parts if part.levels is None]
    return frame.assign(**{name: pd.to_numeric(frame[name]) for name in numbers})


def _tell(report: Report | None, done: int) -> None:
    if report:
        report("reconstructing", done, 4)


def _truth(frame: Any, words: Sequence[str], targets: Sequence[str]) -> dict[str, tuple[str, Floats]]:
    """``COLUMN``, or ``TARGET=COLUMN`` where there are several targets."""
    need("pandas", extra="models", what="reconstruction")
    import pandas as pd

    known = {}
    names = list(dict.fromkeys(targets))
    for word in words:
        target, equals, column = word.partition("=")
        if not equals:
            if len(names) > 1:
                raise ParameterError(f"there are several targets ({', '.join(names)}); write `truth` TARGET=COLUMN.")
            target, column = names[0], word
        if target not in names:
            raise ParameterError(f"the truth {word!r} names the target {target!r}; targets are {', '.join(names)}.")
        if column not in frame.columns:
            raise DataError(
                f"the individuals have no column {column!r} to score against; they have {quoted(frame.columns)}."
            )
        numbers = pd.to_numeric(frame[column], errors="coerce").to_numpy(dtype=np.float64)
        if np.isnan(numbers).any():
            raise DataError(f"the column {column!r} must hold a number in every row to be scored against.")
        known[target] = (column, numbers)
    return known


def _scores(model: Reconstructor, result: Reconstruction, truth: Mapping[str, Floats]) -> dict[str, dict[str, float]]:
    scores = {}
    for target, known in truth.items():
        gap = result.values[target] - known
        stack = next(stack for stack in model.problem_.stacks if stack.target == target)
        alone = (
            stack.spread(stack.groups.pinv(stack.means))
            if model.aggregates_of == "value"
            else np.full(len(known), np.nan)
        )
        scores[target] = {
            "mae": float(np.abs(gap).mean()),
            "rmse": float(np.sqrt((gap**2).mean())),
            "mp": float(np.abs(alone - known).mean()),
        }
    return scores
