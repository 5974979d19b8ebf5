"""What a caller meets: scores, batches, cards, budgets, addresses for machines, and the promise kept on the way."""

import asyncio
import json

import httpx
import numpy as np
import pytest
from sqlalchemy import text

from understudy.errors import ParameterError, RefusalError
from understudy.mechanisms.stream import Stream
from understudy.service import Budgets, Desk, create_app, readiness
from understudy.service.run import build
from understudy.service.served import Served, by_name
from understudy.trees.examples import diabetes_example, septic_shock_example


def test_a_free_score(service):
    said = service.ask("diabetes")
    assert said.status_code == 200 and said.headers["content-type"] == "application/json"
    body = said.json()
    model = diabetes_example()
    expected = [float(values[0]) for values in model.score(model.encode(service.models["diabetes"].example))]
    assert [body["score"], body["low"], body["high"]] == expected
    assert body["cost"] == {"epsilon": 0.0, "stored": 0, "remaining": None}
    assert service.spent == 0


def test_a_paid_score_and_its_repetition(make_service):
    service = make_service()
    first, again = service.ask().json(), service.ask().json()
    assert first["cost"] == {"epsilon": 0.5, "stored": 0, "remaining": {"key": 1.5, "model": 4.5}}
    assert again["cost"] == {"epsilon": 0.0, "stored": 1, "remaining": {"key": 1.5, "model": 4.5}}
    assert {**first, "cost": 0} == {**again, "cost": 0}
    assert service.spent == 5 * 10**8


def test_the_same_question_in_other_words_is_the_same_question(service):
    """Else whoever writes 120, "120", 120.0 and 121 by turns would average the noise away."""
    first = service.ask(systolicBP=120).json()
    for same in ("120", 120.0, " 120 ", "1.2e2", 121):
        again = service.ask(systolicBP=same)
        assert again.json()["score"] == first["score"], same
        assert again.json()["cost"]["epsilon"] == 0
    features = service.sepsis.example | {"systolicBP": 120}
    turned = dict(reversed(features.items()))
    assert service.call("POST", "/septicShockScore", json=turned).json() == {"riskScore": f"{first['score']:.0%}"}
    assert service.spent == 5 * 10**8


def test_the_store_holds_no_question(make_service):
    service = make_service()
    service.ask(systolicBP=101)
    codes = service.sepsis.encode(service.sepsis.example | {"systolicBP": 101})
    with service.store.reading() as connection:
        row = connection.execute(text("SELECT * FROM understudy_answers")).one()
    mark = bytes(row.question)
    assert len(mark) == 32 and codes.tobytes() not in mark
    assert mark == service.store.secret.mac(
        "question", service.sepsis.model_id.encode(), service.key_id.encode(), codes.tobytes()
    )
    assert sorted(json.loads(row.answer)) == ["high", "low", "score"]


def test_noise_is_drawn_only_after_the_charge_is_on_the_books(service, monkeypatch):
    seen = []
    model = type(service.sepsis.model)
    real = model.noisy_score

    def watched(self, codes, stream):
        assert isinstance(stream, Stream) and stream.is_secure
        seen.append((service.spent, service.budgets.faults()))
        return real(self, codes, stream)

    monkeypatch.setattr(model, "noisy_score", watched)
    service.ask()
    assert seen == [(5 * 10**8, [])]


def test_a_crash_after_the_charge_wastes_it_and_gives_nothing_away(make_service, monkeypatch):
    service = make_service(abandoned=0.0)
    model = type(service.sepsis.model)
    with monkeypatch.context() as patch:
        patch.setattr(model, "noisy_score", lambda *_: 1 / 0)
        said = service.ask()
    assert said.status_code == 500 and said.json()["title"] == "The service made a mistake"
    assert "division" not in said.text and service.spent == 5 * 10**8
    assert service.ask().json()["cost"]["epsilon"] == 0.5, "asking again pays again"
    assert service.spent == 10**9 and service.budgets.faults() == []


def test_an_exhausted_budget_says_what_is_left_and_nothing_else(make_service):
    service = make_service(grant=1.2)
    for pressure in (60, 125):
        assert service.ask(systolicBP=pressure).status_code == 200
    refused = service.ask(systolicBP=100)
    body = refused.json()
    assert refused.status_code == 429 and refused.headers["content-type"] == "application/problem+json"
    assert body["remaining"] == {"key": 0.2, "model": 4.0} and body["price"] == 0.5
    assert body["type"] == "/docs#problem-budget-exhausted"
    other = service.ask(systolicBP=110, heartRate=150).json()
    assert {**other, "request_id": 0} == {**body, "request_id": 0}, "the refusal does not depend on the question"
    assert service.ask(systolicBP=60).status_code == 200, "what was paid for stays free"
    assert service.spent == 10**9


def test_a_key_without_a_grant(make_service):
    service = make_service(grant=None)
    assert (service.ask().status_code, service.ask().json()["type"]) == (403, "/docs#problem-no-budget")
    assert service.ask("diabetes").status_code == 200 and service.spent == 0


def test_batches(make_service):
    service = make_service()
    example = service.sepsis.example
    rows = [example | {"systolicBP": value} for value in (60, 130, 60)]
    body = service.call("POST", "/v1/models/septic-shock/batch", json={"rows": rows}).json()
    assert len(body["answers"]) == 3 and body["answers"][0] == body["answers"][2]
    assert body["cost"]["epsilon"] == 1.0, "two different questions"
    assert service.ask(systolicBP=130).json()["score"] == body["answers"][1]["score"]
    rows = [example | {"heartRate": value} for value in (50, 80, 100, 150)]
    refused = service.call("POST", "/v1/models/septic-shock/batch", json={"rows": rows})
    assert refused.status_code == 429 and service.spent == 10**9, "all or nothing"
    free = [service.models["diabetes"].example | {"age": 20 + number % 60} for number in range(1000)]
    said = service.call("POST", "/v1/models/diabetes/batch", json={"rows": free})
    model = diabetes_example()
    expected = np.stack(model.score(model.encode(free)))
    found = np.array([[answer[name] for answer in said.json()["answers"]] for name in ("score", "low", "high")])
    assert np.array_equal(found, expected)


def test_a_fault_in_a_batch_names_its_row(service):
    example = service.sepsis.example
    said = service.call(
        "POST", "/v1/models/septic-shock/batch", json={"rows": [example, example | {"heartRate": "fast"}]}
    ).json()
    assert said["row"] == 2 and said["feature"] == "heartRate" and said["detail"].startswith("row 2: ")
    assert service.spent == 0
    for wrong in (
        {"rows": []},
        {"rows": [example] * 1001},
        [],
        {"rows": {}},
        {"row": [example]},
        {"rows": [], "x": 1},
        1,
    ):
        said = service.call("POST", "/v1/models/septic-shock/batch", json=wrong)
        assert (said.status_code, said.json()["type"]) == (422, "/docs#problem-wrong-shape")
    said = service.call("POST", "/v1/models/septic-shock/batch", json={"rows": [example, [1]]})
    assert said.json()["row"] == 2 and service.spent == 0


def test_the_dissertations_shapes(service):
    said = service.call("POST", "/diabeteScore", json={"glucoseLevel": "130", "bodyMassIndex": "25", "age": "41"})
    model = diabetes_example()
    chance = model.score(model.encode({"glucoseLevel": "130", "bodyMassIndex": "25", "age": "41"}))[0][0]
    assert said.json() == {"riskScore": f"{chance:.0%}"} and said.headers["content-type"] == "application/json"
    assert service.call("POST", "/diabeteScore", key=None, json={}).status_code == 401


def test_what_anybody_may_know(service):
    listed = service.call("GET", "/v1/models", key=None).json()["models"]
    assert [(model["model"], model["kind"], model["price"]) for model in listed] == [
        ("diabetes", "one-shot", 0.0),
        ("septic-shock", "per-call", 0.5),
    ]
    for model in listed:
        card = service.call("GET", model["card"], key=None).json()
        assert card == json.loads(json.dumps(service.models[model["model"]].card))
        assert {"statement", "guarantee", "is_formal"} <= set(card["privacy"]) and "paid" in card["quality"]
        assert all(feature["rule"] and feature["missing"] for feature in card["features"])


def test_the_budget_of_a_key(service):
    service.ask()
    said = service.call("GET", "/v1/budget").json()
    assert said == {
        "key_id": service.key_id,
        "models": [
            {
                "model": "septic-shock",
                "price": 0.5,
                "key": {"cap": 2.0, "spent": 0.5, "remaining": 1.5},
                "all_keys": {"cap": 5.0, "spent": 0.5, "remaining": 4.5},
            }
        ],
        "free": ["diabetes"],
        "data": [],
    }


def test_health_and_readiness(make_service, monkeypatch):
    monkeypatch.setattr(readiness, "_REMEMBERED", 0.0)
    service = make_service()
    assert service.call("GET", "/healthz", key=None).json() == {"status": "alive"}
    assert service.call("GET", "/readyz", key=None).json()["status"] == "ready"
    with service.store.writing() as connection:
        connection.execute(text("UPDATE understudy_meta SET text = 'other' WHERE name = 'secret'"))
    assert service.call("GET", "/readyz", key=None).status_code == 503
    with service.store.writing() as connection:
        connection.execute(text("DROP TABLE understudy_answers"))
    said = service.ask()
    assert said.status_code == 503 and said.json()["type"] == "/docs#problem-not-ready"
    assert "understudy_answers" not in said.text, "nothing of the database's own words"
    assert service.call("GET", "/healthz", key=None).status_code == 200


def test_metrics(service):
    service.ask()
    service.ask()
    service.ask("diabetes")
    service.call("GET", "/v1/models/nobody/card")
    service.call("GET", "/some/persons/name")
    assert service.call("GET", "/metrics", key=None).status_code == 401
    said = service.call("GET", "/metrics")
    assert said.headers["content-type"].startswith("text/plain; version=0.0.4")
    lines = said.text.splitlines()
    for line in (
        'understudy_answers_total{how="paid",model="septic-shock"} 1.0',
        'understudy_answers_total{how="stored",model="septic-shock"} 1.0',
        'understudy_answers_total{how="free",model="diabetes"} 1.0',
        'understudy_epsilon_spent_total{model="septic-shock"} 0.5',
        'understudy_epsilon_remaining{model="septic-shock"} 4.5',
        'understudy_requests_total{method="GET",route="unmatched",status="404"} 1.0',
        'understudy_requests_total{method="POST",route="/v1/models/{model}/score",status="200"} 3.0',
        'understudy_problems_total{problem="unknown-model"} 1.0',
    ):
        assert line in lines, line
    assert "persons" not in said.text and service.key_id not in said.text


def test_scopes(service):
    one = service.desk.keys.create(label="one", scopes=["score:diabetes"])
    assert service.ask("diabetes", key=one.text).status_code == 200
    assert service.ask(key=one.text).json()["type"] == "/docs#problem-not-allowed"
    for path in ("/v1/budget", "/metrics"):
        assert service.call("GET", path, key=one.text).status_code == 403
    watcher = service.desk.keys.create(label="watcher", scopes=["metrics"])
    assert service.ask("diabetes", key=watcher.text).status_code == 403
    assert service.call("GET", "/metrics", key=watcher.text).status_code == 200


def test_revoked_and_replayed_keys(make_service):
    service = make_service()
    assert service.ask().status_code == 200
    service.desk.keys.revoke(service.key_id)
    for _ in range(2):
        said = service.ask()
        assert said.status_code == 401 and said.headers["www-authenticate"].startswith("Bearer")
    assert service.spent == 5 * 10**8


def test_a_key_revoked_elsewhere_spends_nothing_more(service):
    """Another process revokes it while this one still remembers it."""
    from understudy.service import KeyBook

    assert service.ask().status_code == 200
    KeyBook(service.store).revoke(service.key_id)
    assert service.ask(systolicBP=60).status_code in (401, 403)
    assert service.spent == 5 * 10**8


def test_the_rate_limit(service):
    slow = service.desk.keys.create(label="slow", scopes=["score"], rate=60)
    codes = [service.ask("diabetes", key=slow.text).status_code for _ in range(14)]
    assert codes[:10] == [200] * 10 and 429 in codes[10:]
    refused = next(
        said for said in iter(lambda: service.ask("diabetes", key=slow.text), None) if said.status_code == 429
    )
    assert refused.json()["type"] == "/docs#problem-rate-limited" and int(refused.headers["retry-after"]) >= 1
    assert service.ask("diabetes").status_code == 200, "other keys are not slowed"


def test_a_bucket_fills_evenly():
    from understudy.service.keys import ApiKey
    from understudy.service.limits import RateLimiter
    from understudy.service.problems import Problem

    now = 0.0
    limiter = RateLimiter(clock=lambda: now)
    key = ApiKey(key_id="k", label="k", scopes=("score",), rate=60, created="", revoked=None)
    for _ in range(10):
        limiter.take(key)
    with pytest.raises(Problem):
        limiter.take(key)
    now = 0.99
    with pytest.raises(Problem):
        limiter.take(key)
    now = 2.0
    limiter.take(key)
    limiter.take(key)
    with pytest.raises(Problem):
        limiter.take(key)


def test_every_answer_has_an_id_of_ours_and_safe_headers(service):
    for path in ("/", "/docs", "/healthz", "/nowhere", "/v1/budget"):
        said = service.call("GET", path, headers={"X-Request-ID": "John Smith, ward 7"})
        assert len(said.headers["x-request-id"]) == 16 and "John" not in said.text + str(said.headers)
        assert said.headers["x-content-type-options"] == "nosniff" and said.headers["cache-control"] == "no-store"
        assert "server" not in said.headers


def test_concurrent_identical_questions_get_one_answer(make_service):
    """Twenty at once through the whole application: one pays, all hear the same."""
    service = make_service()

    async def go():
        transport = httpx.ASGITransport(app=service.app)
        headers = {"Authorization": f"Bearer {service.made.text}"}
        async with httpx.AsyncClient(transport=transport, base_url="http://s", headers=headers) as client:
            asked = [client.post("/v1/models/septic-shock/score", json=service.sepsis.example) for _ in range(20)]
            return await asyncio.gather(*asked)

    bodies = [said.json() for said in asyncio.run(go())]
    assert len({body["score"] for body in bodies}) == 1
    assert sum(body["cost"]["epsilon"] for body in bodies) == 0.5 and service.spent == 5 * 10**8


def test_waiting_for_a_question_that_nobody_finishes_ends(service, monkeypatch):
    from understudy.service import desk as desk_module

    monkeypatch.setattr(desk_module, "_PATIENCE", 0.1)
    codes = service.sepsis.encode(service.sepsis.example)
    mark = service.desk._question(service.made.key, service.sepsis, codes)
    service.budgets.charge(service.key_id, service.sepsis.model_id, [mark])
    said = service.ask()
    assert said.status_code == 503 and said.headers["retry-after"] == "5" and service.spent == 5 * 10**8
    service.budgets.settle(
        service.key_id, service.sepsis.model_id, {mark: (1, '{"score": 0.5, "low": 0.4, "high": 0.6}')}
    )
    assert service.ask().json()["score"] == 0.5


def test_what_cannot_be_served(lite):
    with pytest.raises(RefusalError, match="no cap over all keys"):
        Desk(store=lite, models=by_name([septic_shock_example()]))
    with pytest.raises(ParameterError, match="two models are called"):
        by_name([diabetes_example(), diabetes_example()])
    with pytest.raises(ParameterError, match="no model to serve"):
        build([], lite, caps={}, aliases={})
    desk = Desk(store=lite, models=by_name([diabetes_example()]))
    for path, name in (("/docs", "diabetes"), ("diabetes", "diabetes"), ("/a/../b", "diabetes"), ("/a", "nobody")):
        with pytest.raises(ParameterError, match="alias"):
            create_app(desk, aliases={path: name})


def test_a_model_that_promises_nothing_is_served_only_on_purpose(lite):
    from dataclasses import replace

    from understudy.privacy import Ledger
    from understudy.privacy.ledger import stream_entries

    model = diabetes_example()
    quote = replace(model.manifest.quote, own=model.ledger + Ledger.of(stream_entries(False)))
    seeded = replace(model, manifest=replace(model.manifest, quote=quote, secure=False))
    with pytest.raises(RefusalError, match="promises nothing"):
        by_name([seeded])
    desk = Desk(store=lite, models=by_name([seeded], without_promise=True))
    app = create_app(desk)

    async def page():
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://s") as client:
            return (await client.get("/")).text

    text = asyncio.run(page())
    assert "no formal guarantee" in text and "keeps none of this: diabetes" in text and "not counted" in text
    assert "post-processing and free" not in text.split('<script type="application/json"')[0]


def test_an_example_is_found_for_any_codebook():
    """Narrow ranges, few digits, dates, words: what the service shows as an example is always a question it takes."""
    import datetime as dt
    from fractions import Fraction

    from tests.unit.tree_tables import changed
    from understudy.codebook import Categorical, Codebook, Continuous, Dates, Grain, Integer
    from understudy.trees.scorers import VoteForest

    columns = (
        Continuous(name="narrow", edges=(Fraction("0.22"), Fraction("0.31"), Fraction("0.44")), precision=2),
        Continuous(name="coarse", edges=(Fraction("0.6"), Fraction("1.4")), precision=0, missing="NA"),
        Integer(name="clipped", edges=(Fraction(5), Fraction(6), Fraction(9)), clip=True),
        Dates(name="seen", grain=Grain.YEAR, start=dt.date(2020, 5, 1), end=dt.date(2024, 1, 1)),
        Categorical(name="word", levels=("<b>", "two")),
        Categorical(name="y", levels=("no", "yes")),
    )
    votes = tuple((0.0,) * column.size for column in columns[:-1])
    scorer = VoteForest(intercept=0.0, votes=votes, replicate_intercepts=(), replicate_votes=())
    model = changed(diabetes_example(), codebook=Codebook(columns=columns), target="y", scorer=scorer)
    served = Served(model=model)
    assert set(served.example) == {column.name for column in columns[:-1]}
    assert served.encode(served.example).shape == (1, 5)


def test_the_budget_follows_the_model_not_its_file(lite, tmp_path):
    """A copy, encrypted anew under another key and another file name, goes on with the same budget."""
    from understudy.trees.model import load_model, save_model

    model = septic_shock_example(epsilon=0.5)
    keys = (b"a" * 32, b"b" * 32)
    paths = [save_model(model, tmp_path / f"{number}.us", key) for number, key in enumerate(keys)]
    ids = {Served(model=load_model(path, key)).model_id for path, key in zip(paths, keys, strict=True)}
    assert len(ids) == 1
    assert Served(model=septic_shock_example(epsilon=0.25)).model_id not in ids, "another price is another model"


def test_a_model_that_understates_its_price_is_refused():
    from tests.unit.tree_tables import changed

    model = septic_shock_example(epsilon=0.5)
    with pytest.raises(RefusalError, match="altered"):
        Served(model=changed(model, price_per_call=0.1))


def test_the_framework_sends_no_telemetry(service):
    """Newer FastAPI hands requests and exception texts to OpenTelemetry unless told not to."""
    watching = getattr(service.app, "_native_telemetry", None)
    assert watching is None or not watching.enabled()


def test_who_listens_to_the_network_is_told():
    from understudy.service.run import Settings

    assert Settings(host="0.0.0.0").is_exposed and not Settings().is_exposed and not Settings(host="::1").is_exposed


def test_a_cap_is_set_once_and_not_by_mistake(lite):
    from understudy.errors import BudgetError
    from understudy.service.run import set_caps

    models = by_name([septic_shock_example(), diabetes_example()])
    set_caps(lite, models, {"septic-shock": 4.0})
    set_caps(lite, models, {"septic-shock": 4.0})
    with pytest.raises(BudgetError, match="does not change it"):
        set_caps(lite, models, {"septic-shock": 400.0})
    with pytest.raises(ParameterError, match="per-call models, here: septic-shock"):
        set_caps(lite, models, {"diabetes": 1.0})
    assert [balance.cap for _, balance in Budgets(lite).model_balances().values()] == [4 * 10**9]
