"""Our own lists of what each format asks for, for machines that do not have the official schemas."""

from collections.abc import Iterator, Mapping
from typing import Any
from xml.etree import ElementTree

DDI = "{ddi:codebook:2_5}"
DDI_ORDER = {
    "codeBook": ("docDscr", "stdyDscr", "fileDscr", "dataDscr"),
    "docDscr": ("citation",),
    "stdyDscr": ("citation", "stdyInfo", "method", "dataAccs"),
    "citation": ("titlStmt", "rspStmt", "prodStmt", "distStmt", "verStmt", "biblCit"),
    "titlStmt": ("titl", "IDNo"),
    "rspStmt": ("AuthEnty",),
    "prodStmt": ("prodDate", "software"),
    "distStmt": ("distrbtr", "contact"),
    "verStmt": ("version",),
    "stdyInfo": ("subject", "abstract", "sumDscr"),
    "subject": ("keyword",),
    "sumDscr": ("timePrd", "geogCover", "dataKind"),
    "method": ("notes",),
    "dataAccs": ("useStmt",),
    "useStmt": ("confDec", "restrctn", "citReq", "conditions"),
    "fileDscr": ("fileTxt", "notes"),
    "fileTxt": ("fileName", "fileCont", "dimensns", "fileType"),
    "dimensns": ("caseQnty", "varQnty"),
    "dataDscr": ("var",),
    "var": ("labl", "valrng", "catgry", "varFormat", "notes"),
    "valrng": ("range",),
    "catgry": ("catValu", "labl"),
}
"""Which elements may stand in which, in this order; all others hold text alone."""


def ddi_faults(text: str) -> list[str]:
    """Strange elements, wrong order, variables that point to no file."""
    root = ElementTree.fromstring(text)
    faults = [*_order_faults(root)]
    files = {one.get("ID") for one in root.iter(f"{DDI}fileDscr")}
    faults += [f"{var.get('ID')} is in no file" for var in root.iter(f"{DDI}var") if var.get("files") not in files]
    faults += [f"{tag} is missing" for tag in ("titl", "abstract", "var") if root.find(f".//{DDI}{tag}") is None]
    return faults


def _order_faults(element: ElementTree.Element) -> Iterator[str]:
    own = element.tag.removeprefix(DDI)
    allowed = DDI_ORDER.get(own, ())
    tags = [child.tag.removeprefix(DDI) for child in element]
    if strange := [tag for tag in tags if tag not in allowed]:
        yield f"{own} holds {strange}"
    elif tags != sorted(tags, key=allowed.index):
        yield f"{own} holds {tags} in the wrong order"
    for child in element:
        yield from _order_faults(child)


_TEXT, _LIST, _NUMBER = (str,), (list,), (int, float)
REGISTRY: Mapping[str, Any] = {
    "url_slug": _TEXT,
    "status": ("Draft",),
    "tier": (1, 2, 3),
    "deployment": {
        "basic": {
            "name": _TEXT,
            "data_curators": _LIST,
            "intended_use": _TEXT,
            "data_product_type": ("Summary statistics", "Machine learning model", "Synthetic data"),
            "data_product_region": _TEXT,
            "description": _TEXT,
            "publication_date": _TEXT,
        },
        "dp_variant": {
            "variant_name": ("Pure DP", "Approximate DP", "Custom"),
            "data_domain": _TEXT,
            "unprotected_quantities?": _TEXT,
        },
        "privacy_loss": {
            "privacy_unit": _TEXT,
            "privacy_unit_details": _TEXT,
            "privacy_parameters": {"epsilon": _NUMBER, "delta?": _NUMBER},
            "privacy_parameters_details": _TEXT,
        },
        "deployment_model": {
            "model_name": ("Central",),
            "release_type": ("One release",),
            "release_type_details": _TEXT,
            "access_type": ("Non-interactive",),
        },
        "accounting": {"post_processing": _TEXT, "composition": _TEXT},
        "implementation": {"mechanisms": _TEXT},
        "administrative": {"sources?": _TEXT, "notes?": _TEXT, "registry_authors": _LIST},
    },
}
"""Every key with its types or its words; a question mark stands for what may be lacking."""


def registry_faults(entry: Any, wanted: Mapping[str, Any] = REGISTRY, where: str = "") -> list[str]:
    """Missing and strange keys, values of another type or outside the words."""
    if not isinstance(entry, dict):
        return [f"{where} is no mapping"]
    known = {name.removesuffix("?"): rule for name, rule in wanted.items()}
    faults = [f"{where}/{name} is strange" for name in entry if name not in known]
    faults += [f"{where}/{name} is missing" for name in wanted if not name.endswith("?") and name not in entry]
    for name, value in entry.items():
        rule = known.get(name, ())
        if isinstance(rule, Mapping):
            faults += registry_faults(value, rule, f"{where}/{name}")
        elif not (isinstance(value, tuple(one for one in rule if isinstance(one, type))) or value in rule):
            faults.append(f"{where}/{name} is {value!r}")
    return faults


DATASET = ("dct:title", "dct:description", "dct:identifier", "dct:issued", "dct:accessRights", "dcat:distribution")
DISTRIBUTION = ("dcat:accessURL", "dct:title", "dcat:mediaType", "dcat:byteSize", "spdx:checksum")
HEALTH = (
    "dcatap:applicableLegislation", "dcat:theme", "healthdcatap:healthCategory", "dct:publisher", "dcat:contactPoint",
    "dcat:keyword", "dct:provenance", "csvw:tableGroup",
)  # fmt: skip
HEALTH_DISTRIBUTION = ("dcatap:applicableLegislation",)
COLUMN = ("csvw:name", "csvw:titles", "dct:description", "csvw:datatype")


def catalogue_faults(dataset: Mapping[str, Any], *, health: bool) -> list[str]:
    """What a catalogue asks for and does not find."""
    faults = [f"the data set lacks {name}" for name in (*DATASET, *(HEALTH if health else ())) if not dataset.get(name)]
    for one in dataset["dcat:distribution"]:
        wanted = (*DISTRIBUTION, *(HEALTH_DISTRIBUTION if health else ()))
        faults += [f"{one['@id']} lacks {name}" for name in wanted if not one.get(name)]
    if health:
        faults += [] if dataset["dct:publisher"].get("dcat:contactPoint") else ["the publisher has no contact"]
        for table in dataset["csvw:tableGroup"]["csvw:table"]:
            for column in table["csvw:column"]:
                faults += [f"a column lacks {name}" for name in COLUMN if not column.get(name)]
    used = {key.partition(":")[0] for key in _keys({k: v for k, v in dataset.items() if k != "@context"})}
    return faults + [f"the prefix {name} is not explained" for name in used - set(dataset["@context"])]


def _keys(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            if not key.startswith("@"):
                yield key
            yield from _keys(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _keys(inner)
