"""The tests of the promise notice small faults: a few mutants that were killed before are killed again."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.mutants.campaign import ROOT, all_mutants, modules, read_results
from tests.mutants.mutators import mutants_of

WATCHED = (
    "mechanisms/stability.py: stability_threshold: threshold - 1 -> threshold + 1",
    "privacy/conversion.py: _epsilon: delta * order -> delta / order",
)
"""One of a noise threshold, one of a conversion: killed by quick tests."""


def test_every_fault_gets_a_name_of_its_own(tmp_path):
    source = tmp_path / "m.py"
    source.write_text(
        "LIMIT = 2\n\n\ndef f(a: int, b: int) -> bool:\n    '''Words.'''\n    if a < b and not a:\n        "
        "raise ValueError(f'{a + 1}')\n    a += 1\n    g(a)\n    return max(a, -1) == b + 1\n"
    )
    found = list(mutants_of(source, "m.py"))
    assert [mutant.change for mutant in found] == [
        "2 -> 3",
        "a < b and (not a) -> a < b or not a",
        "a < b -> a <= b",
        "not a -> a",
        "raise ValueError(f'{a + 1}') -> pass",
        "a += 1 -> a -= 1",
        "1 -> 2",
        "g(a) -> pass",
        "max(a, -1) == b + 1 -> max(a, -1) != b + 1",
        "max(a, -1) -> min(a, -1)",
        "-1 -> 1",
        "1 -> 2 (2)",
        "b + 1 -> b - 1",
        "1 -> 2 (3)",
    ]
    for mutant in found:
        compile(mutant.source, "m.py", "exec")
    assert len({mutant.source for mutant in found}) == len({mutant.name for mutant in found}) == len(found)


def test_every_survivor_has_its_reason_and_95_in_100_are_killed():
    results = read_results()
    assert all(results["survived"].values()), "look at it: write a test that kills it, or say why it may live"
    relevant = [name for name, why in results["survived"].items() if not why.startswith(("equivalent", "keeps"))]
    killed = len(results["killed"])
    assert killed >= 95 and killed / (killed + len(relevant)) >= 0.95
    assert not set(results["killed"]) & set(results["survived"])


def test_every_mapped_file_is_there():
    for module in modules():
        assert (ROOT / "src" / "understudy" / module).exists(), module
    known = {mutant.name for mutant in all_mutants(["mechanisms/stability.py", "privacy/conversion.py"])}
    assert set(WATCHED) <= known, "the code has changed: choose others"


@pytest.mark.long
@pytest.mark.parametrize("name", WATCHED)
def test_the_tests_notice(name):
    """In a process of its own, because understudy must not be imported before the fault is put in."""
    program = (
        "import sys\nfrom tests.mutants.campaign import *\nwarm_up()\nname = sys.argv[1]\n"
        "module = name.split(': ')[0]\nmutant = next(m for m in all_mutants([module]) if m.name == name)\n"
        "assert baseline(tests_of(module)) > 0\nassert not survives(mutant, tests_of(module), seconds=300)\n"
    )
    subprocess.run([sys.executable, "-c", program, name], cwd=Path(ROOT), check=True, timeout=900)
