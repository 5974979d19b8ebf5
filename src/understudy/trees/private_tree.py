"""One private tree: public or private questions, and leaf counts that are released once (or kept for paid calls)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from understudy.errors import ParameterError
from understudy.mechanisms.gaussian_measurements import gaussian_measurements_event
from understudy.mechanisms.labelled import Cells, noisy_leaf_counts, split_apart
from understudy.mechanisms.split_choice import (
    StableSplits,
    TreeSplits,
    choose_splits,
    choose_stable_splits,
    measured_splits,
    score_sensitivity,
    stable_threshold,
)
from understudy.mechanisms.stream import Stream
from understudy.parameters import (
    DELTA,
    EPSILON,
    ROWS,
    SHARE,
    Declared,
    OneOf,
    Panel,
    Whole,
    option,
    options_of,
)
from understudy.privacy.guarantees import Neighbours
from understudy.privacy.ledger import Entry
from understudy.privacy.secret import Secret
from understudy.trees.features import CodeMatrix
from understudy.trees.gains import ALPHA, alpha_gain
from understudy.trees.grow import Builder
from understudy.trees.questions import Question, answers
from understudy.trees.scorers import LeafForest
from understudy.trees.tree import Tree

AR = Neighbours.ADD_REMOVE
STRUCTURE = OneOf(("exponential", "random", "measured", "stable"))
STRUCTURE_HELP = "How questions are chosen: exponential, random, measured, stable."


class Sharing(StrEnum):
    """Which records the trees of a forest see."""

    SHARED = "shared"
    """Every tree sees all records, and the prices add up."""
    DISJOINT = "disjoint"
    """Each record goes to one tree at random; together the trees cost what one of them costs."""


@dataclass(frozen=True, kw_only=True)
class PrivateQuestions(Declared):
    """How the questions of a private tree are chosen.

    ``exponential`` and ``stable`` choose by alpha-gain in private, ``measured`` reads all gains off noisy tables (needs
    ``delta``, takes any alpha), ``random`` spends nothing on questions.
    """

    alpha: float = option(2.0, rule=ALPHA, help="Alpha of the gain.")
    depth: int = option(3, rule=Whole(least=0, most=12, tried=3), help="Questions on the way to a leaf.")
    structure: str = option("exponential", rule=STRUCTURE, help=STRUCTURE_HELP)
    delta: float | None = option(
        None,
        rule=DELTA,
        help="Slack of each tree's promise, which measured and stable structures need; a shared bag adds them up.",
        panel=Panel.PRIVACY,
    )
    public_rows: int | None = option(None, rule=ROWS, help="Public upper bound on the number of records, for alpha 1.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.structure in ("exponential", "stable"):
            score_sensitivity(self.alpha, self.public_rows)  # raises with the remedy
        if (self.delta is not None) != (self.structure in ("measured", "stable")):
            remedy = "needs a `delta`; try 1e-6" if self.delta is None else "takes no `delta`; leave it out"
            raise ParameterError(f"`delta` is {self.delta}; structure {self.structure!r} {remedy}.")

    def plan(self, epsilon: float) -> "TreePlan":
        """One tree with these questions, at a price of its own."""
        return TreePlan(epsilon=epsilon, **{name: getattr(self, name) for name in options_of(PrivateQuestions)})


@dataclass(frozen=True, kw_only=True)
class TreePlan(PrivateQuestions):
    """All choices of one private tree, made before the data are seen."""

    epsilon: float = option(rule=EPSILON, help="Price of the tree.", panel=Panel.PRIVACY)
    split_share: float = option(
        0.5, rule=SHARE, help="Part of epsilon for the questions; the leaf counts get the rest. Random ones are free."
    )

    @property
    def is_free(self) -> bool:
        """Whether the questions cost nothing."""
        return self.structure == "random" or self.depth == 0

    @property
    def split_epsilon(self) -> float:
        """For all questions."""
        return 0.0 if self.is_free else self.split_share * self.epsilon

    @property
    def leaf_epsilon(self) -> float:
        """For the leaf counts."""
        return self.epsilon - self.split_epsilon


def grow_structure(
    cells: Secret[Cells], questions: Sequence[Question], plan: TreePlan, *, stream: Stream
) -> tuple[Tree, tuple[Entry, ...]]:
    """A tree of the planned depth, and what its questions cost."""
    builder = Builder()
    leaves = [0]
    entry, choose = _chooser(cells, questions, plan, stream)
    for _ in range(plan.depth):
        tree = builder.tree()
        numbers = [tree.leaf_number[node] for node in leaves]
        picked = choose(tree)
        following: list[int] = []
        for node, number in zip(leaves, numbers, strict=True):
            question = picked[number]
            if question is not None:
                following.extend(builder.split(node, questions[question], None))
        leaves = following
        if not leaves:
            break
    return builder.tree(), () if entry is None else (entry,)


def _chooser(cells: Secret[Cells], questions: Sequence[Question], plan: TreePlan, stream: Stream):  # type: ignore[no-untyped-def]
    """The ledger's line and a function from the tree so far to one question (or None) for each of its leaves."""

    def ask(codes: CodeMatrix) -> npt.NDArray[np.bool_]:
        return answers(questions, codes)

    reads = f"questions of {plan.depth} levels among {len(questions)} public ones"
    if plan.is_free:
        return None, lambda tree: [stream.below(len(questions)) for _ in range(tree.leaves)]
    each = plan.split_epsilon / plan.depth
    is_bounded = plan.alpha == 1 and plan.public_rows is not None
    assumptions = (f"there are at most {plan.public_rows:,} records",) if is_bounded else ()
    if plan.structure == "exponential":
        event = TreeSplits(epsilon=Fraction(each), levels=plan.depth, neighbours=AR)

        def by_gain(tree: Tree) -> list[int]:
            return choose_splits(
                cells,
                ask,
                tree.leaf_of,
                tree.leaves,
                alpha=plan.alpha,
                epsilon=each,
                public_rows=plan.public_rows,
                stream=stream,
            )

        return Entry(stage="questions", reads=reads, event=event, assumptions=assumptions), by_gain
    assert plan.delta is not None  # checked by the plan
    if plan.structure == "stable":
        scale, threshold = stable_threshold(epsilon=each, delta=plan.delta / plan.depth)
        stable = StableSplits(scale=scale, threshold=threshold, levels=plan.depth, neighbours=AR)

        def if_stable(tree: Tree) -> list[int | None]:
            return choose_stable_splits(
                cells,
                ask,
                tree.leaf_of,
                tree.leaves,
                alpha=plan.alpha,
                scale=scale,
                threshold=threshold,
                public_rows=plan.public_rows,
                stream=stream,
            )

        return Entry(stage="questions", reads=reads, event=stable, assumptions=assumptions), if_stable
    measured = gaussian_measurements_event(
        epsilon=plan.split_epsilon, delta=plan.delta, units=len(questions) * plan.depth, neighbours=AR
    )

    def by_noisy_gain(tree: Tree) -> list[int]:
        tables = measured_splits(cells, ask, tree.leaf_of, tree.leaves, event=measured, stream=stream)
        gains = alpha_gain(np.maximum(tables, 0), plan.alpha)
        return [int(np.argmax(row)) for row in gains]

    tables = f"2 x 2 tables of {len(questions)} questions in every node of {plan.depth} levels"
    return Entry(stage="questions", reads=tables, event=measured), by_noisy_gain


def grow_private_forest(
    cells: Secret[Cells],
    questions: Sequence[Question],
    plans: Sequence[TreePlan],
    *,
    sharing: Sharing,
    stream: Stream,
) -> tuple[LeafForest, tuple[Entry, ...]]:
    """Trees whose noisy leaf counts are released once."""
    parts = [cells] * len(plans)
    is_apart = sharing == Sharing.DISJOINT and len(plans) > 1
    if is_apart:
        if len(set(plans)) > 1:
            raise ParameterError("trees on disjoint records must have one and the same price; give them equal plans.")
        parts = split_apart(cells, len(plans), stream)
    trees, counts, entries = [], [], []
    for plan, part in zip(plans, parts, strict=True):
        tree, paid = grow_structure(part, questions, plan, stream=stream)
        noisy, leaf_entry = noisy_leaf_counts(
            part,
            tree.leaf_of,
            tree.leaves,
            epsilon=plan.leaf_epsilon,
            stream=stream,
            reads=f"class counts of the leaves of a tree of depth {plan.depth}",
        )
        trees.append(tree)
        counts.append(tuple((int(negative), int(positive)) for negative, positive in noisy))
        entries.append((*paid, leaf_entry))
    if is_apart:  # parallel: a record is in one part, whatever the others are
        entries = [tuple(replace(e, reads=f"{e.reads}, in each of {len(plans)} disjoint parts") for e in entries[0])]
    forest = LeafForest(trees=tuple(trees), counts=tuple(counts), scale=1.0 / plans[0].leaf_epsilon, confidential=False)
    return forest, tuple(entry for group in entries for entry in group)
