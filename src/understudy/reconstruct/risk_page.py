"""The risk of a planned publication as a page for the people who decide."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from understudy.pages.figures import Figure, bars_figure, curves_figure, figures_page
from understudy.pages.numbers import number, percent
from understudy.reconstruct.advice import BLIND, ELSEWHERE, LIMIT


def risk_page(doc: Mapping[str, Any]) -> str:
    """The page for a document of :func:`understudy.reconstruct.risk.assess`."""
    figures = _figures(doc)
    known = ", ".join(doc["known"]) or "nothing but the group"
    return figures_page(
        "summary.html",
        package="understudy.pages",
        figures=figures,
        title=f"What averages of {doc['value']} would give away",
        flag="Confidential.",
        banner="Computed on the confidential records; keep this page with the data. " + doc["recommendation"][-1],
        sub=f"{doc['people']:,} records; the intruder knows {known} of everybody, and the published averages.",
        lead="Every attack below was carried out on the table itself. Errors are in the unit of the value; "
        "“overall average only” is what somebody who knows no group would say.",
        recommendation=doc["recommendation"],
        tables=_tables(doc),
        notes=_notes(doc),
    )


def _notes(doc: Mapping[str, Any]) -> list[str]:
    notes = []
    if doc.get("unit"):
        unit = doc["unit"]
        notes.append(
            f"The records belong to {unit['people']:,} people, told apart by {unit['id']}. Groups and errors are "
            f"those of records; epsilon is that of a person, of whom at most {unit['cap']} records take part where "
            "noise is added."
        )
    if doc["left_out"]:
        notes.append(f"{doc['left_out']:,} records without a value were left out.")
    if doc["ranks"]:
        notes.append(f"{doc['value']} is ordinal: its levels count as their ranks, 0 for the first.")
    notes.append(
        "Close: the share of people guessed within a tenth of a standard deviation. The exposed tenth are the people "
        "whose guess gained most over the overall average; beside their error stands what would be guessed of the "
        "same people without groups. Some gain by chance alone: “random” is the same attack on groups of the same "
        "sizes drawn at random."
    )
    notes.append(
        "The attacks: mp says the group's average of everybody; er draws a line through the averages of the groups; "
        "shrunken does so with a slope held back as held-out averages advise; pc-er and ludia do so on a few "
        "combinations of the known columns."
    )
    notes.append(
        f"“{LIMIT}”: slopes learned from the confidential values themselves. Every corrected reconstruction has one "
        "common slope, so none of them can have a smaller squared error than this."
    )
    notes.append(
        f"“{ELSEWHERE}”: a regression on the known columns without any group, learned from the other half of the "
        "people. What is not below this error was learned about everybody, not about somebody."
    )
    return notes


Item = Mapping[str, Any]
Columns = dict[str, Callable[[Item], str]]


def _table(caption: str, items: Iterable[Item], columns: Columns) -> dict[str, Any]:
    rows = [tuple(show(item) for show in columns.values()) for item in items]
    return {"caption": caption, "header": tuple(columns), "rows": rows}


def _shown(key: str, show: Callable[[Any], str] = str) -> Callable[[Item], str]:
    return lambda item: show(item[key]) if key in item else "–"


def _best(item: Item) -> str:
    return f"{number(item['attacks'][item['best']]['mae'])} ({item['best']})"


_WHOLE = "{:,}".format
_OUTCOME: Columns = {
    "lowered by": lambda item: percent(max(item["gain"], 0.0)),
    "passes": lambda item: "yes" if item["passes"] else "no",
}
_GROUPINGS: Columns = {
    "grouping": _shown("name"),
    "groups": _shown("groups", _WHOLE),
    "smallest": _shown("smallest", _WHOLE),
    "disclosed": _shown("disclosed", _WHOLE),
    "error, best attack": _best,
    BLIND: lambda item: number(item["blind"]["mae"]),
    **_OUTCOME,
}
_ATTACKS: Columns = {
    "attack": _shown("name"),
    "mean error": _shown("mae", number),
    "median": _shown("median", number),
    "close": _shown("close", percent),
    "exposed tenth": _shown("tenth_mae", number),
    "same, no groups": _shown("tenth_blind", number),
    "mean, random": _shown("random_mae", number),
    "tenth, random": _shown("random_tenth_mae", number),
}
_NOISY: Columns = {
    "grouping": _shown("name"),
    "epsilon": _shown("epsilon", "{:g}".format),
    "promise": lambda item: " ".join(_promise(item["guarantee"])),
    "averages off by": _shown("error_of_published_means", number),
    "error, best attack": _best,
    **_OUTCOME,
}


def _promise(guarantee: Item) -> list[str]:
    return [guarantee["kind"], *([f"{guarantee['epsilon']:.4g}"] if "epsilon" in guarantee else [])]


def _tables(doc: Item) -> list[dict[str, Any]]:
    tables = [_table("Groupings, the one asked for and coarser ones", doc["groupings"], _GROUPINGS)]
    for study in doc["groupings"]:
        blind = {"name": BLIND, **{key: study["blind"][key] for key in ("mae", "median", "close")}}
        attacks = [blind, *({"name": name, **score} for name, score in study["attacks"].items())]
        tables.append(_table(f"Attacks on averages by {study['name']}", attacks, _ATTACKS))
    if doc["noisy"]:
        caption = "Averages with Laplace noise, one grouping each; nothing was released or charged"
        tables.append(_table(caption, doc["noisy"], _NOISY))
    return tables


def _figures(doc: Mapping[str, Any]) -> list[Figure]:
    studies = doc["groupings"]
    figures = [
        bars_figure(
            "attacks",
            "Mean absolute error of every attack",
            "Lower bars mean that more is given away.",
            [study["name"] for study in studies],
            [
                (BLIND, [study["blind"]["mae"] for study in studies]),
                ("average of the group", [study["attacks"]["mp"]["mae"] for study in studies]),
                ("best attack", [study["attacks"][study["best"]]["mae"] for study in studies]),
                (ELSEWHERE, [study["attacks"][ELSEWHERE]["mae"] for study in studies]),
                (LIMIT, [study["attacks"][LIMIT]["mae"] for study in studies]),
            ],
        ),
        bars_figure(
            "tenth",
            "The most exposed tenth",
            "Errors of the tenth of the people whose guess gains most, beside what would be guessed of the same "
            "people without groups.",
            [study["name"] for study in studies],
            [
                ("without groups", [study["attacks"][study["best"]]["tenth_blind"] for study in studies]),
                ("best attack", [study["attacks"][study["best"]]["tenth_mae"] for study in studies]),
            ],
        ),
        curves_figure(
            "sizes",
            "Error against group size",
            "Mean absolute error of the best attack among people in groups of similar size.",
            [
                (
                    study["name"],
                    [band["size"] for band in study["by_size"]],
                    [band["error"] for band in study["by_size"]],
                )
                for study in studies
                if study["asked"]
            ],
            x="people in the group",
            y="mean absolute error",
            log=True,
            level=[(BLIND, studies[0]["blind"]["mae"])],
            wide=True,
        ),
    ]
    for place, name in enumerate(dict.fromkeys(item["name"] for item in doc["noisy"])):
        items = sorted((item for item in doc["noisy"] if item["name"] == name), key=lambda item: item["epsilon"])
        study = next(study for study in studies if study["name"] == name)
        figures.append(
            curves_figure(
                f"noise-{place}",
                f"Noise on averages by {name}",
                "Error of the best attack, and of the published averages themselves, against epsilon.",
                [
                    ("best attack", [i["epsilon"] for i in items], [i["attacks"][i["best"]]["mae"] for i in items]),
                    (
                        "published averages",
                        [i["epsilon"] for i in items],
                        [i["error_of_published_means"] for i in items],
                    ),
                ],
                x="epsilon",
                y="error",
                log=True,
                level=[
                    (BLIND, study["blind"]["mae"]),
                    ("best attack without noise", study["attacks"][study["best"]]["mae"]),
                ],
                wide=True,
            )
        )
    return figures
