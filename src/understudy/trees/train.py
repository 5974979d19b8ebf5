"""What to train: the choices, what they cost, and how trees grow from records in a box."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from understudy.codebook import Codebook
from understudy.errors import ParameterError
from understudy.mechanisms.labelled import Cells, kept_leaf_counts, labelled_cells
from understudy.mechanisms.leaf_answers import call_ledger, call_scale
from understudy.mechanisms.smoothing import exposed
from understudy.mechanisms.split_choice import TreeSplits
from understudy.mechanisms.stream import Stream
from understudy.privacy.guarantees import Guarantee, Neighbours, NoFormal, PureDP
from understudy.privacy.ledger import Entry
from understudy.privacy.secret import Secret
from understudy.sources.base import Report, Source
from understudy.trees.features import Feature
from understudy.trees.forest import forest_price, grow_forest
from understudy.trees.grow import Stopping, alpha_tree, diff_structure, leaf_totals
from understudy.trees.private_tree import TreePlan, grow_private_forest, grow_structure
from understudy.trees.questions import Question, questions_of
from understudy.trees.scorers import CallForest, LeafForest, LocalNoiseForest, Scorer

METHODS = ("forest", "tree", "bag", "per-call-tree", "dpat", "edpat", "alpha-tree")
ALPHAS = (0.1, 0.5, 1.0, 2.0, 4.0)
"""What EDPaT's trees use by default; the chapter leaves the choice open."""
WHY_PLAIN = "a plain alpha-tree shows questions and leaf counts as they are"
WHY_FAITHFUL = (
    "the chapter's 0-DiffStructure is a deterministic function of the data, which differs between some neighbours, and "
    "its Laplace noise is scaled by the data at hand, so that the tails of neighbours diverge (PRIVACY section 7)"
)


def check_price(name: str, value: float) -> None:
    """Refuse a price that is no finite number above 0, by its own name."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise ParameterError(f"`{name}` is {value!r}; it must be finite and above 0. Try 1.0.")


@dataclass(frozen=True, kw_only=True)
class Training:
    """What to train. ``epsilon`` is the whole price of training; per-call methods have ``call_epsilon`` too."""

    method: str
    epsilon: float | None = None
    call_epsilon: float | None = None
    alpha: float | None = None
    alphas: tuple[float, ...] = ALPHAS
    depth: int | None = None
    structure: str | None = None
    delta: float | None = None
    trees: int = 5
    sharing: str = "shared"
    public_rows: int | None = None
    min_records: int = 20

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise ParameterError(f"`method` is {self.method!r}; it must be one of {', '.join(METHODS)}. Try 'forest'.")
        for name in ("epsilon", "call_epsilon"):
            needed = name in _NEEDS[self.method]
            if name == "epsilon" and self.method == "per-call-tree" and self.structure == "random":
                needed = False  # random questions read nothing
            given = getattr(self, name) is not None
            if needed != given:
                verb = (
                    "is missing; there is no default price. Try 1.0" if needed else "has no meaning here; leave it out"
                )
                raise ParameterError(f"`{name}` of the method {self.method!r} {verb}.")
            if given:
                check_price(name, getattr(self, name))
        for name in ("alpha", "depth", "structure", "delta"):
            if name not in _TAKES[self.method] and getattr(self, name) is not None:
                raise ParameterError(f"`{name}` has no meaning for the method {self.method!r}; leave it out.")
        if isinstance(self.trees, bool) or not isinstance(self.trees, int) or not 1 <= self.trees <= 1000:
            raise ParameterError(f"`trees` is {self.trees!r}; it must be a whole number from 1 to 1,000. Try 5.")
        if self.method not in ("forest", "dpat", "edpat", "alpha-tree"):
            self.plan()

    def plan(self) -> TreePlan:
        """The choices of each private tree."""
        whole = (
            1.0 if self.epsilon is None else self.epsilon
        )  # None: random questions of a per-call tree, which are free
        each = whole / self.trees if self.method == "bag" and self.sharing == "shared" else whole
        structure = self.structure or ("random" if self.method == "bag" else "exponential")
        return TreePlan(
            epsilon=each,
            alpha=2.0 if self.alpha is None else self.alpha,
            depth=3 if self.depth is None else self.depth,
            structure=structure,
            delta=self.delta,
            public_rows=self.public_rows,
            split_share=0.5,
        )

    @property
    def call(self) -> Guarantee | None:
        """What every answer adds; None where answers are free."""
        if self.call_epsilon is None:
            return None
        if self.method != "per-call-tree":
            return NoFormal(why=WHY_FAITHFUL)
        return call_ledger(call_scale(self.call_epsilon, 1), 1).total()

    @property
    def price_per_call(self) -> float | None:
        """The epsilon of an answer, in name at least: what is as written in the chapter promises nothing."""
        call = self.call
        return call.epsilon if isinstance(call, PureDP) else self.call_epsilon

    @property
    def is_sealed(self) -> bool:
        """Whether the file of its model has a confidential part, which needs a key."""
        return self.method in ("per-call-tree", "dpat", "edpat", "alpha-tree")

    def parameters(self) -> dict[str, Any]:
        """Every choice but the method as plain data, for the manifest."""
        found = asdict(self)
        del found["method"]
        return {**found, "alphas": list(self.alphas)}

    @classmethod
    def from_parameters(cls, method: str, told: dict[str, Any]) -> "Training":
        """Read back what :meth:`parameters` wrote."""
        return cls(method=method, **{**told, "alphas": tuple(told["alphas"])})


_NEEDS = {
    "forest": ("epsilon",),
    "tree": ("epsilon",),
    "bag": ("epsilon",),
    "per-call-tree": ("epsilon", "call_epsilon"),
    "dpat": ("call_epsilon",),
    "edpat": ("call_epsilon",),
    "alpha-tree": (),
}

_PRIVATE = ("alpha", "depth", "structure", "delta")
_TAKES = {
    "forest": (),
    "tree": _PRIVATE,
    "bag": _PRIVATE,
    "per-call-tree": _PRIVATE,
    "dpat": ("alpha", "depth"),
    "edpat": ("depth",),
    "alpha-tree": ("alpha", "depth"),
}


@dataclass(frozen=True, kw_only=True, eq=False)
class Grown:
    """A scorer and what it paid."""

    scorer: Scorer
    entries: tuple[Entry, ...]


def price(training: Training, features: Sequence[Feature]) -> tuple[Entry, ...]:
    """What training will pay at most; reads no data: the same steps on an empty table, whose noise nobody sees."""
    if training.method == "forest":  # how many rounds it takes, and so its lines, depends on the noise
        assert training.epsilon is not None
        return forest_price(features, epsilon=training.epsilon)
    codes = np.empty((0, len(features)), dtype=np.uint8)
    nobody = Secret(Cells(codes=codes, counts=np.empty((0, 2), dtype=np.int64)))
    return grow(nobody, features, training, Stream.seeded(0)).entries


def free_questions(levels: int | None = None) -> Entry:
    """The line of a training that shows nothing of the data: it costs nothing, and the ledger says so."""
    reads = "questions that were drawn at random, without the data"
    event = TreeSplits(epsilon=Fraction(0), levels=max(levels or 1, 1), neighbours=Neighbours.ADD_REMOVE)
    return Entry(stage="questions", reads=reads, event=event)


def refuse_people(book: Codebook) -> None:
    """A score is priced for one record."""
    if book.unit is not None:
        raise ParameterError(
            "a risk score promises to protect one record, and the codebook's [unit] caps those of a person; leave "
            "[unit] out, or give every person one record first."
        )


def positive_level(book: Codebook, target: str, positive: str | None) -> tuple[str, int]:
    """The level whose probability is the score: given, or the last of two."""
    column = book.column(target)
    labels = column.labels
    if positive is None:
        if column.proper_levels != 2:
            raise ParameterError(
                f"the target {target!r} has {column.proper_levels} levels; name the one to score with `positive`, "
                f"one of: {', '.join(labels[:12])}."
            )
        return labels[1], 1
    if positive not in labels:
        raise ParameterError(f"`positive` is {positive!r}; {target!r} has the levels {', '.join(labels[:12])}.")
    return positive, labels.index(positive)


def cells_of(source: Source, target: str, positive: int, report: Report | None = None) -> Secret[Cells]:
    """Every record of a source as feature codes and label, in a box."""
    (table,) = source.count([source.codebook.names], report)
    return labelled_cells(table, target=target, positive=positive)


def grow(cells: Secret[Cells], features: Sequence[Feature], training: Training, stream: Stream) -> Grown:
    """Any method, on records in a box."""
    method = training.method
    if method == "forest":
        assert training.epsilon is not None
        forest, entries = grow_forest(cells, features, epsilon=training.epsilon, stream=stream)
        return Grown(scorer=forest, entries=entries)
    questions = questions_of(features)
    if method in ("alpha-tree", "dpat", "edpat"):
        return _plain(cells, questions, training)
    plan = training.plan()
    if method in ("tree", "bag"):
        plans = [plan] * (training.trees if method == "bag" else 1)
        leaves, entries = grow_private_forest(cells, questions, plans, sharing=training.sharing, stream=stream)
        return Grown(scorer=leaves, entries=entries)
    assert training.call_epsilon is not None
    plan = replace(plan, split_share=1 - 1e-9) if not plan.is_free else plan  # all of epsilon goes to the questions
    tree, entries = grow_structure(cells, questions, plan, stream=stream)
    counts = kept_leaf_counts(cells, tree.leaf_of, tree.leaves)
    scorer = CallForest(trees=(tree,), counts=counts, scale=call_scale(training.call_epsilon, 1))
    return Grown(scorer=scorer, entries=entries or (free_questions(plan.depth),))


def _plain(cells: Secret[Cells], questions: Sequence[Question], training: Training) -> Grown:
    why = WHY_PLAIN if training.method == "alpha-tree" else WHY_FAITHFUL
    (held,), entry = exposed([cells], stage="tree", reads="all records, for questions and leaf counts", why=why)
    stopping = Stopping(max_depth=training.depth, min_records=training.min_records)
    if training.method == "alpha-tree":
        alpha = 1.0 if training.alpha is None else training.alpha
        tree = alpha_tree(held, questions, alpha=alpha, stopping=stopping)
        counts = tuple((int(a), int(b)) for a, b in leaf_totals(tree, held))
        return Grown(scorer=LeafForest(trees=(tree,), counts=(counts,), scale=0.0, confidential=True), entries=(entry,))
    alphas = (1.0 if training.alpha is None else training.alpha,) if training.method == "dpat" else training.alphas
    if not alphas:
        raise ParameterError("`alphas` is empty; an ensemble needs at least one. Try (0.5, 1, 2).")
    trees = [diff_structure(held, questions, alpha=alpha, stopping=stopping) for alpha in alphas]
    trees = (
        list(dict.fromkeys(trees)) if training.method == "edpat" else trees
    )  # "values that give distinct structures"
    assert training.call_epsilon is not None
    return Grown(
        scorer=LocalNoiseForest(
            trees=tuple(trees),
            counts=Secret([leaf_totals(tree, held) for tree in trees]),
            epsilon=training.call_epsilon,
        ),
        entries=(entry,),
    )
