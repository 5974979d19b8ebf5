"""A recipe: what is done to a table, step by step, as TOML that a person can read and a manifest can repeat."""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from understudy.anonymize.anonymity import FullDomain, Mondrian
from understudy.anonymize.entries import COLUMN, column_words, read_entry, read_text
from understudy.anonymize.fitted import Anonymized, FittedAnonymized
from understudy.anonymize.hierarchies import Rule as HierarchyRule
from understudy.anonymize.hierarchies import rule_from_dict
from understudy.anonymize.outcome import outcome_of
from understudy.anonymize.perturb import AddNoise, RankSwap, Swap
from understudy.anonymize.state import Step
from understudy.anonymize.steps import Bin, BottomCode, Drop, Generalise, GroupLevels, GroupRare, Keep, Round, TopCode
from understudy.anonymize.suppress import SuppressCells, SuppressRows
from understudy.errors import CodebookError, ParameterError
from understudy.loading import loader
from understudy.mechanisms.stream import Stream
from understudy.parameters import Declared, OneOf, Panel, Rule, Several, Text, as_keys, option, options_of
from understudy.privacy.facts import MethodFacts
from understudy.sources.base import Report, Source

FORMAT = 1
STEPS: dict[str, type[Step]] = {
    step.do: step
    for step in (
        Keep, Drop, TopCode, BottomCode, Bin, Round, GroupLevels, GroupRare, Generalise, SuppressCells, SuppressRows,
        RankSwap, Swap, AddNoise, FullDomain, Mondrian,
    )
}  # fmt: skip


class _StepRule(Rule):
    """A step, also as a table of a recipe."""

    words = "a step"
    example = '{ do = "mondrian", k = 5 }'

    def admits(self, value: Any) -> bool:
        """A step."""
        return isinstance(value, Step)

    def read(self, name: str, given: Any, context: Any = None) -> Any:
        """From the table of a recipe or a manifest."""
        return step_from_dict(given)


class _HierarchiesRule(Rule):
    """Hierarchies by column; in words ``COLUMN=RULE`` for each."""

    metavar: ClassVar[str] = "COLUMN=RULE"
    repeats: ClassVar[bool] = True
    example = "zip=prefix:3,2"
    words = "COLUMN=RULE, where RULE is intervals:5,10,20 or prefix:3,2 or dates:month,year or arx:FILE"

    def admits(self, value: Any) -> bool:
        """Rules by column."""
        return isinstance(value, Mapping) and all(isinstance(rule, HierarchyRule) for rule in value.values())

    def read(self, name: str, given: Any, context: Any = None) -> Any:
        """From words, or what was given."""
        if isinstance(given, Mapping):
            return self.check(name, given)
        return {column: self._rule(name, column, text) for column, text in column_words(name, given, self.example)}

    def _rule(self, name: str, column: str, text: str) -> HierarchyRule:
        kind, _, rest = text.partition(":")
        if kind == "arx" and rest:
            return HierarchyRule(arx=Path(rest))
        if kind not in ("intervals", "prefix", "dates") or not rest:
            raise ParameterError(f"`{name}` is {column}={text!r}; write {self.words.partition('RULE is ')[2]}.")
        if kind == "intervals":  # as they are written: 0.1 is a tenth
            return HierarchyRule(intervals=tuple(item.strip() for item in rest.split(",") if item.strip()))
        return HierarchyRule(**{kind: options_of(HierarchyRule)[kind].rule.read(name, rest)})


HIERARCHIES = option(
    rule=_HierarchiesRule(),
    help="COLUMN=RULE, may be repeated: intervals:5,10,20 or prefix:3,2 or dates:month,year or arx:FILE. Default: the "
    "codebook's steps. Every hierarchy ends in *.",
    flag="--hierarchy",
)


@dataclass(frozen=True, kw_only=True)
class Recipe(Declared):
    """Steps in order, and the hierarchies they may use."""

    facts: ClassVar[MethodFacts] = MethodFacts(
        name="anonymize",
        command="understudy anonymize run",
        route="none",
        neighbours=(),
        guarantee="k-anonymity of one table, with l-diversity and t-closeness where asked",
        public="which columns an intruder knows (the quasi-identifiers)",
        paper="k-anonymity, l-diversity, t-closeness; dissertation ch. 2",
        paper_claim="Each record hides among k; inference about sensitive values is bounded.",
        sound="holds with conditions",
        truth="Counted in the released table, for that table alone: homogeneity, composition, minimality and "
        "knowledge beyond the quasi-identifiers remain. Never beside a DP label, never inherited by what is drawn "
        "from it.",
        page="docs/methods/anonymity.md",
        proofs=("k_anonymity.md",),
        exact_tests=("tests/exact/test_anonymity_exact.py",),
        instead="marginals",
    )
    steps: tuple[Step, ...] = option(
        rule=Several(each=_StepRule(), words="a list of steps", example=f"[{_StepRule.example}]"),
        help="What is done, in order.",
    )
    hierarchies: Mapping[str, HierarchyRule] = field(default_factory=dict, metadata=HIERARCHIES.metadata)
    quasi: tuple[str, ...] | None = option(
        None,
        rule=Several(each=COLUMN, words="a list of column names", example='["age", "sex"]', least=0),
        help="Quasi-identifiers: what an intruder may know; default: the codebook's roles.",
        panel=Panel.PRIVACY,
    )
    title: str = option("", rule=Text(admitted=lambda value: isinstance(value, str)), help="What the recipe is called.")

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


@loader("the recipe", remedy="mend it; the guide on anonymising shows its form.", error=CodebookError)
def load_recipe(path: str | Path) -> Recipe:
    """Read a recipe file; hierarchy files are looked for beside it."""
    place = Path(path)
    text = read_text(place, "the recipe", "there is no recipe at")
    try:
        return read_recipe(text, folder=place.parent)
    except CodebookError as reason:
        message = str(reason).partition("\n")[0]
        faults = [as_keys(fault) for fault in reason.faults]
        raise CodebookError(message.replace("the recipe", f"the recipe {str(place)!r}", 1), faults) from None


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
    if unknown := sorted(set(data) - known):
        faults.append(f"unknown keys {', '.join(unknown)} at the top; known are {', '.join(sorted(known))}.")
    hierarchies, steps = data.get("hierarchies", {}), data.get("steps")
    if not isinstance(hierarchies, Mapping):
        faults.append("hierarchies must be tables, such as [hierarchies.zip].")
        hierarchies = {}
    if not isinstance(steps, list) or not steps:
        faults.append("there are no [[steps]]; give at least one.")
        steps = []
    rules, read = {}, []
    for name, entry in hierarchies.items():
        with _listed(faults):
            rules[name] = rule_from_dict(name, entry, folder or Path())
    for number, entry in enumerate(steps, start=1):
        with _listed(faults, f"step {number}: "):
            read.append(step_from_dict(entry))
    quasi = data.get("quasi_identifiers")
    if quasi is not None:
        with _listed(faults):
            quasi = tuple(options_of(Recipe)["quasi"].rule.check("quasi_identifiers", quasi))
    if faults:
        raise CodebookError(f"the recipe has {len(faults)} fault{'s' * (len(faults) != 1)}:", faults)
    return Recipe(steps=tuple(read), hierarchies=rules, quasi=quasi, title=str(data.get("title", "")))


@contextmanager
def _listed(faults: list[str], where: str = "") -> Iterator[None]:
    """Faults are collected, so that all of them are told at once."""
    try:
        yield
    except (ParameterError, CodebookError) as fault:
        faults.append(f"{where}{fault}")


def step_from_dict(entry: Any) -> Step:
    """A step as a recipe or a manifest writes it down."""
    do = OneOf.of(STEPS).check("do", entry.get("do") if isinstance(entry, Mapping) else entry)
    if not isinstance(entry, Mapping):
        raise ParameterError(f'it is {entry!r}; write it as a table, such as do = "{do}".')
    return read_entry(STEPS[do], do, {key: value for key, value in entry.items() if key != "do"})


def anonymize(
    source: Source,
    recipe: Recipe,
    *,
    quasi: Sequence[str] | None = None,
    stream: Stream | None = None,
    report: Report | None = None,
) -> Anonymized:
    """Apply a recipe and measure what came out. A table that falls short of what was asked is refused."""
    fitted = recipe.fit(source, quasi=quasi, stream=stream, report=report)
    return Anonymized.of(fitted, fitted.sample())
