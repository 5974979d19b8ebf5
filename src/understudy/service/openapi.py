"""The description of the interface (OpenAPI 3.1), written from the models' cards: its examples work as they stand."""

from collections.abc import Mapping
from typing import Any

from understudy.service.desk import MOST_ROWS
from understudy.service.problems import KINDS, MEDIA_TYPE
from understudy.service.served import Served
from understudy.trees.features import Feature
from understudy.version import __version__

_NUMBER_TEXT = r"^ *[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)? *$"
_PROBLEM = {"$ref": "#/components/schemas/Problem"}
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
    any_question = {"anyOf": [{"$ref": _features(name)} for name in models]}
    any_batch = {
        "type": "object",
        "required": ["rows"],
        "additionalProperties": False,
        "properties": {"rows": {"type": "array", "minItems": 1, "maxItems": MOST_ROWS, "items": any_question}},
    }
    return {
        "/v1/models/{model}/score": {
            "post": _operation(
                "score",
                "One score",
                "Features by name in; the score, the noise band and the cost out. A feature that the card calls "
                "optional may be left out.",
                parameters=[_model_parameter(models)],
                body=(any_question, named),
                answer={"$ref": "#/components/schemas/Score"},
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
                answer={"$ref": "#/components/schemas/Batch"},
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
        body=({"$ref": _features(served.name)}, {"question": {"summary": "features as text", "value": question}}),
        answer={"$ref": "#/components/schemas/RiskScore"},
        problems=_SCORING,
    )


def _knowledge_paths(models: Mapping[str, Served]) -> dict[str, Any]:
    return {
        "/v1/models": {
            "get": _operation(
                "models", "The models", "Needs no key.", answer={"$ref": "#/components/schemas/Models"}, key=False
            )
        },
        "/v1/models/{model}/card": {
            "get": _operation(
                "card",
                "A model's card",
                "Features with their allowed values, how missing ones are treated, the privacy statement, prices and "
                "measured quality. Needs no key: all of it is public or was paid for.",
                parameters=[_model_parameter(models)],
                answer={"$ref": "#/components/schemas/Card"},
                problems=("unknown-model",),
                key=False,
            )
        },
        "/v1/budget": {
            "get": _operation(
                "budget",
                "What is left",
                "The caps of this key and of the models, and what is spent of them. Needs the scope budget.",
                answer={"$ref": "#/components/schemas/Budget"},
                problems=_ADMISSION,
            )
        },
    }


def _operation_paths() -> dict[str, Any]:
    state = {"type": "object", "required": ["status"], "properties": {"status": {"type": "string"}}}
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
        responses[str(status)] = {"description": titles, "content": {MEDIA_TYPE: {"schema": _PROBLEM}}}
    found: dict[str, Any] = {
        "operationId": name,
        "summary": summary,
        "description": description,
        "responses": responses,
        "security": _KEY if key else [],
    }
    if parameters:
        found["parameters"] = parameters
    if body is not None:
        schema, examples = body
        found["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": schema, "examples": examples}},
        }
    return found


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


def _features(name: str) -> str:
    return f"#/components/schemas/Features-{name}"


def _schemas(models: Mapping[str, Served]) -> dict[str, Any]:
    share = {"type": "number", "minimum": 0, "maximum": 1}
    amount = {"type": "number", "minimum": 0}
    both = {
        "type": ["object", "null"],
        "required": ["key", "model"],
        "properties": {"key": amount, "model": amount},
        "description": "Epsilon left for this key, and for the model over all keys; null where answers are free",
    }
    cost = {
        "type": "object",
        "required": ["epsilon", "stored", "remaining"],
        "properties": {
            "epsilon": {**amount, "description": "Charged for this request"},
            "stored": {"type": "integer", "minimum": 0, "description": "Answers that came from the store, free"},
            "remaining": both,
        },
    }
    score = {"score": share, "low": share, "high": share}
    word = {"type": "string"}
    heading: dict[str, Any] = {"model": word, "version": {"type": "integer"}}
    kind = {"enum": ["one-shot", "per-call"]}
    summary = _object({**heading, "kind": kind, "target": word, "price": amount, "card": word, "score": word})
    balance = {
        "type": "object",
        "required": ["cap", "spent", "remaining"],
        "properties": {"cap": amount, "spent": amount, "remaining": amount},
    }
    line = _object({"model": word, "price": amount, "key": balance, "all_keys": balance})
    return {
        **{f"Features-{name}": _question(served) for name, served in models.items()},
        "Score": _object({**heading, **score, "cost": cost}),
        "Batch": _object({**heading, "answers": {"type": "array", "items": _object(score)}, "cost": cost}),
        "RiskScore": _object({"riskScore": {"type": "string", "pattern": "^[0-9]{1,3}%$", "examples": ["80%"]}}),
        "Models": _object({"models": {"type": "array", "items": summary}}),
        "Card": {
            "type": "object",
            "required": ["name", "version", "kind", "features", "privacy", "calls", "band", "quality"],
            "properties": {"features": {"type": "array"}, "privacy": {"type": "object"}, "quality": {"type": "object"}},
        },
        "Budget": _object({
            "key_id": word,
            "models": {"type": "array", "items": line},
            "free": {"type": "array", "items": word},
        }),
        "Problem": {
            "type": "object",
            "required": ["type", "title", "status", "detail", "request_id"],
            "properties": {
                "type": {"type": "string"},
                "title": {"type": "string"},
                "status": {"type": "integer"},
                "detail": {"type": "string"},
                "request_id": {"type": "string"},
                "feature": {"type": "string"},
                "row": {"type": "integer"},
                "price": amount,
                "remaining": both,
            },
        },
    }  # fmt: skip


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "required": list(properties), "properties": properties}


def _question(served: Served) -> dict[str, Any]:
    features = served.model.features
    return {
        "type": "object",
        "title": f"Features of {served.name}",
        "additionalProperties": False,
        "required": [feature.name for feature in features if feature.required],
        "properties": {feature.name: _value(feature) for feature in features},
    }


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
    found: dict[str, Any] = {"description": f"{feature.column.description or feature.name}: {feature.rule}"}
    return found | (choices[0] if len(choices) == 1 else {"anyOf": choices})
