"""Runs in the environment of anonymeter, not in ours: three CSV files in, rates of success as JSON out."""

import json
import sys

import pandas as pd
from anonymeter.evaluators import InferenceEvaluator, LinkabilityEvaluator, SinglingOutEvaluator


def main(folder: str) -> None:
    tables = json.loads(sys.argv[2])
    ordered, secret, halves = tables["ordered"], tables["secret"], tables["halves"]
    kinds = {name: "int64" if name in ordered else "str" for half in halves for name in half}
    real, copy, control = (pd.read_csv(f"{folder}/{name}.csv", dtype=kinds) for name in ("real", "copy", "control"))
    many = tables["attacks"]
    others = [name for name in real.columns if name != secret]
    evaluators = {
        "singling_out": SinglingOutEvaluator(real, copy, n_attacks=many, n_cols=5, control=control, seed=1),
        "linkability": LinkabilityEvaluator(real, copy, aux_cols=tuple(halves), n_attacks=many, control=control),
        "inference": InferenceEvaluator(real, copy, aux_cols=others, secret=secret, n_attacks=many, control=control),
    }
    found = {}
    for name, evaluator in evaluators.items():
        results = evaluator.evaluate("multivariate") if name == "singling_out" else evaluator.evaluate(n_jobs=1)
        results = results.results()
        found[name] = {
            part: [float(rate.value), float(rate.error)]
            for part, rate in (("attack", results.attack_rate), ("control", results.control_rate))
        }
        risk = evaluator.risk()
        found[name]["gain"] = [float(risk.value), float(risk.ci[0]), float(risk.ci[1])]
    sys.stdout.write("\n" + json.dumps(found) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
