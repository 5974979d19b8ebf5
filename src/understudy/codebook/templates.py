"""Codebooks to start from: linked tables that many places keep, with columns that are publicly known."""

from importlib.resources import files

from understudy.codebook.linked import LinkedCodebook
from understudy.errors import ParameterError

TEMPLATES = {
    "encounters": "one table of encounters with person ids, as patients and encounters",
    "omop": "OMOP CDM 5.4: person, visit_occurrence, condition_occurrence, drug_exposure",
}
"""Names, each with what it describes."""


def template(name: str) -> LinkedCodebook:
    """The codebook of a template.

    >>> [table.name for table in template("omop").tables]
    ['person', 'visit_occurrence', 'condition_occurrence', 'drug_exposure']
    """
    return LinkedCodebook.from_toml(template_text(name))


def template_text(name: str) -> str:
    """The same as text, for a person to edit."""
    if name not in TEMPLATES:
        known = "; ".join(f"{own} ({what})" for own, what in TEMPLATES.items())
        raise ParameterError(f"there is no template {name!r}; there are {known}.")
    return (files("understudy.codebook") / "template_data" / f"{name}.toml").read_text(encoding="utf-8")
