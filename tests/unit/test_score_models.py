"""Score models as files and as answers: encoding, keys, damage, and what a card says."""

import copy
import json
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.tree_tables import changed
from understudy.codebook import Integer
from understudy.errors import DataError, ParameterError, RefusalError, ReleaseError
from understudy.mechanisms.sealing import key_id, seal, unseal
from understudy.mechanisms.stream import Stream
from understudy.privacy import Secret
from understudy.trees import FeatureError, load_model, save_model
from understudy.trees.examples import diabetes_example, septic_shock_example
from understudy.trees.features import Feature, encode_rows
from understudy.trees.model_file import KEY_VARIABLE, new_key_file
from understudy.trees.scorers import CallForest, LeafForest, LocalNoiseForest, VoteForest
from understudy.trees.tree import Tree

KEY, OTHER = bytes(range(32)), bytes(range(1, 33))
ASKED = {"systolicBP": 100, "heartRate": "95"}


def stump():
    return Tree(
        feature=(0, -1, -1), yes_codes=((3, 4), (), ()), no=(1, -1, -1), yes=(2, -1, -1), gain=(0.25, None, None)
    )


def bodies():
    shock = septic_shock_example()
    counts = [np.array([[70, 4], [11, 15]], dtype=np.int64)]
    plain = LeafForest(trees=(stump(),), counts=(((70, 4), (11, 15)),), scale=0.0, confidential=True)
    noisy = LeafForest(trees=(stump(),), counts=(((70, -4), (11, 15)),), scale=2.0, confidential=False)
    local = LocalNoiseForest(trees=(stump(),), counts=Secret(counts), epsilon=1.0)
    free = {"price_per_call": None, "call": None}
    return {
        "votes": diabetes_example(),
        "calls": shock,
        "plain": changed(shock, scorer=plain, **free),
        "leaves": changed(shock, scorer=noisy, **free),
        "local": changed(shock, scorer=local),
    }


@pytest.mark.parametrize("kind", ["votes", "calls", "plain", "leaves", "local"])
def test_a_model_reads_back_as_it_was(kind, tmp_path):
    model = bodies()[kind]
    path = save_model(model, tmp_path / "model.us", KEY)
    again = load_model(path, KEY)
    assert again.card() == model.card()
    question = ASKED if kind != "votes" else {"age": 41}
    codes = again.encode(question)
    if model.kind == "one-shot":
        for old, new in zip(model.score(codes), again.score(codes), strict=True):
            assert (old == new).all()
    else:
        answer = model.noisy_score(codes, Stream.seeded(4)), again.noisy_score(codes, Stream.seeded(4))
        if kind == "calls":
            assert answer[0] == answer[1]
        assert all(0 <= end <= 1 for one in answer for end in one)


@pytest.mark.parametrize("kind", ["calls", "plain", "local"])
def test_confidential_parts_are_not_in_the_file(kind, tmp_path):
    path = save_model(bodies()[kind], tmp_path / "model.us", KEY)
    content = json.loads(path.read_text(encoding="utf-8"))
    assert content["confidential"]["cipher"] == "ChaCha20-Poly1305"
    assert "counts" not in content["public"]["scorer"]
    if kind != "calls":  # nobody paid for the shape either
        assert "trees" not in content["public"]["scorer"]
    assert KEY.hex() not in path.read_text(encoding="utf-8")
    again = save_model(bodies()[kind], tmp_path / "again.us", KEY)
    assert json.loads(again.read_text())["confidential"]["nonce"] != content["confidential"]["nonce"]


def test_a_one_shot_model_needs_no_key(tmp_path, monkeypatch):
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    path = save_model(diabetes_example(), tmp_path / "model.us")
    assert json.loads(path.read_text(encoding="utf-8"))["confidential"] is None
    assert load_model(path).scorer.secret_part() is None


def test_keys_from_a_file_and_from_the_environment(tmp_path, monkeypatch):
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    with new_key_file(tmp_path / "key") as key:
        pass
    assert (tmp_path / "key").stat().st_mode & 0o077 == 0
    path = save_model(septic_shock_example(), tmp_path / "model.us", tmp_path / "key")
    assert load_model(path, key).scorer.secret_part() is not None
    with pytest.raises(ReleaseError, match=KEY_VARIABLE):
        load_model(path)
    monkeypatch.setenv(KEY_VARIABLE, key.hex())
    assert load_model(path).scorer.secret_part() is not None
    with pytest.raises(ReleaseError, match="exists already"):
        new_key_file(tmp_path / "key").__enter__()
    for odd in ("", "zz", key.hex()[:-2]):
        monkeypatch.setenv(KEY_VARIABLE, odd)
        with pytest.raises(ReleaseError, match="hexadecimal"):
            load_model(path)
    with pytest.raises(ReleaseError, match="cannot be read"):
        load_model(path, tmp_path / "nowhere")
    with pytest.raises(ReleaseError, match="16 bytes"):
        load_model(path, b"x" * 16)


def test_a_wrong_key_is_told_from_a_damaged_file(tmp_path):
    path = save_model(septic_shock_example(), tmp_path / "model.us", KEY)
    with pytest.raises(ReleaseError, match=key_id(KEY)):
        load_model(path, OTHER)
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("invented", "inverted"), encoding="utf-8")
    with pytest.raises(ReleaseError, match="checksum"):
        load_model(path, KEY)


def resealed(path, change):
    """Change the content and mend the checksum, as somebody would who wants to be believed."""
    from understudy.trees.model_file import _checksum

    content = json.loads(path.read_text(encoding="utf-8"))
    change(content)
    content["checksum"] = _checksum(content)
    path.write_text(json.dumps(content), encoding="utf-8")


def test_another_promise_beside_the_same_counts_is_noticed(tmp_path):
    path = save_model(septic_shock_example(), tmp_path / "model.us", KEY)
    resealed(path, lambda content: content["public"]["manifest"]["score"].update(price_per_call=1e-9))
    with pytest.raises(ReleaseError, match="does not decrypt"):
        load_model(path, KEY)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (lambda c: c.update({"understudy-score-model": 3}), "format 3"),
        (lambda c: c.update(public=[]), "other parts"),
        (lambda c: c.update(more=1), "other parts"),
        (lambda c: c["public"]["scorer"].pop("votes"), "not a sound model"),
        (lambda c: c["public"]["manifest"].pop("call"), "not a sound model"),
        (lambda c: c["public"]["manifest"].pop("score"), "not a sound model"),
        (lambda c: c["public"].update(body="magic"), "magic"),
        (lambda c: c["public"].update(codebook="format = 9"), "not a sound model"),
        (lambda c: c["public"]["manifest"]["score"].update(name="../../etc"), "name"),
        (lambda c: c["public"]["manifest"]["ledger"][0]["event"].update(kind="charm"), "charm"),
        (lambda c: c["public"]["scorer"]["replicate_votes"].pop(), "replicates"),
    ],
)
def test_contradictions_are_refused(change, word, tmp_path):
    path = save_model(diabetes_example(), tmp_path / "model.us")
    resealed(path, change)
    with pytest.raises(ReleaseError, match=word):
        load_model(path)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"a": NaN}', '{"understudy-score-model": 1}', "[" * 100_000])
def test_files_that_nobody_wrote_are_refused(text, tmp_path):
    path = tmp_path / "model.us"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ReleaseError):
        load_model(path)


def test_bytes_and_missing_files_are_refused(tmp_path):
    with pytest.raises(ReleaseError, match="no model file"):
        load_model(tmp_path / "nothing.us")
    (tmp_path / "bytes.us").write_bytes(pickle.dumps({"a": 1}) + b"\xff")
    with pytest.raises(ReleaseError, match="not a score model; give the file that `understudy train` wrote"):
        load_model(tmp_path / "bytes.us")
    with pytest.raises(ReleaseError, match="cannot be read"):
        load_model(tmp_path)


def test_a_model_never_overwrites_and_is_not_pickled(tmp_path):
    path = save_model(diabetes_example(), tmp_path / "model.us")
    with pytest.raises(ReleaseError, match="exists already"):
        save_model(diabetes_example(), path)
    with pytest.raises(ReleaseError, match="beside"):
        save_model(diabetes_example(), tmp_path / "nowhere" / "model.us")
    with pytest.raises(TypeError, match="save_model"):
        pickle.dumps(diabetes_example())
    with pytest.raises(TypeError, match="save_model"):
        copy.copy(diabetes_example())
    assert sorted(tmp_path.iterdir()) == [path, tmp_path / "model.us.html"]


def test_boxes_open_only_with_their_key_and_beside_their_text():
    box = seal(Secret({"n": 3}), key=KEY, bound_to=b"beside")
    assert unseal(box, key=KEY, bound_to=b"beside").open() == {"n": 3}
    for key, beside, edited in (
        (OTHER, b"beside", {}),
        (KEY, b"other", {}),
        (KEY, b"beside", {"text": "AAAA"}),
        (KEY, b"beside", {"nonce": "!"}),
        (KEY, b"beside", {"cipher": "ROT13"}),
    ):
        with pytest.raises(ReleaseError):
            unseal({**box, **edited}, key=key, bound_to=beside)


# --- questions -----------------------------------------------------------------------------------------------------


def test_codes_follow_the_codebook():
    model = diabetes_example()
    assert model.encode({"glucoseLevel": "130", "age": 41}).tolist() == [[3, 5, 2, 4]]
    assert model.encode([{"age": 18, "pregnancies": 99}, {"age": 100.0}]).tolist() == [[6, 5, 0, 3], [6, 5, 4, 4]]
    assert model.encode([]).shape == (0, 4)


@pytest.mark.parametrize(
    ("asked", "problem", "word"),
    [
        ({}, "missing-feature", "age"),
        ({"age": None}, "missing-feature", "needs it"),
        ({"age": 41, "shoe": 1}, "unknown-feature", "shoe"),
        ({"age": 17}, "outside-codebook", "from 18 to 100"),
        ({"age": 40.5}, "outside-codebook", "whole number"),
        ({"age": math.nan}, "outside-codebook", "nan"),
        ({"age": math.inf}, "outside-codebook", "inf"),
        ({"age": 10**400}, "outside-codebook", "1e40"),
        ({"age": "1" * 1_000_000}, "outside-codebook", "more"),
        ({"age": True}, "outside-codebook", "True"),
        ({"age": [41]}, "outside-codebook", "type list"),
        ({"age": {"x": {}}}, "outside-codebook", "type dict"),
        ({"age": "4\x001"}, "outside-codebook", "x00"),
        ({"age": "'; DROP TABLE keys; --"}, "outside-codebook", "DROP"),
        ({"age": "{{7*7}}"}, "outside-codebook", "7"),
    ],
)
def test_questions_outside_the_codebook_are_named(asked, problem, word):
    with pytest.raises(FeatureError, match=word) as raised:
        diabetes_example().encode(asked)
    assert raised.value.problem == problem
    assert len(str(raised.value)) < 400
    assert isinstance(raised.value, DataError)


def test_all_missing_features_are_named_at_once():
    book = [Feature(column=Integer(name=name, edges=(0, 1, 9))) for name in ("a", "b", "c")]
    with pytest.raises(FeatureError, match=r"'a' is missing.*Also missing: c\.$") as raised:
        encode_rows(book, {"b": 3})
    assert (raised.value.feature, raised.value.problem) == ("a", "missing-feature")
    with pytest.raises(FeatureError, match="'b' is missing") as alone:
        encode_rows(book, {"a": 3, "c": 3})
    assert "Also" not in str(alone.value)
    with pytest.raises(FeatureError, match="is 99") as outside:
        encode_rows(book, {"a": 99})
    assert outside.value.problem == "outside-codebook"


@given(st.dictionaries(st.text(max_size=8), st.none() | st.floats() | st.text(max_size=9) | st.integers(), max_size=4))
def test_any_question_is_answered_or_refused(asked):
    model = diabetes_example()
    try:
        codes = encode_rows(model.features, {"age": 30, **asked})
    except FeatureError:
        return
    middle, low, high = model.score(codes)
    assert 0 < low[0] <= middle[0] <= high[0] < 1


def test_cards_say_what_a_client_needs():
    card = diabetes_example().card()
    json.dumps(card, allow_nan=False)
    glucose, bmi, age, _ = card["features"]
    assert glucose["allowed"] == {"low": 40.0, "high": 250.0} and glucose["thresholds"][0] == 90.0
    assert age["required"] and age["missing"].startswith("refused")
    assert not bmi["required"] and "leave it out" in bmi["missing"]
    assert card["calls"]["price_epsilon"] is None and card["privacy"]["is_formal"]
    shock = septic_shock_example().card()
    assert shock["calls"]["price_epsilon"] == 0.5 and "0.5" in shock["calls"]["words"]
    assert shock["features"][3]["allowed"] == {"levels": ["no", "yes"]}
    assert "no quality was measured" in shock["quality"]["paid"]


# --- answers -------------------------------------------------------------------------------------------------------


def test_one_shot_and_per_call_are_kept_apart():
    diabetes, shock = diabetes_example(), septic_shock_example()
    codes = diabetes.encode({"age": 30})
    with pytest.raises(RefusalError, match="costs nothing"):
        diabetes.noisy_score(codes, Stream.from_system())
    asked = shock.encode(ASKED)
    with pytest.raises(RefusalError, match="noisy_score"):
        shock.score(asked)
    with pytest.raises(ParameterError, match="one question"):
        shock.noisy_score(np.concatenate([asked, asked]), Stream.from_system())


def test_per_call_answers_have_the_stated_noise():
    """Answers at scale 2 around counts (116, 90): the band holds the noiseless share in at least 90 % (z = 6)."""
    shock = septic_shock_example()
    codes = shock.encode(ASKED)
    assert shock.scorer.scale == Fraction(2)
    stream = Stream.from_system()
    found = [shock.noisy_score(codes, stream) for _ in range(400)]
    share = (90 + 1) / (206 + 2)
    held = sum(low <= share <= high for _, low, high in found)
    assert held >= 400 * 0.9 - 6 * math.sqrt(400 * 0.09)
    assert len({middle for middle, _, _ in found}) > 10  # fresh noise every time
    assert shock.call_guarantee.epsilon == 0.5
    assert shock.scorer.call_ledger().total().epsilon == 0.5


@pytest.mark.parametrize(
    "change",
    [
        {"name": "Diabetes"},
        {"name": ""},
        {"name": "a/b"},
        {"name": "x" * 65},
        {"version": 0},
        {"version": True},
        {"positive": "perhaps"},
        {"price_per_call": 1.0},
    ],
)
def test_odd_models_are_refused(change):
    with pytest.raises(ParameterError, match=next(iter(change))):
        changed(diabetes_example(), **change)


def test_bodies_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="do not fit"):
        LeafForest(trees=(stump(),), counts=(((1, 2),),), scale=1.0, confidential=False)
    with pytest.raises(ValueError, match="at least one"):
        CallForest(trees=(), counts=Secret([]), scale=Fraction(1))
    with pytest.raises(ValueError, match="finite"):
        VoteForest(intercept=math.nan, votes=((1.0,),), replicate_intercepts=(), replicate_votes=())
