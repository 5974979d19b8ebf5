"""A data set as the service sees it: where the rows lie, the codebook, the account, the release to try on, the rules.

Which of these a refusal may depend on is the point of this file. Questions are parsed against the codebook, tried on
the release and judged by rules on both; the rows are read by :meth:`DataSet.draw` alone, after the price was paid.
"""

import os
import threading
import tomllib
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from understudy.answers import Question, on_release, parse_question, plan_answer
from understudy.codebook import Codebook
from understudy.errors import DataError, ParameterError, RefusalError, UnderstudyError
from understudy.infer.inference import Figure
from understudy.infer.opened import open_release
from understudy.loading import loader
from understudy.parameters import Number, OneOf, Whole
from understudy.privacy.account import Account
from understudy.privacy.guarantees import ApproxDP, Neighbours, PureDP
from understudy.privacy.provenance import InputRole, Provenance
from understudy.privacy.quote import Quote
from understudy.privacy.transaction import still_owed
from understudy.release.reading import first_table
from understudy.service.amounts import Amount
from understudy.service.projects import NAME
from understudy.sources import open_source
from understudy.sources.files import database_of, is_database
from understudy.sources.inputs import public_provenance
from understudy.sources.same import files_of

if TYPE_CHECKING:
    from understudy.answers import Plan
    from understudy.mechanisms.stream import Stream

Value = TypeVar("Value")
FORMAT = 1
ALWAYS, RULES, EXCEPTIONS = REVIEWS = ("always", "rules", "exceptions")
"""Who decides: a steward always; the rules, both ways; or the rules, and a steward where one is broken."""
_REMEMBERED = 256
_LEVEL = Number(least=0.5, most=0.999, tried=0.95)
_ADDING = (Neighbours.ADD_REMOVE, Neighbours.ADD_REMOVE_PERSON)
_UNKNOWN = ("error", "missing", "other", "other-or-missing", "clamp")


@dataclass(frozen=True, kw_only=True)
class Terms:
    """On which terms a question is asked; each of them makes it another question."""

    epsilon: float
    delta: float | None = None
    level: float = 0.95
    target: str = "population"

    def __post_init__(self) -> None:
        _LEVEL.check("level", self.level)


@dataclass(frozen=True, kw_only=True)
class Rules:
    """What may be answered without a steward; judged on the codebook, the price and the release, never on the rows."""

    columns: tuple[str, ...] | None = None
    epsilon: float | None = None
    smallest: int | None = None
    """Least records of each group, as the release estimates them."""

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {**vars(self), "columns": None if self.columns is None else list(self.columns)}


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """A question with its price; nothing of the data is in it."""

    question: Question
    plan: "Plan"
    price: Amount
    """What the answer itself costs."""
    stated: Quote
    """What its reader sees paid for: the answer, and the release and codebook that it rests on."""


@dataclass(frozen=True, kw_only=True, eq=False)
class DataSet:
    """One data set behind the desk."""

    name: str
    address: str
    book: Codebook
    account: Account
    release: Path | None = None
    review: str = ALWAYS
    rules: Rules = Rules()
    unknown: str = "error"
    _known: "OrderedDict[tuple[Any, ...], Prepared]" = field(default_factory=OrderedDict)
    _tried: "OrderedDict[tuple[Any, ...], tuple[Figure, ...]]" = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    """Of what is remembered; nothing is worked out under it, so that a hard question holds up no other."""

    def __post_init__(self) -> None:
        """Refuse what could never be answered, before anybody asks; no row is read."""
        NAME.check("data", self.name)
        OneOf(REVIEWS).check("review", self.review)
        strangers = [name for name in self.rules.columns or () if name not in self.book.names]
        if strangers:
            raise ParameterError(
                f"the rules of {self.name!r} allow the columns {', '.join(strangers)[:80]!r}, which the codebook does "
                f"not describe; it has {', '.join(self.book.names)}."
            )
        if self.rules.smallest is not None and self.release is None:
            raise ParameterError(
                f"the rules of {self.name!r} name a smallest group and no release to judge it on; the rows may not be "
                "looked at for that. Name `release`."
            )
        self._provenance.refuse_as_data("an answer")
        probe = self.prepare("count", Terms(epsilon=1.0))  # refuses a codebook that carries no promise
        if self.release is not None:
            open_release(self.release)  # refuses one that cannot be read, or carries no measurements
        unpaid = still_owed(self.account, probe.stated).bought
        if unpaid:
            raise RefusalError(
                f"the account of {self.name!r} has not paid for {unpaid[0].name!r}, on which every answer would rest; "
                "name a release and a codebook that were charged to it."
            )

    @property
    def is_there(self) -> bool:
        """Whether the files of the rows can be read now; a server is asked only once the price is paid."""
        try:
            database = database_of(self.address)
            if database is None and "://" in self.address:
                return True
            files = files_of(self.address) if database is None else [database[0]]
            return bool(files) and all(os.access(each, os.R_OK) for each in files)
        except (OSError, ValueError, DataError):  # as a mount that has gone says
            return False

    @cached_property
    def _provenance(self) -> Provenance:
        """What the table is; opening it also tells whether it has the columns of the codebook."""
        return open_source(self.address, self.book, unknown=self.unknown).provenance

    @cached_property
    def _compared(self) -> dict[InputRole, Provenance]:
        if self.release is None:
            return {}
        table = first_table(self.release)
        return {InputRole.COMPARED: public_provenance(table, InputRole.COMPARED, confidential=self.address)}

    def check_rows(self) -> None:
        """Refuse, before anybody asks, a table with values outside the codebook; told to whoever starts the service.

        An answer that failed on such a value would tell every analyst that it is there. Nothing that was counted here
        is opened.
        """
        open_source(self.address, self.book, unknown=self.unknown).count([self.book.names[:1]])

    def prepare(self, text: str, terms: Terms) -> Prepared:
        """Parse and price; reads the codebook, and for the start of a model the release. Remembered."""
        asked = (text, *vars(terms).values())
        return self._recalled(self._known, asked, lambda: self._prepare(text, terms))

    def _prepare(self, text: str, terms: Terms) -> Prepared:
        question = parse_question(text, self.book)
        relation = Neighbours.ADD_REMOVE if self.account.neighbours in _ADDING else Neighbours.REPLACE
        plan = plan_answer(question, self.book, **vars(terms), neighbours=relation, release=self.release)
        stated = plan.quote.with_data(self._provenance).with_public(self._compared)
        total = replace(stated, bought=()).total  # what it rests on was paid for once, by the account
        if not isinstance(total, PureDP | ApproxDP):
            raise RefusalError(
                f"answers on {self.name!r} would carry no promise ({getattr(total, 'why', total.kind)}); attest the "
                "codebook's bounds and levels."
            )
        if total.neighbours is not self.account.neighbours:
            raise RefusalError(
                f"answers on {self.name!r} are priced for {total.neighbours.value} and its account is kept for "
                f"{self.account.neighbours.value}; open an account for the former."
            )
        price = Amount.price(total.epsilon, total.delta)
        return Prepared(question=question, plan=plan, price=price, stated=stated)

    def tried(self, question: Question, plan: "Plan | Terms") -> tuple[Figure, ...]:
        """What the release says; remembered, since the same is asked by trying, quoting and sending."""
        if self.release is None:
            return ()
        asked = (question.text, plan.level, plan.target)
        release = self.release

        def told() -> tuple[Figure, ...]:
            try:
                return on_release(question, release, target=plan.target, level=plan.level)
            except UnderstudyError as reason:  # what the release cannot tell may still be asked of the rows
                return (Figure(name=question.text, group=question.kind, refused=str(reason)),)

        return self._recalled(self._tried, asked, told)

    def _recalled(self, known: "OrderedDict[tuple[Any, ...], Value]", asked: Any, work: Callable[[], Value]) -> Value:
        """What was worked out before, or is worked out now; the latest few are remembered."""
        with self._lock:
            if asked in known:
                return known[asked]
        value = work()
        with self._lock:
            known[asked] = value
            while len(known) > _REMEMBERED:
                known.popitem(last=False)
        return value

    def broken_rules(self, prepared: Prepared) -> list[str]:
        """The rules that a question breaks, in words; a function of public values alone."""
        broken, rules, question = [], self.rules, prepared.question
        if rules.columns is not None:
            others = [name for name in question.columns if name not in rules.columns]
            if others:
                broken.append(f"questions about {', '.join(others)} need a steward's approval")
        if rules.epsilon is not None and prepared.price.epsilon > Amount.cap(rules.epsilon).epsilon:
            broken.append(f"an answer may cost epsilon {rules.epsilon:g} without a steward's approval")
        if rules.smallest is not None and (question.by or question.where):
            groups = parse_question(_groups_of(question, self.book), self.book)
            sizes = [figure.estimate for figure in self.tried(groups, prepared.plan)]
            if any(size is None or size < rules.smallest for size in sizes):
                broken.append(
                    f"every group must hold about {rules.smallest:,} records by the release, or a steward approves it"
                )
        return broken

    def draw(self, plan: "Plan", stream: "Stream") -> tuple[Figure, ...]:
        """The figures from the rows. Whoever calls this has paid."""
        return plan.draw(plan.open(self.address, unknown=self.unknown), stream)


def _groups_of(question: Question, book: Codebook) -> str:
    """The question that counts the groups of another."""
    chosen = [f"{name}={book.column(name).labels[code]}" for name, codes in question.where for code in codes]
    by = f" by {', '.join(question.by)}" if question.by else ""
    return f"count{by}" + (f" where {', '.join(chosen)}" if chosen else "")


@loader(
    "the file of data sets",
    remedy='write a table [NAME] for each, with source = "...", codebook = "..." and account = "...".',
    error=ParameterError,
)
def read_data_sets(path: str | Path) -> dict[str, dict[str, Any]]:
    """The data sets that a file names, as it names them; files are looked for beside it."""
    content = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    version = content.pop("format", FORMAT)
    if version != FORMAT:
        raise ParameterError(f"{str(path)!r} is of format {version!r}; this version of understudy reads {FORMAT}.")
    if not content:
        raise ParameterError(f"{str(path)!r} names no data set; write a table [NAME] for each.")
    for name, table in content.items():
        NAME.check("data", name)
        _check_table(name, table, path)
    return content


_FIELDS: Mapping[str, type] = {
    "source": str, "codebook": str, "account": str, "release": str, "review": str, "unknown": str, "rules": dict,
}  # fmt: skip
_NEEDED = ("source", "codebook", "account")


def _check_table(name: str, table: Any, path: str | Path) -> None:
    if not isinstance(table, dict):
        raise ParameterError(f"{name!r} in {str(path)!r} is no table; write [{name}] with one option per line.")
    wrong = [key for key, value in table.items() if not isinstance(value, _FIELDS.get(key, ()))]
    missing = [key for key in _NEEDED if key not in table]
    if wrong or missing:
        raise ParameterError(
            f"[{name}] in {str(path)!r} "
            + " and ".join(
                [
                    *([f"cannot have {', '.join(wrong)[:80]!r} so"] if wrong else []),
                    *([f"lacks {', '.join(missing)}"] if missing else []),
                ]
            )
            + f"; it has texts for {', '.join(key for key in _FIELDS if key != 'rules')} and a table [{name}.rules]."
        )
    OneOf(REVIEWS).check("review", table.get("review", ALWAYS))
    OneOf(_UNKNOWN).check("unknown", table.get("unknown", "error"))
    _rules(name, table.get("rules", {}))


def _rules(name: str, table: Mapping[str, Any]) -> Rules:
    strangers = sorted(set(table) - set(vars(Rules())))
    if strangers:
        raise ParameterError(
            f"[{name}.rules] has {', '.join(strangers)[:80]!r}; the rules are columns (a list), epsilon (most of an "
            "answer) and smallest (records of a group)."
        )
    columns = table.get("columns")
    if columns is not None and not (isinstance(columns, list) and all(isinstance(each, str) for each in columns)):
        raise ParameterError(f'[{name}.rules] columns is {columns!r}; write a list of names, as ["sex", "age"].'[:300])
    if "epsilon" in table:
        Number(above=0, tried=0.5).check("epsilon", table["epsilon"])
    if "smallest" in table:
        Whole(tried=30).check("smallest", table["smallest"])
    return Rules(
        columns=None if columns is None else tuple(columns),
        epsilon=table.get("epsilon"),
        smallest=table.get("smallest"),
    )


def open_data_sets(path: str | Path) -> dict[str, DataSet]:
    """Every data set of a file, checked with its rows; files are looked for beside it."""
    beside = Path(path).parent
    opened = {}
    for name, table in read_data_sets(path).items():
        source = table["source"]
        release = table.get("release")
        opened[name] = DataSet(
            name=name,
            address=source if is_database(source) or "://" in source else str(beside / source),
            book=Codebook.load(beside / table["codebook"]),
            account=Account.open(beside / table["account"]),
            release=None if release is None else beside / release,
            review=table.get("review", ALWAYS),
            rules=_rules(name, table.get("rules", {})),
            unknown=table.get("unknown", "error"),
        )
        opened[name].check_rows()
    return opened
