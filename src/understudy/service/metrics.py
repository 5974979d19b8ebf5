"""Figures for Prometheus. Labels come from closed lists: routes, methods, statuses, served models."""

from collections.abc import Mapping
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


class Metrics:
    """One registry for each application, so that two in one process do not mix."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._known: dict[tuple[str, str, int], tuple[Any, Any]] = {}
        self._requests = Counter(
            "understudy_requests_total", "Requests", ["route", "method", "status"], registry=self.registry
        )
        self._seconds = Histogram(
            "understudy_request_seconds", "Time to answer", ["route"], buckets=_SECONDS, registry=self.registry
        )
        self._problems = Counter("understudy_problems_total", "Refusals by kind", ["problem"], registry=self.registry)
        self._answers = Counter(
            "understudy_answers_total", "Scores given: free, paid or stored", ["model", "how"], registry=self.registry
        )
        self._spent = Counter(
            "understudy_epsilon_spent_total", "Epsilon charged by this process", ["model"], registry=self.registry
        )
        self._left = Gauge(
            "understudy_epsilon_remaining", "Epsilon left under the model's cap", ["model"], registry=self.registry
        )

    def request(self, *, route: str, method: str, status: int, seconds: float, problem: str | None) -> None:
        """One request is over."""
        seen = (route, method, status)
        if seen not in self._known:  # looking labels up takes a lock and some work each time
            self._known[seen] = self._requests.labels(route, method, str(status)), self._seconds.labels(route)
        count, clock = self._known[seen]
        count.inc()
        clock.observe(seconds)
        if problem is not None:
            self._problems.labels(problem).inc()

    def answered(self, *, model: str, how: str, rows: int, epsilon: float = 0.0) -> None:
        """Scores were given."""
        if rows:
            self._answers.labels(model, how).inc(rows)
        if epsilon:
            self._spent.labels(model).inc(epsilon)

    def render(self, remaining: Mapping[str, float]) -> bytes:
        """The whole text, with what is left now."""
        for model, epsilon in remaining.items():
            self._left.labels(model).set(epsilon)
        return bytes(generate_latest(self.registry))
