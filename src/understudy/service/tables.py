"""Database tables of the service: hashed keys, caps and spending, one line per paid question. No features, no keys.

Amounts are whole billionths of epsilon, and of delta whole units of 1e-18, so that sums are exact.
"""

from enum import StrEnum

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Float,
    ForeignKey,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

schema = MetaData()

meta = Table(
    "understudy_meta",
    schema,
    Column("name", String(64), primary_key=True),
    Column("text", Text, nullable=False),
)
"""Version of these tables, and the mark of the secret they were made with."""

api_keys = Table(
    "understudy_api_keys",
    schema,
    Column("key_id", String(32), primary_key=True),
    Column("keyed_hash", LargeBinary, nullable=False),
    Column("label", Text, nullable=False),
    Column("scopes", Text, nullable=False),
    Column("rate", Integer, nullable=False),
    Column("created", String(32), nullable=False),
    Column("revoked", String(32)),
    CheckConstraint("rate >= 1", name="understudy_rate_is_positive"),
)

models = Table(
    "understudy_models",
    schema,
    Column("model_id", String(64), primary_key=True),
    Column("name", Text, nullable=False),
    Column("price", BigInteger, nullable=False),
    Column("cap", BigInteger),
    Column("spent", BigInteger, nullable=False),
    CheckConstraint("price > 0", name="understudy_price_is_positive"),
    CheckConstraint("spent >= 0 AND (cap IS NULL OR spent <= cap)", name="understudy_model_within_cap"),
)
"""Per-call models only."""

grants = Table(
    "understudy_grants",
    schema,
    Column("key_id", String(32), ForeignKey(api_keys.c.key_id), primary_key=True),
    Column("model_id", String(64), ForeignKey(models.c.model_id), primary_key=True),
    Column("cap", BigInteger, nullable=False),
    Column("spent", BigInteger, nullable=False),
    CheckConstraint("spent >= 0 AND spent <= cap", name="understudy_key_within_cap"),
)

answers = Table(
    "understudy_answers",
    schema,
    Column("key_id", String(32), ForeignKey(api_keys.c.key_id), primary_key=True),
    Column("model_id", String(64), ForeignKey(models.c.model_id), primary_key=True),
    Column("question", LargeBinary, primary_key=True),
    Column("attempts", Integer, nullable=False),
    Column("since", Float, nullable=False),
    Column("answer", Text),
    CheckConstraint("attempts >= 1", name="understudy_attempts_are_positive"),
)
"""The ledger: every attempt was paid at the model's price. ``question`` is a keyed MAC; ``answer`` is NULL while a
paid attempt is under way, or for ever when its server died."""

cap_changes = Table(
    "understudy_cap_changes",
    schema,
    Column("number", Integer, primary_key=True, autoincrement=True),
    Column("changed", String(32), nullable=False),
    Column("model_id", String(64), nullable=False),
    Column("key_id", String(32)),
    Column("cap", BigInteger, nullable=False),
    Column("dataset", Text),
    Column("delta", BigInteger),
)
"""Every cap that was ever set, for whoever must explain one: of a model, or of ``data NAME`` or ``project NAME``.
``dataset`` has the identity of the account that paid for it (in earlier versions its name); what was paid for is asked
of the account, never of this table. ``delta`` is empty where only epsilon counts."""

identities = Table(
    "understudy_identities",
    schema,
    Column("identity", String(200), primary_key=True),
    Column("key_id", String(32), ForeignKey(api_keys.c.key_id), nullable=False),
)
"""Whom a proxy in front may log in, and with the rights of which key."""


def _purse(name: str) -> tuple[Column[int] | CheckConstraint, ...]:
    """Columns of a row that holds a budget: caps, and what is spent of them."""
    return (
        Column("cap", BigInteger, nullable=False),
        Column("cap_delta", BigInteger, nullable=False),
        Column("spent", BigInteger, nullable=False),
        Column("spent_delta", BigInteger, nullable=False),
        CheckConstraint("spent >= 0 AND spent <= cap", name=f"understudy_{name}_within_cap"),
        CheckConstraint("spent_delta >= 0 AND spent_delta <= cap_delta", name=f"understudy_{name}_within_delta"),
    )


data_sets = Table(
    "understudy_data_sets",
    schema,
    Column("data", String(64), primary_key=True),
    Column("account", String(64), nullable=False),
    *_purse("data"),
)
"""Data sets that answers are given on; ``account`` is the identity of the account that paid for the cap."""

projects = Table(
    "understudy_projects",
    schema,
    Column("project", String(64), primary_key=True),
    Column("data", String(64), ForeignKey(data_sets.c.data), nullable=False),
    Column("created", String(32), nullable=False),
    *_purse("project"),
)

members = Table(
    "understudy_members",
    schema,
    Column("key_id", String(32), ForeignKey(api_keys.c.key_id), primary_key=True),
    Column("data", String(64), ForeignKey(data_sets.c.data), primary_key=True),
    Column("project", String(64), ForeignKey(projects.c.project), nullable=False),
    *_purse("member"),
)
"""Which project a key asks for; one of each data set, so that a question never has to say for whom it is."""

questions = Table(
    "understudy_questions",
    schema,
    Column("answer_id", String(32), primary_key=True),
    Column("project", String(64), ForeignKey(projects.c.project), nullable=False),
    Column("data", String(64), ForeignKey(data_sets.c.data), nullable=False),
    Column("key_id", String(32), ForeignKey(api_keys.c.key_id), nullable=False),
    Column("question", LargeBinary, nullable=False),
    Column("text", Text, nullable=False),
    Column("terms", Text, nullable=False),
    Column("price", BigInteger, nullable=False),
    Column("price_delta", BigInteger, nullable=False),
    Column("status", String(16), nullable=False),
    Column("words", Text, nullable=False),
    Column("synthetic", Text, nullable=False),
    Column("asked", String(32), nullable=False),
    Column("decided", String(32)),
    Column("decided_by", String(64)),
    Column("attempts", Integer, nullable=False),
    Column("since", Float, nullable=False),
    Column("answer", Text),
    UniqueConstraint("project", "question", name="understudy_question_once"),
    CheckConstraint("attempts >= 0", name="understudy_question_attempts"),
    CheckConstraint("price > 0 AND price_delta >= 0", name="understudy_question_price"),
)
"""Questions on data: what was asked, on which terms, what was decided, and the answer once there is one. ``question``
is a keyed MAC of all that makes two questions the same; ``synthetic`` is what the release says, which is public."""


class Status(StrEnum):
    """What became of a question."""

    ASKED = "asked"
    """A steward has to decide."""
    APPROVED = "approved"
    """It may be answered; it is being answered while a paid attempt is under way."""
    DECLINED = "declined"
    ANSWERED = "answered"
    FAILED = "failed"
    """Paid for and not answered. Asking again pays again."""


payments = Table(
    "understudy_payments",
    schema,
    Column("answer_id", String(32), ForeignKey(questions.c.answer_id), primary_key=True),
    Column("attempt", Integer, primary_key=True),
    Column("key_id", String(32), ForeignKey(api_keys.c.key_id), nullable=False),
    Column("paid", String(32), nullable=False),
)
"""The ledger of answers: every attempt was paid at its question's price, by this key and its project."""
