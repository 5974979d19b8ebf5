"""Columns of codes from a pack: the code as a detail of its coarsest parent, and a column for every level of parents.

In a codebook file such a column is one entry, ``kind = "icd9"``. The columns of its parents follow from it: the
coarsest one (``diag_1_chapter``) takes part in the model, the others (``diag_1_block``) are told by the code that a row
is given. A code that is too rare to be drawn falls back to its parent, whose name then stands in its place.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from understudy.codebook.columns import Column, Groups, Levelled, Origin, Role
from understudy.codebook.details import Detail
from understudy.codebook.packs import Pack, shipped_pack

Places = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, repr=False)
class Coded(Detail):
    """Codes of a pack: ``Coded(name="diag_1", pack="icd9", missing="?")``."""

    pack: Pack | str
    other: str | None = "other"
    """Where codes go that the pack does not have."""
    leading_zeros: bool = True
    """Whether the file writes 038, or 38 as a spreadsheet makes of it."""
    edition: str | None = None
    """Digest of a pack that comes with the package; set where it is not given."""
    detail_of: str = field(init=False, default="")
    groups: Groups = field(init=False, default=())

    def __post_init__(self) -> None:
        pack = shipped_pack(self.pack) if isinstance(self.pack, str) else self.pack
        object.__setattr__(self, "pack", pack)
        if self.edition is None and pack.is_shipped:
            object.__setattr__(self, "edition", pack.digest)
        object.__setattr__(self, "detail_of", f"{self.name}_{pack.levels[0]}")
        members: dict[str, list[str]] = {chain[0]: [] for chain in pack.nodes.values()}
        for code, chain in pack.codes.items():
            members[chain[0]].append(self._written(code))
        for node, chain in reversed(list(pack.nodes.items())):
            members[chain[0]].append(node)
        object.__setattr__(self, "groups", tuple((group, tuple(codes)) for group, codes in members.items()))
        super().__post_init__()

    @property
    def kind(self) -> str:  # type: ignore[override]
        """The pack."""
        return self.codes.name

    @property
    def codes(self) -> Pack:
        """The pack itself."""
        assert isinstance(self.pack, Pack)
        return self.pack

    def _written(self, code: str) -> str:
        return code if self.leading_zeros or not code.isdigit() else code.lstrip("0") or "0"

    @cached_property
    def place_of(self) -> dict[str, int]:
        """The code number of every code and parent of the pack."""
        names = [*self.codes.codes, *self.codes.nodes]
        return {name: self.code_of[self._written(name) if name in self.codes.codes else name] for name in names}

    def find(self, text: str) -> int:
        """The code number of a text; that of ``other`` where the pack does not know it."""
        if text == self.other:
            return self.code_of[text]
        name = self.codes.find(text)
        return self.code_of[str(self.other)] if name is None else self.place_of[name]

    @cached_property
    def spellings(self) -> dict[str, int]:
        """The code number that every spelling of the list stands for."""
        known = {text: self.place_of[name] for text, name in self.codes.places.items()}
        return {**known, self.codes.reading.folded(str(self.other)): self.code_of[str(self.other)]}

    @cached_property
    def chains(self) -> tuple[tuple[str, ...], ...]:
        """Of every code number the parents, the coarsest first and a parent itself last; none for ``other``."""
        chains: list[tuple[str, ...]] = [()] * len(self.levels)
        for name, chain in (*self.codes.codes.items(), *self.codes.nodes.items()):
            chains[self.place_of[name]] = chain
        return tuple(chains)

    @cached_property
    def is_code(self) -> npt.NDArray[np.bool_]:
        """Which code numbers are codes: neither parents, nor ``other``, nor missing."""
        proper = np.zeros(self.size, dtype=bool)
        proper[[self.place_of[code] for code in self.codes.codes]] = True
        return proper

    @cached_property
    def level_columns(self) -> tuple["CodeLevel", ...]:
        """A column for every level of parents, the coarsest first."""
        return tuple(CodeLevel.of(self, number) for number in range(len(self.codes.levels)))

    def faults(self) -> list[str]:
        """Those of a detail; and the pack must be the one that the codebook was made with."""
        faults = super().faults()
        pack = self.codes
        if pack.is_shipped and self.edition != pack.digest:
            faults.append(
                f"column {self.name!r} has edition = {self.edition!r} of the pack {pack.name!r}, and this version has "
                f"{pack.digest!r}; take the version that the codebook was made with, or leave edition out and let the "
                "column be attested anew."
            )
        if self.parents is not None or self.hierarchy:
            faults = [fault for fault in faults if "which is its only parent" not in fault]
            faults.append(
                f"column {self.name!r} has its parents from the pack {pack.name!r}; drop parents and hierarchy."
            )
        return faults


@dataclass(frozen=True, kw_only=True, repr=False)
class CodeLevel(Levelled):
    """A level of parents of a column of codes; made by the codebook, never written into a file."""

    kind: ClassVar[str] = "code level"
    coded: Coded = field(compare=False)
    number: int
    """0 for the coarsest, which takes part in the model."""

    @classmethod
    def of(cls, coded: Coded, number: int) -> "CodeLevel":
        """Its levels are the parents of this level; below the coarsest also those that a code may fall back to."""
        nodes = [node for node, chain in coded.codes.nodes.items() if len(chain) == number + 1]
        coarser = [node for node, chain in coded.codes.nodes.items() if len(chain) <= number]
        same = {chain[number] for chain in coded.codes.codes.values()}
        named = dict.fromkeys([*nodes, *(node for node in coarser if node in same), *coarser])
        return cls(
            name=f"{coded.name}_{coded.codes.levels[number]}",
            role=coded.role,
            description=f"{coded.codes.levels[number]} of {coded.name} ({coded.codes.title})",
            levels=(*named, *([] if coded.other is None else [coded.other])),
            other=coded.other,
            missing=coded.missing,
            origin=Origin.DECLARED,
            coded=coded,
            number=number,
        )

    @property
    def is_modelled(self) -> bool:
        """The coarsest one."""
        return self.number == 0 and self.role is not Role.IDENTIFIER

    @property
    def reads(self) -> str:
        """Parents are read off the code."""
        return self.coded.reads

    @cached_property
    def of_code(self) -> Places:
        """The code number here of every code number of the codes."""
        others = self.code_of[str(self.other)]
        places = [
            self.code_of[chain[min(self.number, len(chain) - 1)]] if chain else others for chain in self.coded.chains
        ]
        return np.array(places if self.missing is None else [*places, self.size - 1], dtype=np.int64)

    def find(self, text: str) -> int:
        """The code number of the parent of a text."""
        return int(self.of_code[self.coded.find(text)])

    @cached_property
    def spellings(self) -> dict[str, int]:
        """The code number that every spelling of the list stands for."""
        return {text: int(self.of_code[place]) for text, place in self.coded.spellings.items()}


def with_code_levels(columns: Sequence[Column]) -> tuple[Column, ...]:
    """The columns with those of parents in front of every column of codes."""
    expanded: list[Column] = []
    for column in columns:
        if isinstance(column, Coded) and column.role is not Role.IDENTIFIER:
            expanded += column.level_columns
        if not isinstance(column, CodeLevel):
            expanded.append(column)
    return tuple(expanded)
