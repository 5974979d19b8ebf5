"""Identities by a proxy: believed with its secret, refused from anybody else, and never more than their key."""

import base64
import os

import pytest
from starlette.requests import Request
from workbench import Service

from understudy.errors import ParameterError
from understudy.service import Desk, KeyBook, create_app
from understudy.service.problems import Problem
from understudy.service.proxy import SECRET_HEADER, Proxy
from understudy.service.served import by_name
from understudy.trees.examples import diabetes_example

HEADER = "X-Remote-User"


@pytest.fixture
def secret_file(tmp_path):
    path = tmp_path / "proxy.secret"
    path.write_text(base64.b64encode(os.urandom(32)).decode() + "\n")
    path.chmod(0o600)
    return path


class Behind(Service):
    """The service behind a proxy."""

    def __init__(self, store, proxy) -> None:
        self.store, self.models = store, by_name([diabetes_example()])
        self.desk = Desk(store=store, models=self.models, proxy=proxy)
        self.app = create_app(self.desk)

    def knock(self, **headers: str):
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.call("GET", "/v1/budget", key=None, headers=sent)


@pytest.fixture
def behind(lite, secret_file):
    return Behind(lite, Proxy.of(HEADER, secret_file))


def test_the_proxy_logs_somebody_in(behind, secret_file):
    made = behind.desk.keys.create(label="Ann", scopes=["budget"], identity="ann@agency.example")
    secret = secret_file.read_text().strip()
    said = behind.knock(X_Remote_User="ann@agency.example", X_Understudy_Proxy=secret)
    assert said.status_code == 200 and said.json()["key_id"] == made.key.key_id
    assert (
        behind.call(
            "GET", "/metrics", key=None, headers={HEADER: "ann@agency.example", SECRET_HEADER: secret}
        ).status_code
        == 403
    )
    assert behind.call("GET", "/v1/budget", key=made.text).status_code == 200, "the key itself works as before"


@pytest.mark.parametrize(
    "headers",
    [
        {"X_Remote_User": "ann"},
        {"X_Remote_User": "ann", "X_Understudy_Proxy": "guess"},
        {"X_Remote_User": "ann", "X_Understudy_Proxy": "A" * 44},
        {"X_Understudy_Proxy": "guess"},
    ],
    ids=["no secret", "a guess", "of the right length", "no name"],
)
def test_nobody_else_may_say_who_is_asking(headers, behind):
    made = behind.desk.keys.create(label="Ann", scopes=["budget"], identity="ann")
    refused = behind.knock(**headers, Authorization=f"Bearer {made.text}")
    assert refused.status_code == 401, "also beside a good key: such a request is not what it seems"
    assert behind.knock(**headers).status_code == 401


@pytest.mark.parametrize("name", ["", " ", "stranger", "x" * 201])
def test_a_stranger_or_no_name_is_refused(name, behind, secret_file):
    behind.desk.keys.create(label="Ann", scopes=["budget"], identity="ann")
    assert behind.knock(X_Remote_User=name, X_Understudy_Proxy=secret_file.read_text().strip()).status_code == 401


def test_a_revoked_key_takes_its_identity_along_until_another_has_it(behind, secret_file):
    made = behind.desk.keys.create(label="Ann", scopes=["budget"], identity="ann")
    headers = {"X_Remote_User": "ann", "X_Understudy_Proxy": secret_file.read_text().strip()}
    behind.desk.keys.revoke(made.key.key_id)
    assert behind.knock(**headers).status_code == 401
    again = behind.desk.keys.create(label="Ann again", scopes=["budget"], identity="ann")
    assert behind.knock(**headers).json()["key_id"] == again.key.key_id
    with pytest.raises(ParameterError, match="has the key"):
        behind.desk.keys.create(label="Ben", scopes=["budget"], identity="ann")


def test_without_a_proxy_the_headers_mean_nothing(lite):
    service = Behind(lite, None)
    service.desk.keys.create(label="Ann", scopes=["budget"], identity="ann")
    refused = service.knock(X_Remote_User="ann", X_Understudy_Proxy="x")
    assert refused.status_code == 401 and refused.json()["type"].endswith("no-key")


@pytest.mark.parametrize("header", ["Authorization", "X-Understudy-Proxy", "a b", "", "Host"])
def test_some_headers_cannot_name_anybody(header, secret_file):
    with pytest.raises(ParameterError, match="identity_header"):
        Proxy.of(header, secret_file)


def test_the_secret_is_needed_and_is_its_owners(secret_file, tmp_path, lite):
    with pytest.raises(ParameterError, match="identity_secret_file"):
        Proxy.of(HEADER, None)
    with pytest.raises(ParameterError, match="no file"):
        Proxy.of(HEADER, tmp_path / "absent")
    secret_file.chmod(0o644)
    with pytest.raises(ParameterError, match="chmod 600"):
        Proxy.of(HEADER, secret_file)
    assert "withheld" in repr(KeyBook(lite).create(label="x", scopes=["budget"]))


@pytest.mark.parametrize(
    ("names", "proof", "told"),
    [
        ([], None, None), (["ann"], True, "ann"), (["ann"], False, Problem), (["ann"], None, Problem),
        ([], True, Problem), ([], False, Problem), (["ann", "bob"], True, Problem), (["ann", "ann"], True, Problem),
        ([""], True, Problem), (["a" * 10_000], True, Problem), (["a\x7fb"], True, Problem),
    ],
)  # fmt: skip
def test_one_name_beside_the_secret_is_believed_and_nothing_else(names, proof, told):
    """Of two names a proxy that adds its own to what a visitor wrote would vouch for the visitor's."""
    proxy = Proxy(header="x-remote-user", secret="c2VjcmV0")
    headers = [(b"x-remote-user", name.encode("latin-1")) for name in names]
    if proof is not None:
        headers.append((SECRET_HEADER.lower().encode(), b"c2VjcmV0" if proof else b"c2VjcmV1"))
    request = Request({"type": "http", "headers": headers})
    if told is Problem:
        with pytest.raises(Problem) as refused:
            proxy.identity(request)
        assert refused.value.kind == "bad-key"
    else:
        assert proxy.identity(request) == told
