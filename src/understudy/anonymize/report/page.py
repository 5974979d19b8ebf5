"""From findings to one HTML file, in the style of the evaluation report."""

from collections.abc import Mapping
from typing import Any

from understudy.anonymize.criteria import criterion_from_dict
from understudy.anonymize.report.figures import mosaic_figure, sizes_figure
from understudy.pages.figures import figures_page
from understudy.pages.numbers import number, percent

BANNER = (
    "This page counts the confidential table before and after anonymisation. It is not part of the release: keep it "
    "with the data."
)

GLOSSARY = (
    ("Quasi-identifier", "A column that an intruder may know from elsewhere and link by: sex, place, age."),
    ("Class", "All rows that agree in every quasi-identifier. k-anonymity asks that none be smaller than k."),
    (
        "Prosecutor risk",
        "Chance of finding the right row of a person who is known to be in the table: one over the class.",
    ),
    (
        "Journalist risk",
        "The same where only the population is known that the table was drawn from: one over the class in the "
        "population. Without a population file it is at most the prosecutor's.",
    ),
    ("Marketer risk", "Expected share of rows that are linked rightly when all are tried: classes over rows."),
    ("Homogeneity", "All rows of a class share one sensitive value: whoever finds the class knows it, whatever k is."),
    ("l-diversity", "Every class holds several sensitive values: counted, by entropy, or recursively."),
    (
        "t-closeness",
        "The sensitive values of every class are spread nearly as in the whole table (earth mover's distance).",
    ),
    ("Suppression", "Rows too rare for their class lose all quasi-identifiers (*), or leave the table."),
)


def anonymity_page(doc: Mapping[str, Any]) -> str:
    """The page for a document of ``gather``."""
    sizes = sizes_figure(
        "class-sizes",
        "Rows by the size of their class",
        f"Alone with their quasi-identifiers: {doc['before']['uniques']:,} rows before, {doc['after']['uniques']:,} "
        f"released. Smallest class: {doc['before']['smallest']:,} before, {doc['after']['smallest']:,} released.",
        doc["before"]["histogram"],
        doc["after"]["histogram"],
    )
    duplicates = sizes_figure(
        "duplicates",
        "Duplicates: rows by how many share all their values",
        f"Alone with all their values: {doc['duplicate_uniques'][0]:,} rows before, {doc['duplicate_uniques'][1]:,} "
        "released. A row may be unique here and still be protected: k-anonymity looks at the quasi-identifiers only.",
        *doc["duplicates"],
    )
    mosaics = []
    if doc["mosaics"]:
        mosaics = [
            mosaic_figure("mosaic-before", "Quasi-identifiers before", doc["mosaics"][0]),
            mosaic_figure("mosaic-after", "Quasi-identifiers as released", doc["mosaics"][1]),
        ]
    sections = [("promise", "Promise"), ("risk", "Risk"), ("classes", "Classes")]
    sections += [("mosaics", "Mosaics")] if mosaics else []
    sections += [("recipe", "Recipe"), ("glossary", "Glossary")]
    return figures_page(
        "anonymity.html",
        package="understudy.anonymize.report",
        doc=doc,
        title=doc["title"],
        banner=BANNER,
        sections=sections,
        risks=_risks(doc),
        criteria=_criteria(doc),
        steps=[_step(step) for step in doc["parameters"]["steps"]],
        applied=_applied(doc),
        sizes=sizes,
        duplicates=duplicates,
        mosaics=mosaics,
        homogeneity=[
            (name, percent(shares["before"]), percent(shares["after"])) for name, shares in doc["homogeneity"].items()
        ],
        glossary=GLOSSARY,
    )


def _risks(doc: Mapping[str, Any]) -> list[tuple[str, str, str, str]]:
    before, after = doc["before"], doc["after"]
    known = " Without a population file this is the prosecutor's, an upper bound."
    if before["population"]:
        known = (
            " The population is compared with the table before; what is released has the prosecutor's, an upper bound."
        )
    lines = [
        ("Rows", "", "rows", "whole"),
        ("Classes", "Different combinations of quasi-identifiers.", "classes", "whole"),
        ("Smallest class", "The k that is really there.", "smallest", "whole"),
        ("Unique rows", "Alone in their class.", "uniques", "whole"),
        ("Prosecutor, highest", "One over the smallest class.", "prosecutor_highest", "percent"),
        ("Prosecutor, mean", "Over all rows.", "prosecutor_mean", "percent"),
        (
            f"Rows at a risk above {before['threshold']:g}",
            "Share of rows in classes that are too small for this threshold.",
            "at_risk",
            "percent",
        ),
        (
            "Journalist, highest",
            "One over the smallest class in the population." + known,
            "journalist_highest",
            "percent",
        ),
        ("Marketer", "Expected share of rows linked rightly." + known, "marketer", "percent"),
    ]
    show = {"whole": "{:,}".format, "percent": percent}
    return [(label, says, show[kind](before[name]), show[kind](after[name])) for label, says, name, kind in lines]


def _criteria(doc: Mapping[str, Any]) -> list[tuple[str, str, bool]]:
    measured = doc["anonymity"]["measured"]
    asked = doc["anonymity"]["asked"]["k"]
    lines = [
        (f"k-anonymity{'' if asked is None else f', k = {asked}'}", f"{measured['k']:,}", measured["k"] >= (asked or 1))
    ]
    for entry in measured["criteria"]:
        criterion = criterion_from_dict({name: value for name, value in entry.items() if name != "achieved"})
        value = float("inf") if entry["achieved"] is None else entry["achieved"]
        lines.append((criterion.label, number(value), criterion.passes(value)))
    return lines


def _step(step: Mapping[str, Any]) -> tuple[str, str]:
    rest = {name: value for name, value in step.items() if name != "do" and value not in ({}, [], None)}
    return str(step["do"]), ", ".join(f"{name} = {_shown(value)}" for name, value in rest.items())


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name} {_shown(item)}" for name, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_shown(item) for item in value) + "]"
    return str(value)


def _applied(doc: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The heights that the search chose."""
    return [(name, step) for applied in doc["anonymity"]["applied"] for name, step in applied.get("steps", {}).items()]
