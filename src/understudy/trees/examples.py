"""The dissertation's two web services as small models with invented numbers, for demos and tests.

``/diabeteScore`` is a one-shot forest, ``/septicShockScore`` a per-call tree. Their numbers are invented; the per-call
model is priced as if its counts were private, so that a service can be tried without any data.
"""

from fractions import Fraction
from typing import Any

import numpy as np

from understudy.codebook import Categorical, Codebook, Column, Continuous, Integer
from understudy.codec import to_plain
from understudy.mechanisms.histogram import GeometricHistogram
from understudy.mechanisms.leaf_answers import call_scale
from understudy.privacy.guarantees import Guarantee, Neighbours
from understudy.privacy.ledger import Entry, Ledger
from understudy.privacy.secret import Secret
from understudy.privacy.transaction import Payment
from understudy.release.manifest import Manifest, describe
from understudy.trees.model import NO_ROWS, Quality, ScoreFacts, ScoreModel, score_quote
from understudy.trees.scorers import CallForest, VoteForest
from understudy.trees.tree import Tree

_INVENTED = (
    "made up by hand: it was learnt from nobody, so it can tell nothing about anybody; it is priced as if it were not",
    "invented numbers: no medical use",
)


def _edges(*values: float) -> tuple[Fraction, ...]:
    return tuple(Fraction(str(value)) for value in values)


def _entry(scale: int, reads: str) -> Entry:
    event = GeometricHistogram(scale=Fraction(scale), neighbours=Neighbours.ADD_REMOVE)
    return Entry(stage="tables", reads=reads, event=event, assumptions=("the numbers of this example are invented",))


def _manifest(
    method: str, columns: tuple[Column, ...], title: str, entry: Entry, *, call: Guarantee | None = None, **score: Any
) -> Manifest:
    """The manifest of an invented model, which no account paid for."""
    return describe(
        score_quote(method, Ledger.of([entry]), call=call),
        Payment.free(words="none: the numbers are invented"),
        parameters={},
        rows_origin=NO_ROWS,
        codebook=Codebook(columns=columns, title=title),
        secure=True,
        score=to_plain(ScoreFacts(version=1, positive="yes", notes=_INVENTED, **score)),
    )


def diabetes_example() -> ScoreModel:
    """A one-shot forest over glucose, body mass index, age and pregnancies."""
    columns: tuple[Column, ...] = (
        Continuous(
            name="glucoseLevel",
            description="plasma glucose two hours into an oral tolerance test, mg/dl",
            edges=_edges(40, 90, 110, 130, 150, 170, 250),
            precision=0,
            missing="NA",
        ),
        Continuous(
            name="bodyMassIndex", description="kg/m2", edges=_edges(10, 22, 27, 32, 37, 70), precision=1, missing="NA"
        ),
        Integer(name="age", description="years", edges=_edges(18, 25, 35, 45, 60, 100)),
        Integer(name="pregnancies", edges=_edges(0, 1, 3, 6, 20), clip=True, missing="NA"),
        Categorical(name="diabetes", levels=("no", "yes")),
    )
    votes = (
        (-1.5, -0.9, -0.2, 0.5, 1.1, 1.8, 0.0),
        (-0.9, -0.4, 0.1, 0.4, 0.7, 0.0),
        (-0.6, -0.1, 0.3, 0.6, 0.4),
        (-0.1, -0.1, 0.1, 0.3, 0.0),
    )
    rng = np.random.default_rng(8)  # an invented band for invented numbers
    replicates = [
        tuple(tuple(float(round(v * (1 + 0.2 * rng.normal()), 3)) for v in vote) for vote in votes) for _ in range(40)
    ]
    quality = Quality(
        measures={"auroc": {"value": 0.8, "low": 0.77, "high": 0.83}},
        paid="invented like the model itself; a trained model says here who paid, or on which public data",
    )
    return ScoreModel(
        scorer=VoteForest(
            intercept=-0.8,
            votes=votes,
            replicate_intercepts=tuple(float(v) for v in np.round(-0.8 + 0.1 * rng.normal(size=40), 3)),
            replicate_votes=tuple(replicates),
        ),
        manifest=_manifest(
            "forest",
            columns,
            "Diabetes risk, an example",
            _entry(1, "votes of all features"),
            name="diabetes",
            target="diabetes",
            quality=quality,
        ),
    )


def septic_shock_example(*, epsilon: float = 0.5) -> ScoreModel:
    """A per-call tree over vital signs; each answer costs ``epsilon``."""
    columns: tuple[Column, ...] = (
        Integer(name="systolicBP", description="mm Hg", edges=_edges(40, 90, 105, 120, 140, 260)),
        Integer(name="heartRate", description="beats per minute", edges=_edges(20, 60, 90, 110, 130, 250)),
        Continuous(
            name="temperature",
            description="degrees Celsius",
            edges=_edges(30, 36, 38, 39, 43),
            precision=1,
            missing="NA",
        ),
        Categorical(name="ventilated", levels=("no", "yes"), missing="unknown"),
        Categorical(name="septicShock", levels=("no", "yes")),
    )
    tree = Tree(
        feature=(0, 1, 1, -1, -1, -1, -1),
        yes_codes=((0, 1), (3, 4), (2, 3, 4), (), (), (), ()),
        no=(1, 3, 5, -1, -1, -1, -1),
        yes=(2, 4, 6, -1, -1, -1, -1),
    )
    counts = [np.array([[700, 40], [210, 45], [120, 38], [116, 90]], dtype=np.int64)]
    scorer = CallForest(trees=(tree,), counts=Secret(counts), scale=call_scale(epsilon, 1))
    return ScoreModel(
        scorer=scorer,
        manifest=_manifest(
            "per-call-tree",
            columns,
            "Septic shock risk, an example",
            _entry(2, "shape of the tree"),
            call=scorer.call_ledger().total(),
            name="septic-shock",
            target="septicShock",
            price_per_call=epsilon,
        ),
    )
