"""How `first_service/` was made: run in an empty folder with the code of commit d173aef, an early service.

The environment variable UNDERSTUDY_SERVICE_SECRET held the bytes 0 to 31 in base64. All data are simulated.
"""

import json
from contextlib import closing
from pathlib import Path

from understudy.service import Budgets, Store
from understudy.service.keys import KeyBook
from understudy.service.served import by_name
from understudy.trees.examples import septic_shock_example
from understudy.trees.model_file import write_model


def main() -> None:
    """Write all files."""
    model = septic_shock_example(epsilon=0.5)
    write_model(model, Path("score.us"), bytes(range(32)))
    served = by_name([model])["septic-shock"]
    with closing(Store.open("sqlite:///service.db")) as store:
        budgets = Budgets(store)
        budgets.register(served.model_id, name=served.name, price=0.5)
        budgets.set_cap(served.model_id, 5.0)
        made = KeyBook(store).create(label="tester", scopes=("score", "budget"), rate=100)
        budgets.grant(made.key.key_id, served.model_id, 2.0)
        budgets.charge(made.key.key_id, served.model_id, [b"1" * 32, b"2" * 32, b"3" * 32])
        budgets.settle(made.key.key_id, served.model_id, {b"1" * 32: (1, '{"score": 1}')})
    facts = {"key": made.text, "key_id": made.key.key_id, "model_id": served.model_id, "spent": 1.5}
    Path("facts.json").write_text(json.dumps(facts, indent=2) + "\n")


if __name__ == "__main__":
    main()
