"""The description of answers on data sets, for the one description of the interface."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from understudy.service.describing import ADMISSION, BODY, WORD, name_parameter, object_of, operation, ref
from understudy.service.tables import Status

if TYPE_CHECKING:
    from understudy.service.data_sets import DataSet

_DATA = (*ADMISSION, "unknown-data")
_ASKING = (*_DATA, *BODY, "bad-question", "busy", "data-away")
_MAYBE_NUMBER: dict[str, Any] = {"type": ["number", "null"]}
_EPSILON: dict[str, Any] = {"type": "number", "exclusiveMinimum": 0, "maximum": 1000, "description": "Price"}
_TERMS: dict[str, Any] = {
    "level": {"type": "number", "minimum": 0.5, "maximum": 0.999, "description": "Of the intervals"},
    "target": {"enum": ["population", "table"], "description": "What the intervals hold for"},
}


def answer_paths(data: Mapping[str, "DataSet"]) -> dict[str, Any]:
    """Every address of answers."""
    name = [name_parameter("name", "Name of a data set", list(data))]
    question = next(iter(data.values()))
    text = f"count by {question.book.names[0]}"
    tried = {"count": {"summary": "how many of each level", "value": {"question": text}}}
    priced = {"count": {"summary": "how many of each level", "value": {"question": text, "epsilon": 0.1}}}
    asked = {"question": {"anyOf": [{"enum": ["count", text]}, WORD], "description": "See the guide for the grammar"}}
    price = {"epsilon": _EPSILON, "delta": {"type": ["number", "null"], "exclusiveMinimum": 0, "exclusiveMaximum": 1}}
    on_release = object_of({**asked, **_TERMS}, required=["question"], additionalProperties=False)
    on_data = object_of({**asked, **price, **_TERMS}, required=["question", "epsilon"], additionalProperties=False)
    return {
        "/v1/data": {"get": operation("data", "The data sets", "Needs no key.", answer=ref("DataSets"), key=False)},
        "/v1/data/{name}": {
            "get": operation(
                "data_set",
                "What may be asked of a data set",
                "Columns, rules and budgets. Needs the scope answer.",
                parameters=name,
                answer=ref("DataSet"),
                problems=_DATA,
            )
        },
        "/v1/data/{name}/try": {
            "post": operation(
                "try",
                "A question on the release",
                "Free: figures of the published release, with intervals.",
                parameters=name,
                body=(on_release, tried),
                answer=ref("Tried"),
                problems=(*_ASKING, "no-release"),
            )
        },
        "/v1/data/{name}/quote": {
            "post": operation(
                "quote",
                "What an answer would cost",
                "Reads no data. Says too whether the rules would let it through.",
                parameters=name,
                body=(on_data, priced),
                answer=ref("AnswerQuote"),
                problems=_ASKING,
            )
        },
        "/v1/data/{name}/answer": {
            "post": operation(
                "answer",
                "A question on the real data",
                "Puts the question on record. Where the rules or a steward approve it, its price is taken from the "
                "key, the project and the data set before anything is drawn, and the answer is stored. Asking the "
                "same again is free, and tells what became of it.",
                parameters=name,
                body=(on_data, priced),
                answer=ref("AnswerRecord"),
                problems=(*_ASKING, "no-budget", "budget-exhausted"),
            )
        },
        "/v1/answers/{answer}": {
            "get": operation(
                "answer_record",
                "What became of a question",
                "Of the key's own project. The public page is /answers/{answer}.",
                parameters=[_answer_parameter()],
                answer=ref("AnswerRecord"),
                problems=(*ADMISSION, "unknown-answer"),
            )
        },
        "/v1/data/{name}/ledger": {
            "get": operation(
                "ledger",
                "Everything that was paid",
                "Caps, projects and every paid attempt. Needs the scope ledger.",
                parameters=name,
                answer=ref("DataLedger"),
                problems=_DATA,
            )
        },
        **_review_paths(),
    }


def _review_paths() -> dict[str, Any]:
    words = object_of({"words": {**WORD, "maxLength": 2000}}, required=[], additionalProperties=False)
    why = object_of({"words": {**WORD, "minLength": 1, "maxLength": 2000}}, additionalProperties=False)
    problems = (*ADMISSION, *BODY, "unknown-answer", "not-waiting")
    return {
        "/v1/review": {
            "get": operation(
                "review",
                "Questions that wait",
                "Question, price and synthetic answer, never anything of the data. Needs the scope review.",
                answer=ref("Queue"),
                problems=ADMISSION,
            )
        },
        "/v1/review/{answer}/approve": {
            "post": operation(
                "approve",
                "Let a question be answered",
                "The asker's next request pays for it and draws it.",
                parameters=[_answer_parameter()],
                body=(words, {"approve": {"summary": "approve", "value": {}}}),
                answer=ref("Waiting"),
                problems=problems,
            )
        },
        "/v1/review/{answer}/decline": {
            "post": operation(
                "decline",
                "Decline a question with words",
                "Nothing is charged.",
                parameters=[_answer_parameter()],
                body=(why, {"decline": {"summary": "decline", "value": {"words": "Ask for larger groups."}}}),
                answer=ref("Waiting"),
                problems=problems,
            )
        },
    }


def _answer_parameter() -> dict[str, Any]:
    return {
        "name": "answer",
        "in": "path",
        "required": True,
        "description": "Id of an answer",
        "schema": {"type": "string", "pattern": "^[0-9a-f]{20}$"},
    }


def answer_schemas() -> dict[str, Any]:
    """Shapes of what comes back."""
    amount = object_of({"epsilon": {"type": "number"}, "delta": {"type": "number"}})
    budget = object_of({"cap": amount, "spent": amount, "remaining": amount})
    left = object_of({"key": amount, "project": amount, "data": amount}, type=["object", "null"])
    figure = object_of(
        {"name": WORD, **dict.fromkeys(("estimate", "error", "low", "high"), _MAYBE_NUMBER)},
        description="One figure with its interval; without numbers where it could not be told, and why",
    )
    figures = {"type": "array", "items": figure}
    summary = {"name": WORD, "title": WORD, "release": {"type": "boolean"}, "review": WORD, "ask": WORD}
    heading = {
        **dict.fromkeys(("id", "data", "project", "question", "words", "asked"), WORD),
        "terms": {"type": "object"},
        "price": amount,
        "status": {"enum": [status.value for status in Status]},
        "synthetic": figures,
    }
    answer = object_of(
        {"figures": figures, "statement": WORD, "guarantee": {"type": "object"}},
        type=["object", "null"],
        description="Null until it is answered",
    )
    paid = {"type": "integer", "minimum": 0, "description": "How often it was paid for: again where an answer was lost"}
    record = {**heading, "answer": answer, "page": {"type": ["string", "null"]}}
    record |= {"charged": {"type": "boolean", "description": "Whether this request paid"}, "paid": paid}
    waiting = object_of({**heading, "decided": {"type": ["string", "null"]}})
    return {
        "DataSets": object_of({"data": {"type": "array", "items": object_of(summary)}}),
        "DataSet": object_of({**summary, "columns": {"type": "array"}, "rules": {"type": "object"}, "hint": WORD}),
        "Tried": object_of({"data": WORD, "question": WORD, "figures": figures}),
        "AnswerQuote": object_of({"data": WORD, "question": WORD, "price": amount, "statement": WORD, "review": WORD}),
        "AnswerRecord": object_of({**record, "remaining": left}),
        "Waiting": waiting,
        "Queue": object_of({"questions": {"type": "array", "items": ref("Waiting")}}),
        "DataLedger": object_of(
            {"data": WORD, "budget": budget, "lines": {"type": "array"}, "faults": {"type": "array"}}
        ),
    }
