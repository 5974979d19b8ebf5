"""A private classifier of another library on given halves of a table; run by another interpreter, so it imports
nothing of ours: ``python score_peers.py PEER INPUT.npz OUTPUT.json``.

InterpretML's DP-EBM gets the bounds and delta, and categories as such. diffprivlib's logistic regression (no delta)
gets numbers scaled to -1 .. 1 by the bounds and a column for each level, and the norm that follows from them.
"""

import json
import sys
import warnings

import numpy as np


def boosted(given, epsilon):
    from interpret.privacy import DPExplainableBoostingClassifier

    within = {place: tuple(pair) for place, pair in enumerate(given["bounds"].tolist())}
    return DPExplainableBoostingClassifier(
        epsilon=epsilon,
        delta=float(given["delta"]),
        feature_types=["continuous"] * len(within) + ["nominal"] * len(given["levels"]),
        privacy_bounds=within,
        n_jobs=1,
    )


def logistic(given, epsilon):
    from diffprivlib.models import LogisticRegression

    return LogisticRegression(epsilon=epsilon, data_norm=float(np.sqrt(given["values"].shape[1])))


def one_hot(given):
    numbers, words = np.split(given["values"], [len(given["bounds"])], axis=1)
    low, high = given["bounds"].T
    parts = [2 * (np.clip(numbers, low, high) - low) / (high - low) - 1]
    parts += [np.eye(size)[words[:, at].astype(int)] for at, size in enumerate(given["levels"])]
    return np.hstack(parts)


def with_words(given):
    if not len(given["levels"]):
        return given["values"]
    values = given["values"].astype(object)
    for place in range(len(given["bounds"]), values.shape[1]):
        values[:, place] = [f"level {code:.0f}" for code in values[:, place]]
    return values


PEERS = {"interpret-core": boosted, "diffprivlib": logistic}


def main(peer, source, target):
    from sklearn.metrics import brier_score_loss, roc_auc_score

    warnings.simplefilter("ignore")
    given = np.load(source)
    label = given["label"]
    values = one_hot(given) if peer == "diffprivlib" else with_words(given)
    found = {}
    for epsilon in given["epsilons"].tolist():
        for train, test in given["halves"]:
            model = PEERS[peer](given, epsilon).fit(values[train], label[train])
            chance = model.predict_proba(values[test])[:, 1]
            figures = [roc_auc_score(label[test], chance), brier_score_loss(label[test], chance)]
            found.setdefault(str(epsilon), []).append(figures)
    with open(target, "w", encoding="utf-8") as out:  # noqa: PTH123 - stands alone
        json.dump(found, out)


if __name__ == "__main__":
    main(*sys.argv[1:])
