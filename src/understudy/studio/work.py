"""The work that jobs do: each kind calls use cases of the façade, and tells in plain data what came of it.

What is told is kept in the folder of the job, so confidential figures stay out of it: they go into pages.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

Report = Callable[[str, int, int], None]
Arguments = Mapping[str, Any]


def synthesize(arguments: Arguments, report: Report) -> dict[str, Any]:
    """One release in a new folder, checked at once."""
    from understudy.facade import releases, tables

    release = tables.synthesize(**{"method": "marginals", **arguments}, report=report)
    certificate = getattr(release.manifest, "certificate", None)
    lines = [] if certificate is None else releases.certificate_lines(certificate)
    return {**_released(arguments["out"]), "statement": release.statement, "certificate": lines}


def evaluate(arguments: Arguments, report: Report) -> dict[str, Any]:
    """The report for the board; linked tables have their own."""
    from understudy.facade import linked_looks, looks

    if (linked := linked_looks.linked_book(arguments["synthetic"], arguments.get("book"))) is not None:
        known = ("real", "synthetic", "out", "holdout", "board", "account")
        given = {name: arguments[name] for name in known if arguments.get(name) is not None}
        linked_looks.evaluate_linked(**given, book=linked, report=report)
    else:
        looks.evaluate(**arguments, report=report)
    return {"page": arguments["out"]}


def candidates(arguments: Arguments, report: Report) -> dict[str, Any]:
    """Ways to anonymise a table, weighed; the figures are confidential and stand in a file of their own."""
    from understudy.facade import anonymity

    out = arguments["out"]
    anonymity.weigh_anonymity(**arguments, report=report)
    return {"file": out}


def anonymize(arguments: Arguments, report: Report) -> dict[str, Any]:
    """An anonymised release, checked at once, and its page for the board: a look that the account remembers."""
    from understudy.facade import anonymity

    asked = dict(arguments)
    page, account = asked.pop("page"), asked.pop("account", None)
    made = anonymity.anonymize(**asked, report=report)
    source = {"real": asked["data"], "book": asked["book"], "table": asked.get("table")}
    anonymity.report_anonymity(**source, release=asked["out"], out=page, account=account, report=report)
    return {**_released(arguments["out"]), "statement": made.release.statement, "certificate": []}


def verify(arguments: Arguments, report: Report) -> dict[str, Any]:
    """Compute again everything that a release states."""
    return _released(arguments["folder"])


def sign(arguments: Arguments, report: Report) -> dict[str, Any]:
    """Write the passport, sign, and pack what may leave the house."""
    from understudy.facade import passports

    folder = arguments["folder"]
    told = _valid(folder)  # before anything is written; signing checks the passport too
    written = passports.passport(folder)
    keys = {name: arguments[name] for name in ("key", "new_key") if name in arguments}
    _, name = passports.sign(folder, **keys)
    return {**told, "formats": len(written.files), "key": name, "size": _packed(arguments, report)}


def pack(arguments: Arguments, report: Report) -> dict[str, Any]:
    """One zip file of a release that verifies."""
    return {**_valid(arguments["folder"]), "size": _packed(arguments, report)}


def _packed(arguments: Arguments, report: Report) -> int:
    from understudy.studio import packing

    packed = packing.pack(Path(arguments["folder"]), Path(arguments["packs"]), arguments["base"], report)
    return packed.stat().st_size


def _valid(folder: str) -> dict[str, Any]:
    from understudy.errors import ReleaseError
    from understudy.studio.texts import texts

    told = _released(folder)
    if not told["valid"]:
        raise ReleaseError(texts("publish")["not_valid"])
    return told


def _released(folder: str) -> dict[str, Any]:
    from understudy.facade import releases

    verdict = releases.verify(folder)
    return {
        "notices": list(verdict.notices),
        "signed_by": verdict.signed_by,
        "folder": folder,
        "what": verdict.what,
        "passed": list(verdict.passed),
        "problems": list(verdict.problems),
        "valid": verdict.is_valid,
    }


KINDS: Mapping[str, Callable[[Arguments, Report], dict[str, Any]]] = {
    "synthesize": synthesize,
    "evaluate": evaluate,
    "candidates": candidates,
    "anonymize": anonymize,
    "verify": verify,
    "sign": sign,
    "pack": pack,
}
