"""Every method of every room with its facts: what ``understudy methods --all`` and ``docs/methods/index.md`` show."""

from understudy.anonymize.facts import FACTS as ANONYMIZE
from understudy.commute.facts import FACTS as COMMUTE
from understudy.privacy.facts import MethodFacts
from understudy.reconstruct.facts import FACTS as RECONSTRUCT
from understudy.synth.facts import FACTS as SYNTH
from understudy.synth.facts import OTHER
from understudy.trees.facts import FACTS as TREES
from understudy.trees.facts import SERVICE

ALL: dict[str, tuple[MethodFacts, ...]] = {
    "Synthetic tables": tuple(SYNTH.values()),
    "Beside them": OTHER,
    "Commuting tables": COMMUTE,
    "Risk scores": (*TREES.values(), SERVICE),
    "Anonymised tables": ANONYMIZE,
    "Averages": RECONSTRUCT,
}
"""Facts by what is released."""
