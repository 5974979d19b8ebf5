"""The numbers behind the figures. Streams are secure, so that a run is one sample of what LUGS does."""

import math
from typing import Any

import numpy as np

import understudy as us
from experiments.lugs.tables import Absent, Study, discharges, nhds, sampled
from understudy.evaluate.utility.association import chi_square_of
from understudy.evaluate.utility.columns import missing_share
from understudy.evaluate.utility.distances import artificial_share, compare
from understudy.evaluate.utility.lasso import lasso_auc_path, lasso_mse_path
from understudy.sources import EncodedSource

LOG_LS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.69)
LASSO_LOG_LS = (0.02, 0.3, 0.69)
"""Where models are trained; hundreds of dummies make them slow."""
TRACE_LOG_L = 0.1
HASHES = (1, 2, 3, 4, 6, 8)
SPACES = (1 << 8, 1 << 12, 1 << 16, 1 << 20)
QUICK = 3000
PAPER_ROWS = 15_000
SIZES = (1_500, 5_000, PAPER_ROWS, 50_000, 150_000)
PARTITIONS = (1, 2, 4, 8, 16)


def studies(quick: bool) -> dict[str, Study]:
    """Whatever is on this machine."""
    found = {"discharges": discharges(rows=QUICK if quick else 50_000)}
    try:
        found["nhds"] = nhds(rows=QUICK if quick else None)
    except Absent as reason:
        print(f"left out: {reason}")
    return found


def _drawn(study: Study, *, log_l: float, method: Any = us.LUGS, **options: Any) -> tuple[EncodedSource, Any]:
    rows = len(study.source._columns[0])
    fitted = method(l=math.exp(log_l), **options).fit(study.source)
    codes = fitted._draw(rows, fitted.quote(rows).ledger)
    return EncodedSource(codebook=study.source.codebook, columns=codes), fitted


def chains(*, quick: bool) -> dict[str, Any]:
    """Figures 2 and 3: a path of one chain, and how fast 512 of them forget."""
    out = {}
    for name, study in studies(quick).items():
        fitted = us.LUGS(l=math.exp(TRACE_LOG_L)).fit(study.source)
        sampler = fitted._sampler(fitted.quote(1).ledger)
        path = sampler.trace(chains=1, sweeps=300, stream=fitted._stream.spawn())[:, :, 0]
        report = fitted.diagnose(chains=64 if quick else 512, sweeps=60 if quick else 300)
        columns = study.source.codebook.modelled
        out[name] = {
            "rows": [[column.labels[code] for column, code in zip(columns, state, strict=True)] for state in path[:6]],
            "path": dict(zip(study.source.codebook.names, path.T.tolist(), strict=True)),
            "autocorrelation": {key: list(values) for key, values in report.autocorrelation.items()},
            "effective_share": report.effective_share,
            "unseen": report.unseen_share,
            "lost": report.lost_share,
            "smallest_weight": report.smallest_weight,
        }
    return out


def levels(*, quick: bool) -> dict[str, Any]:
    """Figures 4 to 7, at every log l."""
    out = {}
    for name, study in studies(quick).items():
        book = study.source.codebook
        real = study.source
        points = []
        for log_l in LOG_LS[:: 3 if quick else 1]:
            made, fitted = _drawn(study, log_l=log_l)
            three = made.count([study.three])[0].open()
            weights = fitted.tables.open().weights
            points.append(
                {
                    "log_l": log_l,
                    "histograms": {key: made.count([[key]])[0].open().to_grid().tolist() for key in study.many},
                    "chi_square": chi_square_of(three).pearson,
                    "missing": missing_share(made),
                    "artificial": artificial_share(real, made).value,
                    "mean_weight": float(weights.mean()),
                    "marginal_mae": compare(real, made).marginal_mae,
                }
            )
            if quick or log_l in LASSO_LOG_LS:
                mse, variance = lasso_mse_path(real, made, target=study.target)
                auc, question = lasso_auc_path(real, made, target=study.target)
                points[-1] |= {"penalties": mse.penalties, "mse": mse.synthetic}
                points[-1] |= {"auc_penalties": auc.penalties, "auc": auc.synthetic}
            print(f"  {name} log l = {log_l}: artificial {points[-1]['artificial']:.3f}", flush=True)
        base = artificial_share(real, real)
        out[name] = {
            "title": study.title,
            "rows": len(real._columns[0]),
            "labels": {key: list(book.column(key).labels) for key in study.many},
            "points": points,
            "real": {
                "histograms": {key: real.count([[key]])[0].open().to_grid().tolist() for key in study.many},
                "chi_square": chi_square_of(real.count([study.three])[0].open()).pearson,
                "missing": missing_share(real),
                "new_rows_artificial": base.breakdown["new real rows would give about"],
                "mse": list(mse.real),
                "auc": list(auc.real),
                "variance": variance,
                "question": question,
            },
        }
    return out


def sizes(*, quick: bool) -> dict[str, Any]:
    """How figure 6 depends on the number of records: random records of each table, drawn anew for every repeat.

    Models are trained at the paper's size alone.
    """
    repeats = 2 if quick else 5
    out: dict[str, Any] = {}
    for name, study in studies(quick).items():
        whole = len(study.source._columns[0])
        for rows in sorted({min(size, whole) for size in (SIZES[:2] if quick else SIZES)}):
            for log_l in (LASSO_LOG_LS[0], LASSO_LOG_LS[-1]):
                runs = []
                for seed in range(repeats):
                    some = sampled(study, rows, seed)
                    made, fitted = _drawn(some, log_l=log_l)
                    memory = fitted.diagnose(chains=256, sweeps=100, lags=5).autocorrelation.values()
                    runs.append(_against_real(some, made, models=rows == PAPER_ROWS))
                    runs[-1]["autocorrelation"] = max(rho[5] for rho in memory)
                out.setdefault(name, {}).setdefault(str(rows), {})[str(log_l)] = _spread(runs)
            print(f"  {name}, {rows:,} records", flush=True)
    return out


def partitions(*, quick: bool) -> dict[str, Any]:
    """PLUGS against LUGS (one partition) at the paper's size."""
    out: dict[str, Any] = {}
    for name, study in studies(quick).items():
        for count in PARTITIONS[:: 2 if quick else 1]:
            runs = []
            for seed in range(2 if quick else 5):
                some = sampled(study, min(PAPER_ROWS, len(study.source._columns[0])), seed)
                made, _ = _drawn(some, log_l=TRACE_LOG_L, method=us.PLUGS, partitions=count, processes=1)
                runs.append(_against_real(some, made, models=seed < 2))
            out.setdefault(name, {})[str(count)] = _spread(runs)
            print(f"  {name}, {count} partitions", flush=True)
    return out


def _against_real(study: Study, made: EncodedSource, *, models: bool) -> dict[str, float]:
    real, errors = study.source, compare(study.source, made)
    share = artificial_share(real, made)
    numbers = {
        "artificial": share.value,
        "new real rows": share.breakdown["new real rows would give about"],
        "missing": missing_share(made),
        "real missing": missing_share(real),
        "chi-square": chi_square_of(made.count([study.three])[0].open()).pearson
        / chi_square_of(real.count([study.three])[0].open()).pearson,
        "marginal_mae": errors.marginal_mae,
        "conditional_mae": errors.conditional_mae,
    }
    if models:
        mse, _ = lasso_mse_path(real, made, target=study.target)
        auc, _ = lasso_auc_path(real, made, target=study.target)
        numbers |= {"mse": min(mse.synthetic), "real mse": min(mse.real)}
        numbers |= {"auc": max(auc.synthetic), "real auc": max(auc.real)}
    return numbers


def _spread(runs: list[dict[str, float]]) -> dict[str, list[float]]:
    """Mean and standard deviation of every number that was measured at least twice."""
    names = dict.fromkeys(name for run in runs for name in run)
    values = {name: [run[name] for run in runs if name in run] for name in names}
    return {name: [float(np.mean(found)), float(np.std(found, ddof=1))] for name, found in values.items()}


def memory(*, quick: bool) -> dict[str, Any]:
    """Size of the tables against the errors of what is drawn from them, for hashes and key spaces."""
    study = discharges(rows=QUICK if quick else 50_000)
    points = []
    for space in SPACES:
        for hashes in HASHES[:: 3 if quick else 1]:
            made, fitted = _drawn(study, log_l=TRACE_LOG_L, hashes=hashes, key_space=space)
            tables = fitted.tables.open()
            size = sum(
                array.nbytes for array in (tables.slots, tables.blocks, tables.levels, tables.cumulative, tables.modes)
            )
            errors = compare(study.source, made)
            report = fitted.diagnose(chains=64, sweeps=20, lags=5)
            points.append(
                {
                    "hashes": hashes,
                    "key_space": space,
                    "bytes": size,
                    "blocks": len(tables.weights),
                    "marginal_mae": errors.marginal_mae,
                    "conditional_mae": errors.conditional_mae,
                    "unseen": report.unseen_share,
                    "mean_weight": float(np.mean(tables.weights)),
                }
            )
            print(
                f"  {hashes} hashes, {space:,} keys: {size / 2**20:.1f} MiB, {errors.conditional_mae:.4f}", flush=True
            )
    return {"points": points}
