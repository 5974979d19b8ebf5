"""Every address of the service, given something wrong: (name, method, path, what is sent, kind, words)."""

import json
from dataclasses import dataclass, field
from typing import Any

__all__ = ["ROUTE_CASES", "RouteCase"]

GOOD = {"systolicBP": 100, "heartRate": 80, "temperature": 37, "ventilated": "no"}


@dataclass(frozen=True)
class RouteCase:
    """One request; ``key`` is the tester's own unless told otherwise."""

    name: str
    method: str
    path: str
    kind: str
    says: tuple[str, ...]
    body: bytes | None = None
    headers: dict[str, str] = field(default_factory=dict)
    key: str | None = "own"


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()


SCORE, BATCH, ALIAS = "/v1/models/septic-shock/score", "/v1/models/septic-shock/batch", "/septicShockScore"
_BODIES: dict[str, tuple[bytes, str, tuple[str, ...]]] = {
    "empty": (b"", "bad-json", ("not JSON", "line 1")),
    "not JSON": (b"{heartRate: 1}", "bad-json", ("not JSON", "mend it there")),
    "cut": (b'{"heartRate": 8', "bad-json", ("not JSON",)),
    "not UTF-8": (b'{"heartRate": "\xff"}', "bad-json", ("UTF-8",)),
    "byte order mark": (b"\xef\xbb\xbf{}", "bad-json", ("byte order mark",)),
    "NaN": (b'{"heartRate": NaN}', "bad-json", ("NaN",)),
    "a number beyond doubles": (b'{"heartRate": 1e999}', "bad-json", ("'1e999'", "too large")),
    "endless digits": (b'{"heartRate": ' + b"9" * 300 + b"}", "bad-json", ("40 digits",)),
    "name twice": (b'{"heartRate": 1, "heartRate": 2}', "bad-json", ("'heartRate'", "given twice")),
    "nested deep": (b"[" * 500 + b"]" * 500, "bad-json", ("nested more than 4",)),
    "NUL": (b'{"heartRate": "\\u0000"}', "bad-json", ("NUL",)),
}
_QUESTIONS: dict[str, tuple[Any, str, tuple[str, ...]]] = {
    "a list": ([1], "wrong-shape", ("object of features", "[1]")),
    "null": (None, "wrong-shape", ("object of features", "null")),
    "nothing": ({}, "missing-feature", ("systolicBP",)),
    "feature unknown": (GOOD | {"shoeSize": 43}, "unknown-feature", ("'shoeSize'", "systolicBP")),
    "the target itself": (GOOD | {"septicShock": "yes"}, "unknown-feature", ("'septicShock'",)),
    "outside its bounds": (GOOD | {"systolicBP": 9000}, "bad-value", ("9000", "from 40 to 260")),
    "not whole": (GOOD | {"systolicBP": 100.5}, "bad-value", ("100.5", "whole number")),
    "level unknown": (GOOD | {"ventilated": "maybe"}, "bad-value", ("'maybe'", "'no', 'yes'")),
    "a truth value": (GOOD | {"systolicBP": True}, "bad-value", ("True",)),
    "a list for a value": (GOOD | {"systolicBP": [1]}, "bad-value", ("list",)),
    "missing value": (GOOD | {"systolicBP": None}, "missing-feature", ("'systolicBP'",)),
    "a script": (GOOD | {"ventilated": "<script>alert(1)</script>"}, "bad-value", ("<script>",)),
    "an injection": (GOOD | {"ventilated": "'; DROP TABLE understudy_answers; --"}, "bad-value", ("DROP TABLE",)),
}
_TYPED = {"Content-Type": "application/json"}


def _scoring() -> list[RouteCase]:
    found = []
    for path in (SCORE, ALIAS):
        for name, (body, kind, says) in _BODIES.items():
            found.append(RouteCase(f"POST {path}: {name}", "POST", path, kind, says, body, _TYPED))
        for name, (question, kind, says) in _QUESTIONS.items():
            found.append(RouteCase(f"POST {path}: {name}", "POST", path, kind, says, _json(question), _TYPED))
    for name, (question, kind, says) in _QUESTIONS.items():
        rows = _json({"rows": [GOOD, question]})
        found.append(RouteCase(f"POST {BATCH}: row 2 {name}", "POST", BATCH, kind, ("row 2", *says), rows, _TYPED))
    for name, (body, kind, says) in {
        **_BODIES,
        "a list": (_json([GOOD]), "wrong-shape", ('{"rows": [...]}',)),
        "no rows": (_json({"rows": []}), "wrong-shape", ("0 rows", "1 to 1,000")),
        "too many rows": (_json({"rows": [1] * 1001}), "wrong-shape", ("1,001 rows", "1 to 1,000")),
        "rows are a number": (_json({"rows": 7}), "wrong-shape", ('{"rows": [...]}',)),
        "more than rows": (_json({"rows": [GOOD], "limit": 5}), "wrong-shape", ("nothing else",)),
    }.items():
        found.append(RouteCase(f"POST {BATCH}: {name}", "POST", BATCH, kind, says, body, _TYPED))
    for path, most in ((SCORE, 65_536), (ALIAS, 65_536), (BATCH, 1_048_576)):
        large = b" " * (most + 1)
        found.append(
            RouteCase(f"POST {path}: too large", "POST", path, "body-too-large", (f"{most:,}",), large, _TYPED)
        )
        for content in ("text/plain", "multipart/form-data; boundary=x", "application/json; charset=utf-7"):
            found.append(RouteCase(
                f"POST {path}: sent as {content}", "POST", path, "wrong-content-type", (content[:30], "application/json"),
                _json(GOOD), {"Content-Type": content},
            ))  # fmt: skip
        found.append(RouteCase(
            f"POST {path}: compressed", "POST", path, "wrong-content-type", ("gzip", "not compressed"), _json(GOOD),
            {**_TYPED, "Content-Encoding": "gzip"},
        ))  # fmt: skip
    return found


def _keys() -> list[RouteCase]:
    """Addresses that need a key, without one, with a wrong one, and with one for something else."""
    found = []
    guarded = (("POST", SCORE), ("POST", BATCH), ("POST", ALIAS), ("GET", "/v1/budget"), ("GET", "/metrics"))
    for method, path in guarded:
        body = _json(GOOD) if method == "POST" else None
        for name, key, kind, says in (
            ("no key", None, "no-key", ("Authorization: Bearer",)),
            ("a key of nobody", "us_0000000000000000_" + "A" * 43, "bad-key", ("ask the administrator",)),
            ("a key that is none", "' OR '1'='1", "bad-key", ("ask the administrator",)),
            ("a key of 50,000 characters", "x" * 50_000, "bad-key", ("ask the administrator",)),
            ("a key for something else", "other", "not-allowed", ("score:diabetes",)),
        ):
            found.append(RouteCase(f"{method} {path}: {name}", method, path, kind, says, body, _TYPED, key))
        found.append(RouteCase(
            f"{method} {path}: basic", method, path, "no-key", ("Authorization: Bearer",), body,
            {**_TYPED, "Authorization": "Basic dTpw"}, None,
        ))  # fmt: skip
    return found


def _addresses() -> list[RouteCase]:
    found = []
    for name in ("nobody", "..%2F..%2Fetc%2Fpasswd", "DIABETES", "%00", "{{7*7}}", "x" * 3000):
        for method, tail in (("POST", "score"), ("POST", "batch"), ("GET", "card")):
            path = f"/v1/models/{name}/{tail}"
            body = _json(GOOD) if method == "POST" else None
            kind = "not-found" if "%2F" in name else "unknown-model"
            says = ("leads nowhere",) if "%2F" in name else ("there is no model", "diabetes, septic-shock")
            found.append(RouteCase(f"{method} {path[:40]}/{tail}", method, path, kind, says, body, _TYPED))
    taken = {
        SCORE: "POST", BATCH: "POST", ALIAS: "POST", "/diabeteScore": "POST", "/v1/models": "GET", "/v1/budget": "GET",
        "/v1/models/diabetes/card": "GET", "/healthz": "GET", "/readyz": "GET", "/metrics": "GET", "/openapi.json": "GET",
        "/": "GET", "/docs": "GET",
    }  # fmt: skip
    for path, right in taken.items():
        for method in ("PUT", "DELETE", "GET" if right == "POST" else "POST"):
            found.append(RouteCase(f"{method} {path}", method, path, "method-not-allowed", (right,)))
    for path in ("/v1", "/v1/models/", "/admin", "/.env", "/docs/../etc/passwd", "/v1/models/diabetes"):
        found.append(RouteCase(f"GET {path}", "GET", path, "not-found", ("leads nowhere", "/docs")))
    return found


ROUTE_CASES: list[RouteCase] = [*_scoring(), *_keys(), *_addresses()]
