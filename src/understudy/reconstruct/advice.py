"""What the attacks on one's own table mean, in sentences."""

from collections.abc import Mapping
from typing import Any

BLIND, LIMIT, ELSEWHERE = "overall average only", "limit of one common slope", "known columns alone"


def recommend(document: Mapping[str, Any]) -> list[str]:
    """What to do, in sentences."""
    most, sentences = document["most"], []
    whom = "people" if document.get("unit") is None else "records"
    for study in (item for item in document["groupings"] if item["asked"]):
        gain = f"the best attack ({study['best']}) lowers the error of a guess by {max(study['gain'], 0):.0%}"
        if study["disclosed"]:
            sentences.append(
                f"Do not publish averages by {study['name']} as they are: the exact value of {study['disclosed']:,} "
                f"{whom} follows from them (alone in a group, or by differences); {gain}."
            )
        elif study["passes"]:
            sentences.append(f"Averages by {study['name']} pass: {gain}, no more than the {most:.0%} that was allowed.")
            continue
        else:
            sentences.append(
                f"Averages by {study['name']} give away too much: {gain}, more than the {most:.0%} that was allowed."
            )
        coarser = [
            item
            for item in document["groupings"]
            if item["passes"] and not item["asked"] and set(item["columns"]) <= set(study["columns"])
        ]
        if coarser:
            finest = max(coarser, key=lambda item: item["groups"])
            sentences.append(f"Coarser groups would do: {finest['name']} ({finest['groups']:,} groups).")
        else:
            sentences.append("No coarser grouping that was tried passes.")
        relation = study["attacks"][ELSEWHERE]["mae"]
        if relation <= 1.05 * study["attacks"][study["best"]]["mae"]:
            sentences.append(
                "Most of that is how the value depends on the known columns, which a survey of other people would "
                f"teach as well (error {relation:.3g}): noise protects single people and does not hide it."
            )
        noisy = [item for item in document["noisy"] if item["name"] == study["name"]]
        if good := [item for item in noisy if item["passes"]]:
            largest = max(good, key=lambda item: item["epsilon"])
            sentences.append(
                f"Noise would do: Laplace means at epsilon {largest['epsilon']:g}{_for(document)}; the averages are "
                f"then off by {largest['error_of_published_means']:.3g} (root mean square)."
            )
        elif noisy:
            sentences.append("No epsilon that was tried passes this test.")
        else:
            sentences.append("Noise was not tried: name prices with --epsilons to see what they buy.")
    sentences.append(
        "A pass means that these attacks failed, not that the averages are safe: aggregate publication gives no formal "
        "protection; noise with a price does."
    )
    return sentences


def _for(document: Mapping[str, Any]) -> str:
    unit = document.get("unit")
    return "" if unit is None else f" for a person with all their records (at most {unit['cap']} of them take part)"
