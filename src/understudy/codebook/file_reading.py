"""How the file of a table is read: what a codebook says about the file as a whole, besides its columns.

Empty fields mean that the file itself says it (its name, its first bytes, its header), so a codebook of a plain CSV
file has no ``[file]`` at all.
"""

import codecs
import hashlib
from dataclasses import dataclass, replace

from understudy.codebook.attestation import Attestable, Attestation
from understudy.codebook.columns import Origin, repeated_in

Layout = tuple[tuple[str, tuple[int, int]], ...]
"""Columns of a fixed-width file: each name with its first and last character, counted from 1."""


@dataclass(frozen=True, kw_only=True)
class FileReading(Attestable):
    """The reading rules of a file; the ``[file]`` table of a codebook."""

    encoding: str = ""
    """The encoding of a text file, as Python names it: "utf-8", "cp1252", "utf-16"."""
    delimiter: str = ""
    """What stands between the fields of a delimited file."""
    header_row: int | None = None
    """The row that holds the names, counted from 1 after ``skip``; 0 where no row does, and ``names`` are needed."""
    skip: int = 0
    """Rows before the table, such as a title: they are not read."""
    sheet: str = ""
    """The sheet of a workbook."""
    member: str = ""
    """The file inside a zip archive."""
    layout: Layout = ()
    """The columns of a fixed-width file."""
    names: tuple[str, ...] = ()
    """Names of all columns in their order, where those of the file are blank or lacking."""

    origin: Origin = Origin.DECLARED
    attestation: Attestation | None = None
    """A person's declaration that the file is made so, whatever its rows hold."""

    @property
    def says_nothing(self) -> bool:
        """Whether the file is read as it says itself."""
        return replace(self, origin=Origin.DECLARED, attestation=None) == FileReading()

    @property
    def content(self) -> str:
        """Digest of the rules, which is what a person attests."""
        rules = replace(self, origin=Origin.DECLARED, attestation=None)
        return "sha256:" + hashlib.sha256(repr(rules).encode()).hexdigest()[:32]

    @property
    def is_public(self) -> bool:
        """Whether a promise may rest on the rules: declared, or attested as they stand now."""
        return self.origin is not Origin.DRAFTED or self.is_attested

    @property
    def as_published(self) -> "FileReading | None":
        """What is left of it in a release, which is written plainly: only that nobody attested it."""
        return None if self.is_public else FileReading(origin=self.origin)

    def faults(self) -> list[str]:
        """Everything wrong with it on its own."""
        faults = []
        for name, (first, last) in self.layout:
            if not 1 <= first <= last:
                faults.append(
                    f"[file] lays column {name!r} out from {first} to {last}; characters are counted from 1, and the "
                    "last is not before the first."
                )
        for what, names in (("layout", [name for name, _ in self.layout]), ("names", list(self.names))):
            if "" in names:
                faults.append(f"[file] has an empty name in {what}; give every column one.")
            if repeated := repeated_in(names):
                faults.append(f"[file] names {', '.join(map(repr, repeated))} twice in {what}; name each once.")
        if self.skip < 0 or (self.header_row or 0) < 0:
            faults.append("[file] counts rows below 0 in skip or header_row; write 0 or more.")
        if self.header_row == 0 and not self.names and not self.layout:
            faults.append("[file] says that no row holds the names (header_row = 0); list them in names.")
        try:
            codecs.lookup(self.encoding or "utf-8")
        except LookupError:
            faults.append(
                f"[file] has the encoding {self.encoding!r}, which is not known; try utf-8, cp1252 or utf-16."
            )
        if len(self.delimiter) > 1:
            faults.append(f"[file] has the delimiter {self.delimiter!r}; it must be one character.")
        return faults
