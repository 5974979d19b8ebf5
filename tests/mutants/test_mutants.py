"""The tests of the promise notice small faults: some mutants that were killed before are killed again."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mutants import campaign
from tests.mutants.campaign import ROOT, SOURCE, all_mutants, modules, names_at, read_results, standing
from tests.mutants.mutators import mutants_of

REPEATED = 12
"""Mutants, each of another module: about half a minute."""


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
    results = standing(read_results(), known_names())
    assert all(results["survived"].values()), "look at it: write a test that kills it, or say why it may live"
    relevant = [name for name, why in results["survived"].items() if not why.startswith(("equivalent", "keeps"))]
    killed = len(results["killed"])
    assert killed >= 95 and killed / (killed + len(relevant)) >= 0.95
    assert not set(results["killed"]) & set(results["survived"])


def test_every_module_of_the_promise_is_mapped_and_every_mapped_file_is_there():
    mapped = {module: campaign.tests_of(module) for module in modules()}
    for module, tests in mapped.items():
        assert (ROOT / "src" / "understudy" / module).exists(), module
        assert all(Path(test).is_file() for test in tests), module
    rooms = [path for room in ("privacy", "mechanisms", "service") for path in (SOURCE / room).rglob("*.py")]
    names = {str(path.relative_to(SOURCE)) for path in rooms} | SPINE
    left = {name for name in names - set(mapped) if all_mutants([name])}
    assert left <= NOT_MAPPED, f"say in targets.toml which tests would notice a fault in {left - NOT_MAPPED}"


SPINE = {"release/making.py", "release/manifest.py", "release/verify.py", "sources/inputs.py"}
"""Of docs/architecture.md, beside what lies in `privacy/`."""

NOT_MAPPED = {
    "mechanisms/diverse_weights.py", "mechanisms/k_anonymity.py", "mechanisms/origin_tails.py",
    "service/__init__.py", "service/answer_openapi.py", "service/describing.py",
    "service/openapi.py", "service/tables.py",
}  # fmt: skip
"""Compiled kernels with their constants, names, a description of the addresses, and the columns of tables."""


def known_names() -> set[str]:
    return {mutant.name for mutant in all_mutants(modules())}


def test_what_was_tried_is_still_there():
    """Names of mutants outlive edits elsewhere; when too many are gone, the list tells of other code."""
    results = read_results()
    told, left = (sum(map(len, each.values())) for each in (results, standing(results, known_names())))
    assert left >= 0.9 * told, "the code has changed: make mutants, and --tidy"


def test_code_that_is_gone_counts_for_nothing():
    told = {"killed": {"a": "t", "gone": "t"}, "survived": {"b": "equivalent", "away": ""}}
    assert standing(told, {"a", "b"}) == {"killed": {"a": "t"}, "survived": {"b": "equivalent"}}


def test_names_of_an_earlier_commit_are_those_of_its_code():
    """They decide what `--since` tries; a commit that nobody has would make everything new."""
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    if head.returncode:
        pytest.skip("there is no history here")
    assert len(names_at("HEAD") & known_names()) > 4000
    with pytest.raises(ValueError, match="no commit"):
        names_at("0" * 40)


def test_a_fault_that_cannot_be_put_in_is_no_verdict(monkeypatch):
    """Its process would end without a word, as one that uses up its time does, and that counts as killed."""
    monkeypatch.setattr(campaign, "put_in", lambda _mutant: 0)
    monkeypatch.setattr(campaign, "_forked", lambda work, seconds: (work(ROOT), 0.0))
    mutant = next(iter(all_mutants(["service/readiness.py"])))
    with pytest.raises(AssertionError, match="no function was changed"):
        campaign.run(mutant, [object()])


@pytest.mark.long
def test_the_tests_notice():
    """Another sample for every commit; UNDERSTUDY_MUTANTS_SEED repeats one. In a process of its own, which forks."""
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    seed = os.environ.get("UNDERSTUDY_MUTANTS_SEED") or head.stdout.strip() or "no commit"
    words = [sys.executable, "-m", "tests.mutants.campaign", "--repeat", str(REPEATED), "--seed", seed]
    ran = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False, timeout=900)
    told = f"UNDERSTUDY_MUTANTS_SEED={seed}\n{ran.stdout}{ran.stderr[-2000:]}"
    assert ran.returncode == 0, told
    assert ran.stdout.count("killed") >= REPEATED // 2, told
