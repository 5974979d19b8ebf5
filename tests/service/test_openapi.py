"""The description tells the truth: every address is in it, its examples work, and a fuzzer finds no way around it."""

import json
import secrets

import pytest
import schemathesis
from answer_bench import AnswerService
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import positive_data_acceptance
from test_projects import asked
from workbench import ALIASES

from understudy.service import Store
from understudy.service.amounts import Amount
from understudy.service.problems import KINDS
from understudy.service.tables import Status

HTML = {"/", "/docs", "/openapi.json", "/ask", "/review", "/answers/{answer}"}
"""Pages for people, and the description itself."""
BY_ID = "{answer}"
"""Addresses of a question that exists: nobody guesses its id."""


@pytest.fixture(scope="module")
def shared(tmp_path_factory, whole_stays):
    folder = tmp_path_factory.mktemp("openapi")
    with Store.open(f"sqlite:///{folder / 's.db'}") as store:
        stays = whole_stays.copied(folder / "stays")
        yield AnswerService(store, stays, cap=Amount.cap(50.0, 1e-5), with_models=True, aliases=ALIASES)


@pytest.fixture(scope="module")
def description(shared):
    return shared.call("GET", "/openapi.json", key=None).json()


def test_every_address_is_described(shared, description):
    found = {(route.path, method) for route in shared.app.routes for method in route.methods}
    routes = {(path, method) for path, method in found if path not in HTML and method != "HEAD"}  # GET without a body
    described = {(path, method.upper()) for path, methods in description["paths"].items() for method in methods}
    assert routes == described
    assert set(ALIASES) <= set(description["paths"])


def test_every_problem_is_in_the_table_of_the_docs_page(shared):
    page = shared.call("GET", "/docs", key=None).text
    for kind in KINDS:
        assert f'id="problem-{kind}"' in page


def waiting(shared) -> str:
    """Id of a question that a steward may decide on."""
    member = shared.projects.membership(shared.key_id, "stays")
    return shared.questions.put(member, asked(secrets.token_hex(4), status=Status.ASKED)).answer_id


def test_the_examples_work(shared, description):
    tried = 0
    for path, methods in description["paths"].items():
        for method, operation in methods.items():
            content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
            for name, example in content.get("examples", {"none": {"value": None}}).items():
                address = path.replace("{model}", name if name in shared.models else "diabetes")
                address = address.replace("{name}", "stays").replace(BY_ID, waiting(shared))
                said = shared.call(method.upper(), address, json=example["value"])
                assert said.status_code == 200, (path, name, said.text)
                tried += 1
    assert tried == 2 + 2 + 2 + 3 + 3 + 10
    alias = description["paths"]["/diabeteScore"]["post"]["requestBody"]["content"]["application/json"]["examples"]
    assert all(isinstance(value, str) for value in alias["question"]["value"].values()), (
        "as the dissertation writes them"
    )


def test_the_description_is_plain_json_without_a_secret(shared, description):
    text = json.dumps(description)
    assert shared.made.text not in text and shared.key_id not in text


@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
def test_a_fuzzer_finds_no_server_error(shared, description, mode):
    """Schemathesis with all its checks, on requests that fit the description and on requests that do not."""
    schema = schemathesis.openapi.from_asgi("/openapi.json", shared.app)
    headers = {"Authorization": f"Bearer {shared.made.text}"}
    statuses: dict[str, set[int]] = {}
    for found in schema.get_all_operations():
        operation = found.ok()
        if mode is GenerationMode.NEGATIVE and operation.method.upper() == "GET" and not operation.path_parameters:
            continue  # nothing in it could be wrong

        few = "/v1/data/" in operation.path or BY_ID in operation.path

        @settings(max_examples=12 if few else 40, deadline=None, suppress_health_check=list(HealthCheck))
        @given(case=operation.as_strategy(generation_mode=mode))
        def fuzz(case):
            # What fits the loose types of a union of models may lie outside one model's codebook, and the budget ends.
            response = case.call_and_validate(headers=headers, excluded_checks=[positive_data_acceptance])
            statuses.setdefault(case.operation.label, set()).add(response.status_code)

        fuzz()
    assert all(status < 500 for found in statuses.values() for status in found)
    if mode is GenerationMode.POSITIVE:
        # whether a random question fits a whole codebook is chance: that every address answers is shown by the examples
        unanswered = {label for label, found in statuses.items() if label.startswith("GET ") and 200 not in found}
        assert {label for label in unanswered if BY_ID not in label} == set(), "it got through to every address"
        assert len(statuses) == sum(map(len, description["paths"].values()))
    else:
        assert {404, 422} <= set().union(
            *statuses.values()
        )  # that all were refused is one of Schemathesis's own checks


def test_the_fuzzer_left_the_ledger_in_order(shared):
    assert shared.budgets.faults() == [] and shared.spent <= 20 * 10**9
    assert shared.projects.faults() == []
