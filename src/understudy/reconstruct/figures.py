"""Figures 4.4 to 4.8 in the style of the evaluation report, for one reconstruction."""

import numpy as np

from understudy.pages.drawings import Series, xy_chart
from understudy.pages.figures import Figure, curves_figure, dots_figure
from understudy.pages.numbers import number, percent
from understudy.reconstruct.estimators import Reconstructor
from understudy.reconstruct.grams import Floats
from understudy.reconstruct.problem import Stack
from understudy.reconstruct.result import Reconstruction

MOST_POINTS = 2000
MOST_LINES = 12


def figures_of(model: Reconstructor, result: Reconstruction, truth: dict[str, Floats]) -> list[Figure]:
    """All figures of one reconstruction; those that need the truth only where it is known."""
    figures = []
    for place, target in enumerate(result.values):
        values, known = result.values[target], truth.get(target)
        figures.append(_histogram(place, target, values, known))
        figures.append(_published(place, model, result, target))
        if (lines := _lines(place, model, target)) is not None:
            figures.append(lines)
        if known is not None:
            figures += [_against(place, target, values, known), _by_size(place, model, target, values, known)]
    return figures + _choice(model)


def _histogram(place: int, target: str, values: Floats, truth: Floats | None) -> Figure:
    everything = values if truth is None else np.concatenate([values, truth])
    low, high = (float(end) for end in np.quantile(everything, [0.005, 0.995]))
    edges = np.linspace(low, high, 31)
    if edges[0] == edges[-1]:
        edges = np.linspace(edges[0] - 0.5, edges[0] + 0.5, 31)
    shares = {"reconstructed": np.histogram(values, edges)[0] / len(values)}
    if truth is not None:
        shares = {"original": np.histogram(truth, edges)[0] / len(truth), **shares}
    sentence = f"Reconstructed {target}: mean {number(float(values.mean()))}, deviation {number(float(values.std()))}"
    if truth is not None:
        sentence += f"; original: {number(float(truth.mean()))} and {number(float(truth.std()))}"
    corners = np.repeat(edges, 2)[1:-1].tolist()
    series = [
        Series(name=name, x=corners, y=np.repeat(share, 2).tolist(), marked=False, look=int(name == "reconstructed"))
        for name, share in shares.items()
    ]
    return Figure(
        key=f"histogram-{place}",
        title=f"Histogram of {target}",
        drawing=xy_chart(
            series,
            title=f"Histogram of {target}",
            spoken=f"{sentence}.",
            names=(target, "share"),
            from_zero=True,
        ),
        caption=f"{sentence}. The outer half per cent on both sides is not shown.",
        header=("from", *shares),
        rows=[
            (number(float(low)), *(percent(float(share[k])) for share in shares.values()))
            for k, low in enumerate(edges[:-1])
        ],
    )


def _stack_of(model: Reconstructor, target: str) -> Stack:
    return next(stack for stack in model.problem_.stacks if stack.target == target)


def _published(place: int, model: Reconstructor, result: Reconstruction, target: str) -> Figure:
    """What the reconstruction averages to, beside what was published."""
    stack = _stack_of(model, target)
    values = (result.values if model.aggregates_of == "value" else result.linked)[target]
    held = stack.average(values)
    gap = float(np.abs(held - stack.means).max())
    sentence = f"Averages of the reconstruction against the published ones; the largest distance is {gap:.3g}."
    shown = np.argsort(-np.abs(held - stack.means), kind="stable")[:MOST_POINTS]
    return dots_figure(
        f"published-{place}",
        f"Are the averages of {target} met?",
        sentence,
        ("groups", stack.means[shown].tolist(), held[shown].tolist(), [stack.labels[k][1] for k in shown]),
        x="published",
        y="reconstructed",
        header=("group", "published", "reconstructed"),
    )


def _against(place: int, target: str, values: Floats, truth: Floats) -> Figure:
    """Figures 4.5 and 4.6a."""
    shown = np.linspace(0, len(values) - 1, min(MOST_POINTS, len(values))).astype(int)
    error = float(np.abs(values - truth).mean())
    slope = float(np.corrcoef(values, truth)[0, 1]) if values.std() > 0 and truth.std() > 0 else float("nan")
    sentence = (
        f"Mean absolute error {number(error)}, correlation {number(slope)}. Perfect points lie on the dotted line. "
        "Shown are the values between the outer half per cents."
    )
    return dots_figure(
        f"against-{place}",
        f"Reconstructed against original {target}",
        sentence,
        ("individuals", truth[shown].tolist(), values[shown].tolist(), [str(k + 1) for k in shown]),
        x="original",
        y="reconstructed",
        header=("row", "original", "reconstructed"),
        wide=True,
        span=_central(np.concatenate([values, truth])),
    )


def _by_size(place: int, model: Reconstructor, target: str, values: Floats, truth: Floats) -> Figure:
    """Error against group size (figure 4.4)."""
    stack = _stack_of(model, target)
    error = stack.average(np.abs(values - truth))
    sizes = np.concatenate([level.counts for level in stack.levels])
    small = sizes <= np.median(sizes)
    sentence = f"Mean absolute error {number(float(error[small].mean()))} in the smaller half of the groups"
    if (~small).any():
        sentence += f", {number(float(error[~small].mean()))} in the larger half"
    return dots_figure(
        f"size-{place}",
        f"Error of {target} against group size",
        sentence + ".",
        ("groups", sizes.astype(float).tolist(), error.tolist(), [label[1] for label in stack.labels]),
        x="people in the group",
        y="mean absolute error",
        header=("group", "people", "error"),
        diagonal=False,
        log=True,
    )


def _lines(place: int, model: Reconstructor, target: str) -> Figure | None:
    """Figure 4.7: the fitted line of every group against the strongest column."""
    effects = model.effects_[target]
    columns = [k for k, name in enumerate(model.design_.names) if name != "constant"]
    if not columns or not effects.beta[columns].any():
        return None
    strongest = max(columns, key=lambda k: abs(effects.beta[k]) * float(model.problem_.matrix[:, k].std()))
    level = effects.stack.levels[0]
    shown = np.argsort(-level.counts, kind="stable")[:MOST_LINES]
    ends = np.quantile(model.problem_.matrix[:, strongest], [0.02, 0.98])
    rest = model.problem_.matrix.mean(axis=0)
    series, rows = [], []
    for group in shown:
        point = np.tile(rest, (2, 1))
        point[:, strongest] = ends
        beta = effects.beta + (effects.gamma[group] if effects.gamma is not None else 0.0)
        y = point @ beta + effects.offsets[group]
        x = ends * model.design_.spreads[strongest] + model.design_.centres[strongest]
        slope = float((y[1] - y[0]) / (x[1] - x[0])) if x[1] > x[0] else float("nan")
        series.append(Series(name=str(level.groups[group]), x=x.tolist(), y=y.tolist(), marked=False))
        rows.append((level.groups[group], f"{level.counts[group]:,}", number(float(y.mean())), number(slope)))
    name = model.design_.names[strongest]
    kind = "own slopes" if effects.gamma is not None and effects.gamma[:, strongest].any() else "one common slope"
    sentence = f"Fitted lines of the {len(shown)} largest groups against {name}: {kind}, each at its own height."
    if model.link != "identity":
        sentence += f" On the scale of the link ({model.link})."
    title = f"Fitted lines of {target} by {level.aggregate.columns[0]}"
    return Figure(
        key=f"lines-{place}",
        title=title,
        drawing=xy_chart(series, title=title, spoken=sentence, names=(name, target)),
        caption=sentence,
        header=("group", "people", "height", "slope"),
        rows=rows,
    )


def _choice(model: Reconstructor) -> list[Figure]:
    """How a rank or penalty was chosen by held-out averages."""
    figures = []
    for name in ("rank", "penalty"):
        scores = getattr(model, f"{name}_scores_", None)
        if scores and getattr(model, name) == "held-out" and len(scores) > 1:
            figures.append(
                curves_figure(
                    f"choice-{name}",
                    f"Choice of the {name}",
                    f"Squared error of held-out averages; chosen: {name} {getattr(model, f'{name}_'):g}.",
                    [("held-out averages", [float(key) for key in scores], list(scores.values()))],
                    x=name,
                    y="squared error",
                    log=name == "penalty",
                )
            )
    return figures


def _central(values: Floats) -> tuple[float, float] | None:
    """Where all but one in a hundred lie, with a margin: a few far values would squeeze the others into a corner."""
    low, high = (float(end) for end in np.quantile(values, [0.005, 0.995]))
    margin = 0.05 * (high - low)
    return (low - margin, high + margin) if high > low else None
