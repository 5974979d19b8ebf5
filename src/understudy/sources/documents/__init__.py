"""Codebooks drafted from documents instead of data: no row is read, and what a public document says is public.

Known are DDI-Codebook (XML), Frictionless, CSVW, NIST's schemas (JSON), and the dictionaries of files of SPSS, Stata
and SAS.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from understudy.codebook import Codebook, FileReading
from understudy.errors import DataError
from understudy.loading import loader
from understudy.sources import kinds
from understudy.sources.documents import csvw, ddi, frictionless, nist
from understudy.sources.documents.variables import Variable, left_out
from understudy.sources.inputs import find_provenance
from understudy.sources.kinds import file_kind
from understudy.sources.marks import mark_in_statistical

_MOST_BYTES = 1 << 26
"""No description of a table is larger than 64 MiB."""


@dataclass(frozen=True, kw_only=True)
class Document:
    """A document that describes a table."""

    form: str
    """What kind of document it is, in words."""
    variables: Sequence[Variable] = field(repr=False)
    title: str = ""
    file: FileReading = FileReading()
    of_release: bool = False
    """Whether it goes with a release of ours: then its levels may be drafted or bought, and it cannot say so."""


@loader("the document", remedy="copy it again from its source.", error=DataError)
def is_document(what: Any) -> bool:
    """Whether a path names a document by itself: XML, or JSON that is one object. A data file is one when asked for."""
    if not isinstance(what, str | Path) or not Path(what).is_file():
        return False
    path = Path(what)
    return path.suffix.lower() == ".xml" or (path.suffix.lower() == ".json" and isinstance(_json(path), dict))


@loader("the document", remedy="copy it again from its source.", error=DataError)
def draft_from_document(
    path: str | Path, *, table: str | None = None, drop: Sequence[str] = (), keep: Sequence[str] = ()
) -> tuple[Codebook, dict[str, str], str]:
    """The codebook, why columns were left out, and the source in words."""
    from understudy.sources.draft import named_columns

    place = Path(path)
    if not place.is_file():
        raise DataError(f"there is no file {str(path)!r}; check the path.")
    document = read_document(place, table)
    if document.of_release or find_provenance(place).is_release:  # a .dta file is known by its manifest alone
        raise DataError(
            f"{str(path)!r} goes with a release of understudy, whose levels may have been read from the data or bought "
            "at a price; this document cannot say so. Use the codebook.toml of that release, which does."
        )
    names = [variable.name for variable in document.variables]
    if not names or not all(names) or len(set(names)) != len(names):
        raise DataError(f"{str(path)!r} describes no table: it needs variables, each with a name of its own.")
    dropped = set(named_columns(names, drop, "`drop`"))
    if keep:
        dropped |= set(names) - set(named_columns(names, keep, "`keep`"))
    columns, reasons = [], {}
    for variable in document.variables:
        column = "dropped" if variable.name in dropped else variable.column()
        if isinstance(column, str):
            if variable.name not in dropped:
                reasons[variable.name] = column
            column = left_out(variable.name, variable.label)
        columns.append(column)
    if not any(column.is_modelled for column in columns):
        raise DataError(
            f"{str(path)!r} lists values or a range of no variable, so that nothing can be drafted from it; draft "
            "from the data, or write the codebook by hand."
        )
    digest = hashlib.sha256(place.read_bytes()).hexdigest()[:16]
    title = f", {document.title!r}" if document.title else ""
    source = f"{place.name} ({document.form}{title}, sha256 {digest})"
    book = Codebook(
        columns=tuple(columns),
        title=document.title,
        description=f"Columns, levels and ranges are those of the document {source}; no data were read.",
        file=None if document.file.says_nothing else document.file,
    )
    return book, reasons, source


@loader("the document", remedy="copy it again from its source.", error=DataError)
def read_document(path: Path, table: str | None = None) -> Document:
    """Recognise a document and read it."""
    if path.suffix.lower() not in (".xml", ".json") and file_kind(path) == kinds.STATISTICAL:
        return _dictionary(path)
    content = _content(path)
    if content.lstrip(b"\xef\xbb\xbf\xff\xfe\x00 \t\r\n").startswith((b"<", b"<\x00")):
        root = ddi.read_xml(path, content)
        if ddi.is_ddi(root):
            return Document(
                form="DDI-Codebook",
                variables=ddi.variables_of(root),
                title=ddi.title_of(root),
                of_release=ddi.is_of_release(root),
            )
        raise DataError(f"{str(path)!r} is XML, but no DDI-Codebook (its root is no codeBook); give one, or the data.")
    document = _json(path)
    if isinstance(document, dict):
        if csvw.is_csvw(document):
            variables, file = csvw.variables_of(document, table)
            return Document(form="CSVW metadata", variables=variables, file=file, title=_title(document))
        if frictionless.is_frictionless(document):
            variables, file = frictionless.variables_of(document, table)
            return Document(
                form="Frictionless schema",
                variables=variables,
                file=file,
                title=_title(document),
                of_release=frictionless.is_of_release(document),
            )
        if nist.is_nist(document):
            return Document(form="NIST data dictionary", variables=nist.variables_of(document))
    raise DataError(
        f"{str(path)!r} is no document that describes a table. Known are DDI-Codebook (XML), Frictionless, CSVW and "
        "NIST schemas (JSON), and files of SPSS, Stata and SAS."
    )


def _dictionary(path: Path) -> Document:
    """Labels and missing codes of a statistical file; none of its rows."""
    from understudy.sources.statistical import read_labels

    labels, metadata = read_labels(path, FileReading())
    variables = [
        Variable(
            name=name,
            label=entry.label,
            values=entry.value_labels,
            missing=entry.missing,
            is_ordered=entry.measure == "ordinal",
        )
        for name, entry in labels.items()
    ]
    return Document(
        form=f"dictionary of a {path.suffix.lower()} file, no row read",
        variables=variables,
        title=(metadata.file_label or "").strip(),
        of_release=bool(mark_in_statistical(path)),
    )


def _title(document: dict[str, Any]) -> str:
    return str(document.get("title") or document.get("dc:title") or "")


def _content(path: Path) -> bytes:
    if path.stat().st_size > _MOST_BYTES:
        raise DataError(
            f"{str(path)!r} is larger than {_MOST_BYTES >> 20} MiB; no description of a table is. Is it data?"
        )
    return path.read_bytes()


def _json(path: Path) -> Any:
    try:
        return json.loads(_content(path).decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return None
