"""Read request bodies: limited in size while they arrive, then parsed strictly.

JSON leaves several things open that two readers may understand differently (a name given twice, NaN, numbers beyond a
double). Here each of them is an error.
"""

import asyncio
import json
import math
import re
from typing import Any

from starlette.requests import Request

from understudy.service.problems import Problem, shortened

DEEPEST = 4
"""Levels of nesting; the deepest that any request needs is three."""
_PATIENCE = 20.0  # seconds for a whole body to arrive
_MOST_DIGITS = 40
_OPENERS = (b"{", b"[")
# A string that is never closed runs to the end of the text: so no quote is tried twice, and the walk stays linear.
_STRINGS = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)', re.DOTALL)
_NO_BRACKETS = re.compile(r"[^\[\]{}]+")


async def read_json(request: Request, *, most_bytes: int) -> Any:
    """The body as JSON, or a :class:`Problem`."""
    _check_type(request)
    try:
        async with asyncio.timeout(_PATIENCE):
            body = await _read(request, most_bytes)
    except TimeoutError:
        raise Problem("too-slow", f"the body did not arrive within {_PATIENCE:g} seconds; send it again.") from None
    return parse(body)


def _check_type(request: Request) -> None:
    declared = request.headers.get("content-type", "")
    kind, _, parameters = declared.partition(";")
    charset = parameters.strip().lower().replace('"', "")
    if kind.strip().lower() != "application/json" or charset not in ("", "charset=utf-8"):
        raise Problem(
            "wrong-content-type",
            f"the content type is {shortened(declared)}; send JSON in UTF-8 with Content-Type: application/json.",
        )
    encoding = request.headers.get("content-encoding", "identity")
    if encoding.strip().lower() != "identity":
        raise Problem(
            "wrong-content-type",
            f"the content encoding is {shortened(encoding)}; send the JSON as it is, not compressed.",
        )


async def _read(request: Request, most_bytes: int) -> bytes:
    declared = request.headers.get("content-length", "")
    if declared.isascii() and declared.isdigit() and int(declared[:20]) > most_bytes:
        raise _too_large(most_bytes)
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > most_bytes:
            raise _too_large(most_bytes)
    return bytes(body)


def _too_large(most_bytes: int) -> Problem:
    return Problem(
        "body-too-large",
        f"the body is larger than {most_bytes:,} bytes; send fewer rows at once, or only the model's features.",
        headers={"Connection": "close"},
    )


def parse(body: bytes) -> Any:
    """Strict JSON: no name twice, no NaN or infinity, no endless number, no deep nesting, no half character.

    >>> parse(b'{"age": 50, "sex": "F"}')
    {'age': 50, 'sex': 'F'}
    """
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as reason:
        raise _bad(f"byte {reason.start + 1} of the body is not UTF-8; send JSON in UTF-8.") from None
    if text.startswith("\ufeff"):
        raise _bad("the body begins with a byte order mark; send the JSON without it.")
    if sum(map(body.count, _OPENERS)) > DEEPEST:
        _check_depth(text)
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as reason:
        raise _bad(
            f"the body is not JSON ({reason.msg.lower()}, line {reason.lineno}, column {reason.colno}); mend it there."
        ) from None
    if "\\" in text:  # only an escape can bring these in: as bytes the decoder and the parser have refused them
        _check_characters(value)
    return value


def _bad(detail: str) -> Problem:
    return Problem("bad-json", detail)


def _check_depth(text: str) -> None:
    """Walk the brackets outside strings; the parser's own recursion is never reached."""
    depth = 0
    for bracket in _NO_BRACKETS.sub("", _STRINGS.sub("", text)):
        depth += 1 if bracket in "{[" else -1
        if depth > DEEPEST:
            raise _bad(f"the JSON is nested more than {DEEPEST} deep; features are plain values.")


def _check_characters(value: Any) -> None:
    if isinstance(value, str):
        if "\x00" in value:
            raise _bad("a text holds a NUL character; remove it.")
        if any("\ud800" <= character <= "\udfff" for character in value):
            raise _bad("a text holds half of a surrogate pair; send whole characters.")
    elif isinstance(value, dict):
        for name, inner in value.items():
            _check_characters(name)
            _check_characters(inner)
    elif isinstance(value, list):
        for inner in value:
            _check_characters(inner)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise _bad(f"the name {shortened(_safe(name))} is given twice; give each once.")
            seen.add(name)
    return made


def _safe(name: str) -> str:
    return name.encode("utf-8", "replace").decode("utf-8")


def _constant(word: str) -> float:
    raise _bad(f"{word} is not a JSON number; leave the feature out, or send a number.")


def _float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise _bad(f"the number {shortened(text)} is too large for anything measured; send the value itself.")
    return value


def _int(text: str) -> int:
    if len(text) > _MOST_DIGITS:
        raise _bad(f"the number {shortened(text)} has more than {_MOST_DIGITS} digits; send the value itself.")
    return int(text)


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant, parse_float=_float, parse_int=_int)
