"""The formats of a passport: their names, their files, and what each of them needs to know."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from understudy.errors import ParameterError
from understudy.parameters import OneOf
from understudy.release.passport.card import card
from understudy.release.passport.catalogue import dcat, health_dcat, lacks_health_facts
from understudy.release.passport.croissant import croissant
from understudy.release.passport.datapackage import datapackage
from understudy.release.passport.ddi import ddi
from understudy.release.passport.description import Description
from understudy.release.passport.registry import lacks_registry_facts, registry, why_no_entry


def _nothing(_: Description) -> list[str]:
    return []


def _never(_: Description) -> str:
    return ""


def _of_tables(release: Description) -> str:
    return "a risk score is a model, and this format describes tables" if release.is_score else ""


@dataclass(frozen=True, kw_only=True)
class Format:
    """One format."""

    name: str
    file: str
    write: Callable[[Description], str]
    why_not: Callable[[Description], str] = _of_tables
    """Why it does not apply to a release; empty where it does."""
    lacks: Callable[[Description], list[str]] = _nothing
    """Facts that it must state and that nobody declared."""


ALL = (
    Format(name="croissant", file="croissant.json", write=croissant),
    Format(name="frictionless", file="datapackage.json", write=datapackage),
    Format(name="ddi", file="ddi-codebook.xml", write=ddi),
    Format(name="dcat-ap", file="dcat-ap.jsonld", write=dcat),
    Format(name="healthdcat-ap", file="healthdcat-ap.jsonld", write=health_dcat, lacks=lacks_health_facts),
    Format(
        name="dp-registry",
        file="dp-registry.yaml",
        write=registry,
        why_not=why_no_entry,
        lacks=lacks_registry_facts,
    ),
    Format(name="card", file="README.md", write=card, why_not=_never),
)
FORMAT = OneOf(tuple(form.name for form in ALL))


def chosen(names: Sequence[str], release: Description) -> tuple[list[Format], dict[str, str]]:
    """The formats to write, and why each of the others is not written.

    Those that were asked for by name must be possible; where none was, all that are possible are taken.
    """
    for name in names:
        FORMAT.check("formats", name)
    wanted = [form for form in ALL if not names or form.name in names]
    left_out = {form.name: words for form in wanted if (words := reason_against(form, release))}
    if names and left_out:
        raise ParameterError("; ".join(f"{name} cannot be written: {words}" for name, words in left_out.items()) + ".")
    return [form for form in wanted if form.name not in left_out], left_out


def reason_against(form: Format, release: Description) -> str:
    """Why a format cannot be written; empty where it can."""
    if words := form.why_not(release):
        return words
    lacking = form.lacks(release)
    if not lacking:
        return ""
    where = "; declare it in the codebook, or give --publication FILE" if "[publication]" in str(lacking) else ""
    return f"it must state what nobody declared: {', '.join(lacking)}{where}"
