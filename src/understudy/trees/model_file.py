"""``model.us``: a score model as one JSON file with a checksum. No pickle, no code, no key inside.

Layout: ``understudy-score-model`` (the format), ``public`` (the manifest, the codebook, what may be read of the trees),
``confidential`` (null or ciphertext), ``checksum``. The ciphertext is bound to the public part, so that nobody can put
another promise beside the same counts.
"""

import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

from understudy.codebook import Codebook
from understudy.errors import ReleaseError, UnderstudyError
from understudy.files import Access, refuse_special, write_file
from understudy.loading import loader
from understudy.mechanisms.sealing import KEY_BYTES, seal, unseal
from understudy.privacy.guarantees import guarantee_from_dict
from understudy.privacy.ledger import Ledger, stream_entries
from understudy.privacy.transaction import Payment
from understudy.release.folders import Commit, digest_of_bytes, new_file
from understudy.release.manifest import Manifest, describe, read_manifest
from understudy.trees.model import NO_ROWS, ScoreFacts, ScoreModel, score_quote
from understudy.trees.scorers import scorer_from_parts

FORMAT = 2
KEY_VARIABLE = "UNDERSTUDY_MODEL_KEY"
MOST_BYTES = 1 << 28
"""A model file beyond 256 MiB is not one of ours."""

_MARK = "understudy-score-model"
_HOW = (
    f"Make one with `understudy train --new-key FILE`, and give it as a key file or as {2 * KEY_BYTES} hexadecimal "
    f"digits in the environment variable {KEY_VARIABLE}."
)


@contextmanager
def new_key_file(path: Path, *, opens: Path | None = None) -> Iterator[bytes]:
    """A fresh key in a new file that only its owner may read.

    It is on the disk before the model ``opens`` that it seals; if the block fails before there is one, it is removed.
    """
    key = secrets.token_bytes(KEY_BYTES)
    try:
        write_file(path, key.hex() + "\n", Access.OWNER, new=True)
    except FileExistsError:
        raise ReleaseError(f"{str(path)!r} exists already; a key file is never overwritten. Choose another.") from None
    except OSError as reason:
        raise ReleaseError(f"the key file {str(path)!r} cannot be written ({reason.strerror}).") from None
    try:
        yield key
    except BaseException:
        if opens is None or not opens.exists():  # an interrupt may come when the model is written already
            path.unlink(missing_ok=True)
        raise


def model_key(key: bytes | str | Path | None) -> bytes:
    """The 32 bytes of a key: given, from a key file, or from the environment."""
    if isinstance(key, bytes):
        if len(key) != KEY_BYTES:
            raise ReleaseError(f"the model key has {len(key)} bytes; it must have {KEY_BYTES}. {_HOW}")
        return key
    if key is None:
        text, where = os.environ.get(KEY_VARIABLE), f"the environment variable {KEY_VARIABLE}"
        if text is None:
            raise ReleaseError(f"this model has a confidential part and no key was given. {_HOW}")
    else:
        where = f"the key file {str(key)!r}"
        try:
            refuse_special(Path(key), follow=True)
            text = Path(key).read_text(encoding="ascii")
        except (OSError, UnicodeDecodeError) as reason:
            raise ReleaseError(f"{where} cannot be read ({getattr(reason, 'strerror', 'not text')}). {_HOW}") from None
    try:
        secret = bytes.fromhex(text.strip())
    except ValueError:
        secret = b""
    if len(secret) != KEY_BYTES:
        raise ReleaseError(f"{where} does not hold {2 * KEY_BYTES} hexadecimal digits. {_HOW}")
    return secret


def write_model(model: ScoreModel, path: Path, key: bytes | str | Path | None, *, commit: Commit | None = None) -> Path:
    """Write a new file, all or nothing; ``commit`` hears its digest at the last moment before it appears."""
    public = _public(model)
    secret = model.scorer.secret_part()
    sealed = None if secret is None else seal(secret, key=model_key(key), bound_to=_canonical(public))
    content: dict[str, Any] = {_MARK: FORMAT, "public": public, "confidential": sealed}
    content["checksum"] = _checksum(content)
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, indent=1) + "\n"
    return new_file(path, text.encode(), what="a model", commit=commit)


def public_digest(model: ScoreModel) -> str:
    """Of everything that anybody may read of a model."""
    return digest_of_bytes(_canonical(_public(model)))


def _canonical(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":")).encode()


def has_checksum(content: dict[str, Any]) -> bool:
    """Whether the parts are those that were written."""
    return bool(content["checksum"] == _checksum(content))


def _checksum(content: dict[str, Any]) -> str:
    return digest_of_bytes(_canonical({k: v for k, v in content.items() if k != "checksum"}))


def _public(model: ScoreModel) -> dict[str, Any]:
    return {
        "manifest": model.manifest.to_dict(),
        "codebook": model.codebook.to_toml(),
        "body": model.scorer.body,
        "scorer": model.scorer.public_part(),
    }


@loader("the model", remedy="copy it again from its source.", error=ReleaseError)
def read_model(path: Path, key: bytes | str | Path | None) -> ScoreModel:
    """Read, check, decrypt what is confidential, and build; a file that contradicts itself is refused."""
    content = read_content(path)
    if not has_checksum(content):
        raise ReleaseError(f"the model {str(path)!r} is damaged: its checksum does not fit. Copy it again.")
    public, sealed = content["public"], content["confidential"]
    try:
        secret = None if sealed is None else unseal(sealed, key=model_key(key), bound_to=_canonical(public))
        manifest, words = manifest_of(content)
        scorer = scorer_from_parts(public["body"], public["scorer"], secret)
        return ScoreModel(scorer=scorer, manifest=manifest, words=words)
    except ReleaseError as reason:
        raise ReleaseError(f"the model {str(path)!r} cannot be opened: {reason}") from None
    except (UnderstudyError, LookupError, ValueError, TypeError, AttributeError) as reason:
        raise ReleaseError(f"{str(path)!r} is not a sound model file ({reason}); copy it again.") from None


def manifest_of(content: dict[str, Any]) -> tuple[Manifest, str | None]:
    """The manifest of a model file; of the first format, what is missing is built and its statement comes beside it."""
    public = content["public"]
    book = Codebook.from_toml(public["codebook"])
    if content[_MARK] == FORMAT:
        return read_manifest(public["manifest"], book), None
    return _first_format(public, book), public["statement"]


def _first_format(public: dict[str, Any], book: Codebook) -> Manifest:
    from understudy.trees.train import free_questions

    paid = list(Ledger.from_list(public["ledger"]))
    if not paid and public["price_per_call"] is not None:
        paid = [free_questions()]  # the first format had no line for what shows nothing
    call = public["call_guarantee"]
    quote = score_quote(
        public["method"],
        Ledger.of([*paid, *stream_entries(public["secure"])]),
        delta=public["delta"],
        call=None if call is None else guarantee_from_dict(dict(call)),
    )
    name = f"{public['name']}-{public['version']}"
    payment = Payment.free(words="not stated: files of the first format do not say who paid", release_id=name)
    return describe(
        quote,
        payment,
        parameters={},
        rows_origin=NO_ROWS,
        codebook=book,
        secure=public["secure"],
        score={field.name: public[field.name] for field in fields(ScoreFacts)},
        created="not stated",
    )


@loader("the model", remedy="copy it again from its source.", error=ReleaseError)
def read_content(path: Path) -> dict[str, Any]:
    """The parts of a model file, of a format that we know; whether its checksum fits is asked by others."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise ReleaseError(f"{str(path)!r} is larger than {MOST_BYTES:,} bytes; that is no score model.")
        content = json.loads(path.read_text(encoding="utf-8"), parse_constant=_no_constant)
    except FileNotFoundError:
        raise ReleaseError(f"there is no model file {str(path)!r}; train one with `understudy train`.") from None
    except OSError as reason:
        raise ReleaseError(f"the model {str(path)!r} cannot be read ({reason.strerror}).") from None
    except (ValueError, RecursionError):
        raise ReleaseError(f"{str(path)!r} {_something_else(path)}") from None
    if not isinstance(content, dict) or _MARK not in content:
        raise ReleaseError(f"{str(path)!r} is not a score model; train one with `understudy train`.")
    if content[_MARK] not in (1, FORMAT):
        raise ReleaseError(
            f"the model {str(path)!r} has format {content[_MARK]!r} and this version of understudy reads formats 1 and "
            f"{FORMAT}; use the version that wrote it, or a newer one."
        )
    if set(content) != {_MARK, "public", "confidential", "checksum"} or not isinstance(content["public"], dict):
        raise ReleaseError(f"the model {str(path)!r} has other parts than it should; copy it again.")
    return content


def _something_else(path: Path) -> str:
    """What a file is that cannot be read as one of ours, and what to do about it."""
    with path.open("rb") as stream:
        start = stream.read(64)
    if not start:
        return "is empty; train a model with `understudy train`."
    if start.startswith(b"PK"):
        return "is not a score model; if `synth --save-model` wrote it, rows are drawn from it with `understudy draw`."
    if _MARK.encode() in start:
        return "is damaged: it is not whole JSON text. Copy it again."
    return "is not a score model; give the file that `understudy train` wrote."


def _no_constant(word: str) -> float:
    raise ValueError(f"{word} is no number")
