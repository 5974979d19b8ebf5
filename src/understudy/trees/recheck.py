"""Check a model file against itself, as a release is: checksum, codebook, price, statement, and the price of answers.

Encrypted counts are not checked here. They are bound to the public part by their key, so only
``load_model``, which has the key, can check them.
"""

from functools import partial
from pathlib import Path
from typing import Any

from understudy.codebook import Codebook
from understudy.codec import to_fraction
from understudy.errors import ReleaseError, UnderstudyError
from understudy.mechanisms.leaf_answers import call_ledger
from understudy.privacy.guarantees import ApproxDP, Guarantee, PureDP, guarantee_from_dict
from understudy.privacy.provenance import inputs_from_dict
from understudy.release.verify import RECHECK_TOLERANCE, Looked, Verdict, verify_manifest
from understudy.release.verify_face import page_faults
from understudy.trees.model_file import has_checksum, manifest_of, read_content
from understudy.trees.page import score_page, score_page_path
from understudy.trees.recipe import RiskScore
from understudy.trees.scorers import CallForest, LocalNoiseForest
from understudy.trees.train import METHODS


def verify_score(path: str | Path) -> Verdict:
    """Recompute everything that can be recomputed without the confidential data, and without the key."""
    place = Path(path)
    content = read_content(place)
    public = content["public"]
    try:
        manifest, words = manifest_of(content)
    except (UnderstudyError, LookupError, ValueError, TypeError, AttributeError) as reason:
        raise ReleaseError(f"{str(place)!r} is not a sound model file ({reason}); copy it again.") from None
    stated = public["manifest"] if words is None else {**manifest.to_dict(), "format": 1, "statement": words}
    assert isinstance(manifest.codebook, Codebook)
    looked = Looked(place=place, manifest=stated, book=manifest.codebook)
    return verify_manifest(
        looked, [partial(_check_whole, content), partial(_check_body, content), _check_training, _check_page]
    )


def _check_whole(content: dict[str, Any], looked: Looked) -> None:
    if has_checksum(content):
        looked.passed.append("the file has its checksum")
    else:
        looked.problems.append("the file was changed after it was written: its checksum does not fit")
    book, score = looked.book, looked.manifest["score"]
    assert book is not None
    if book.digest == looked.manifest["codebook"]["digest"]:
        looked.passed.append("the codebook is the one that the score was trained with")
    else:
        looked.problems.append("the codebook is not the one that the score was trained with")
    if score["positive"] not in book.column(score["target"]).labels:
        looked.problems.append(f"{score['positive']!r} is no level of the target {score['target']!r}")


def _check_page(looked: Looked) -> None:
    """Whether the page beside the file, if there is one, is made of it; a file may travel alone."""
    page = score_page_path(looked.place)
    if looked.problems or not page.is_file():
        return
    faults = page_faults(page, looked.manifest, lambda: score_page(looked.place))
    looked.problems.extend(faults)
    if not faults:
        looked.passed.append("its page states this promise, runs nothing and loads nothing")


def _check_body(content: dict[str, Any], looked: Looked) -> None:
    """Whether the trees are of the method, and an answer costs what it is said to cost."""
    public, manifest = content["public"], looked.manifest
    method = METHODS.get(manifest["method"])
    if method is None or (public["body"], content["confidential"] is not None) != (method.body, method.is_sealed):
        looked.problems.append(f"what the file holds is not what the method {manifest['method']!r} leaves behind")
        return
    call, price = manifest["call"], manifest["score"]["price_per_call"]
    if public["body"] == LocalNoiseForest.body:
        if call is None or guarantee_from_dict(dict(call)).is_formal or looked.total is None or looked.total.is_formal:
            looked.problems.append("a promise is claimed for answers that have none")
        return
    if public["body"] != CallForest.body:
        if (call, price) != (None, None):
            looked.problems.append("a price per answer is stated, and all numbers of the score were released at once")
        return
    scorer = public["scorer"]
    try:
        true = call_ledger(to_fraction(scorer["scale"]), len(scorer["trees"])).total()
    except UnderstudyError as reason:
        looked.problems.append(f"the noise of an answer has no price: {reason}")
        return
    assert isinstance(true, PureDP)
    if call != true.to_dict() or price is None or not true.epsilon * (1 - 1e-9) <= price:
        looked.problems.append(f"the stated price of an answer is not what its noise costs, epsilon {true.epsilon:.6g}")
    else:
        looked.passed.append(f"an answer costs what its noise costs, epsilon {true.epsilon:.6g}")


def _check_training(looked: Looked) -> None:
    """The price of the method and its parameters, computed again; the first format does not have them."""
    manifest, stated = looked.manifest, looked.total
    if manifest["format"] == 1 or not isinstance(stated, PureDP | ApproxDP):
        return
    assert looked.book is not None
    score = manifest["score"]
    try:
        recipe = RiskScore.from_parameters(
            manifest["method"], dict(manifest["parameters"]), target=score["target"], positive=score["positive"]
        )
        quote = recipe.quote(looked.book)
        inputs = inputs_from_dict(manifest["inputs"])
        quote = quote.with_public({role: table for role, table in inputs.items() if role.is_public})
        true: Guarantee = quote.total
        call = recipe.training.call
    except (UnderstudyError, LookupError, TypeError, ValueError) as reason:
        words = f"its parameters have no {reason}" if isinstance(reason, KeyError) else reason
        looked.problems.append(f"the price of training cannot be computed anew: {words}")
        return
    if _exceeds(true, stated):
        looked.problems.append(f"training by these parameters costs {_short(true)}, more than the stated total")
    else:
        looked.passed.append("training by these parameters costs no more than is stated")
    if (None if call is None else call.to_dict()) != manifest["call"]:
        looked.problems.append("the stated price of an answer is not that of these parameters")


def _exceeds(true: Guarantee, stated: PureDP | ApproxDP) -> bool:
    if not isinstance(true, PureDP | ApproxDP):
        return True
    return true.epsilon > stated.epsilon * (1 + RECHECK_TOLERANCE) or true.delta > stated.delta * (
        1 + RECHECK_TOLERANCE
    )


def _short(price: Guarantee) -> str:
    if not isinstance(price, PureDP | ApproxDP):
        return "what nobody can price"
    return f"epsilon {price.epsilon:.6g}, delta {price.delta:.3g}"
