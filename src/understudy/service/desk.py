"""The desk: everything between a parsed request and a response. It checks the key, charges the price and answers."""

import asyncio
import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from understudy.errors import RefusalError
from understudy.mechanisms.stream import Stream
from understudy.service.amounts import epsilon_of
from understudy.service.budgets import Balance, Budgets, NoGrantError, SpentError
from understudy.service.keys import ApiKey, KeyBook
from understudy.service.limits import RateLimiter
from understudy.service.logs import EventLog
from understudy.service.metrics import Metrics
from understudy.service.problems import Problem, shortened
from understudy.service.proxy import Proxy
from understudy.service.served import Served
from understudy.service.store import Store
from understudy.service.watch import seen_of
from understudy.trees.features import CodeMatrix, FeatureError

if TYPE_CHECKING:
    from understudy.service.asking import AnswerDesk
    from understudy.service.data_sets import DataSet

MOST_ROWS = 1_000
"""Questions in one batch."""

_PATIENCE = 5.0  # seconds to wait for somebody else's answer to the same question
_STEP = 0.02
INLINE_ROWS = 20
"""More are encoded and scored beside the event loop."""
_REALM = {"WWW-Authenticate": 'Bearer realm="understudy"'}
_KINDS = {"outside-codebook": "bad-value"}


@dataclass(frozen=True, kw_only=True)
class Answers:
    """Scores, and what they cost."""

    scores: Sequence[Mapping[str, float]]
    epsilon: float
    """Charged for this request."""
    stored: int
    """How many came from the store, at no cost."""
    remaining: Mapping[str, float] | None
    """Epsilon left for the key, and for the model over all keys."""

    def cost(self) -> dict[str, Any]:
        """As the response shows it."""
        return {"epsilon": self.epsilon, "stored": self.stored, "remaining": self.remaining}


class Desk:
    """Shared by all routes of one application."""

    def __init__(
        self,
        *,
        store: Store,
        models: Mapping[str, Served],
        budgets: Budgets | None = None,
        data: "Mapping[str, DataSet] | None" = None,
        proxy: Proxy | None = None,
    ) -> None:
        self.store, self.models, self.proxy = store, models, proxy
        self.keys = KeyBook(store)
        self.budgets = budgets or Budgets(store)
        self.limiter, self.log, self.metrics = RateLimiter(), EventLog(), Metrics()
        self._stream = Stream.from_system()
        self._stream_lock = threading.Lock()
        for served in models.values():
            if served.costs:
                assert served.model.price_per_call is not None
                self.budgets.register(served.model_id, name=served.name, price=served.model.price_per_call)
        self._check_caps()
        self.answers = self._answer_desk(data) if data else None

    def _answer_desk(self, data: "Mapping[str, DataSet]") -> "AnswerDesk":
        from understudy.service.asking import AnswerDesk
        from understudy.service.caps import check_paid
        from understudy.service.projects import Projects

        projects = Projects(self.store)
        for each in data.values():
            check_paid(projects, each.name, account=each.account, database=self.store.identity)
        return AnswerDesk(self.store, data, projects=projects, log=self.log)

    def _check_caps(self) -> None:
        caps = self.budgets.model_balances()
        for served in self.models.values():
            if served.costs and caps[served.model_id][1] is None:
                raise RefusalError(
                    f"every answer of the model {served.name!r} costs epsilon {served.price_epsilon:g}, and no cap "
                    "over all keys was set; there is no default for privacy. Set one with `understudy serve --budget "
                    f"{served.name}=EPSILON`, or with `understudy keys budget --model FILE --epsilon EPSILON --account "
                    "ACCOUNT`, which charges it to the account of the training data."
                )

    async def admit(self, request: Request, scope: str) -> ApiKey:
        """Who is asking; counted against the key's rate."""
        key = await self._asking(request)
        seen_of(request).key_id = key.key_id
        self.limiter.take(key)
        if not any(held == scope or held.startswith(f"{scope}:") for held in key.scopes):
            raise Problem("not-allowed", f"this key has no scope {scope!r}; it has {', '.join(key.scopes)}.")
        return key

    async def _asking(self, request: Request) -> ApiKey:
        """By the identity that a proxy vouches for, else by API key."""
        identity = None if self.proxy is None else self.proxy.identity(request)
        if identity is not None:
            key = await run_in_threadpool(self.keys.of_identity, identity)
            if key is None:
                raise Problem(
                    "bad-key",
                    "nobody of this identity may ask here; ask the administrator to make a key for it.",
                )
            return key
        scheme, _, text = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not text.strip():
            raise Problem("no-key", "send your key in the header Authorization: Bearer us_...", headers=_REALM)
        text = text.strip()
        key = self.keys.recall(text) or await run_in_threadpool(self.keys.check, text)
        if key is None:
            raise Problem(
                "bad-key",
                "the key is malformed, unknown or revoked; ask the administrator for a new one.",
                headers=_REALM,
            )
        return key

    async def admit_to_data(self, request: Request, scope: str, name: str) -> "tuple[ApiKey, DataSet]":
        """Who is asking about which data set."""
        assert self.answers is not None
        key = await self.admit(request, scope)
        data = self.answers.data.get(name)
        if data is None:
            raise Problem(
                "unknown-data",
                f"there is no data set {shortened(name)}; this service has {', '.join(sorted(self.answers.data))}.",
            )
        seen_of(request).data = data.name
        if not key.may(scope, data.name):
            raise Problem("not-allowed", f"this key may not use {data.name!r} so: {', '.join(key.scopes)}.")
        return key, data

    async def admit_to(self, request: Request, name: str) -> tuple[ApiKey, Served]:
        """Who is asking for scores of which model."""
        key = await self.admit(request, "score")
        served = self.model(request, name)
        if not key.may("score", served.name):
            raise Problem(
                "not-allowed",
                f"this key may ask other models than {served.name!r}: {', '.join(key.scopes)}.",
            )
        return key, served

    def model(self, request: Request, name: str) -> Served:
        """A served model by name; names are looked up in a table and never touch a file."""
        served = self.models.get(name)
        if served is None:
            raise Problem(
                "unknown-model",
                f"there is no model {shortened(name)}; this service has {', '.join(sorted(self.models))}.",
            )
        seen_of(request).model = served.name
        return served

    def encode(self, served: Served, rows: Sequence[Any], *, numbered: bool) -> list[CodeMatrix]:
        """Codes of every question, or a problem that names the first that does not fit; nothing is charged before."""
        codes = []
        for number, row in enumerate(rows, start=1):
            where = f"row {number}: " if numbered else ""
            more: dict[str, Any] = {"row": number} if numbered else {}
            if not isinstance(row, dict):
                raise Problem(
                    "wrong-shape",
                    f"{where}a question is an object of features by name, not {shortened(row)}.",
                    more=more,
                )
            try:
                codes.append(served.encode(row))
            except FeatureError as fault:
                raise Problem(
                    _KINDS.get(fault.problem, fault.problem),
                    f"{where}{fault}",
                    more={"feature": fault.feature} | more,
                ) from None
        return codes

    async def answer(self, request: Request, key: ApiKey, served: Served, codes: Sequence[CodeMatrix]) -> Answers:
        """Scores of questions that fit the codebook: free, from the store, or paid first and then drawn."""
        seen = seen_of(request)
        seen.rows = len(codes)
        if not served.costs:
            scores = await self._free(served, codes)
            self.metrics.answered(model=served.name, how="free", rows=len(scores))
            return Answers(scores=scores, epsilon=0.0, stored=0, remaining=None)
        questions = [self._question(key, served, row) for row in codes]
        try:
            texts, paid = await self._bought(key, served, dict(zip(questions, codes, strict=True)))
        except SpentError as refused:
            raise Problem(
                "budget-exhausted",
                str(refused),
                more={"remaining": _remaining(refused.key, refused.model), "price": epsilon_of(refused.asked)},
            ) from None
        except NoGrantError as refused:
            raise Problem("no-budget", str(refused)) from None
        epsilon = epsilon_of(paid * (served.price or 0))
        stored = len(set(questions)) - paid
        self.metrics.answered(model=served.name, how="paid", rows=paid, epsilon=epsilon)
        self.metrics.answered(model=served.name, how="stored", rows=stored)
        seen.cost, seen.stored = epsilon, stored
        balances = (await run_in_threadpool(self.budgets.balances, key.key_id)).get(served.model_id)
        return Answers(
            scores=[json.loads(texts[question]) for question in questions],
            epsilon=epsilon,
            stored=stored,
            remaining=None if balances is None else _remaining(*balances),
        )

    def _question(self, key: ApiKey, served: Served, row: CodeMatrix) -> bytes:
        """What the store knows of a question: a mark under the service's secret, different for every key."""
        return self.store.secret.mac("question", served.model_id.encode(), key.key_id.encode(), row.tobytes())

    async def _free(self, served: Served, codes: Sequence[CodeMatrix]) -> list[dict[str, float]]:
        import numpy as np

        matrix = codes[0] if len(codes) == 1 else np.concatenate(codes)
        score = served.model.score
        scores = score(matrix) if len(codes) <= INLINE_ROWS else await run_in_threadpool(score, matrix)
        columns = [values.tolist() for values in scores]
        return [_score(*values) for values in zip(*columns, strict=True)]

    async def _bought(
        self, key: ApiKey, served: Served, rows: Mapping[bytes, CodeMatrix]
    ) -> tuple[dict[bytes, str], int]:
        """Stored answers of every question, and how many of them were paid for just now."""
        texts, paid = await run_in_threadpool(self._charge_and_draw, key, served, rows)
        deadline = asyncio.get_running_loop().time() + _PATIENCE
        while len(texts) < len(rows):
            if asyncio.get_running_loop().time() > deadline:
                raise Problem(
                    "being-answered",
                    "the same question was paid for a moment ago and its answer is not stored yet; ask again in "
                    "a moment, which is free once it is.",
                    headers={"Retry-After": "5"},
                )
            await asyncio.sleep(_STEP)
            missing = [question for question in rows if question not in texts]
            texts |= await run_in_threadpool(self.budgets.stored, key.key_id, served.model_id, missing)
        return texts, paid

    def _charge_and_draw(
        self, key: ApiKey, served: Served, rows: Mapping[bytes, CodeMatrix]
    ) -> tuple[dict[bytes, str], int]:
        """Pay durably, then draw, then store; in this order, whatever happens in between."""
        charged = self.budgets.charge(key.key_id, served.model_id, list(rows))
        if not charged.paid:
            return dict(charged.stored), 0
        stream = self._fresh_stream()
        drawn = {}
        for question, attempt in charged.paid.items():
            drawn[question] = (attempt, json.dumps(_score(*served.model.noisy_score(rows[question], stream))))
        settled = self.budgets.settle(key.key_id, served.model_id, drawn)
        return {**charged.stored, **settled}, len(charged.paid)

    def _fresh_stream(self) -> Stream:
        """A stream of this call's own: one cipher must not be advanced by two threads."""
        with self._stream_lock:
            return self._stream.spawn()


def _score(probability: float, low: float, high: float) -> dict[str, float]:
    return {"score": float(probability), "low": float(low), "high": float(high)}


def _remaining(key: Balance, model: Balance) -> dict[str, float]:
    return {"key": epsilon_of(key.left), "model": epsilon_of(model.left)}
