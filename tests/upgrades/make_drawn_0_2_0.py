"""How `drawn_0_2_0/` was made: run with the code of commit e6fe3177 (before dc6dd8e5) in an empty folder.

Releases of methods whose drawn rows cost, with the alpha that a whole-file epsilon was found to need: one by PeGS, by
PeGS.rs and by PMI. `facts.json` says which alphas those were, and has some more. The table is invented.
"""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa

import understudy as us
from understudy.codebook import Categorical, Codebook, Integer
from understudy.synth import METHODS

ASKED = {
    "pegs": {"epsilon": 2.0, "delta": 1e-6},
    "pegs-rs": {"epsilon": 3.0, "delta": 1e-5, "block_size": 5, "neighbours": "replace-one"},
    "pmi": {"epsilon": 1.5, "delta": 1e-6},
}
MORE = (
    ("pegs", {"epsilon": 0.5, "rows": 400}),
    ("pegs", {"epsilon": 3.0, "delta": 1e-9, "rows": 5000, "neighbours": "replace-one"}),
    ("pegs", {"epsilon": 500.0, "rows": 3}),
    ("pegs", {"epsilon": 0.01, "delta": 1e-6, "rows": 100000}),
    ("pegs-rs", {"epsilon": 1.0, "delta": 1e-6, "rows": 60, "block_size": 20}),
    ("pegs-rs", {"epsilon": 8.0, "rows": 9, "block_size": 3}),
    ("pmi", {"epsilon": 20.0, "delta": 1e-5, "rows": 3, "neighbours": "replace-one"}),
    ("pmi", {"epsilon": 1.0, "rows": 50, "sweeps": 0}),
)


def main() -> None:
    """Write all files."""
    drawn = np.random.default_rng(3)
    book = Codebook(
        columns=(
            Categorical(name="sex", levels=("F", "M")),
            Integer(name="age", edges=(0, 40, 80, 120)),
            Categorical(name="ward", levels=("A", "B", "C"), missing="?"),
        )
    )
    table = pa.table(
        {
            "sex": drawn.choice(["F", "M"], 200),
            "age": drawn.integers(0, 120, 200),
            "ward": drawn.choice(["A", "B", "C"], 200),
        }
    )
    for method, options in ASKED.items():
        us.synthesize(table, book, rows=20, method=method, out=method, **options)
    asked = [*((method, {**options, "rows": 20}) for method, options in ASKED.items()), *MORE]
    alphas = []
    for method, options in asked:
        recipe = us.synth.choices.Choices(method=method, options=options).recipe(book, options["rows"])
        assert isinstance(recipe, METHODS[method])
        alphas.append({"method": method, "options": options, "alpha": str(recipe.alpha_used(book))})
    Path("facts.json").write_text(json.dumps(alphas, indent=1) + "\n")


if __name__ == "__main__":
    main()
