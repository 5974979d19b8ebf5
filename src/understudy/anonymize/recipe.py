"""A recipe: what is done to a table, step by step, as TOML that a person can read and a manifest can repeat."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any

from understudy.anonymize.anonymity import FullDomain, Mondrian
from understudy.anonymize.criteria import criterion_from_dict
from understudy.anonymize.fitted import FittedAnonymized
from understudy.anonymize.outcome import outcome_of
from understudy.anonymize.perturb import AddNoise, RankSwap
from understudy.anonymize.rules import Rule, rule_from_dict
from understudy.anonymize.state import Step
from understudy.anonymize.steps import (
    Bin,
    BottomCode,
    Drop,
    Generalise,
    GroupLevels,
    GroupRare,
    Keep,
    Round,
    TopCode,
)
from understudy.anonymize.suppress import SuppressCells, SuppressRows
from understudy.errors import CodebookError, ParameterError
from understudy.mechanisms.stream import Stream
from understudy.sources.base import Report, Source

FORMAT = 1
STEPS: dict[str, type[Step]] = {
    step.do: step
    for step in (
        Keep, Drop, TopCode, BottomCode, Bin, Round, GroupLevels, GroupRare, Generalise, SuppressCells, SuppressRows,
        RankSwap, AddNoise, FullDomain, Mondrian,
    )
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """Steps in order, and the hierarchies they may use."""

    steps: tuple[Step, ...]
    hierarchies: Mapping[str, Rule] = field(default_factory=dict)
    quasi: tuple[str, ...] | None = None
    """Quasi-identifiers; None leaves them to the roles in the codebook."""
    title: str = ""

    @property
    def is_record_wise(self) -> bool:
        """Whether neighbouring tables stay neighbouring: every step treats each record by itself."""
        return all(step.is_record_wise for step in self.steps)

    @property
    def is_random(self) -> bool:
        """Whether some step draws."""
        return any(step.is_random for step in self.steps)

    def fit(
        self,
        source: Source,
        *,
        quasi: Sequence[str] | None = None,
        stream: Stream | None = None,
        report: Report | None = None,
    ) -> FittedAnonymized:
        """Apply the steps and count again. Nothing can be quoted before: what is claimed is what is counted."""
        stream = Stream.checked(stream)
        outcome = outcome_of(self, source, quasi=quasi, stream=stream, report=report)
        return FittedAnonymized(recipe=self, source=source, outcome=outcome, stream=stream, report=report)

    def to_dict(self) -> dict[str, Any]:
        """As plain data, for a manifest."""
        return {
            "quasi_identifiers": None if self.quasi is None else list(self.quasi),
            "hierarchies": {name: rule.to_dict() for name, rule in self.hierarchies.items()},
            "steps": [step.to_dict() for step in self.steps],
        }


def load_recipe(path: str | Path) -> Recipe:
    """Read a recipe file; hierarchy files are looked for beside it."""
    place = Path(path)
    try:
        text = place.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise CodebookError(f"there is no recipe at {str(path)!r}; check the path.") from None
    except UnicodeDecodeError:
        raise CodebookError(f"the recipe {str(path)!r} is not UTF-8 text; save it as UTF-8.") from None
    except OSError as reason:
        raise CodebookError(f"the recipe {str(path)!r} cannot be read ({reason.strerror}).") from None
    try:
        return read_recipe(text, folder=place.parent)
    except CodebookError as reason:
        message = str(reason).partition("\n")[0]
        raise CodebookError(message.replace("the recipe", f"the recipe {str(place)!r}", 1), reason.faults) from None


def read_recipe(text: str, *, folder: Path | None = None) -> Recipe:
    """Parse a recipe, or raise one error that lists every fault.

    >>> read_recipe('format = 1\\n[[steps]]\\ndo = "mondrian"\\nk = 5\\n').steps[0].k
    5
    """
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as reason:
        raise CodebookError(f"the recipe is not valid TOML: {reason}. Mend that line.") from None
    faults: list[str] = []
    if data.get("format") != FORMAT:
        faults.append(f"format is {data.get('format')!r}; this version reads format = {FORMAT}.")
    known = {"format", "title", "quasi_identifiers", "hierarchies", "steps"}
    if strange := sorted(set(data) - known):
        faults.append(f"unknown keys {', '.join(strange)} at the top; known are {', '.join(sorted(known))}.")
    rules = _rules(data.get("hierarchies", {}), folder or Path(), faults)
    steps = _steps(data.get("steps", []), faults)
    quasi = data.get("quasi_identifiers")
    if quasi is not None and (not isinstance(quasi, list) or not all(isinstance(name, str) for name in quasi)):
        faults.append(f"quasi_identifiers is {quasi!r}; it must be a list of column names.")
        quasi = None
    if faults:
        raise CodebookError(f"the recipe has {len(faults)} fault{'s' * (len(faults) != 1)}:", faults)
    return Recipe(
        steps=tuple(steps),
        hierarchies=rules,
        quasi=None if quasi is None else tuple(quasi),
        title=str(data.get("title", "")),
    )


def _rules(data: Any, folder: Path, faults: list[str]) -> dict[str, Rule]:
    if not isinstance(data, Mapping):
        faults.append("hierarchies must be tables, such as [hierarchies.zip].")
        return {}
    rules = {}
    for name, entry in data.items():
        try:
            rules[name] = rule_from_dict(name, entry, folder)
        except ParameterError as fault:
            faults.append(str(fault))
    return rules


def _steps(entries: Any, faults: list[str]) -> list[Step]:
    if not isinstance(entries, list) or not entries:
        faults.append("there are no [[steps]]; give at least one.")
        return []
    steps = []
    for number, entry in enumerate(entries, start=1):
        try:
            steps.append(step_from_dict(entry))
        except (ParameterError, CodebookError) as fault:
            faults.append(f"step {number}: {fault}")
    return steps


def step_from_dict(entry: Any) -> Step:
    """A step as a recipe or a manifest writes it down."""
    if not isinstance(entry, dict) or entry.get("do") not in STEPS:
        found = entry.get("do") if isinstance(entry, dict) else entry
        raise ParameterError(f"it does {found!r}; steps are {', '.join(STEPS)}.")
    cls = STEPS[entry["do"]]
    given = {name: value for name, value in entry.items() if name != "do"}
    wanted = {one.name: one for one in fields(cls)}
    if strange := sorted(set(given) - set(wanted)):
        raise ParameterError(f"{cls.do} has unknown keys {', '.join(strange)}; it knows {', '.join(wanted)}.")
    needed = [n for n, one in wanted.items() if one.default is MISSING and one.default_factory is MISSING]
    if lacking := [name for name in needed if name not in given]:
        raise ParameterError(f"{cls.do} lacks {', '.join(lacking)}.")
    if not isinstance(given.get("column", ""), str):
        raise ParameterError(f"{cls.do} has column = {given['column']!r}; it must be the name of a column.")
    if "criteria" in given:
        if not isinstance(given["criteria"], list) or not all(isinstance(one, dict) for one in given["criteria"]):
            raise ParameterError('criteria must be a list of tables, such as [{ kind = "t-closeness", ... }].')
        given["criteria"] = tuple(criterion_from_dict(one) for one in given["criteria"])
    if not isinstance(given.get("at_most", {}), dict):
        raise ParameterError(f"at_most is {given['at_most']!r}; it must be a table, such as {{ age = 2 }}.")
    for name in ("columns", "levels", "when", "among", "edges"):
        if name in given:
            if not isinstance(given[name], list):
                raise ParameterError(f"{name} is {given[name]!r}; it must be a list.")
            given[name] = tuple(given[name])
    return cls(**given)
