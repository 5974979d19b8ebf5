"""The description of the interface (OpenAPI 3.1), written from the models' cards; its examples can be sent."""

from collections.abc import Mapping
from typing import Any

from understudy.service.desk import MOST_ROWS
from understudy.service.problems import KINDS, MEDIA_TYPE
from understudy.service.served import Served
from understudy.trees.features import Feature
from understudy.version import __version__

_NUMBER_TEXT = r"^ *[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)? *$"
_WORD = {"type": "string"}
_KEY: list[dict[str, list[str]]] = [{"key": []}]
_INTRODUCTION = (
    "Risk scores learnt under a privacy promise. Answers of one-shot models are free: their noise was drawn once, in "
    "training. Every new question to a per-call model costs epsilon, paid before its noise is drawn; the same question "
    "from the same key gets the same stored answer and costs nothing."
)


def describe(models: Mapping[str, Served], aliases: Mapping[str, str]) -> dict[str, Any]:
    """The whole document."""
    return {
        "openapi": "3.1.0",
        "info": {"title": "Understudy risk scores", "version": __version__, "description": _INTRODUCTION},
        "paths": {
            **_score_paths(models),
            **{path: {"post": _alias(path, models[name])} for path, name in aliases.items()},
            **_knowledge_paths(models),
            **_operation_paths(),
        },
        "components": {
            "schemas": _schemas(models),
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer", "description": "us_KEYID_SECRET"}},
        },
    }


def _score_paths(models: Mapping[str, Served]) -> dict[str, Any]:
    named = {name: {"summary": f"a question to {name}", "value": served.example} for name, served in models.items()}
    batches = {
        name: {"summary": f"two questions to {name}", "value": {"rows": [served.example, served.example]}}
        for name, served in models.items()
    }
    any_question = {"anyOf": [_ref(f"Features-{name}") for name in models]}
    rows = {"type": "array", "minItems": 1, "maxItems": MOST_ROWS, "items": any_question}
    any_batch = _object({"rows": rows}, additionalProperties=False)
    return {
        "/v1/models/{model}/score": {
            "post": _operation(
                "score",
                "One score",
                "Features by name in; the score, the noise band and the cost out. A feature that the card calls "
                "optional may be left out.",
                parameters=[_model_parameter(models)],
                body=(any_question, named),
                answer=_ref("Score"),
                problems=_SCORING,
            )
        },
        "/v1/models/{model}/batch": {
            "post": _operation(
                "batch",
                "Many scores",
                f"Up to {MOST_ROWS:,} questions; all of them are answered and charged, or none.",
                parameters=[_model_parameter(models)],
                body=(any_batch, batches),
                answer=_ref("Batch"),
                problems=_SCORING,
            )
        },
    }


def _alias(path: str, served: Served) -> dict[str, Any]:
    question: dict[str, Any] = {
        name: value if isinstance(value, str) else f"{value:g}" for name, value in served.example.items()
    }
    return _operation(
        f"alias_{path.strip('/')}",
        f"{served.name} in the shape of the dissertation",
        f"Another address of the model {served.name}: the same question, price and rules, a percentage for an answer.",
        body=(_ref(f"Features-{served.name}"), {"question": {"summary": "features as text", "value": question}}),
        answer=_ref("RiskScore"),
        problems=_SCORING,
    )


def _knowledge_paths(models: Mapping[str, Served]) -> dict[str, Any]:
    return {
        "/v1/models": {"get": _operation("models", "The models", "Needs no key.", answer=_ref("Models"), key=False)},
        "/v1/models/{model}/card": {
            "get": _operation(
                "card",
                "A model's card",
                "Features with their allowed values, how missing ones are treated, the privacy statement, prices and "
                "measured quality. Needs no key: all of it is public or was paid for.",
                parameters=[_model_parameter(models)],
                answer=_ref("Card"),
                problems=("unknown-model",),
                key=False,
            )
        },
        "/v1/budget": {
            "get": _operation(
                "budget",
                "What is left",
                "The caps of this key and of the models, and what is spent of them. Needs the scope budget.",
                answer=_ref("Budget"),
                problems=_ADMISSION,
            )
        },
    }


def _operation_paths() -> dict[str, Any]:
    state = _object({"status": _WORD})
    return {
        "/healthz": {"get": _operation("healthz", "Is the process alive", "Touches nothing.", answer=state, key=False)},
        "/readyz": {
            "get": _operation(
                "readyz", "Can it answer", "Asks the database.", answer=state, problems=("not-ready",), key=False
            )
        },
        "/metrics": {
            "get": _operation(
                "metrics",
                "Figures for Prometheus",
                "Needs the scope metrics.",
                answer={"type": "string"},
                answer_type="text/plain",
                problems=_ADMISSION,
            )
        },
    }


_ADMISSION = ("no-key", "bad-key", "not-allowed", "rate-limited", "not-ready")
_SCORING = (
    *_ADMISSION, "no-budget", "unknown-model", "too-slow", "body-too-large", "wrong-content-type", "bad-json",
    "wrong-shape", "unknown-feature", "missing-feature", "bad-value", "budget-exhausted", "being-answered",
)  # fmt: skip


def _operation(
    name: str,
    summary: str,
    description: str,
    *,
    answer: dict[str, Any],
    answer_type: str = "application/json",
    parameters: list[dict[str, Any]] | None = None,
    body: tuple[dict[str, Any], dict[str, Any]] | None = None,
    problems: tuple[str, ...] = (),
    key: bool = True,
) -> dict[str, Any]:
    by_status: dict[int, list[str]] = {}
    for kind in problems:
        by_status.setdefault(KINDS[kind].status, []).append(kind)
    responses: dict[str, Any] = {"200": {"description": "The answer", "content": {answer_type: {"schema": answer}}}}
    for status, kinds in sorted(by_status.items()):
        titles = "; ".join(f"{KINDS[kind].title} ({kind})" for kind in kinds)
        responses[str(status)] = {"description": titles, "content": {MEDIA_TYPE: {"schema": _ref("Problem")}}}
    operation: dict[str, Any] = {
        "operationId": name,
        "summary": summary,
        "description": description,
        "responses": responses,
        "security": _KEY if key else [],
    }
    if parameters:
        operation["parameters"] = parameters
    if body is not None:
        schema, examples = body
        content = {"application/json": {"schema": schema, "examples": examples}}
        operation["requestBody"] = {"required": True, "content": content}
    return operation


def _model_parameter(models: Mapping[str, Served]) -> dict[str, Any]:
    names = list(models)
    return {
        "name": "model",
        "in": "path",
        "required": True,
        "description": "Name of a served model",
        "schema": {"type": "string", "enum": names},
        "example": names[0],
    }


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def _object(properties: dict[str, Any], **more: Any) -> dict[str, Any]:
    """An object that has all of these."""
    return {"type": "object", "required": list(properties), "properties": properties} | more


def _schemas(models: Mapping[str, Served]) -> dict[str, Any]:
    share = {"type": "number", "minimum": 0, "maximum": 1}
    amount = {"type": "number", "minimum": 0}
    whole, words = {"type": "integer"}, {"type": "array", "items": _WORD}
    both = _object(
        {"key": amount, "model": amount},
        type=["object", "null"],
        description="Epsilon left for this key, and for the model over all keys; null where answers are free",
    )
    cost = _object(
        {
            "epsilon": {**amount, "description": "Charged for this request"},
            "stored": {**whole, "minimum": 0, "description": "Answers that came from the store, free"},
            "remaining": both,
        }
    )
    score = {"score": share, "low": share, "high": share}
    heading: dict[str, Any] = {"model": _WORD, "version": whole}
    kind = {"enum": ["one-shot", "per-call"]}
    summary = _object({**heading, "kind": kind, "target": _WORD, "price": amount, "card": _WORD, "score": _WORD})
    balance = _object({"cap": amount, "spent": amount, "remaining": amount})
    line = _object({"model": _WORD, "price": amount, "key": balance, "all_keys": balance})
    problem = _object({"type": _WORD, "title": _WORD, "status": whole, "detail": _WORD, "request_id": _WORD})
    problem["properties"] |= {"feature": _WORD, "row": whole, "price": amount, "remaining": both}
    return {
        **{f"Features-{name}": _question(served) for name, served in models.items()},
        "Score": _object({**heading, **score, "cost": cost}),
        "Batch": _object({**heading, "answers": {"type": "array", "items": _object(score)}, "cost": cost}),
        "RiskScore": _object({"riskScore": {**_WORD, "pattern": "^[0-9]{1,3}%$", "examples": ["80%"]}}),
        "Models": _object({"models": {"type": "array", "items": summary}}),
        "Card": {
            "type": "object",
            "required": ["name", "version", "kind", "features", "privacy", "calls", "band", "quality", "shapes"],
            "properties": {
                **{name: {"type": "array"} for name in ("features", "shapes")},
                **{name: {"type": "object"} for name in ("privacy", "quality")},
            },
        },
        "Budget": _object({"key_id": _WORD, "models": {"type": "array", "items": line}, "free": words}),
        "Problem": problem,
    }  # fmt: skip


def _question(served: Served) -> dict[str, Any]:
    features = served.model.features
    return _object(
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
