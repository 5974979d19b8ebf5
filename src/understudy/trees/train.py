"""The eight ways to train a risk score: their options, their price, and how trees grow from secret records.

>>> OneTree(epsilon=1.0, depth=2).get_params()["structure"]
'exponential'
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from understudy.errors import ParameterError
from understudy.mechanisms.labelled import Cells, kept_leaf_counts
from understudy.mechanisms.leaf_answers import ClassCounts, call_ledger, call_scale
from understudy.mechanisms.smoothing import exposed
from understudy.mechanisms.split_choice import TreeSplits
from understudy.mechanisms.stream import Stream
from understudy.parameters import (
    DELTA,
    EPSILON,
    Declared,
    OneOf,
    Panel,
    Several,
    Whole,
    from_words,
    make_declared,
    option,
    options_of,
)
from understudy.privacy.facts import MethodFacts
from understudy.privacy.guarantees import Guarantee, Neighbours, NoFormal, PureDP
from understudy.privacy.ledger import Entry
from understudy.privacy.secret import Secret
from understudy.trees.additive import additive_entry, grow_additive
from understudy.trees.features import Feature
from understudy.trees.forest import forest_price, grow_forest
from understudy.trees.gains import ALPHA
from understudy.trees.grow import alpha_tree, diff_structure, leaf_totals
from understudy.trees.private_tree import (
    STRUCTURE,
    STRUCTURE_HELP,
    PrivateQuestions,
    Sharing,
    grow_private_forest,
    grow_structure,
)
from understudy.trees.questions import questions_of
from understudy.trees.scorers import CallForest, LeafForest, LocalNoiseForest, Scorer, VoteForest

_PAGE = "docs/methods/dpat.md"
_NOISE = "tests/exact/test_noise_exact.py"
_SPLITS = "tests/exact/test_tree_splits_exact.py"
_AUDITS = ("tests/audit/test_tree_audit.py",)
_TREE_PROOFS = ("tree_splits.md", "stable_splits.md", "gaussian_measurements.md", "geometric_histogram.md")
_TREE_TESTS = (_SPLITS, "tests/exact/test_measurements_exact.py", _NOISE)
_WHOLE_PRICE = "Whole price of training."
_CALL_PRICE = "Price of each answer of a per-call model."
ALPHAS = (0.1, 0.5, 1.0, 2.0, 4.0)
"""What EDPaT's trees use by default; the chapter leaves the choice open."""
_PUBLIC = "levels and thresholds, depth; a bound on the number of records at α = 1"
WHY_FAITHFUL = (
    "the chapter's 0-DiffStructure is a deterministic function of the data, which differs between some neighbours, and "
    "its Laplace noise is scaled by the data at hand, so that the tails of neighbours diverge (PRIVACY section 7)"
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Grown:
    """A scorer and what it paid."""

    scorer: Scorer
    entries: tuple[Entry, ...]


@dataclass(frozen=True, kw_only=True)
class ScoreMethod(Declared, ABC):
    """What all ways to train share. The fields of each are its options; none of them may depend on the data."""

    facts: ClassVar[MethodFacts]
    method: ClassVar[str]
    """The name in its facts."""
    body: ClassVar[str]
    """Which scorer it leaves behind."""
    is_sealed: ClassVar[bool] = False
    """Whether the file of its model has a confidential part, which needs a key."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "facts" in cls.__dict__:
            cls.method = cls.facts.name

    @abstractmethod
    def grow(self, cells: Secret[Cells], features: Sequence[Feature], stream: Stream) -> Grown:
        """Trees from secret records."""

    def price(self, features: Sequence[Feature]) -> tuple[Entry, ...]:
        """What training pays at most. Reads no data: it takes the same steps on an empty table."""
        codes = np.empty((0, len(features)), dtype=np.uint8)
        nobody = Secret(Cells(codes=codes, counts=np.empty((0, 2), dtype=np.int64)))
        return self.grow(nobody, features, Stream.seeded(0)).entries

    @property
    def slack(self) -> float | None:
        """The delta of its promise."""
        return getattr(self, "delta", None)

    @property
    def call(self) -> Guarantee | None:
        """What every answer adds; None where answers are free."""
        return None

    @property
    def price_per_call(self) -> float | None:
        """The epsilon of an answer; None where answers are free."""
        return None


@dataclass(frozen=True, kw_only=True)
class Additive(ScoreMethod):
    """Additive shapes fitted to noisy moments of all features and the label. Any number of scores is free."""

    body: ClassVar[str] = VoteForest.body
    facts: ClassVar[MethodFacts] = MethodFacts(
        name="additive",
        command="understudy train --method additive",
        route="N",
        neighbours=(Neighbours.ADD_REMOVE,),
        guarantee="(ε, δ)-DP, model released once; answers are free",
        public="levels and thresholds",
        paper="ours",
        paper_claim="nothing",
        sound="our own",
        truth="Class counts, histograms and moments of vectors whose length is cut get noise under one Gaussian price; "
        "how many of them are measured follows from the noisy class counts.",
        page=_PAGE,
        proofs=("gaussian_measurements.md",),
        exact_tests=("tests/exact/test_record_sums_exact.py", "tests/exact/test_measurements_exact.py"),
        audits=_AUDITS,
    )
    epsilon: float = option(rule=EPSILON, help=_WHOLE_PRICE, panel=Panel.PRIVACY)
    delta: float = option(rule=DELTA, help="Delta of the price; choose it far below 1 / records.", panel=Panel.PRIVACY)

    def grow(self, cells: Secret[Cells], features: Sequence[Feature], stream: Stream) -> Grown:
        """Everything is measured against the units of one event."""
        forest, entry = grow_additive(cells, features, epsilon=self.epsilon, delta=self.delta, stream=stream)
        return Grown(scorer=forest, entries=(entry,))

    def price(self, features: Sequence[Feature]) -> tuple[Entry, ...]:
        """One line, whatever is measured."""
        return (additive_entry(features, epsilon=self.epsilon, delta=self.delta),)


@dataclass(frozen=True, kw_only=True)
class Forest(ScoreMethod):
    """Stumps at all public thresholds, whose votes are measured at once. Any number of scores is free."""

    body: ClassVar[str] = VoteForest.body
    facts: ClassVar[MethodFacts] = MethodFacts(
        name="forest",
        command="understudy train --method forest",
        route="N",
        neighbours=(Neighbours.ADD_REMOVE,),
        guarantee="ε-DP, model released once; answers are free",
        public="levels and thresholds",
        paper="ours",
        paper_claim="nothing",
        sound="our own",
        truth="All questions are asked at once and their sums get noise in the maximum norm.",
        page=_PAGE,
        proofs=("max_norm_sums.md", "geometric_histogram.md"),
        exact_tests=("tests/exact/test_max_norm_exact.py", _NOISE),
        audits=_AUDITS,
    )
    epsilon: float = option(rule=EPSILON, help=_WHOLE_PRICE, panel=Panel.PRIVACY)

    def grow(self, cells: Secret[Cells], features: Sequence[Feature], stream: Stream) -> Grown:
        """Class counts, votes and scale, each measured once."""
        forest, entries = grow_forest(cells, features, epsilon=self.epsilon, stream=stream)
        return Grown(scorer=forest, entries=entries)

    def price(self, features: Sequence[Feature]) -> tuple[Entry, ...]:
        """How many rounds it takes, and so its lines, depends on the noise; this covers either."""
        return forest_price(features, epsilon=self.epsilon)


def _tree_facts(name: str, truth: str) -> MethodFacts:
    return MethodFacts(
        name=name,
        command=f"understudy train --method {name}",
        route="N",
        neighbours=(Neighbours.ADD_REMOVE,),
        guarantee="ε-DP, or (ε, δ)-DP with stable questions; answers are free",
        public=_PUBLIC,
        paper="ours, after ch. 5",
        paper_claim="nothing",
        sound="our own",
        truth=truth,
        page=_PAGE,
        proofs=_TREE_PROOFS,
        exact_tests=_TREE_TESTS,
        audits=_AUDITS,
    )


@dataclass(frozen=True, kw_only=True)
class OneTree(PrivateQuestions, ScoreMethod):
    """One tree with privately chosen (or random) questions and noisy leaf counts, released once."""

    body: ClassVar[str] = LeafForest.body
    facts: ClassVar[MethodFacts] = _tree_facts(
        "tree", "Questions by the exponential mechanism or stable choice; leaf counts noised once."
    )
    epsilon: float = option(rule=EPSILON, help=_WHOLE_PRICE, panel=Panel.PRIVACY)

    def grow(self, cells: Secret[Cells], features: Sequence[Feature], stream: Stream) -> Grown:
        """Half of epsilon goes to the questions, half to the leaf counts."""
        plans = [self.plan(self.epsilon)]
        forest, entries = grow_private_forest(
            cells, questions_of(features), plans, sharing=Sharing.SHARED, stream=stream
        )
        return Grown(scorer=forest, entries=entries)


@dataclass(frozen=True, kw_only=True)
class Bag(PrivateQuestions, ScoreMethod):
    """Several private trees, on shared records (prices add up) or on disjoint ones (one price)."""

    body: ClassVar[str] = LeafForest.body
    facts: ClassVar[MethodFacts] = _tree_facts(
        "bag", "Several such trees; the price is the sum, or that of one on disjoint random parts."
    )
    epsilon: float = option(rule=EPSILON, help=_WHOLE_PRICE, panel=Panel.PRIVACY)
    structure: str = option("random", rule=STRUCTURE, help=STRUCTURE_HELP)
    trees: int = option(5, rule=Whole(most=1000, tried=5), help="Trees of a bag.")
    sharing: Sharing = option(
        Sharing.SHARED, rule=OneOf.of(Sharing), help="Records of a bag's trees: shared or disjoint."
    )

    def grow(self, cells: Secret[Cells], features: Sequence[Feature], stream: Stream) -> Grown:
        """One tree after the other."""
        plan = self.plan(self.epsilon / self.trees if self.sharing is Sharing.SHARED else self.epsilon)
        forest, entries = grow_private_forest(
            cells, questions_of(features), [plan] * self.trees, sharing=self.sharing, stream=stream
        )
        return Grown(scorer=forest, entries=entries)


@dataclass(frozen=True, kw_only=True)
class PerCallTree(PrivateQuestions, ScoreMethod):
    """A tree whose leaf counts stay secret: every answer has fresh noise and costs ``call_epsilon``."""

    body: ClassVar[str] = CallForest.body
    is_sealed: ClassVar[bool] = True
    facts: ClassVar[MethodFacts] = MethodFacts(
        name="per-call-tree",
        command="understudy train --method per-call-tree",
        route="call",
        neighbours=(Neighbours.ADD_REMOVE,),
        guarantee="ε-DP for training plus ε-DP for every answer",
        public=_PUBLIC,
        paper="the sound form of DPaT (dissertation ch. 5)",
        paper_claim="Each call costs ε.",
        sound="holds with conditions",
        truth="True with noise on counts, which this adds, and false with the chapter's local sensitivity. Q answers "
        "cost Q times as much: each is paid for before its noise is drawn, and a repeated question gets its stored "
        "answer.",
        page=_PAGE,
        proofs=_TREE_PROOFS,
        exact_tests=_TREE_TESTS,
        audits=_AUDITS,
    )
    epsilon: float | None = option(None, rule=EPSILON, help=_WHOLE_PRICE, panel=Panel.PRIVACY)
    """Random questions read nothing, so they have no price; all others need one."""
    call_epsilon: float = option(rule=EPSILON, help=_CALL_PRICE, panel=Panel.PRIVACY)

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.epsilon is None) != (self.structure == "random"):
            missing, idle = (
                "is missing; there is no default. Try 1.0",
                "has no meaning with random questions; leave it out",
            )
            raise ParameterError(f"`epsilon` {missing if self.epsilon is None else idle}.")

    @property
    def call(self) -> PureDP:
        """The price of the noise on one leaf."""
        price = call_ledger(call_scale(self.call_epsilon, 1), 1).total()
        assert isinstance(price, PureDP)
        return price

    @property
    def price_per_call(self) -> float:
        """The epsilon of an answer, on the grid of noise scales."""
        return self.call.epsilon

    def grow(self, cells: Secret[Cells], features: Sequence[Feature], stream: Stream) -> Grown:
        """All of epsilon goes to the questions; the leaf counts stay secret."""
        plan = self.plan(1.0) if self.epsilon is None else replace(self.plan(self.epsilon), split_share=1 - 1e-9)
        tree, entries = grow_structure(cells, questions_of(features), plan, stream=stream)
        counts = kept_leaf_counts(cells, tree.leaf_of, tree.leaves)
        scorer = CallForest(trees=(tree,), counts=counts, scale=call_scale(self.call_epsilon, 1))
        return Grown(scorer=scorer, entries=entries or (free_questions(plan.depth),))


@dataclass(frozen=True, kw_only=True)
class _Unprotected(ScoreMethod):
    """Trees on raw records, for study."""

    is_sealed: ClassVar[bool] = True
    why: ClassVar[str] = WHY_FAITHFUL
    """Why nothing is promised."""
    depth: int | None = option(None, rule=Whole(least=0, tried=4), help="Most questions on the way to a leaf.")
    min_records: int = option(20, rule=Whole(tried=20), help="Fewest records of a node that is split.")

    def _opened(self, cells: Secret[Cells]) -> tuple[Cells, tuple[Entry, ...]]:
        (held,), entry = exposed(
            [cells], stage="tree", reads="all records, for questions and leaf counts", why=self.why
        )
        return held, (entry,)


@dataclass(frozen=True, kw_only=True)
class PlainTree(_Unprotected):
    """A plain tree that splits by alpha-gain (algorithm 4). Promises nothing."""

    body: ClassVar[str] = LeafForest.body
    why: ClassVar[str] = "a plain alpha-tree shows questions and leaf counts as they are"
    facts: ClassVar[MethodFacts] = MethodFacts(
        name="alpha-tree",
        command="understudy train --method alpha-tree",
        route="none",
        neighbours=(),
        guarantee="none",
        public="nothing makes it private",
        paper="dissertation ch. 5",
        paper_claim="nothing; a plain tree",
        sound="no claim",
        truth="Questions and leaf counts as they are; its counts are encrypted at rest.",
        page=_PAGE,
        instead="additive",
    )
    alpha: float = option(1.0, rule=ALPHA, help="Alpha of the gain.")

    def grow(self, cells: Secret[Cells], features: Sequence[Feature], stream: Stream) -> Grown:
        """No noise at all."""
        held, entries = self._opened(cells)
        tree = alpha_tree(
            held, questions_of(features), alpha=self.alpha, max_depth=self.depth, min_records=self.min_records
        )
        counts = tuple((int(negative), int(positive)) for negative, positive in leaf_totals(tree, held))
        forest = LeafForest(trees=(tree,), counts=(counts,), scale=0.0, confidential=True)
        return Grown(scorer=forest, entries=entries)


def _unsound_facts(name: str, claim: str) -> MethodFacts:
    return MethodFacts(
        name=name,
        command=f"understudy train --method {name}",
        route="none",
        neighbours=(),
        guarantee="none",
        public="nothing makes it private",
        paper="dissertation ch. 5",
        paper_claim=claim,
        sound="unsound",
        truth="False: a structure that depends on the data is not DP for any ε, noise scaled by local sensitivity has "
        "diverging tails (ratio 36.8 at ε = 1). Kept for study; the model says that it promises nothing.",
        page=_PAGE,
        exact_tests=(_SPLITS,),
        instead="additive, or per-call-tree for answers at a price",
    )


@dataclass(frozen=True, kw_only=True)
class _Faithful(_Unprotected):
    """The chapter's output layer over trees of the chapter's structure."""

    body: ClassVar[str] = LocalNoiseForest.body
    call_epsilon: float = option(rule=EPSILON, help=_CALL_PRICE, panel=Panel.PRIVACY)

    @property
    def call(self) -> Guarantee:
        """Nothing, whatever the chapter says."""
        return NoFormal(why=self.why)

    @property
    def price_per_call(self) -> float:
        """The epsilon of an answer in name only."""
        return self.call_epsilon

    @property
    @abstractmethod
    def all_alphas(self) -> tuple[float, ...]:
        """The alpha of each tree."""

    def grow(self, cells: Secret[Cells], features: Sequence[Feature], stream: Stream) -> Grown:
        """One structure for each alpha; "values that give distinct structures" are kept."""
        held, entries = self._opened(cells)
        questions = questions_of(features)
        grown = [
            diff_structure(held, questions, alpha=alpha, max_depth=self.depth, min_records=self.min_records)
            for alpha in self.all_alphas
        ]
        trees = tuple(dict.fromkeys(grown))
        counts: Secret[Sequence[ClassCounts]] = Secret([leaf_totals(tree, held) for tree in trees])
        return Grown(scorer=LocalNoiseForest(trees=trees, counts=counts, epsilon=self.call_epsilon), entries=entries)


@dataclass(frozen=True, kw_only=True)
class FaithfulDPaT(_Faithful):
    """Differentially Private alpha-Tree as the dissertation writes it. Not differentially private: for study."""

    facts: ClassVar[MethodFacts] = _unsound_facts(
        "dpat", "0-DiffStructure is 0-DP; leaf noise scaled by local sensitivity is ε-DP per call."
    )
    alpha: float = option(1.0, rule=ALPHA, help="Alpha of the gain.")

    @property
    def all_alphas(self) -> tuple[float, ...]:
        """One tree."""
        return (self.alpha,)


@dataclass(frozen=True, kw_only=True)
class FaithfulEDPaT(_Faithful):
    """The ensemble of DPaTs over several alphas, as written. Not differentially private: for study."""

    facts: ClassVar[MethodFacts] = _unsound_facts(
        "edpat", "Structures of several α are 0-DP together; noise scaled by averaged local sensitivities is ε-DP."
    )
    alphas: tuple[float, ...] = option(
        ALPHAS,
        rule=Several(each=ALPHA, words="a list of finite numbers, at least one", example="0.5,1,2"),
        help="Alpha of each tree.",
    )

    @property
    def all_alphas(self) -> tuple[float, ...]:
        """Several trees."""
        return self.alphas


DEFAULT = Additive
"""Where no method is named."""
METHODS: dict[str, type[ScoreMethod]] = {
    cls.method: cls for cls in (Additive, Forest, OneTree, Bag, PerCallTree, FaithfulDPaT, FaithfulEDPaT, PlainTree)
}


def free_questions(levels: int = 1) -> Entry:
    """The line of a training that shows nothing of the data: it costs nothing, and the ledger says so."""
    reads = "questions that were drawn at random, without the data"
    event = TreeSplits(epsilon=Fraction(0), levels=max(levels, 1), neighbours=Neighbours.ADD_REMOVE)
    return Entry(stage="questions", reads=reads, event=event)


def find_training(method: str) -> type[ScoreMethod]:
    """The way to train of this name."""
    return METHODS[OneOf.of(METHODS).check("method", method)]


def make_training(method: str, **options: Any) -> ScoreMethod:
    """A way to train from loose options, each of which it must know."""
    return make_declared(find_training(method), method, options)


def training_from(method: str, parameters: dict[str, Any]) -> ScoreMethod:
    """Read back what :meth:`ScoreMethod.parameters` wrote; older files list the options of all methods."""
    every = {name for cls in METHODS.values() for name in options_of(cls)}
    if strange := sorted(set(parameters) - every):
        raise ValueError(f"there is no option {', '.join(strange)}")
    own = {name: parameters[name] for name in options_of(METHODS[method])}
    return from_words(METHODS[method], method, own)
