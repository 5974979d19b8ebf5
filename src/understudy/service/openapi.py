"""The description of the interface (OpenAPI 3.1), written from the models' cards; its examples can be sent."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from understudy.service.answer_openapi import answer_paths, answer_schemas
from understudy.service.describing import ADMISSION, BODY, WORD, name_parameter, object_of, operation, ref
from understudy.service.desk import MOST_ROWS
from understudy.service.served import Served
from understudy.trees.features import Feature
from understudy.version import __version__

if TYPE_CHECKING:
    from understudy.service.data_sets import DataSet

_NUMBER_TEXT = r"^ *[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)? *$"
_ON_DATA = (
    "Questions on data sets: tried on a release for free, quoted, reviewed where the data set asks for it, then "
    "answered once on the real rows with noise that is paid for first. The same question of the same project gets the "
    "same stored answer and costs nothing."
)
_INTRODUCTION = (
    "Risk scores learnt under a privacy promise. Answers of one-shot models are free: their noise was drawn once, in "
    "training. Every new question to a per-call model costs epsilon, paid before its noise is drawn; the same question "
    "from the same key gets the same stored answer and costs nothing."
)


def describe(
    models: Mapping[str, Served], aliases: Mapping[str, str], data: "Mapping[str, DataSet] | None" = None
) -> dict[str, Any]:
    """The whole document."""
    title = "Understudy risk scores" if models else "Understudy answers"
    words = [_INTRODUCTION] * bool(models) + [_ON_DATA] * bool(data)
    return {
        "openapi": "3.1.0",
        "info": {"title": title, "version": __version__, "description": " ".join(words)},
        "paths": {
            **(_score_paths(models) if models else {}),
            **{path: {"post": _alias(path, models[name])} for path, name in aliases.items()},
            **_knowledge_paths(models),
            **(answer_paths(data) if data else {}),
            **_operation_paths(),
        },
        "components": {
            "schemas": {**_schemas(models), **(answer_schemas() if data else {})},
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer", "description": "us_KEYID_SECRET"}},
        },
    }


_SCORING = (
    *ADMISSION, *BODY, "no-budget", "unknown-model", "unknown-feature", "missing-feature", "bad-value",
    "budget-exhausted", "being-answered",
)  # fmt: skip


def _score_paths(models: Mapping[str, Served]) -> dict[str, Any]:
    named = {name: {"summary": f"a question to {name}", "value": served.example} for name, served in models.items()}
    batches = {
        name: {"summary": f"two questions to {name}", "value": {"rows": [served.example, served.example]}}
        for name, served in models.items()
    }
    any_question = {"anyOf": [ref(f"Features-{name}") for name in models]}
    rows = {"type": "array", "minItems": 1, "maxItems": MOST_ROWS, "items": any_question}
    any_batch = object_of({"rows": rows}, additionalProperties=False)
    return {
        "/v1/models/{model}/score": {
            "post": operation(
                "score",
                "One score",
                "Features by name in; the score, the noise band and the cost out. A feature that the card calls "
                "optional may be left out.",
                parameters=[name_parameter("model", "Name of a served model", list(models))],
                body=(any_question, named),
                answer=ref("Score"),
                problems=_SCORING,
            )
        },
        "/v1/models/{model}/batch": {
            "post": operation(
                "batch",
                "Many scores",
                f"Up to {MOST_ROWS:,} questions; all of them are answered and charged, or none.",
                parameters=[name_parameter("model", "Name of a served model", list(models))],
                body=(any_batch, batches),
                answer=ref("Batch"),
                problems=_SCORING,
            )
        },
    }


def _alias(path: str, served: Served) -> dict[str, Any]:
    question: dict[str, Any] = {
        name: value if isinstance(value, str) else f"{value:g}" for name, value in served.example.items()
    }
    return operation(
        f"alias_{path.strip('/')}",
        f"{served.name} in the shape of the dissertation",
        f"Another address of the model {served.name}: the same question, price and rules, a percentage for an answer.",
        body=(ref(f"Features-{served.name}"), {"question": {"summary": "features as text", "value": question}}),
        answer=ref("RiskScore"),
        problems=_SCORING,
    )


def _card_path(models: Mapping[str, Served]) -> dict[str, Any]:
    return {
        "/v1/models/{model}/card": {
            "get": operation(
                "card",
                "A model's card",
                "Features with their allowed values, how missing ones are treated, the privacy statement, prices and "
                "measured quality. Needs no key: all of it is public or was paid for.",
                parameters=[name_parameter("model", "Name of a served model", list(models))],
                answer=ref("Card"),
                problems=("unknown-model",),
                key=False,
            )
        },
    }


def _knowledge_paths(models: Mapping[str, Served]) -> dict[str, Any]:
    return {
        **(_card_path(models) if models else {}),
        "/v1/models": {"get": operation("models", "The models", "Needs no key.", answer=ref("Models"), key=False)},
        "/v1/budget": {
            "get": operation(
                "budget",
                "What is left",
                "The caps of this key and of the models, and what is spent of them. Needs the scope budget.",
                answer=ref("Budget"),
                problems=ADMISSION,
            )
        },
    }


def _operation_paths() -> dict[str, Any]:
    state = object_of({"status": WORD})
    return {
        "/healthz": {"get": operation("healthz", "Is the process alive", "Touches nothing.", answer=state, key=False)},
        "/readyz": {
            "get": operation(
                "readyz", "Can it answer", "Asks the database.", answer=state, problems=("not-ready",), key=False
            )
        },
        "/metrics": {
            "get": operation(
                "metrics",
                "Figures for Prometheus",
                "Needs the scope metrics.",
                answer={"type": "string"},
                answer_type="text/plain",
                problems=ADMISSION,
            )
        },
    }


def _schemas(models: Mapping[str, Served]) -> dict[str, Any]:
    share = {"type": "number", "minimum": 0, "maximum": 1}
    amount = {"type": "number", "minimum": 0}
    whole, words = {"type": "integer"}, {"type": "array", "items": WORD}
    both = object_of(
        {"key": amount, "model": amount},
        type=["object", "null"],
        description="Epsilon left for this key, and for the model over all keys; null where answers are free",
    )
    cost = object_of(
        {
            "epsilon": {**amount, "description": "Charged for this request"},
            "stored": {**whole, "minimum": 0, "description": "Answers that came from the store, free"},
            "remaining": both,
        }
    )
    score = {"score": share, "low": share, "high": share}
    heading: dict[str, Any] = {"model": WORD, "version": whole}
    kind = {"enum": ["one-shot", "per-call"]}
    summary = object_of({**heading, "kind": kind, "target": WORD, "price": amount, "card": WORD, "score": WORD})
    balance = object_of({"cap": amount, "spent": amount, "remaining": amount})
    line = object_of({"model": WORD, "price": amount, "key": balance, "all_keys": balance})
    problem = object_of({"type": WORD, "title": WORD, "status": whole, "detail": WORD, "request_id": WORD})
    problem["properties"] |= {
        "feature": WORD,
        "row": whole,
        "price": {"anyOf": [amount, {"type": "object"}]},
        "remaining": {"type": ["object", "null"]},
    }
    return {
        **{f"Features-{name}": _question(served) for name, served in models.items()},
        "Score": object_of({**heading, **score, "cost": cost}),
        "Batch": object_of({**heading, "answers": {"type": "array", "items": object_of(score)}, "cost": cost}),
        "RiskScore": object_of({"riskScore": {**WORD, "pattern": "^[0-9]{1,3}%$", "examples": ["80%"]}}),
        "Models": object_of({"models": {"type": "array", "items": summary}}),
        "Card": {
            "type": "object",
            "required": ["name", "version", "kind", "features", "privacy", "calls", "band", "quality", "shapes"],
            "properties": {
                **{name: {"type": "array"} for name in ("features", "shapes")},
                **{name: {"type": "object"} for name in ("privacy", "quality")},
            },
        },
        "Budget": object_of(
            {"key_id": WORD, "models": {"type": "array", "items": line}, "free": words, "data": {"type": "array"}}
        ),
        "Problem": problem,
    }  # fmt: skip


def _question(served: Served) -> dict[str, Any]:
    features = served.model.features
    return object_of(
        {feature.name: _value(feature) for feature in features},
        title=f"Features of {served.name}",
        additionalProperties=False,
        required=[feature.name for feature in features if feature.required],
    )


def _value(feature: Feature) -> dict[str, Any]:
    """What a value may be, close enough to help; the card's rule is the last word."""
    choices: list[dict[str, Any]]
    if feature.levels is not None:
        choices = [{"type": "string", "enum": list(feature.levels)}]
    elif feature.kind == "date":
        choices = [{"type": "string", "format": "date"}]
    else:
        kind = "integer" if feature.column.kind == "integer" else "number"
        number: dict[str, Any] = {"type": kind}
        if feature.low is not None:
            number |= {"minimum": feature.low, "maximum": feature.high}
        choices = [number, {"type": "string", "pattern": _NUMBER_TEXT}]
    if feature.column.missing is not None:
        choices += [{"type": "null"}, {"type": "string", "const": feature.column.missing}]
    described: dict[str, Any] = {"description": f"{feature.column.description or feature.name}: {feature.rule}"}
    return described | (choices[0] if len(choices) == 1 else {"anyOf": choices})
