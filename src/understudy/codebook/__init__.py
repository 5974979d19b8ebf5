"""Codebooks: the values that a table may hold. They are public knowledge and hold no data."""

from understudy.codebook.attestation import Attestation
from understudy.codebook.book import Codebook, PaidDraft
from understudy.codebook.coded import Coded, CodeLevel
from understudy.codebook.columns import (
    Categorical,
    Column,
    Dates,
    Generalisation,
    Grain,
    Levelled,
    Ordinal,
    Origin,
    Role,
    Text,
)
from understudy.codebook.details import Detail
from understudy.codebook.file_reading import FileReading
from understudy.codebook.linked import Constant, LinkedCodebook, LinkedTable
from understudy.codebook.numbers import Continuous, Integer, Number
from understudy.codebook.packs import Pack
from understudy.codebook.publication import Publication
from understudy.codebook.readings import Reading
from understudy.codebook.rules import Determines, Implies, Impossible, Order, Rule
from understudy.codebook.unit import PersonUnit

__all__ = [
    "Attestation",
    "Categorical",
    "CodeLevel",
    "Codebook",
    "Coded",
    "Column",
    "Constant",
    "Continuous",
    "Dates",
    "Detail",
    "Determines",
    "FileReading",
    "Generalisation",
    "Grain",
    "Implies",
    "Impossible",
    "Integer",
    "Levelled",
    "LinkedCodebook",
    "LinkedTable",
    "Number",
    "Order",
    "Ordinal",
    "Origin",
    "Pack",
    "PaidDraft",
    "PersonUnit",
    "Publication",
    "Reading",
    "Role",
    "Rule",
    "Text",
]
