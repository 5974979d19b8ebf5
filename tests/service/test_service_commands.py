"""`understudy serve` and `understudy keys`, as an administrator types them."""

import json
import ssl
import sys
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from understudy.cli.app import main
from understudy.trees.examples import diabetes_example, septic_shock_example
from understudy.trees.model import save_model


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    """Run in an empty folder, where the default database lands."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("UNDERSTUDY_MODEL_KEY", "cd" * 32)
    monkeypatch.delenv("UNDERSTUDY_DATABASE", raising=False)

    def go(*words: object, code: int = 0) -> str:
        capsys.readouterr()
        with pytest.raises(SystemExit) as stop:
            main([str(word) for word in words])
        said = capsys.readouterr()
        assert int(stop.value.code or 0) == code, said.err
        assert "Traceback" not in said.err
        return said.out if code == 0 else said.err.replace("\n", " ")

    return go


def test_looking_at_keys_makes_no_database(run, tmp_path):
    """A slip in the address would show an empty list, and leave a file."""
    for words in (("keys", "list"), ("keys", "revoke", "0" * 16)):
        said = run(*words, "--database", "sqlite:///typo.db", code=2)
        assert (
            "there is no database of a service at sqlite:///typo.db" in said.replace("\n", " ")
            and "UNDERSTUDY_DATABASE" in said
        )
    assert list(tmp_path.iterdir()) == []


def test_keys_are_made_listed_and_revoked(run, tmp_path):
    text, told = run("keys", "create", "--label", "triage [bold]app").splitlines()
    key_id = text.split("_")[1]
    assert key_id in told and "not shown again" in told
    listed = run("keys", "list")
    assert key_id in listed and "triage [bold]app" in listed and text not in listed
    assert "was revoked on" in run("keys", "revoke", key_id)
    [line] = json.loads(run("keys", "list", "--json"))
    assert line["revoked"] is not None and line["scopes"] == ["score", "budget"] and line["rate"] == 600
    assert {path.name for path in tmp_path.iterdir()} >= {"understudy-service.db", "understudy-service.db.secret"}
    made = json.loads(run("keys", "create", "--label", "m", "--scope", "metrics", "--rate", 5, "--json"))
    assert made["key"].startswith("us_") and made["scopes"] == ["metrics"] and made["rate"] == 5
    assert "there is no key 'nobody'" in run("keys", "revoke", "nobody", code=2)


def test_budgets_by_file_and_by_name(run, tmp_path):
    model = save_model(septic_shock_example(epsilon=0.5), tmp_path / "sepsis.us")
    key = json.loads(run("keys", "create", "--label", "a", "--json"))["key_id"]
    assert "no per-call model is known yet" in run("keys", "budget")
    assert "cap" in run("keys", "budget", "--model", model, "--epsilon", 10)
    said = json.loads(run("keys", "budget", key, "--model", "septic-shock", "--epsilon", 2.5, "--json"))
    assert said == {
        "budgets": [
            {"model": "septic-shock", "key_id": "all keys", "cap": 10.0, "spent": 0.0, "remaining": 10.0},
            {"model": "septic-shock", "key_id": key, "cap": 2.5, "spent": 0.0, "remaining": 2.5},
        ],
        "faults": [],
    }
    assert key in run("keys", "budget", key)


def test_a_cap_comes_out_of_the_account_of_the_data(run, tmp_path):
    model = save_model(septic_shock_example(epsilon=0.5), tmp_path / "sepsis.us")
    run("account", "create", "a.account", "--dataset", "patients", "--epsilon", 3, "--delta", 0)

    def left() -> float:
        return json.loads(run("account", "show", "a.account", "--json"))["remaining_epsilon"]

    budget = ("keys", "budget", "--model", model, "--account", "a.account", "--epsilon")
    run("keys", "budget", "--model", model, "--epsilon", 2)
    assert left() == pytest.approx(3.0), "without --account nothing is charged"
    run(*budget, 2.2)
    assert left() == pytest.approx(1.0), "four answers at 0.5 fit under 2.2"
    run(*budget, 1.0)
    run(*budget, 2.0)
    assert left() == pytest.approx(1.0), "back up to where it was: paid for already"
    assert "above its cap" in run(*budget, 4.0, code=1)
    [line] = json.loads(run("keys", "budget", "--json"))["budgets"]
    assert line["cap"] == 2.0, "a refused charge leaves the cap alone"
    run(*budget, 3.0)
    assert left() == pytest.approx(0.0, abs=1e-9)
    assert "100,000" in run(*budget, 900_000, code=1)
    assert "name the file" in run(
        "keys", "budget", "--model", "septic-shock", "--account", "a.account", "--epsilon", 9, code=2
    )
    assert "and no key" in run("keys", "budget", "--model", model, "--account", "a.account", code=2)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("keys", "revoke", "nobody"), "there is no database"),
        (("keys", "budget", "nobody"), "there is no key 'nobody'"),
        (("keys", "budget", "--epsilon", 1), "name it with --model"),
        (("keys", "budget", "--model", "nothing", "--epsilon", 1), "neither a file nor a per-call model"),
        (("keys", "budget", "--model", "free.us", "--epsilon", 1), "needs no budget"),
        (("keys", "budget", "--model", "paid.us", "--epsilon", 0), "above 0"),
        (("keys", "budget", "--model", "paid.us", "--epsilon", "nan"), "above 0"),
        (("keys", "budget", "--model", "paid.us", "--epsilon", "much"), "'much' is not a number"),
        (("keys", "create", "--label", "x", "--scope", "root"), "'root'"),
        (("keys", "create", "--label", "x", "--rate", 0), "rate"),
        (("keys", "list", "--database", "oracle://x"), "'oracle'"),
        (("keys", "list", "--database", "sqlite://"), "forgets what was spent"),
        (("keys", "list", "--database", "postgresql://ann:x@db/scores"), "PGPASSFILE"),
        (("serve",), "no model to serve"),
        (("serve", "gone.us"), "gone.us"),
        (("serve", "free.us", "--port", 70000), "65,535"),
        (("serve", "free.us", "--host", "no.such.host.invalid"), "no.such.host.invalid"),
        (("serve", "free.us", "--alias", "nonsense"), "/diabeteScore=diabetes"),
        (("serve", "free.us", "--alias", "/x=nobody"), "'nobody', which is not served"),
        (("serve", "free.us", "--budget", "diabetes=5"), "caps are for per-call models"),
        (("serve", "free.us", "--budget", "diabetes"), "sepsis=100"),
        (("serve", "free.us", "--certificate", "free.us"), "belong together"),
        (("serve", "free.us", "--certificate", "a", "--certificate-key", "b"), "no file 'a'"),
        (("serve", "free.us", "free.us"), "two models are called"),
        (("serve", "--example", "free.us"), "brings its own"),
    ],
)
def test_mistakes_get_a_sentence(run, tmp_path, words, sentence):
    save_model(diabetes_example(), tmp_path / "free.us")
    save_model(septic_shock_example(), tmp_path / "paid.us")
    assert sentence in run(*words, code=2)


def test_without_the_extra_a_sentence_says_so(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "fastapi", None)
    for words in (("serve", "--example"), ("keys", "list"), ("keys", "create", "--label", "x"), ("keys", "budget")):
        assert 'pip install "understudy[service]"' in run(*words, code=1)


def test_a_per_call_model_is_not_served_without_a_cap(run, tmp_path):
    save_model(septic_shock_example(), tmp_path / "paid.us")
    assert "there is no default for privacy" in run("serve", "paid.us", code=1)


def test_a_confidential_model_needs_its_key(run, tmp_path, monkeypatch):
    save_model(septic_shock_example(), tmp_path / "paid.us")
    monkeypatch.delenv("UNDERSTUDY_MODEL_KEY")
    assert "no key was given" in run("serve", "paid.us", code=2)
    monkeypatch.setenv("UNDERSTUDY_MODEL_KEY", "ef" * 32)
    run("serve", "paid.us", code=2)
    assert not (tmp_path / "understudy-service.db").exists()


def certificate_for(folder):
    """Self-signed, for the loopback address."""
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "understudy test")])
    key = ec.generate_private_key(ec.SECP256R1())
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    public, private = folder / "public.pem", folder / "private.pem"
    public.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    private.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return public, private, ssl.create_default_context(cafile=str(public))


def test_from_the_first_command_to_a_score(run, tmp_path, start_server):
    """Key, grant, server, question: as the guide tells it."""
    free = save_model(diabetes_example(), tmp_path / "diabetes.us")
    paid = save_model(septic_shock_example(epsilon=0.5), tmp_path / "sepsis.us")
    database = f"sqlite:///{tmp_path / 'service.db'}"
    made = json.loads(run("keys", "create", "--label", "app", "--database", database, "--json"))
    run("keys", "budget", "--model", paid, "--epsilon", 1, "--database", database)
    run("keys", "budget", made["key_id"], "--model", "septic-shock", "--epsilon", 0.5, "--database", database)
    certificate, private, trusted = certificate_for(tmp_path)
    server = start_server(
        free, paid, "--database", database, "--alias", "/diabeteScore=diabetes", "--budget", "septic-shock=1",
        "--certificate", certificate, "--certificate-key", private,
    )  # fmt: skip
    assert server.url.startswith("https://127.0.0.1:")
    headers = {"Authorization": f"Bearer {made['key']}"}
    with httpx.Client(base_url=server.url, headers=headers, verify=trusted) as client:
        said = client.post("/diabeteScore", json={"glucoseLevel": "130", "bodyMassIndex": "25", "age": "41"})
        assert said.json()["riskScore"].endswith("%")
        question = {"systolicBP": 105, "heartRate": 61}
        assert client.post("/v1/models/septic-shock/score", json=question).json()["cost"]["epsilon"] == 0.5
        assert client.post("/v1/models/septic-shock/score", json={**question, "heartRate": 200}).status_code == 429
        run("keys", "revoke", made["key_id"], "--database", database)
        assert client.post("/v1/models/septic-shock/score", json={**question, "heartRate": 140}).status_code in (
            401,
            403,
        )
    lines = json.loads(run("keys", "budget", "--database", database, "--json"))["budgets"]
    assert [line["spent"] for line in lines] == [0.5, 0.5]
