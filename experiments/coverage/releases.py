"""What the intervals of `understudy infer` really cover, on releases of samples from three populations.

``python -m experiments.coverage.releases --out FILE [--epsilon 1] [--population adult] [--releases 100] [--first 1]``
appends one line of JSON per release, so that a run can be stopped and goes on where it stopped;
``--show FILE`` prints the table of the documentation. ``--keep FOLDER`` keeps the releases, so that other intervals can
be tried on them. Rows of real tables come from ``UNDERSTUDY_DATA``.
"""

import argparse
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

import understudy as us
from experiments.coverage.populations import POPULATIONS, Codes, Population
from understudy.codebook.decode import decode_table
from understudy.infer.calibration import Records
from understudy.infer.inference import POPULATION, answered
from understudy.infer.opened import OpenedRelease, open_release
from understudy.infer.questions import Difference, Mean, Part, Question, regression_of, share_of
from understudy.mechanisms.stream import Stream
from understudy.release.measurements import MEASUREMENTS, Measurements, read_measurements
from understudy.sources import EncodedSource

DATA = Path(os.environ.get("UNDERSTUDY_DATA", "../shared/data"))
RECORDS, DELTA = 10_000, 1e-6
EPSILONS = (0.5, 1.0, 5.0)
GROUPS = ("cells", "means", "differences", "linear", "logistic")
Z = 1.959964
KEPT = ("rows", "meas")


def questions(population: Population, release: OpenedRelease) -> list[tuple[str, Question]]:
    """What is asked, by group."""
    book, asked = population.book, population.asked
    everybody = Part()
    found: list[tuple[str, Question]] = []
    for cell in population.cells():
        codes = {name: book.column(name).labels.index(label) for name, label in cell.items()}
        found.append(("cells", share_of(release, codes, everybody)))
    found += [("means", Mean(part=everybody, of=name)) for name in asked.means]
    for of, by, *levels in asked.differences:
        first, second = (Mean(part=Part.of(release, {by: level}), of=of) for level in levels)
        found.append(("differences", Difference(part=everybody, first=first, second=second)))
    for kind in ("linear", "logistic"):
        found += [(kind, regression_of(release, kind, formula, everybody)) for formula in getattr(asked, kind)]
    return found


def truth(population: Population, codes: Codes) -> dict[str, float]:
    """Every figure in a table whose rows are all known."""
    nobody = Measurements(records=None, groups={}, tables={}, dependence={}, ordered=frozenset())  # type: ignore
    table = decode_table(population.book, codes, Stream.seeded(1).below_each)
    release = OpenedRelease(codebook=population.book, table=table, measured=nobody, statement="", release_id="")
    figures: dict[str, float] = {}
    for group, question in questions(population, release):
        columns = tuple(name for name in population.book.names if name in question.columns)
        sizes = [population.book.column(name).size for name in columns]
        records = Records.of(columns, sizes, [codes[population.book.position(name)] for name in columns])
        for estimate in question.answers(release, records, records.shares):
            figures[_key(group, question, estimate.name)] = estimate.value
    return figures


def _key(group: str, question: Question, name: str) -> str:
    return f"{group} | {getattr(question, 'formula', '')} | {name}"


def released(population: Population, sample: Codes, epsilon: float, seed: int, keep: Path | None) -> OpenedRelease:
    """The release of a sample, made or read from where it was kept."""
    files = [None if keep is None else keep / f"{population.name}_{epsilon:g}_{seed}.{what}.parquet" for what in KEPT]
    if keep is not None and all(file.exists() for file in files if file is not None):
        table, measured = (pq.read_table(file) for file in files)
        return OpenedRelease(
            codebook=population.book,
            table=table,
            measured=read_measurements(measured, population.book),
            statement="",
            release_id="",
        )
    source = EncodedSource(codebook=population.book, columns=sample)
    stream = Stream.seeded(seed + round(1000 * epsilon) * 1_000_000)  # other noise at every epsilon
    made = us.Marginals(epsilon=epsilon, delta=DELTA).fit(source, stream=stream).sample(RECORDS)
    for file, content in zip(files, (made.table, made.attachments[MEASUREMENTS]), strict=True):
        if file is not None:
            pq.write_table(content, file)
    return open_release(made)


def one_release(population: Population, epsilon: float, seed: int, keep: Path | None = None) -> dict[str, Any]:
    """A sample, its release, and every figure: estimate, error, in the rows, in the sample, naive error."""
    sample = population.sample(RECORDS, np.random.default_rng(seed))
    release = released(population, sample, epsilon, seed, keep)
    in_sample = truth(population, sample)
    lines: dict[str, list[float | None]] = {}
    for group, question in questions(population, release):
        figures = answered(release, question, target=POPULATION, level=0.95)
        naive = _naive(release, question)
        for figure in figures:
            key = _key(group, question, figure.name)
            if figure.refused is None:
                alone = figure.error * np.sqrt(figure.privacy)  # for the confidential table: without sampling
                lines[key] = [figure.estimate, figure.error, alone, *naive[figure.name], in_sample.get(key)]
    return {"population": population.name, "epsilon": epsilon, "seed": seed, "figures": lines}


def _naive(release: OpenedRelease, question: Question) -> dict[str, tuple[float, float]]:
    """What the rows say, and its error if they were the sample."""
    records = release.calibrated(question.columns).records
    estimates = question.answers(release, records, records.shares)
    return {
        one.name: (one.value, float(np.sqrt(records.shares @ one.influence**2 / records.rows))) for one in estimates
    }


def run(
    out: Path, populations: Sequence[str], epsilons: Sequence[float], first: int, releases: int, keep: Path | None
) -> None:
    """Make what is not in the file yet, one release of every setting after the other."""
    done = {(line["population"], line["epsilon"], line["seed"]) for line in read(out)}
    known = {name: POPULATIONS[name](DATA) for name in populations}
    for seed in range(first, first + releases):
        for epsilon in epsilons:
            for name, population in known.items():
                if (name, epsilon, seed) not in done:
                    with out.open("a") as file:
                        file.write(json.dumps(one_release(population, epsilon, seed, keep)) + "\n")


def read(path: Path) -> list[dict[str, Any]]:
    """The lines of a run."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def summary(lines: Sequence[dict[str, Any]], true: dict[str, float]) -> dict[str, dict[str, float]]:
    """By group: coverage (all, and of the worst figure), naive coverage, width against the oracle's, refused."""
    found = {}
    for group in GROUPS:
        keys = [key for key in true if key.startswith(f"{group} ")]
        covered, naive, table, width, wide, asked, told = [], [], [], [], [], 0, 0
        for key in keys:
            got = np.array([line["figures"][key] for line in lines if key in line["figures"]], dtype=float)
            asked, told = asked + len(lines), told + len(got)
            if len(got) < 2:
                continue
            estimate, error, alone, rows, rows_error, sampled = got.T
            covered.append(float(np.mean(np.abs(estimate - true[key]) <= Z * error)))
            naive.append(float(np.mean(np.abs(rows - true[key]) <= Z * rows_error)))
            table.append(float(np.mean(np.abs(estimate - sampled) <= Z * alone)))
            width.append(float(np.median(error) / max(estimate.std(ddof=1), 1e-12)))
            wide.append(float(np.median(error) / max(np.sqrt(np.mean((rows - true[key]) ** 2)), 1e-12)))
        found[group] = {
            "figures": len(keys),
            "coverage": float(np.mean(covered)),
            "worst": float(np.min(covered)),
            "naive": float(np.mean(naive)),
            "table": float(np.mean(table)),
            "width": float(np.median(width)),
            "mean_width": float(np.mean(width)),
            "width_rows": float(np.mean(wide)),
            "refused": 1 - told / max(asked, 1),
        }
    return found


def show(path: Path) -> None:
    """Print what a run found."""
    lines = read(path)
    print("| population | ε | releases |", " | ".join(GROUPS), "|\n|", " | ".join(["---"] * (3 + len(GROUPS))), "|")
    for name in dict.fromkeys(line["population"] for line in lines):
        population = POPULATIONS[name](DATA)
        true = truth(population, population.codes)
        for epsilon in sorted({line["epsilon"] for line in lines if line["population"] == name}):
            own = [line for line in lines if line["population"] == name and line["epsilon"] == epsilon]
            cells = [
                f"{facts['naive']:.2f} → **{facts['coverage']:.2f}**, least {facts['worst']:.2f}, width "
                f"{facts['width']:.2f} ({facts['mean_width']:.2f})"
                + (f", refused {facts['refused']:.1%}" if facts["refused"] else "")
                for facts in summary(own, true).values()
            ]
            print(f"| {name} | {epsilon:g} | {len(own)} |", " | ".join(cells), "|")


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path)
    parser.add_argument("--show", type=Path)
    parser.add_argument("--population", action="append", choices=list(POPULATIONS))
    parser.add_argument("--epsilon", action="append", type=float)
    parser.add_argument("--releases", type=int, default=100)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--keep", type=Path)
    asked = parser.parse_args(words)
    if asked.out:
        populations, epsilons = asked.population or list(POPULATIONS), asked.epsilon or EPSILONS
        run(asked.out, populations, epsilons, asked.first, asked.releases, asked.keep)
    if asked.show or asked.out:
        show(asked.show or asked.out)


if __name__ == "__main__":
    main()
