"""Individual values from group averages: what averages give away, and to whom.

>>> import pandas as pd
>>> from understudy.reconstruct import Aggregate, MoorePenrose
>>> people = pd.DataFrame({"county": ["A", "A", "B", "B", "B"], "days": [1, 2, 3, 4, 5]})
>>> charges = Aggregate(by="county", target="charge", values={"A": 1.5, "B": 4.0})
>>> MoorePenrose().fit(people, charges).reconstruct().values["charge"].tolist()
[1.5, 1.5, 4.0, 4.0, 4.0]
"""

from understudy.reconstruct.aggregates import Aggregate
from understudy.reconstruct.cudia import CUDIA
from understudy.reconstruct.estimators import Reconstructor
from understudy.reconstruct.methods import (
    LUDIA,
    EcologicalRegression,
    LUDIASingularValues,
    MoorePenrose,
    PrincipalRegression,
    ShrunkenRegression,
)
from understudy.reconstruct.result import Met, Reconstruction

__all__ = [
    "CUDIA",
    "LUDIA",
    "METHODS",
    "Aggregate",
    "EcologicalRegression",
    "LUDIASingularValues",
    "Met",
    "MoorePenrose",
    "PrincipalRegression",
    "Reconstruction",
    "Reconstructor",
    "ShrunkenRegression",
]

METHODS: dict[str, type[Reconstructor]] = {
    method.name: method
    for method in (
        MoorePenrose,
        EcologicalRegression,
        LUDIA,
        LUDIASingularValues,
        PrincipalRegression,
        ShrunkenRegression,
        CUDIA,
    )
}
"""By the name that the command line uses."""
