"""Cross-check with anonymeter, where an environment that has it is named."""

import math
import os

import pytest

from experiments.anonymeter_check import ATTACKS, VARIABLE, ours, tables, theirs

python = os.environ.get(VARIABLE)


@pytest.mark.skipif(not python, reason=f"anonymeter: name the interpreter of its environment in {VARIABLE}")
def test_nearest_neighbour_attacks_succeed_as_often_as_those_of_anonymeter():
    """Rates of 500 tries each: z = 7 standard errors of the difference, and what Wilson's centre moves a rate."""
    for name, parts in tables().items():
        mine, peer = ours(*parts), theirs(*parts, python=python)
        for attack in ("linkability", "inference"):
            for part in ("attack", "control"):
                rate = (mine[attack][part] + peer[attack][part][0]) / 2
                room = 7 * math.sqrt(2 * max(rate * (1 - rate), 1 / ATTACKS) / ATTACKS) + 2 / ATTACKS
                assert mine[attack][part] == pytest.approx(peer[attack][part][0], abs=room), (name, attack, part)
        assert (mine["singling_out"]["gain"][0] > 0.1) == (peer["singling_out"]["gain"][0] > 0.1), name
