"""One reconstruction as a page."""

from collections.abc import Mapping, Sequence
from typing import Any

from understudy.pages.figures import Figure, figures_page
from understudy.pages.numbers import number
from understudy.reconstruct.result import NO_PROTECTION, Reconstruction


def reconstruction_page(
    result: Reconstruction, figures: Sequence[Figure], scores: Mapping[str, Mapping[str, float]]
) -> str:
    """The page; ``scores`` hold errors where the truth is known."""
    people = len(next(iter(result.values.values())))
    tables: list[dict[str, Any]] = [
        {
            "caption": "How far the published figures are met (per person)",
            "header": ("table", "groups", "to be met", "largest distance of those", "typical distance of all"),
            "rows": [
                (met.aggregate, f"{met.groups:,}", f"{met.exact:,}", f"{met.largest_gap:.2g}", f"{met.typical_gap:.3g}")
                for met in result.met
            ],
        }
    ]
    if scores:
        tables.append(
            {
                "caption": "Errors against the truth (averages of the group alone: Moore-Penrose)",
                "header": ("target", "mean absolute error", "root mean square", "average of the group alone"),
                "rows": [
                    (target, number(score["mae"]), number(score["rmse"]), number(score["mp"]))
                    for target, score in scores.items()
                ],
            }
        )
    return figures_page(
        "summary.html",
        package="understudy.pages",
        figures=figures,
        title=f"Reconstruction of {', '.join(result.values)}",
        flag="Reconstructed.",
        banner=f"Estimates of individual values from group averages, not data. {NO_PROTECTION}",
        sub=f"{people:,} individuals, method {result.method}.",
        lead="What stands below is what the method makes of the published figures. It may be wrong for every "
        "single person.",
        recommendation=[held.sentence for held in result.held_out],
        tables=tables,
        notes=list(result.notes),
    )
