"""Database tables of the service: hashed keys, caps and spending, one line per paid question. No features, no keys."""

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
"""Per-call models only. Amounts are whole billionths of epsilon, so that sums are exact."""

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
)
"""Every cap that was ever set, for whoever must explain one. ``dataset`` has the identity of the account that paid
for it (in earlier versions its name); what was paid for is asked of the account, never of this table."""
