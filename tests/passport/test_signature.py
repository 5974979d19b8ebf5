"""A detached signature: right, wrong, missing, and of something else."""

import json
import stat
from pathlib import Path

import pytest
from passport_releases import TABLES, score

import understudy as us
from understudy.errors import ParameterError, ReleaseError


@pytest.fixture(scope="module")
def signed(tmp_path_factory) -> Path:
    """A folder with a signed release, its keys, and another pair of keys."""
    root = tmp_path_factory.mktemp("signed")
    TABLES["parquet_only"](root / "r")
    us.sign(root / "r", new_key=root / "ours.key")
    score(root / "s")
    us.sign(root / "s" / "model.us", new_key=root / "others.key")
    return root


def test_the_right_key_verifies(signed) -> None:
    verdict = us.verify(signed / "r", key=signed / "ours.key.pub")
    assert verdict.is_valid, verdict.problems
    assert verdict.signed_by.startswith("sha256:")
    assert us.verify(signed / "r").signed_by == verdict.signed_by  # known without a key, but not whose it is
    assert us.verify(signed / "s" / "model.us", key=signed / "others.key.pub").is_valid


def test_only_the_owner_may_read_the_private_key(signed) -> None:
    assert stat.S_IMODE((signed / "ours.key").stat().st_mode) == 0o600
    assert "PRIVATE" not in (signed / "ours.key.pub").read_text(encoding="ascii")


def test_another_key_does_not(signed) -> None:
    (problem,) = us.verify(signed / "r", key=signed / "others.key.pub").problems
    assert problem.startswith("manifest.json was signed with another key")


def test_a_changed_manifest_is_noticed(signed, tmp_path) -> None:
    import shutil

    place = shutil.copytree(signed / "r", tmp_path / "r")
    text = (place / "manifest.json").read_text(encoding="utf-8")
    (place / "manifest.json").write_text(text + " ", encoding="utf-8")  # still the same JSON
    for key in (None, signed / "ours.key.pub"):
        (problem,) = us.verify(place, key=key).problems
        assert problem.startswith("manifest.json was changed after it was signed")


def test_a_forged_signature_by_another_key_passes_only_without_a_key(signed, tmp_path) -> None:
    """Whoever changes a release can sign it anew: only the publisher's key tells."""
    place = TABLES["parquet_only"](tmp_path / "r")
    us.sign(place, key=signed / "others.key")
    assert us.verify(place).is_valid
    assert not us.verify(place, key=signed / "ours.key.pub").is_valid


def test_a_missing_or_broken_signature_is_one_sentence(signed, tmp_path) -> None:
    place = TABLES["parquet_only"](tmp_path / "r")
    (problem,) = us.verify(place, key=signed / "ours.key.pub").problems
    assert problem.startswith("there is no signature.json")
    for content in ("", "{}", "[1]", json.dumps({"algorithm": "Ed25519", "signs": "x", "key": "", "signature": ""})):
        (place / "signature.json").write_text(content, encoding="utf-8")
        (problem,) = us.verify(place).problems
        assert problem.startswith("signature.json is not a signature")


def test_keys_and_signatures_are_never_overwritten(signed) -> None:
    with pytest.raises(ReleaseError, match=r"signature\.json' exists already"):
        us.sign(signed / "r", key=signed / "ours.key")
    (signed / "r2").mkdir()
    with pytest.raises(ReleaseError, match=r"no manifest\.json"):
        us.sign(signed / "r2", new_key=signed / "ours.key")


@pytest.mark.parametrize("content", ["", "no key", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"])
def test_a_file_that_is_no_key_is_refused_in_one_sentence(signed, content, tmp_path) -> None:
    (tmp_path / "k").write_text(content, encoding="ascii")
    with pytest.raises(ReleaseError, match="holds no public key in PEM"):
        us.verify(signed / "r", key=tmp_path / "k")
    place = TABLES["parquet_only"](tmp_path / "r")
    with pytest.raises(ReleaseError, match="holds no private key in PEM"):
        us.sign(place, key=tmp_path / "k")
    with pytest.raises(ReleaseError, match="cannot be read"):
        us.sign(place, key=tmp_path / "none")
    assert not (place / "signature.json").exists()


def test_a_key_of_another_kind_is_refused(signed, tmp_path) -> None:
    from cryptography.hazmat.primitives import serialization as s
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

    key = X25519PrivateKey.generate()
    private = key.private_bytes(s.Encoding.PEM, s.PrivateFormat.PKCS8, s.NoEncryption())
    (tmp_path / "k").write_bytes(private)
    (tmp_path / "k.pub").write_bytes(key.public_key().public_bytes(s.Encoding.PEM, s.PublicFormat.SubjectPublicKeyInfo))
    with pytest.raises(ReleaseError, match="not Ed25519"):
        us.verify(signed / "r", key=tmp_path / "k.pub")
    with pytest.raises(ReleaseError, match="not Ed25519"):
        us.sign(TABLES["parquet_only"](tmp_path / "r"), key=tmp_path / "k")


def test_what_does_not_verify_is_not_signed(tmp_path, signed) -> None:
    place = TABLES["parquet_only"](tmp_path / "r")
    (place / "report.html").write_text("confidential", encoding="utf-8")
    with pytest.raises(ReleaseError, match="does not verify"):
        us.sign(place, new_key=tmp_path / "k")
    assert not (tmp_path / "k").exists()
    with pytest.raises(ParameterError, match="give one of"):
        us.sign(place)


def test_keys_that_signed_nothing_are_not_left(tmp_path, signed, monkeypatch) -> None:
    """They would stand in the way of the next try, and speak for nothing."""
    from understudy.release import signature

    place = TABLES["parquet_only"](tmp_path / "r")
    writes = signature.new_file
    for fails in ("signature.json", "k.pub"):

        def breaks(path, *rest, fails=fails, **more):
            if path.name == fails:
                raise ReleaseError(f"no room for {fails}")
            return writes(path, *rest, **more)

        monkeypatch.setattr(signature, "new_file", breaks)
        with pytest.raises(ReleaseError, match="no room"):
            us.sign(place, new_key=tmp_path / "k")
        assert not (tmp_path / "k").exists() and not (tmp_path / "k.pub").exists()
    monkeypatch.setattr(signature, "new_file", writes)
    us.sign(place, new_key=tmp_path / "k")
    assert us.verify(place, key=tmp_path / "k.pub").is_valid
