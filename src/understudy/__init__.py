"""Understudy makes tables that are realistic but not real, under a privacy promise that is true.

>>> import understudy as us
>>> book = us.datasets.discharges_codebook()
>>> source = us.open(us.datasets.discharges(rows=5000, seed=1), book)
>>> fitted = us.PeGS(epsilon_per_record=1.0, delta=1e-6).fit(source)
>>> fitted.quote(rows=100).total.kind
'ApproxDP'
>>> release = fitted.sample(rows=100)
>>> release.table.num_rows
100
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from understudy.version import __version__

if TYPE_CHECKING:
    from understudy import datasets
    from understudy.codebook import Codebook
    from understudy.evaluate.combine import combine
    from understudy.privacy.account import Account
    from understudy.privacy.guarantees import Neighbours
    from understudy.release import Release
    from understudy.release.verify import verify_release as verify
    from understudy.sources import open_source as open  # noqa: A004 - `us.open` is the documented name
    from understudy.synth import (
        LUGS,
        METHODS,
        PLUGS,
        PMI,
        SBHG,
        BayesianBootstrap,
        Contingency,
        GibbsSampler,
        Imputation,
        LaplaceHistogram,
        MarginalBootstrap,
        Marginals,
        PeGS,
        PeGSReset,
        PrivBayes,
        SBHGGauss,
        StabilityBasedHistogram,
        make_recipe,
    )
    from understudy.synth.model_file import load_model

_WHERE = {
    "Account": ("understudy.privacy.account", "Account"),
    "BayesianBootstrap": ("understudy.synth", "BayesianBootstrap"),
    "Codebook": ("understudy.codebook", "Codebook"),
    "Contingency": ("understudy.synth", "Contingency"),
    "GibbsSampler": ("understudy.synth", "GibbsSampler"),
    "Imputation": ("understudy.synth", "Imputation"),
    "LUGS": ("understudy.synth", "LUGS"),
    "LaplaceHistogram": ("understudy.synth", "LaplaceHistogram"),
    "METHODS": ("understudy.synth", "METHODS"),
    "MarginalBootstrap": ("understudy.synth", "MarginalBootstrap"),
    "Marginals": ("understudy.synth", "Marginals"),
    "Neighbours": ("understudy.privacy.guarantees", "Neighbours"),
    "PLUGS": ("understudy.synth", "PLUGS"),
    "PMI": ("understudy.synth", "PMI"),
    "PeGS": ("understudy.synth", "PeGS"),
    "PeGSReset": ("understudy.synth", "PeGSReset"),
    "PrivBayes": ("understudy.synth", "PrivBayes"),
    "Release": ("understudy.release", "Release"),
    "SBHG": ("understudy.synth", "SBHG"),
    "SBHGGauss": ("understudy.synth", "SBHGGauss"),
    "StabilityBasedHistogram": ("understudy.synth", "StabilityBasedHistogram"),
    "combine": ("understudy.evaluate.combine", "combine"),
    "load_model": ("understudy.synth.model_file", "load_model"),
    "make_recipe": ("understudy.synth", "make_recipe"),
    "open": ("understudy.sources", "open_source"),
    "verify": ("understudy.release.verify", "verify_release"),
}

__all__ = [
    "LUGS",
    "METHODS",
    "PLUGS",
    "PMI",
    "SBHG",
    "Account",
    "BayesianBootstrap",
    "Codebook",
    "Contingency",
    "GibbsSampler",
    "Imputation",
    "LaplaceHistogram",
    "MarginalBootstrap",
    "Marginals",
    "Neighbours",
    "PeGS",
    "PeGSReset",
    "PrivBayes",
    "Release",
    "SBHGGauss",
    "StabilityBasedHistogram",
    "__version__",
    "combine",
    "datasets",
    "load_model",
    "make_recipe",
    "open",
    "verify",
]


def __getattr__(name: str) -> Any:
    """Import on first use, so that `import understudy` and `understudy --help` stay fast."""
    if name == "datasets":
        return import_module("understudy.datasets")
    if name in _WHERE:
        module, attribute = _WHERE[name]
        return getattr(import_module(module), attribute)
    raise AttributeError(f"module 'understudy' has no attribute {name!r}")
