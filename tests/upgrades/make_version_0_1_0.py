"""How `version_0_1_0/` was made: run with the code of commit 42b01a3 in an empty folder.

The environment variable UNDERSTUDY_SERVICE_SECRET held the bytes 0 to 31 in base64. All data are simulated.
"""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet

import understudy as us
from understudy.codebook import Categorical, Codebook, Integer
from understudy.datasets.example import write_histories
from understudy.evaluate.rumap.journal import Journal
from understudy.privacy import Neighbours
from understudy.privacy.account import Account
from understudy.release.notices import Notice, add_notice
from understudy.service import Budgets, Store
from understudy.service.keys import KeyBook
from understudy.service.served import by_name
from understudy.trees.examples import septic_shock_example


def main() -> None:
    """Write all files."""
    drawn = np.random.default_rng(1)
    book = Codebook(
        columns=(
            Categorical(name="sex", levels=("F", "M")),
            Integer(name="age", edges=(0, 40, 80, 120)),
            Categorical(name="ward", levels=("A", "B", "C"), missing="?"),
        )
    )
    table = pa.table(
        {
            "sex": drawn.choice(["F", "M"], 300),
            "age": drawn.integers(0, 120, 300),
            "ward": drawn.choice(["A", "B", "C"], 300),
        }
    )
    book.save("book.toml")
    how = {"dataset": "stays", "epsilon": 20.0, "delta": 1e-4, "neighbours": Neighbours.ADD_REMOVE}
    account = Account.create("account-of-stays", **how)
    account.look("a report")
    us.synthesize(
        table, book, rows=60, method="laplace", epsilon=1.0, out="laplace", account=account, save_model="laplace.us",
        formats=["csv"],
    )  # fmt: skip
    us.synthesize(table, book, rows=60, method="marginals", epsilon=2.0, delta=1e-6, out="marginals", account=account)
    us.count(table, book, by=["sex", "ward"], epsilon=0.5, out="counts", account=account)
    us.anonymize(table, book, k=5, quasi=["sex", "age"], suppression=0.5, out="anonymized")
    us.train(table, book, target="sex", method="tree", epsilon=1.0, out="tree.us", account=account)
    us.passport("laplace")
    us.sign("laplace", new_key="signer")
    Path("signer").unlink()  # no private key is kept
    account.notice(json.loads(Path("laplace/manifest.json").read_text())["release"], "withdrawn")
    add_notice(Path("laplace"), Notice(kind="withdrawn", why="made for tests"))
    Journal(Path("journal"), {"rows": 5})
    write_histories(Path("hospital"), patients=40, seed=1)
    us.synthesize(
        "hospital", "hospital/hospital.toml", rows=10, epsilon=3.0, delta=1e-5, out="linked", save_model="linked.us"
    )
    model = septic_shock_example(epsilon=0.5)
    model.save("score.us", key=bytes(range(32)))
    served = by_name([model])["septic-shock"]
    with Store.open("sqlite:///service.db") as store:
        budgets = Budgets(store)
        budgets.register(served.model_id, name=served.name, price=0.5)
        budgets.set_cap(served.model_id, 5.0)
        made = KeyBook(store).create(label="tester", scopes=("score", "budget"), rate=100)
        budgets.grant(made.key.key_id, served.model_id, 2.0)
        budgets.charge(made.key.key_id, served.model_id, [b"1" * 32, b"2" * 32, b"3" * 32])
    facts = {
        "key": made.text,
        "key_id": made.key.key_id,
        "model_id": served.model_id,
        "spent": account.spent().to_dict(),
        "charges": len(account.history()),
    }
    Path("facts.json").write_text(json.dumps(facts, indent=2) + "\n")


if __name__ == "__main__":
    main()
