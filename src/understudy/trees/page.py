"""The face of a risk score: ``model.us.html``, beside its file and computed from the public part of it alone."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from understudy.codebook import Codebook
from understudy.errors import ReleaseError, UnderstudyError
from understudy.pages.drawings import cut
from understudy.pages.numbers import moment, number
from understudy.privacy.guarantees import Guarantee
from understudy.release.face.citing import cite
from understudy.release.face.markup import document, listed, paragraph, table
from understudy.release.face.sections import Section, price_section, publication_of, sections_on_use
from understudy.release.face.uses import Uses
from understudy.release.folders import digest_of, new_file
from understudy.trees.features import Feature, features_of
from understudy.trees.model import ScoreModel
from understudy.trees.model_file import manifest_of, read_content
from understudy.trees.scorers import BAND, scorer_from_parts
from understudy.trees.show import reliability_picture, shapes_picture

_FIGURES = (("auroc", "AUROC (.5 is a coin, 1 is perfect)"), ("brier", "Brier score (0 is perfect)"))


def score_page_path(model: Path) -> Path:
    """Where the page of a model file lies."""
    return model.with_name(f"{model.name}.html")


def write_score_page(model: Path) -> Path:
    """Write the page beside a model file that is there."""
    try:
        return new_file(score_page_path(model), score_page(model).encode(), what="the page of a score")
    except UnderstudyError as reason:
        raise ReleaseError(f"{reason} The model itself was written and can be used.") from None


def score_page(path: Path) -> str:
    """The page of a model file; no key is needed, and nothing confidential is read."""
    content = read_content(path)
    public = content["public"]
    manifest, _ = manifest_of(content)
    facts, quote, score = manifest.to_dict(), manifest.quote, manifest.score or {}
    assert isinstance(manifest.codebook, Codebook)
    book, published = manifest.codebook, publication_of(facts)
    model = None
    if content["confidential"] is None:
        model = ScoreModel(scorer=scorer_from_parts(public["body"], public["scorer"], None), manifest=manifest)
    title = published.title or f"Risk score {score['name']}"
    sections = [
        *sections_on_use(facts, quote, _uses(score, quote.total)),
        ("question", "What it asks and answers", _question(book, score, quote.call)),
        *(() if model is None else _shapes(model)),
        ("quality", "How good it is", _quality(score)),
        price_section(quote.ledger, measured=False),
        ("cite", "How to cite it", cite(facts, title, published)),
        ("verify", "How to verify it", _check(path)),
    ]
    asked = f"how likely {score['target']} is {score['positive']}"
    sub = f"Version {score['version']}: {asked}, by {facts['method']}, {moment(str(facts['created']))}."
    banner = "" if quote.total.is_formal else "No formal privacy promise covers this score."
    return document(title, f"{sub} {published.description}".strip(), banner, sections)


def _uses(score: Mapping[str, Any], total: Guarantee) -> Uses:
    """From public facts alone: the promise, the price of an answer, and quality that was paid for."""
    good, bad = (
        [],
        ["Deciding about a person by the score alone: it is a likelihood among people alike, not a finding."],
    )
    if not total.is_formal:
        good.append("Comparing methods, and work inside the house that holds the confidential data.")
        bad.append("Leaving that house: no promise covers it.")
    elif score["price_per_call"] is None:
        good.append("Scoring as many people as you like: answers use released numbers alone, and are free.")
    else:
        good.append("A limited number of questions through `understudy serve`, which keeps the budget.")
        bad.append("Being handed out: every answer costs, so the counts behind it stay sealed in the file.")
    measured = ((score["quality"] or {}).get("measures") or {}).get("auroc")
    if measured:
        good.append(f"Putting people in order of risk: AUROC {_interval(measured)}, among people like those measured.")
    else:
        bad.append("Uses that rest on its quality: none was measured, so none is stated.")
    bad.append("Saying what causes what: it describes what goes together.")
    return Uses(good=tuple(good), bad=tuple(bad))


def _question(book: Codebook, score: Mapping[str, Any], call: Guarantee | None) -> str:
    rows = [
        (feature.name, feature.column.description, _without(feature), cut(feature.rule, 60))
        for feature in features_of(book, score["target"])
    ]
    price = score["price_per_call"]
    costs = (
        "Answers are computed from released numbers and cost nothing."
        if price is None
        else f"Every new question costs epsilon {number(price)} of the privacy of the training data."
        + ("" if call is None or call.is_formal else " No formal promise covers the answers.")
    )
    return (
        paragraph(
            f"An answer is the likelihood that {score['target']} is {score['positive']}, with a band in which "
            f"{number(100 * BAND)} of 100 answers would lie if the privacy noise were drawn again. {costs}",
            style="lead",
        )
        + table("Features", ("feature", "what it is", "a missing value is", "a value must be"), rows)
        + listed(score["notes"])
    )


def _without(feature: Feature) -> str:
    return "refused" if feature.required else "a level of its own"


def _shapes(model: ScoreModel) -> Iterator[Section]:
    shapes = model.shapes()
    if shapes:
        picture = shapes_picture(shapes, title=model.name)
        yield "shapes", "What each value adds", _scrolling("Shapes", picture)


def _scrolling(label: str, picture: str) -> str:
    """A picture that is wider than a phone."""
    return f'<div class="scroll" tabindex="0" role="region" aria-label="{label}">{picture}</div>'


def _quality(score: Mapping[str, Any]) -> str:
    quality = score["quality"]
    if quality is None:
        return paragraph("No quality was measured, so none is stated.")
    measures = quality["measures"]
    groups = [("everybody", measures)] + [
        (f"{column}: {level}", group)
        for column, levels in measures.get("subgroups", {}).items()
        for level, group in levels.items()
    ]
    rows = [(name, *(_interval(group.get(key)) for key, _ in _FIGURES)) for name, group in groups]
    header = ("people", *(title for _, title in _FIGURES))
    bins = measures.get("reliability") or []
    picture = _scrolling("Reliability", reliability_picture(bins, title="Scores against what happened"))
    lead = paragraph(f"It was {quality['paid']}.", style="lead")
    return lead + table("Quality, with 95 % intervals", header, rows, numbers=True) + (picture if bins else "")


def _interval(figure: Mapping[str, float] | None) -> str:
    if figure is None:
        return "too few people to say"
    return f"{figure['value']:.3f} ({figure['low']:.3f} to {figure['high']:.3f})"


def _check(path: Path) -> str:
    return (
        paragraph(
            "With Understudy installed, this command recomputes checksum, codebook, price, statement and this page, "
            "without any confidential data:"
        )
        + "<pre>understudy verify MODEL</pre>"
        + paragraph(f"The SHA-256 of the model file is {digest_of(path).removeprefix('sha256:')}.")
    )
