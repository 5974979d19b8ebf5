"""diffprivlib's forests and trees on the same halves; run by another interpreter, so it imports nothing of ours.

``python peer.py INPUT.npz OUTPUT.json``. diffprivlib 0.6.6 needs scikit-learn below 1.6, hence an environment of its
own: name its interpreter in ``UNDERSTUDY_DIFFPRIVLIB``. Missing values come filled with their column's mean.
"""

import json
import sys
import warnings

import numpy as np


def main(source, target):
    from diffprivlib.models import DecisionTreeClassifier, RandomForestClassifier
    from sklearn.metrics import roc_auc_score

    warnings.simplefilter("ignore")
    given = np.load(source)
    values, label, ends = given["raw"], given["label"], given["ends"]
    bounds = (ends[:, 0], ends[:, 1])
    makers = {
        "forest of 10, depth 5": lambda e: RandomForestClassifier(
            n_estimators=10, max_depth=5, epsilon=e, bounds=bounds, classes=[0, 1]
        ),
        "forest of 10, depth 3": lambda e: RandomForestClassifier(
            n_estimators=10, max_depth=3, epsilon=e, bounds=bounds, classes=[0, 1]
        ),
        "forest of 30, depth 5": lambda e: RandomForestClassifier(
            n_estimators=30, max_depth=5, epsilon=e, bounds=bounds, classes=[0, 1]
        ),
        "forest of 100, depth 5": lambda e: RandomForestClassifier(
            n_estimators=100, max_depth=5, epsilon=e, bounds=bounds, classes=[0, 1]
        ),
        "tree, depth 5": lambda e: DecisionTreeClassifier(max_depth=5, epsilon=e, bounds=bounds, classes=[0, 1]),
    }
    found = {}
    for name, maker in makers.items():
        for epsilon in given["epsilons"].tolist():
            scores = []
            for train, test in given["halves"]:
                model = maker(epsilon).fit(values[train], label[train])
                scores.append(roc_auc_score(label[test], model.predict_proba(values[test])[:, 1]))
            found.setdefault(name, {})[str(epsilon)] = scores
    with open(target, "w", encoding="utf-8") as out:  # noqa: PTH123 - stands alone
        json.dump(found, out)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
