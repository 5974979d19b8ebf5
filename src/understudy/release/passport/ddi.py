"""DDI-Codebook 2.5 (XML): what data archives read."""

import re
from xml.etree import ElementTree

from understudy.codebook.publication import is_email
from understudy.release.passport.description import Description, Field, Kind, Table

_NAMESPACE = "ddi:codebook:2_5"
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_INTERVAL = {Kind.TEXT: "discrete", Kind.WHOLE: "contin", Kind.NUMBER: "contin", Kind.DATE: "contin"}


def ddi(release: Description) -> str:
    """``ddi-codebook.xml``."""
    root = ElementTree.Element("codeBook", {"xmlns": _NAMESPACE, "version": "2.5"})
    _document(_add(root, "docDscr"), release)
    _study(_add(root, "stdyDscr"), release)
    for number, table in enumerate(release.tables, start=1):
        _file(root, table, f"F{number}")
    data = _add(root, "dataDscr")
    number = 0
    for place, table in enumerate(release.tables, start=1):
        for field in table.fields:
            number += 1
            _variable(data, field, f"V{number}", f"F{place}")
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _add(parent: ElementTree.Element, tag: str, text: str = "", **attributes: str) -> ElementTree.Element:
    """A new element; characters that XML cannot hold become a question mark in a diamond."""
    child = ElementTree.SubElement(parent, tag, {name: _clean(value) for name, value in attributes.items() if value})
    if text:
        child.text = _clean(text)
    return child


def _clean(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)


def _document(parent: ElementTree.Element, release: Description) -> None:
    citation = _add(parent, "citation")
    titles = _add(citation, "titlStmt")
    _add(titles, "titl", f"DDI codebook of {release.title}")
    production = _add(citation, "prodStmt")
    _add(production, "software", "understudy", version=release.version)


def _study(parent: ElementTree.Element, release: Description) -> None:
    publication = release.publication
    citation = _add(parent, "citation")
    titles = _add(citation, "titlStmt")
    _add(titles, "titl", release.title)
    _add(titles, "IDNo", release.release, agency="understudy")
    if publication.publisher:
        responsible = _add(citation, "rspStmt")
        _add(responsible, "AuthEnty", publication.publisher)
    production = _add(citation, "prodStmt")
    _add(production, "prodDate", release.day, date=release.day if len(release.day) == 10 else "")
    _add(production, "software", "understudy", version=release.version)
    if publication.publisher:
        distribution = _add(citation, "distStmt")
        _add(distribution, "distrbtr", publication.publisher, URI=publication.url)
        if publication.contact:
            email = publication.contact if is_email(publication.contact) else ""
            _add(distribution, "contact", publication.contact, email=email, URI="" if email else publication.contact)
    if publication.version:
        _add(_add(citation, "verStmt"), "version", publication.version, date=release.day)
    _add(citation, "biblCit", release.citation)
    _information(_add(parent, "stdyInfo"), release)
    method = _add(parent, "method")
    for words in (*release.assumptions, *release.warnings):
        _add(method, "notes", words, type="disclosure control")
    access = _add(_add(parent, "dataAccs"), "useStmt")
    if release.is_confidential:
        _add(access, "confDec", release.statement, required="yes")
    else:
        _add(access, "confDec", release.statement)
    _add(access, "restrctn", release.access)
    _add(access, "citReq", release.citation)
    if publication.licence:
        _add(access, "conditions", publication.licence_address or publication.licence)


def _information(information: ElementTree.Element, release: Description) -> None:
    publication = release.publication
    if publication.keywords:
        subject = _add(information, "subject")
        for word in publication.keywords:
            _add(subject, "keyword", word)
    _add(information, "abstract", release.text)
    summary = _add(information, "sumDscr")
    if publication.period is not None:
        for event, day in zip(("start", "end"), publication.period, strict=True):
            _add(summary, "timePrd", day.isoformat(), event=event, date=day.isoformat())
    if publication.spatial:
        _add(summary, "geogCover", publication.spatial)
    _add(summary, "dataKind", release.kind)


def _file(root: ElementTree.Element, table: Table, identifier: str) -> None:
    described = _add(root, "fileDscr", ID=identifier, URI=table.files[0].path)
    text = _add(described, "fileTxt")
    _add(text, "fileName", table.files[0].path)
    _add(text, "fileCont", _words_of_keys(table))
    dimensions = _add(text, "dimensns")
    if table.rows is not None:
        _add(dimensions, "caseQnty", str(table.rows))
    _add(dimensions, "varQnty", str(len(table.fields)))
    _add(text, "fileType", ", ".join(dict.fromkeys(file.media for file in table.files)))
    for file in table.files:
        _add(described, "notes", f"{file.path} {file.digest}", type="fixity")


def _words_of_keys(table: Table) -> str:
    words = f"table {table.name}"
    if table.key:
        words += f"; its key is {', '.join(table.key)}"
    if table.parent:
        words += f"; {', '.join(table.parent_key)} is the key of its row in {table.parent}"
    return words


def _variable(data: ElementTree.Element, field: Field, identifier: str, file: str) -> None:
    variable = _add(data, "var", ID=identifier, name=field.name, files=file, intrvl=_INTERVAL[field.kind])
    if field.description:
        _add(variable, "labl", field.description, level="variable")
    if field.low:
        _add(_add(variable, "valrng"), "range", UNITS="REAL", min=field.low, max=field.high)
    for level, label in field.levels:
        category = _add(variable, "catgry")
        _add(category, "catValu", level)
        if label:
            _add(category, "labl", label, level="category")
    if field.missing is not None:
        category = _add(variable, "catgry", missing="Y")
        _add(category, "catValu", field.missing)
    _add(variable, "varFormat", type="character" if field.kind is Kind.TEXT else "numeric", schema="other")
    if field.units:
        _add(variable, "notes", f"in {field.units}", type="units")
