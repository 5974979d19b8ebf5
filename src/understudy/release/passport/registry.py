"""An entry for the registry of differential-privacy deployments (OpenDP and NIST), as YAML."""

import json
import re
from collections.abc import Mapping
from typing import Any

from understudy.privacy.guarantees import ApproxDP, ProbabilisticDP, PureDP
from understudy.privacy.spelling import at_most
from understudy.release.passport.description import Description, in_quotes

_VARIANTS = {PureDP: "Pure DP", ApproxDP: "Approximate DP", ProbabilisticDP: "Custom"}
_TIER = 2
"""The fields of the second tier are filled in. The third asks for the reasons of decisions, which people must write."""


def why_no_entry(release: Description) -> str:
    """Why the registry is not the place for a release; empty where it is."""
    if type(release.promise) not in _VARIANTS:
        return "the registry lists differentially private releases, and this one does not promise differential privacy"
    return ""


def lacks_registry_facts(release: Description) -> list[str]:
    """What an entry must say and nobody declared."""
    needed = ("publisher", "spatial", "intended_use")
    return [f"{name} in [publication]" for name in needed if not getattr(release.publication, name)]


def registry(release: Description) -> str:
    """``dp-registry.yaml``."""
    return "\n".join(_lines(_entry(release))) + "\n"


def _entry(release: Description) -> dict[str, Any]:
    publication, promise, relation = release.publication, release.promise, release.neighbours
    assert relation is not None  # a promise of these kinds always names its relation
    product = "Summary statistics" if release.made.is_statistics else "Synthetic data"
    sources = ", ".join(part for part in (publication.url, publication.citation) if part)
    # rounded up: an entry never states less than what is true
    parameters = {name: float(at_most(getattr(promise, name), 6)) for name in ("epsilon", "delta")}
    return {
        "url_slug": re.sub(r"[^a-z0-9]+", "-", f"{release.title} {publication.publisher} {release.day[:4]}".lower()),
        "status": "Draft",
        "tier": _TIER,
        "deployment": {
            "basic": {
                "name": release.title,
                "data_curators": [publication.publisher],
                "intended_use": publication.intended_use,
                "data_product_type": "Machine learning model" if release.is_score else product,
                "data_product_region": publication.spatial,
                "description": release.text,
                "publication_date": release.day,
            },
            "dp_variant": {
                "variant_name": _VARIANTS[type(promise)],
                "data_domain": "Tables that fit the codebook: its columns, levels and bounds are public.",
                "unprotected_quantities": " ".join(f"{words}." for words in release.assumptions),
            },
            "privacy_loss": {
                "privacy_unit": relation.unit,
                "privacy_unit_details": f"Neighbouring tables differ by {relation.plain}.",
                "privacy_parameters": {name: value for name, value in parameters.items() if value or name == "epsilon"},
                "privacy_parameters_details": release.statement,
            },
            "deployment_model": {
                "model_name": "Central",
                "release_type": "One release",
                "release_type_details": f"This entry is about release {release.release} alone; other releases about "
                "the same people add to its privacy loss.",
                "access_type": "Non-interactive",
            },
            "accounting": {
                "post_processing": "Whatever was done with the noisy values after the ledger's last entry.",
                "composition": "Every entry of the ledger in the manifest is added up: "
                + "; ".join(release.mechanisms),
            },
            "implementation": {
                "mechanisms": f"Method {release.method} of understudy {release.version}. Ledger: "
                f"{'; '.join(release.mechanisms)}. Randomness: {release.randomness}.",
            },
            "administrative": {
                "sources": sources,
                "notes": " ".join(release.warnings),
                "registry_authors": [publication.publisher],
            },
        },
    }


def _lines(entry: Mapping[str, Any], indent: str = "") -> list[str]:
    """YAML with texts in double quotes, which JSON spells in the same way."""
    lines = []
    for name, value in entry.items():
        if isinstance(value, Mapping):
            lines += [f"{indent}{name}:", *_lines(value, indent + "  ")]
        elif isinstance(value, list):
            lines += [f"{indent}{name}:", *(f"{indent}  - {_scalar(item)}" for item in value)]
        elif value != "":
            lines.append(f"{indent}{name}: {_scalar(value)}")
    return lines


def _scalar(value: Any) -> str:
    if isinstance(value, float):
        text = repr(value)
        return text if "." in text or "e" not in text else text.replace("e", ".0e")  # YAML 1.1 wants the point
    return in_quotes(value) if isinstance(value, str) else json.dumps(value)
