"""What the page on operations promises of the container files, line by line."""

import inspect
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from parsed import DEPLOY, ROOT, compose, environment, health_command, instructions, last_stage, only

from understudy.cli.serve import serve
from understudy.front.visitors import Limits

SERVICES = compose()["services"]
OURS = [name for name in SERVICES if name != "database"]
FILES = sorted(path for path in DEPLOY.iterdir() if path.is_file())


def flags_of(words: list[str]) -> list[str]:
    return [word for word in words if word.startswith("--")]


def test_the_files_are_those_that_were_looked_at():
    assert [path.name for path in FILES] == [
        "Containerfile",
        "compose.yaml",
        "database.sql",
        "make-secrets",
        "understudy.service",
    ]


def test_the_wheel_is_built_in_one_stage_and_installed_in_another():
    bases = [each.words for each in instructions() if each.name == "FROM"]
    assert bases == ["python:3.11-slim AS wheels", "python:3.11-slim AS installed", "python:3.11-slim"]
    first, second, _ = (each.words for each in instructions() if each.name == "RUN")
    assert "PIP_CONSTRAINT=/build/constraints.txt" in first and "pip wheel" in first
    assert "--no-index" in second, "the image takes nothing from an index"
    (copied,) = [each.words for each in last_stage() if each.name in ("COPY", "ADD")]
    assert copied.startswith("--from=installed "), "neither wheels nor the source tree are in the image"
    asked = re.search(r">=(3\.\d+)", tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"])
    assert asked and asked[1] == "3.11"


def test_every_copied_path_is_there_and_reaches_the_builder():
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    assert "*" in ignored, "whatever lies in the folder, data and secrets too, stays outside unless it is named"
    seen = {line[1:] for line in ignored if line.startswith("!")}
    copied = [each.words.split()[:-1] for each in instructions() if each.name == "COPY"]
    sources = {source for words in copied for source in words if not words[0].startswith("--from=")}
    assert sources == seen
    assert all((ROOT / source).exists() for source in sources)


def test_the_image_runs_as_nobody_in_particular():
    user, group = only("USER").words.split(":")
    assert int(user) >= 10_000 and int(group) >= 10_000, "a number, so that a cluster can see that it is not root"
    after = [each.name for each in last_stage()][[each.name for each in last_stage()].index("USER") :]
    assert "RUN" not in after


def test_the_image_has_a_health_check_without_a_shell():
    words = health_command()
    assert words[0] == "python" and "/readyz" in words[-1]
    stated = dict(re.findall(r"--(\w[\w-]*)=(\d+)s?", only("HEALTHCHECK").words))
    assert int(stated["timeout"]) > 5, "the service itself takes up to five seconds to say that it is not ready"


def test_entry_and_command_are_in_exec_form_and_take_signals():
    assert only("ENTRYPOINT").listed == ["understudy"]
    assert only("CMD").listed[0] == "serve"


@pytest.mark.parametrize(
    "words", [only("CMD").listed, *(SERVICES[name]["command"] for name in OURS)], ids=["image", *OURS]
)
def test_every_flag_is_one_that_serve_takes(words):
    known = inspect.signature(serve).parameters
    assert words[0] == "serve"
    assert flags_of(words), "nothing to check"
    strange = [flag for flag in flags_of(words) if flag[2:].replace("-", "_") not in known]
    assert not strange


def test_the_command_line_says_so_too():
    """The same, asked of the program."""
    from typer.testing import CliRunner

    from understudy.cli.app import app

    said = CliRunner().invoke(app, ["serve", "--help"], env={"COLUMNS": "200"}).stdout
    for name in OURS:
        assert all(flag in said for flag in flags_of(SERVICES[name]["command"]))


def test_folders_that_the_image_names_are_writable_or_mounted():
    own = environment()
    service = SERVICES["service"]
    mounted = {mount.split(":")[0] for mount in service["tmpfs"]}
    assert own["NUMBA_CACHE_DIR"] in mounted and "/tmp" in mounted
    assert own["HOME"] in {volume.split(":")[1] for volume in service["volumes"]}
    assert own["HOME"] in only("VOLUME").listed and own["HOME"] == only("WORKDIR").words
    (made,) = [each.words for each in last_stage() if each.name == "RUN"]
    # Podman gives a tmpfs the mode of the folder below it, and its owner is root
    assert f"install -d -m 1777 {own['NUMBA_CACHE_DIR']}" in made


@pytest.mark.parametrize("name", SERVICES)
def test_every_container_is_closed(name):
    told = SERVICES[name]
    assert told["read_only"] is True
    assert told["cap_drop"] == ["ALL"] and "cap_add" not in told and "privileged" not in told
    assert told["security_opt"] == ["no-new-privileges:true"]
    assert int(told["user"].split(":")[0]) > 0
    limits = told["deploy"]["resources"]["limits"]
    assert limits["memory"] and limits["cpus"] and limits["pids"]
    assert told["ulimits"]["core"] == 0, "a memory image would hold confidential counts"
    assert told["healthcheck"]["test"][0] == "CMD"
    assert all("size=" in mount and "mode=1777" in mount for mount in told["tmpfs"])
    assert all(volume.endswith(":ro") for volume in told["volumes"] if volume.startswith("."))
    assert "network_mode" not in told and "pid" not in told


@pytest.mark.parametrize("name", OURS)
def test_our_service(name):
    told = SERVICES[name]
    assert told["user"] == only("USER").words
    assert told["healthcheck"]["test"][1:] == health_command(), "the OCI format keeps none, so it is said twice"
    assert told["depends_on"] == {"database": {"condition": "service_healthy"}}
    assert told["ulimits"]["nofile"] - 256 >= Limits().connections
    assert all(port.startswith("127.0.0.1:") for port in told["ports"])
    assert told["ports"][0].endswith(f":{only('EXPOSE').words}")
    assert int(told["stop_grace_period"].rstrip("s")) > 10, "open requests have ten seconds"


def test_the_database_is_seen_by_the_service_alone():
    network = compose()["networks"]
    assert network["back"] == {"internal": True}
    assert SERVICES["database"]["networks"] == ["back"] and "ports" not in SERVICES["database"]


def test_one_server_unless_a_second_is_asked_for():
    assert "profiles" not in SERVICES["service"] and SERVICES["service-2"]["profiles"] == ["two"]
    assert SERVICES["service"]["ports"] != SERVICES["service-2"]["ports"]


def test_secrets_come_from_files():
    document = compose()
    used = {secret for told in SERVICES.values() for secret in told["secrets"]}
    assert used == set(document["secrets"])
    assert all(
        list(each) == ["file"] and each["file"].startswith("./secrets/") for each in document["secrets"].values()
    )
    made = (DEPLOY / "make-secrets").read_text()
    assert all(each["file"].removeprefix("./") in made for each in document["secrets"].values())
    for told in SERVICES.values():
        for name, value in told["environment"].items():
            if re.search("SECRET|PASS|KEY", name):
                assert name.endswith("FILE") and value.removeprefix("/run/secrets/") in told["secrets"]
    ignored = (ROOT / ".gitignore").read_text().splitlines()
    assert "/deploy/secrets/" in ignored and "/deploy/models/" in ignored


def test_no_password_in_the_address(monkeypatch):
    from understudy.service.store import without_password

    for name in OURS:
        address = SERVICES[name]["environment"]["UNDERSTUDY_DATABASE"]
        assert without_password(address) == address
    assert not any(each.name == "ENV" and re.search("SECRET|PASSW|KEY|TOKEN", each.words) for each in instructions())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_no_host_is_named(path):
    """Images have short names; whoever builds chooses where they come from."""
    found = re.findall(r"[a-z0-9-]+(?:\.[a-z0-9-]+)*\.(?:com|org|io|net|dev)\b", path.read_text())
    assert not found
    addresses = [found.rstrip(".") for found in re.findall(r"\w+://([^/\s]+)", path.read_text())]
    assert set(addresses) <= {"127.0.0.1:8000", "understudy@database", ""}


def test_what_compose_uses_is_declared():
    document = compose()
    named = {volume.split(":")[0] for told in SERVICES.values() for volume in told["volumes"]}
    assert {name for name in named if not name.startswith(".")} == set(document["volumes"])
    assert {network for told in SERVICES.values() for network in told["networks"]} == set(document["networks"])
    build = SERVICES["service"]["build"]
    assert (DEPLOY / build["context"] / build["dockerfile"]).is_file()
    assert all((DEPLOY / name).is_file() for name in named if name.endswith(".sql"))


def found(program: str) -> str | None:
    """On the path, or beside the Python of these tests, wherever its environment lies."""
    return shutil.which(program) or shutil.which(program, path=str(Path(sys.executable).parent))


def test_the_linter_finds_nothing():
    linter = found("hadolint")
    if linter is None:
        pytest.skip("group containers: no hadolint for this machine")
    said = subprocess.run([linter, DEPLOY / "Containerfile"], capture_output=True, text=True, timeout=60, check=False)
    assert said.returncode == 0, said.stdout + said.stderr


def test_the_linter_would_find_something(tmp_path):
    linter = found("hadolint")
    if linter is None:
        pytest.skip("group containers: no hadolint for this machine")
    (tmp_path / "Containerfile").write_text("FROM python\nRUN cd /x && sudo ls\n")
    said = subprocess.run([linter, tmp_path / "Containerfile"], capture_output=True, text=True, timeout=60, check=False)
    assert said.returncode == 1 and "DL3006" in said.stdout


def held_against_the_schema(file):
    """By the published schema of Compose, which needs no program of Docker."""
    words = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", file]
    return subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)


def test_the_compose_file_keeps_the_schema_of_compose():
    said = held_against_the_schema(DEPLOY / "compose.yaml")
    assert said.returncode == 0, said.stdout + said.stderr


def test_the_schema_of_compose_would_refuse_a_slip(tmp_path):
    text = (DEPLOY / "compose.yaml").read_text()
    (tmp_path / "compose.yaml").write_text(text.replace("read_only: true", "read_onli: true", 1))
    said = held_against_the_schema(tmp_path / "compose.yaml")
    assert said.returncode == 1 and "read_onli" in said.stdout


def test_compose_itself_takes_the_file():
    """Where Compose is installed; it needs no server for this."""
    docker, podman = shutil.which("docker"), shutil.which("podman-compose")
    ways = [[docker, "compose"]] if docker else []
    ways += [[podman]] if podman else []
    for words in ways:
        if subprocess.run([*words, "version"], capture_output=True, timeout=60, check=False).returncode == 0:
            asked = [*words, "-f", DEPLOY / "compose.yaml", "--profile", "two", "config"]
            said = subprocess.run(asked, capture_output=True, text=True, timeout=60, check=False)
            assert said.returncode == 0, said.stderr
            return
    pytest.skip("group containers: neither `docker compose` nor podman-compose is here")
