"""Pieces of the description of the interface: operations, references, objects."""

from typing import Any

from understudy.service.problems import KINDS, MEDIA_TYPE

WORD: dict[str, Any] = {"type": "string"}
ADMISSION = ("no-key", "bad-key", "not-allowed", "rate-limited", "not-ready")
BODY = ("too-slow", "body-too-large", "wrong-content-type", "bad-json", "wrong-shape")
_KEY: list[dict[str, list[str]]] = [{"key": []}]


def operation(
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
    """One address and method: what goes in, what comes out, and every problem by its status."""
    by_status: dict[int, list[str]] = {}
    for kind in problems:
        by_status.setdefault(KINDS[kind].status, []).append(kind)
    responses: dict[str, Any] = {"200": {"description": "The answer", "content": {answer_type: {"schema": answer}}}}
    for status, kinds in sorted(by_status.items()):
        titles = "; ".join(f"{KINDS[kind].title} ({kind})" for kind in kinds)
        responses[str(status)] = {"description": titles, "content": {MEDIA_TYPE: {"schema": ref("Problem")}}}
    made: dict[str, Any] = {
        "operationId": name,
        "summary": summary,
        "description": description,
        "responses": responses,
        "security": _KEY if key else [],
    }
    if parameters:
        made["parameters"] = parameters
    if body is not None:
        schema, examples = body
        content = {"application/json": {"schema": schema, "examples": examples}}
        made["requestBody"] = {"required": True, "content": content}
    return made


def ref(name: str) -> dict[str, str]:
    """A schema by name."""
    return {"$ref": f"#/components/schemas/{name}"}


def object_of(properties: dict[str, Any], **more: Any) -> dict[str, Any]:
    """An object that has all of these."""
    return {"type": "object", "required": list(properties), "properties": properties} | more


def name_parameter(name: str, description: str, names: list[str]) -> dict[str, Any]:
    """The part of a path that is one of these names."""
    return {
        "name": name,
        "in": "path",
        "required": True,
        "description": description,
        "schema": {"type": "string", "enum": names},
        "example": names[0],
    }
