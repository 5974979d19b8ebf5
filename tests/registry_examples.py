"""One example of every method of synthesis, for all tests that must meet every method."""

EXAMPLES = {
    "pegs": {"epsilon_per_record": 1.0, "delta": 1e-6},
    "pegs-rs": {"epsilon_per_record": 1.0, "delta": 1e-6, "block_size": 10},
    "marginal-bootstrap": {"alpha": 5.0},
    "laplace": {"epsilon": 1.0},
    "sba": {"epsilon": 1.0, "delta": 1e-6},
    "marginals": {"epsilon": 1.0, "delta": 1e-6},
    "sbhg": {"epsilon": 2.0, "delta": 1e-6, "public_rows": 5_000, "parent_count": 1},
    "sbhg-gauss": {"epsilon": 2.0, "delta": 1e-6, "public_rows": 5_000, "parent_count": 1},
    "privbayes": {"epsilon": 2.0, "public_rows": 5_000},
    "pmi": {"epsilon_per_record": 1.0, "delta": 1e-6},
    "imputation": {},
    "lugs": {"l": 1.2, "sweeps": 2},
    "plugs": {"l": 1.2, "sweeps": 2, "partitions": 2, "processes": 1},
    "gibbs": {},
    "contingency": {},
    "bayesian-bootstrap": {},
}
