"""The tools: what each is called with, in words for an agent, what it sends back, and whether it costs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from understudy.agents.arguments import Amount, Choice, Count, Kind, Name, Settings, Several, Words, YesNo, schema_of
from understudy.agents.desk import Desk
from understudy.agents.phases import Told

MOST_ROWS = 1_000_000_000

_CODEBOOK = Name(help="Name of a codebook (see `offers`); may be left out where there is only one.")
_EPSILON = Amount(help="Privacy loss to pay, for example 0.1. There is no default.", required=True)
_DELTA = Amount(
    help="Delta to pay, for example 1e-6; Gaussian noise is then used where it is less. Without it the price is pure.",
    most=1.0,
    is_open_above=True,
)
_QUESTION = Words(
    help="One question, for example: count by sex; mean of age by sex; share of sex=F where age=40-49; quantile 0.5 of "
    "age; sum of charge; table of sex, age; difference of mean of age by sex; linear charge ~ age + sex; logistic "
    "died ~ age + sex. Columns and levels are those of the codebook (see `describe`).",
    required=True,
)
_LEVEL = Amount(help="Confidence of the intervals, 0.95 by default.", least=0.5, most=0.999, is_open=False)
_TARGET = Choice(
    help="population (default): intervals cover sampling and noise; table: noise only, for the confidential table.",
    choices=("population", "table"),
)
_DROP = Several(help="Names of columns to leave out.")
_LEVELS = Several(help="Names of columns whose numbers are names, not amounts.")
_BINS = Count(help="Bins of a number: 2, 4, 8 (default), 16 or 32.", least=2, most=32)
_NEW = Name(help="Name for the new codebook.", required=True)
_METHOD = Words(help="Method of synthesis, marginals by default; `pegs`, `sba`, `laplace` are others.", most=64)
_OPTIONS = Settings(help='Further options of the method by name, such as {"alpha": 50}; none of them names a file.')
_PRICE = {
    "epsilon": Amount(help="Epsilon of the method, where it takes one."),
    "delta": Amount(help="Delta of the method, where it takes one.", most=1.0, is_open_above=True),
}

_NUMBER: dict[str, Any] = {"type": "number"}
_TEXT: dict[str, Any] = {"type": "string"}
_TEXTS = {"type": "array", "items": _TEXT}
_YES = {"type": "boolean"}
_LIST = {"type": "array", "items": {"type": "object"}}
_BUDGET = {
    "type": "object",
    "description": "The cap that the holder set for agents, and what is left to spend.",
    "properties": dict.fromkeys(("cap_epsilon", "cap_delta", "epsilon", "delta"), _NUMBER),
    "required": ["cap_epsilon", "cap_delta", "epsilon", "delta"],
}
_COST = {"type": "object", "properties": {"epsilon": _NUMBER, "delta": _NUMBER}, "required": ["epsilon", "delta"]}


@dataclass(frozen=True, kw_only=True)
class Tool:
    """One tool as agents see it, and what of the desk it calls."""

    name: str
    title: str
    description: str
    arguments: Mapping[str, Kind]
    does: Callable[..., dict[str, Any]]
    """Called with the desk and the arguments."""
    sends: Mapping[str, Any]
    """Schemas of what it sends back; what must be there is in ``always``."""
    always: tuple[str, ...] = ()
    writes: bool = False
    """Whether it changes anything: charges, or leaves a file."""
    costs: bool = False
    """Whether it spends some of the budget, which never comes back."""

    @property
    def input_schema(self) -> dict[str, Any]:
        """Of its arguments."""
        return schema_of(self.arguments)

    @property
    def output_schema(self) -> dict[str, Any]:
        """Of what it sends back."""
        return {"type": "object", "properties": dict(self.sends), "required": list(self.always)}


def _quote(desk: Desk, **given: Any) -> dict[str, Any]:
    """Exactly what one of the three kinds of price needs."""
    of = given.pop("of", "answer")
    needed, known, function = _QUOTES[of]
    missing = [name for name in needed if name not in given]
    strange = [name for name in given if name not in (*needed, *known)]
    if missing:
        raise Told(f"`{missing[0]}` is missing: the price of {of!r} needs {', '.join(needed)}.")
    if strange:
        raise Told(f"`{strange[0]}` has no place in the price of {of!r}; it takes {', '.join((*needed, *known))}.")
    return function(desk, **given)


_QUOTES: Mapping[str, tuple[tuple[str, ...], tuple[str, ...], Callable[..., dict[str, Any]]]] = {
    "answer": (("question", "epsilon"), ("delta", "codebook", "level", "target"), Desk.quote_answer),
    "draft": (("epsilon", "delta"), ("bins", "drop", "levels"), Desk.quote_draft),
    "release": (("rows",), ("method", "codebook", "options", "epsilon", "delta"), Desk.quote_release),
}

TOOLS = (
    Tool(
        name="offers",
        title="What is here",
        description="List what the holder offers by name: the data set, codebooks, releases, documents, answers bought "
        "before, and what is left of the privacy budget. Free. Call it first.",
        arguments={},
        does=Desk.offered,
        sends={
            "data": {"type": ["object", "null"]},
            "codebooks": _LIST,
            "releases": _LIST,
            "documents": _TEXTS,
            "answers": _LIST,
            "budget": _BUDGET,
        },
        always=("data", "codebooks", "releases", "documents", "answers", "budget"),
    ),
    Tool(
        name="describe",
        title="Columns of a codebook",
        description="Columns of a public codebook with their levels or bounds, to ask questions about. Free; reads no "
        "row.",
        arguments={"codebook": _CODEBOOK},
        does=Desk.describe,
        sends={"codebook": _TEXT, "can_answer": _YES, "columns": _LIST},
        always=("codebook", "can_answer", "columns"),
    ),
    Tool(
        name="quote",
        title="Price",
        description="Say what an answer, a draft at a price or a synthetic release would cost, and whether the budget "
        "covers it. Free; charges nothing and reads no row. For an answer give `question` and `epsilon`; for a draft "
        "`epsilon` and `delta`; for a release, which only the holder can make, `rows` and the options of the method.",
        arguments={
            "of": Choice(help="answer (default), draft or release.", choices=tuple(_QUOTES)),
            "question": Words(help=_QUESTION.help),
            "epsilon": Amount(help=_EPSILON.help),
            "delta": _DELTA,
            "codebook": _CODEBOOK,
            "level": _LEVEL,
            "target": _TARGET,
            "bins": _BINS,
            "drop": _DROP,
            "levels": _LEVELS,
            "rows": Count(help="Synthetic rows; a public number.", most=MOST_ROWS),
            "method": _METHOD,
            "options": _OPTIONS,
        },
        does=_quote,
        sends={
            "price": _COST,
            "is_covered": _YES,
            "budget": _BUDGET,
            "statement": _TEXT,
            "notes": _TEXTS,
            "figures": {"type": "integer"},
            "can_answer": _YES,
            "outlook": _TEXTS,
        },
        always=("price", "is_covered", "budget", "statement", "notes"),
    ),
    Tool(
        name="forecast",
        title="Worth of a release before it is made",
        description="Say how far a synthetic release would be off, from the codebook and your public guess of the "
        "number of records alone. Free; reads no row. Give `epsilon` (and `delta`), or `error` to find the smallest "
        "epsilon.",
        arguments={
            "rows_about": Count(
                help="About how many records there are: a public guess.", required=True, most=MOST_ROWS
            ),
            "codebook": _CODEBOOK,
            "method": _METHOD,
            **_PRICE,
            "error": Amount(help="Wanted error, for example 0.02.", most=1.0, is_open_above=True),
            "wanted": Words(help="A table of interest, such as `diag by age`."),
            "options": _OPTIONS,
        },
        does=Desk.forecast,
        sends={"codebook": _TEXT, "words": _TEXTS, "forecast": {"type": "object"}},
        always=("codebook", "words", "forecast"),
    ),
    Tool(
        name="verify",
        title="Check a release",
        description="Recompute everything that a release, or an answer bought before, states about itself. Free. Of "
        "one that does not verify nothing else is told.",
        arguments={"release": Name(help="Name of a release or of an answer (see `offers`).", required=True)},
        does=Desk.verify,
        sends={
            "is_valid": _YES,
            "words": _TEXT,
            "what": _TEXT,
            "passed": _TEXTS,
            "notices": _TEXTS,
            "signed_by": _TEXT,
            "promise": {"type": "object"},
        },
        always=("is_valid",),
    ),
    Tool(
        name="infer",
        title="Figures of a release",
        description="Estimate figures from a release alone, with intervals that cover its noise. Free; reads no "
        "confidential row. Ask by `question`, in the words of `answer`; or by share, mean and so on. Try this before "
        "paying for an answer.",
        arguments={
            "release": Name(help="Name of a release (see `offers`).", required=True),
            "question": Words(help=_QUESTION.help),
            "share": Several(help="COLUMN=VALUE, or COLUMN for all its levels."),
            "mean": Several(help="Columns with an order."),
            "total": Several(help="COLUMN=VALUE: how many have it; COLUMN: the sum of its values."),
            "quantile": Several(help="COLUMN:SHARE, for example age:0.5."),
            "table": Several(help="COLUMN,COLUMN: the shares of all cells."),
            "correlation": Several(help="COLUMN,COLUMN."),
            "linear": Several(help="Formulas, as charge ~ age + sex."),
            "logistic": Several(help="Formulas, as charge > 25 ~ age + sex."),
            "poisson": Several(help="Formulas."),
            "where": Several(help="COLUMN=VALUE: only this sub-population."),
            "by": Words(help="Column: figures of each of its groups.", most=200),
            "difference": YesNo(help="Compare each group with the first."),
            "target": _TARGET,
            "level": _LEVEL,
            "population_size": Amount(help="People in the population, for totals of it.", most=1e12),
        },
        does=Desk.infer,
        sends={
            "release": _TEXT,
            "statement": _TEXT,
            "for": _TEXT,
            "level": _NUMBER,
            "notes": _TEXTS,
            "figures": _LIST,
        },
        always=("release", "statement", "figures"),
    ),
    Tool(
        name="answer",
        title="Answer on the real data (costs budget)",
        description="Answer one question on the real rows, with noise and intervals. COSTS privacy budget, which never "
        "comes back: call `quote` first. The very same question on the same terms is sent again for free.",
        arguments={
            "question": _QUESTION,
            "epsilon": _EPSILON,
            "delta": _DELTA,
            "codebook": _CODEBOOK,
            "level": _LEVEL,
            "target": _TARGET,
        },
        does=Desk.answer,
        sends={
            "name": _TEXT,
            "charged": _COST,
            "answer": _TEXT,
            "question": _TEXT,
            "level": _NUMBER,
            "target": _TEXT,
            "figures": _LIST,
            "statement": _TEXT,
            "notes": _TEXTS,
            "budget": _BUDGET,
        },
        always=("name", "charged", "question", "figures", "statement", "budget"),
        writes=True,
        costs=True,
    ),
    Tool(
        name="draft_from_document",
        title="Codebook from a document",
        description="Draft a codebook from a document that the holder offers (DDI, CSVW, Frictionless, NIST). Free; "
        "reads no row. It serves for quotes and forecasts; answers need a codebook that the holder offers, or a draft "
        "at a price.",
        arguments={
            "document": Name(help="Name of a document (see `offers`).", required=True),
            "name": _NEW,
            "keep": Several(help="Names of columns to draft; all others are left out."),
            "drop": _DROP,
        },
        does=Desk.draft_from_document,
        sends={"codebook": _TEXT, "can_answer": _YES, "columns": _LIST, "left_out": {"type": "object"}},
        always=("codebook", "can_answer", "columns", "left_out"),
        writes=True,
    ),
    Tool(
        name="draft_at_price",
        title="Codebook at a price (costs budget)",
        description="Draft a codebook from the rows at a price: frequent levels, bounds and edges, found with noise. "
        "COSTS privacy budget, which never comes back: call `quote` with of=draft first.",
        arguments={
            "name": _NEW,
            "epsilon": _EPSILON,
            "delta": Amount(help="Delta to pay, for example 1e-6.", most=1.0, is_open_above=True, required=True),
            "bins": _BINS,
            "drop": _DROP,
            "levels": _LEVELS,
        },
        does=Desk.draft_at_price,
        sends={"codebook": _TEXT, "can_answer": _YES, "columns": _LIST, "charged": _COST, "budget": _BUDGET},
        always=("codebook", "can_answer", "columns", "charged", "budget"),
        writes=True,
        costs=True,
    ),
    Tool(
        name="draft_for_holder",
        title="Draft for the holder's eyes",
        description="Ask for a free draft of a codebook from the rows. It quotes the data, so it goes to a file that "
        "only the holder reads; nothing of it is sent here. The holder may review it and offer it later.",
        arguments={"name": Name(help="Name of the file.", required=True), "drop": _DROP},
        does=Desk.draft_for_holder,
        sends={"file": _TEXT, "words": _TEXT},
        always=("file", "words"),
        writes=True,
    ),
)
