"""Columns drawn one after the other from models: once in a declared order, or in Gibbs sweeps."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from understudy.blocks.engines import EngineChoice, make_learner
from understudy.blocks.learning import Floats, Learner
from understudy.codebook import Codebook
from understudy.errors import ParameterError
from understudy.mechanisms.prediction import draw_predicted
from understudy.mechanisms.stream import Stream
from understudy.parameters import Declared, Names, option
from understudy.sources.tables import code_type
from understudy.synth.options import EnginesRule, ParentsRule, key_option, key_space_option

Codes = npt.NDArray[np.unsignedinteger]
Predict = Callable[[str, Sequence[Codes]], Floats]
_BATCH = 1 << 14


def full_order(book: Codebook, order: Sequence[str] | None) -> tuple[str, ...]:
    """The declared order, followed by the columns that it leaves out as the codebook has them."""
    given = tuple(order or ())
    for name in given:
        if name not in book.names:
            raise ParameterError(f"`order` names {name!r}; the columns to be drawn are {', '.join(book.names)}.")
    if len(set(given)) != len(given):
        raise ParameterError(f"`order` is {', '.join(given)}; name each column once.")
    return (*given, *(name for name in book.names if name not in given))


@dataclass(frozen=True, kw_only=True)
class Modelled(Declared):
    """Options shared by methods that model one column after the other."""

    engines: str | Mapping[str, str] = option(
        "auto", rule=EnginesRule(), help="auto, logistic, linear, cart or blocks; COLUMN=ENGINE, repeated, for some."
    )
    order: tuple[str, ...] | None = option(
        None, rule=Names(), help="COLUMN,COLUMN: the order in which columns are drawn; the others follow as declared."
    )
    parents: Mapping[str, tuple[str, ...]] | None = option(
        None, rule=ParentsRule(), help="COLUMN=PARENT,PARENT, repeated: keys of the engine blocks."
    )
    key: str = key_option()
    key_space: int | None = key_space_option()

    def __post_init__(self) -> None:
        super().__post_init__()
        self.choice.check_words()

    @property
    def choice(self) -> EngineChoice:
        """Which engine models which column."""
        return EngineChoice(engines=self.engines, key=self.key, key_space=self.key_space, parents=self.parents)


@dataclass(frozen=True, kw_only=True)
class Chain:
    """Which columns are drawn, in which order, given which others."""

    book: Codebook
    choice: EngineChoice
    drawn: tuple[str, ...]
    """Columns that are drawn, in order; the others are given."""
    sweeps: int
    """0: once, each column given those before it. Otherwise: so many sweeps, each column given all others."""

    def reads(self, name: str) -> tuple[str, ...]:
        """What the model of a column may look at."""
        if self.sweeps:
            return tuple(other for other in self.book.names if other != name)
        later = self.drawn[self.drawn.index(name) :]
        return tuple(other for other in self.book.names if other not in later)

    @property
    def given(self) -> tuple[int, ...]:
        """Positions of the columns that are not drawn."""
        return tuple(place for place, name in enumerate(self.book.names) if name not in self.drawn)

    @property
    def order(self) -> tuple[int, ...]:
        """What is given, then what is drawn: each column is held to the rules after those before it."""
        return (*self.given, *(self.book.position(name) for name in self.drawn))

    def learners(self) -> dict[str, Learner]:
        """One learner per drawn column."""
        return {name: make_learner(self.book, name, self.reads(name), self.choice) for name in self.drawn}

    def run(
        self,
        rows: Sequence[Codes],
        predict: Predict,
        *,
        alpha: Fraction,
        stream: Stream,
        report: Callable[[int, int], None] | None = None,
    ) -> list[Codes]:
        """Draw the columns again, each value from its perturbed prediction; alpha = 0 perturbs nothing."""
        kind = code_type(max(self.book.sizes))
        steps = self.book.allowed.plan(self.order)
        done = [np.array(column, dtype=kind) for column in rows]
        total = len(done[0])
        for start in range(0, total, _BATCH):
            batch = [column[start : start + _BATCH] for column in done]
            for _ in range(max(self.sweeps, 1)):
                for name in self.drawn:
                    place = self.book.position(name)
                    step = steps[place]
                    inside = None if step is None else step.choices.levels[step.sets(batch)]
                    batch[place][:] = draw_predicted(predict(name, batch), alpha=alpha, stream=stream, inside=inside)
            if report:
                report(min(start + _BATCH, total), total)
        return done
