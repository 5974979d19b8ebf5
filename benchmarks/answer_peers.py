"""Means and regressions of another library on given tables; run by another interpreter, so it imports nothing of ours:
``python answer_peers.py PEER mean|linear EPSILON INPUT.npz OUTPUT.json``.

All get the declared bounds and the number of records, as public.
"""

import json
import sys
import warnings
from pathlib import Path

import numpy as np

CHARGE, AGE = (0.0, 100.0), (0.0, 100.0)


def diffprivlib_mean(charge, epsilon, **_):
    from diffprivlib.tools import mean

    return [float(mean(charge, epsilon=epsilon, bounds=CHARGE))]


def diffprivlib_linear(charge, age, sex, epsilon):
    from diffprivlib.models import LinearRegression

    model = LinearRegression(epsilon=epsilon, bounds_X=([0.0, AGE[0]], [1.0, AGE[1]]), bounds_y=CHARGE)
    model.fit(np.column_stack([sex, age]), charge)
    return [float(model.intercept_), *map(float, model.coef_)]


def opendp_mean(charge, epsilon, **_):
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(bounds=CHARGE), size=len(charge)), dp.symmetric_distance()
    transformation = dp.t.make_mean(*space)
    measurement = dp.binary_search_chain(lambda scale: transformation >> dp.m.then_laplace(scale), 2, epsilon)
    return [float(measurement(np.clip(charge, *CHARGE).tolist()))]


def smartnoise_mean(charge, epsilon, **_):
    import pandas as pd
    from snsql import Privacy, from_df

    columns = {"private_id": False, "charge": {"type": "float", "lower": CHARGE[0], "upper": CHARGE[1]}}
    about = {"": {"": {"t": {"row_privacy": True, "rows": len(charge), **{"charge": columns["charge"]}}}}}
    reader = from_df(pd.DataFrame({"charge": charge}), privacy=Privacy(epsilon=epsilon, delta=1e-9), metadata=about)
    return [float(reader.execute("SELECT AVG(charge) AS m FROM t")[1][0])]


PEERS = {
    ("diffprivlib", "mean"): diffprivlib_mean,
    ("diffprivlib", "linear"): diffprivlib_linear,
    ("opendp", "mean"): opendp_mean,
    ("smartnoise-sql", "mean"): smartnoise_mean,
}


def main(peer, kind, epsilon, source, target):
    warnings.simplefilter("ignore")
    given = dict(np.load(source))
    found = [
        PEERS[peer, kind](charge=given["charge"][run], age=given["age"][run], sex=given["sex"][run], epsilon=epsilon)
        for run in range(len(given["charge"]))
    ]
    Path(target).write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], float(sys.argv[3]), sys.argv[4], sys.argv[5])
