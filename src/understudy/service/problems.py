"""Every refusal as problem+json (RFC 9457): what was wrong, the rule, the remedy; nothing about the training data."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

MEDIA_TYPE = "application/problem+json"
_QUOTED = 60


@dataclass(frozen=True)
class Kind:
    """One sort of problem."""

    status: int
    title: str


KINDS: Mapping[str, Kind] = {
    "no-key": Kind(401, "An API key is needed"),
    "bad-key": Kind(401, "The API key is not valid"),
    "not-allowed": Kind(403, "The API key does not cover this"),
    "no-budget": Kind(403, "The API key has no budget here"),
    "not-found": Kind(404, "There is nothing here"),
    "unknown-model": Kind(404, "There is no such model"),
    "unknown-data": Kind(404, "There is no such data set"),
    "unknown-answer": Kind(404, "There is no such answer"),
    "no-release": Kind(404, "The data set has no release"),
    "not-waiting": Kind(409, "The question does not wait for a decision"),
    "method-not-allowed": Kind(405, "This address takes another method"),
    "too-slow": Kind(408, "The request took too long to arrive"),
    "body-too-large": Kind(413, "The request is too large"),
    "wrong-content-type": Kind(415, "The request is not JSON"),
    "bad-json": Kind(400, "The request cannot be read as JSON"),
    "bad-request": Kind(400, "The request cannot be read"),
    "wrong-shape": Kind(422, "The request has another shape than the description"),
    "unknown-feature": Kind(422, "The model has no such feature"),
    "missing-feature": Kind(422, "A feature is missing"),
    "bad-value": Kind(422, "A value is outside the codebook"),
    "bad-question": Kind(422, "The question cannot be answered"),
    "rate-limited": Kind(429, "Too many requests"),
    "budget-exhausted": Kind(429, "The privacy budget does not cover this"),
    "being-answered": Kind(503, "The same question is being answered"),
    "busy": Kind(503, "Too much is being worked out"),
    "data-away": Kind(503, "The data cannot be reached"),
    "not-ready": Kind(503, "The service is not ready"),
    "internal": Kind(500, "The service made a mistake"),
}


class Problem(Exception):
    """A refusal on its way to the caller."""

    def __init__(
        self, kind: str, detail: str, *, more: Mapping[str, Any] | None = None, headers: Mapping[str, str] | None = None
    ) -> None:
        self.kind, self.detail = kind, detail
        self.more, self.headers = more or {}, headers or {}
        super().__init__(kind)  # not the detail, which may quote the caller: an exception's words end up in logs

    @property
    def status(self) -> int:
        """The HTTP status of its kind."""
        return KINDS[self.kind].status

    def body(self, request_id: str) -> bytes:
        """As problem+json; ``type`` points into the service's own description."""
        document = {
            "type": f"/docs#problem-{self.kind}",
            "title": KINDS[self.kind].title,
            "status": self.status,
            "detail": self.detail,
            "request_id": request_id,
            **self.more,
        }
        return json.dumps(document, ensure_ascii=True).encode()


def shortened(value: Any) -> str:
    """What the caller sent, quoted back in a few characters."""
    try:
        text = value if isinstance(value, str) else json.dumps(value)
    except (TypeError, ValueError):
        text = type(value).__name__
    cut = text[:_QUOTED] + ("…" if len(text) > _QUOTED else "")
    return repr(cut) if isinstance(value, str) else cut
