"""Which engine models which column.

``logistic`` is a multinomial logistic regression with an elastic net, ``linear`` a linear regression with normal
residuals for numbers, ``cart`` a classification tree, ``blocks`` a conditional table by key.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from understudy.blocks.conditional import KEY_FUNCTIONS
from understudy.blocks.donors import BlockLearner, TreeLearner
from understudy.blocks.learning import Learner
from understudy.blocks.parents import declared_parents
from understudy.blocks.regressions import LinearLearner, LogisticLearner
from understudy.codebook import Codebook, Column, Number
from understudy.errors import ParameterError
from understudy.parameters import OneOf

ENGINES = ("auto", "logistic", "linear", "cart", "blocks")


@dataclass(frozen=True, kw_only=True)
class EngineChoice:
    """Which engine models which column: a word for all, or a mapping (``*`` stands for the rest)."""

    engines: str | Mapping[str, str] = "auto"
    key: str = "columns"
    key_space: int | None = None
    parents: Mapping[str, tuple[str, ...]] | None = None

    def check(self, book: Codebook) -> None:
        """Refuse unknown words and columns before any data is read."""
        for name in self._mapping():
            if name != "*" and name not in book.names:
                raise ParameterError(
                    f"an engine is given for {name!r}, which is not a column to be modelled; columns are "
                    f"{', '.join(book.names)}."
                )
        for name in book.names:
            make_learner(book, name, (), self)  # linear regression of levels is refused here
        declared_parents(book, self.parents)

    def check_words(self) -> None:
        """Refuse words that name no engine or key."""
        if self.parents is not None and not isinstance(self.parents, Mapping):
            raise ParameterError(
                f"`parents` is {self.parents!r}; only the engine blocks has any, given one by one, as COLUMN=PARENT."
            )
        OneOf(KEY_FUNCTIONS).check("key", self.key)
        for word in self._mapping().values():
            OneOf(ENGINES).check("engines", word)

    def _mapping(self) -> Mapping[str, str]:
        return {"*": self.engines} if isinstance(self.engines, str) else self.engines

    def engine_of(self, column: Column) -> str:
        """The engine's name; ``auto`` is linear for numbers without special codes, else logistic."""
        chosen = self._mapping()
        word = chosen.get(column.name, chosen.get("*", "auto"))
        if word != "auto":
            return word
        return "linear" if isinstance(column, Number) and not column.special else "logistic"


def engine_words(words: str | Sequence[str]) -> str | dict[str, str]:
    """``cart``, or ``COLUMN=ENGINE`` for some columns and a bare word for the rest.

    >>> engine_words(["blocks", "charge=logistic"])
    {'*': 'blocks', 'charge': 'logistic'}
    """
    listed = [words] if isinstance(words, str) else list(words)
    split = [word.rpartition("=") for word in listed]
    names = [name if equals else "*" for name, equals, _ in split]
    if len(set(names)) < len(names) or "" in names:
        raise ParameterError(
            f"`engines` is {' '.join(listed)!r}; write one engine for all columns, COLUMN=ENGINE for some, each once."
        )
    return split[0][2] if names == ["*"] else dict(zip(names, (word for _, _, word in split), strict=True))


def make_learner(book: Codebook, target: str, reads: Sequence[str], choice: EngineChoice) -> Learner:
    """The learner of one column."""
    word = choice.engine_of(book.column(target))
    if word == "blocks":
        return BlockLearner(book, target, reads, key=choice.key, key_space=choice.key_space, parents=choice.parents)
    simple: dict[str, type[Learner]] = {cls.word: cls for cls in (LogisticLearner, LinearLearner, TreeLearner)}
    return simple[word](book, target, reads)
