"""Run benchmarks and keep what they say in RESULTS.md: ``python -m benchmarks [name ...]``; without a name, all."""

import os
import sys

from benchmarks import (
    anonymize,
    answers,
    codes,
    commute,
    constraints,
    counting,
    drawing,
    file_formats,
    forecast,
    histories,
    imputation,
    linear,
    lugs,
    marginals,
    numbers,
    operations,
    paths,
    peers,
    people,
    reconstruct,
    report,
    results,
    sbhg,
    scale,
    scores,
    service,
    spark_record,
    speed,
    studio,
    sweep,
    unseen,
    utility,
    weights,
)

ALL = {
    "paths": paths.main,
    "sweep": sweep.main,
    "counting": counting.main,
    "file formats": file_formats.main,
    "linear": linear.main,
    "imputation": imputation.main,
    "lugs": lugs.main,
    "sbhg": sbhg.main,
    "marginals": marginals.main,
    "speed": speed.main,
    "studio": studio.main,
    "numbers": numbers.main,
    "utility": utility.main,
    "forecast": forecast.main,
    "certificate": forecast.certificates,
    "peers": peers.main,
    "report": report.main,
    "answers": answers.main,
    "anonymize": anonymize.main,
    "reconstruct": reconstruct.main,
    "commute": commute.main,
    "service": service.main,
    "scores": scores.main,
    "constraints": constraints.main,
    "codes": codes.main,
    "operations": operations.main,
    "people": people.main,
    "weights": weights.main,
    **{f"histories: {name}": part for name, part in histories.PARTS.items()},
    **{f"unseen: {name}": part for name, part in unseen.PARTS.items()},
    **{f"drawing: {name}": part for name, part in drawing.PARTS.items()},
    **{f"scale: {name}": part for name, part in scale.PARTS.items()},
    "spark-record": spark_record.main,
}
APART = {"spark-record"}
"""Run only where they are named: they take hours."""


if __name__ == "__main__":
    # without the peers' environments their section would be overwritten by our lines alone
    wanted = sys.argv[1:] or [
        name
        for name in ALL
        if name not in APART and (name not in ("peers", "scores") or "UNDERSTUDY_PEERS" in os.environ)
    ]
    for name in wanted:
        print(f"== {name}")
        results.run(name, ALL[name])
        if name == "operations":
            operations.write_page()
