"""Every method by name. A recipe registered here meets the conformance, documentation and command-line tests."""

import difflib
from dataclasses import MISSING, fields
from typing import Any

from understudy.errors import ParameterError
from understudy.synth.contingency import Contingency
from understudy.synth.gibbs import GibbsSampler
from understudy.synth.imputation import Imputation
from understudy.synth.laplace import LaplaceHistogram
from understudy.synth.lugs import LUGS
from understudy.synth.marginal_bootstrap import BayesianBootstrap, MarginalBootstrap
from understudy.synth.marginals import Marginals
from understudy.synth.pegs import PeGS
from understudy.synth.pegs_rs import PeGSReset
from understudy.synth.plugs import PLUGS
from understudy.synth.pmi import PMI
from understudy.synth.privbayes import PrivBayes
from understudy.synth.recipe import Recipe
from understudy.synth.sba import StabilityBasedHistogram
from understudy.synth.sbhg import SBHG
from understudy.synth.sbhg_gauss import SBHGGauss

METHODS: dict[str, type[Recipe]] = {
    cls.name: cls
    for cls in (
        Marginals,
        PeGS,
        PeGSReset,
        MarginalBootstrap,
        LaplaceHistogram,
        StabilityBasedHistogram,
        SBHG,
        SBHGGauss,
        PrivBayes,
        PMI,
        Imputation,
        LUGS,
        PLUGS,
        Contingency,
        GibbsSampler,
        BayesianBootstrap,
    )
}


def find_method(name: str) -> type[Recipe]:
    """The recipe called ``name``; a slip of the pen gets a suggestion."""
    if name in METHODS:
        return METHODS[name]
    near = difflib.get_close_matches(name.lower(), METHODS, n=1, cutoff=0.4)
    hint = f"Did you mean {near[0]!r}?" if near else "List them with `understudy methods`."
    raise ParameterError(f"there is no method {name!r}; methods are {', '.join(METHODS)}. {hint}")


def make_recipe(name: str, **options: Any) -> Recipe:
    """A recipe from loose options, each of which the method must know."""
    cls = find_method(name)
    known = {field.name: field for field in fields(cls)}
    if strange := sorted(set(options) - set(known)):
        raise ParameterError(f"{name} does not take {', '.join(strange)}; it takes {', '.join(known) or 'no options'}.")
    needed = [n for n, f in known.items() if f.default is MISSING and f.default_factory is MISSING]
    if lacking := [option for option in needed if option not in options]:
        # in backticks, so that the command line names its options
        told = ", ".join(f"`{option}`" for option in lacking)
        raise ParameterError(f"{name} needs {told}; there is no default.")
    return cls(**options)
