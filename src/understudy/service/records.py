"""What is told of a question: to its asker, and to a steward."""

import json
from typing import Any

from understudy.service.amounts import Amount
from understudy.service.asking import LOST, UNDER_WAY, WAITING, Told
from understudy.service.tables import Status


def _heading(line: Any) -> dict[str, Any]:
    return {
        "id": line.answer_id,
        "data": line.data,
        "project": line.project,
        "question": line.text,
        "terms": json.loads(line.terms),
        "price": Amount(epsilon=line.price, delta=line.price_delta).to_dict(),
        "status": line.status,
        "words": line.words,
        "asked": line.asked,
        "synthetic": json.loads(line.synthetic),
    }


def record(told: Told) -> dict[str, Any]:
    """What the asker sees."""
    line = told.line
    more = {Status.ASKED: WAITING, Status.FAILED: LOST}.get(line.status, "")
    if line.status == Status.APPROVED and line.attempts:
        more = UNDER_WAY
    answered = line.answer is not None
    return {
        **_heading(line),
        "words": " ".join(part for part in (line.words, more) if part),
        "answer": None if not answered else json.loads(line.answer),
        "page": f"/answers/{line.answer_id}" if answered else None,
        "charged": told.charged,
        "paid": line.attempts,
        "remaining": None if told.member is None else told.member.remaining(),
    }


def waiting(line: Any) -> dict[str, Any]:
    """What a steward sees: question, price and synthetic answer only."""
    return {**_heading(line), "decided": line.decided, "decided_by": line.decided_by}
