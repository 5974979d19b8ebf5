"""Every address of the service, given something wrong: a clear 4xx, nothing spent, nothing stored."""

import asyncio

import httpx
import pytest
from cases_routes import ROUTE_CASES

from understudy.service import Budgets, Desk, Store, create_app
from understudy.service.problems import KINDS
from understudy.service.served import by_name
from understudy.trees.examples import diabetes_example, septic_shock_example

ALIASES = {"/diabeteScore": "diabetes", "/septicShockScore": "septic-shock"}


class Service:
    def __init__(self, store: Store) -> None:
        self.models = by_name([diabetes_example(), septic_shock_example(epsilon=0.5)])
        sepsis = self.models["septic-shock"]
        self.budgets = Budgets(store)
        self.budgets.register(sepsis.model_id, name=sepsis.name, price=0.5)
        self.budgets.set_cap(sepsis.model_id, 5.0)
        desk = Desk(store=store, models=self.models, budgets=self.budgets)
        self.app = create_app(desk, aliases=ALIASES)
        made = desk.keys.create(label="own", scopes=("score", "budget", "metrics"), rate=1_000_000)
        other = desk.keys.create(label="other", scopes=("score:diabetes",), rate=1_000_000)
        self.budgets.grant(made.key.key_id, sepsis.model_id, 2.0)
        self.keys = {"own": made.text, "other": other.text}
        self.model_id = sepsis.model_id

    def send(self, case) -> httpx.Response:
        headers = dict(case.headers)
        if case.key is not None:
            headers["Authorization"] = f"Bearer {self.keys.get(case.key, case.key)}"

        async def go() -> httpx.Response:
            transport = httpx.ASGITransport(app=self.app)
            async with httpx.AsyncClient(transport=transport, base_url="http://service") as client:
                return await client.request(case.method, case.path, headers=headers, content=case.body)

        return asyncio.run(go())

    @property
    def spent(self) -> float:
        return self.budgets.model_balances()[self.model_id][1].spent


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    store = Store.open(f"sqlite:///{tmp_path_factory.mktemp('routes') / 'service.db'}")
    yield Service(store)
    store.close()


@pytest.mark.parametrize("case", ROUTE_CASES, ids=lambda case: case.name)
def test_a_problem_and_no_price(service, case):
    said = service.send(case)
    assert said.status_code == KINDS[case.kind].status, said.text[:400]
    body = said.json()
    assert said.headers["content-type"] == "application/problem+json"
    assert body["type"] == f"/docs#problem-{case.kind}"
    for word in case.says:
        assert word in body["detail"], body["detail"]
    assert len(said.content) < 1500 and "Traceback" not in said.text
    assert service.spent == 0 and service.budgets.faults() == []
