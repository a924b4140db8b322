"""Model files: the same predictions bit by bit, nothing run while loading, and a clear line for what is not a model."""

from __future__ import annotations

import io
import json
import pickle
import warnings
import zipfile
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.pipeline import make_pipeline

import mercer
from mercer.errors import InconsistentVersion
from mercer.kernels import RBF, Delta, FromCallable, Linear
from mercer.learn import MRMR, SVC, KernelRidge, NystromRidge, load, save
from mercer.rkhs import MeanMap
from tests.learn.test_pickles import X, Y, fitted
from tests.support.features_zoo import ZOO as MAPS
from tests.support.learn_zoo import ZOO, Hsic
from tests.support.object_zoo import OBJECT_IDS, OBJECT_ZOO

SAVABLE = [e for e in ZOO if not (isinstance(e, MRMR) and isinstance(e.relevance, Hsic))]


def answers(model: Any, x: Any) -> list[Any]:
    """What a fitted model answers to points, by all of its methods."""
    names = ("predict", "predict_proba", "decision_function", "score_samples", "transform")
    return [getattr(model, name)(x) for name in names if hasattr(model, name)]


def again(model: Any, folder: Any) -> Any:
    return load(save(model, folder / "model.mercer"))


@pytest.mark.parametrize("learner", [*SAVABLE, *MAPS], ids=str)
def test_predictions_are_the_same_bit_by_bit(learner, tmp_path):
    model = fitted(learner)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        other = again(model, tmp_path)
    assert repr(other) == repr(model)
    pairs = zip(answers(model, X[:40]), answers(other, X[:40]), strict=True)
    for ours, theirs in pairs:
        if isinstance(ours, list):  # distributions
            assert pickle.dumps(ours) == pickle.dumps(theirs)
        else:
            assert_array_equal(ours, theirs)
    assert set(vars(other)) >= {name for name in vars(model) if name.endswith("_")}


@pytest.mark.parametrize("entry", OBJECT_ZOO, ids=OBJECT_IDS)
def test_kernels_on_objects(entry, tmp_path):
    rng = np.random.default_rng(0)
    points = entry.sample(rng, 6)
    model = KernelRidge(entry.kernel, 1e3).fit(points, rng.normal(size=6))
    if "_letters" in repr(entry.kernel):  # made of a function of the zoo
        with pytest.raises(TypeError, match=r"kernel\.(function|distance) is of type function"):
            save(model, tmp_path / "m")
        return
    assert_array_equal(again(model, tmp_path).predict(points), model.predict(points))


def test_frames_tensors_and_labels(tmp_path):
    pd, torch = pytest.importorskip("pandas"), pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=40), "b": rng.choice(list("xyz"), 40)})
    labels = np.where(frame.a > 0, "high", "low")
    model = SVC().fit(frame, labels)
    other = again(model, tmp_path)
    assert_array_equal(other.predict(frame[["b", "a"]].iloc[:, ::-1]), model.predict(frame))
    assert other.classes_.dtype == model.classes_.dtype
    tensors = torch.randn(30, 3, dtype=torch.float32)
    ridge = KernelRidge(RBF(1.0)).fit(tensors, tensors[:, 0])
    assert torch.equal(again(ridge, tmp_path).function_.points, ridge.function_.points)
    new = tensors[:20] + 0.1  # other memory than the points, which are recognised
    assert_array_equal(again(ridge, tmp_path).predict(new), ridge.predict(new))
    bags = [rng.normal(size=(n, 2)) for n in rng.integers(3, 7, 20)]
    distributions = KernelRidge(MeanMap(RBF(1.0))).fit(bags, rng.normal(size=20))
    assert_array_equal(again(distributions, tmp_path).predict(bags), distributions.predict(bags))
    delta = SVC(Delta()).fit(np.array([["a"], ["b"]] * 5), [0, 1] * 5)
    assert_array_equal(again(delta, tmp_path).predict([["b"]]), [1])


def test_partial_fit_goes_on_and_parameters_come_back(tmp_path):
    one = NystromRidge(RBF(2.0), landmarks=X[:30]).partial_fit(X[:150], Y[:150])
    other = again(one, tmp_path).partial_fit(X[150:], Y[150:])
    assert_array_equal(other.predict(X), one.partial_fit(X[150:], Y[150:]).predict(X))
    plain = again(KernelRidge(2 * RBF(1.0) + Linear(), float("inf")), tmp_path)
    assert repr(plain) == repr(KernelRidge(2 * RBF(1.0) + Linear(), float("inf")))


def test_equal_models_make_equal_files(tmp_path):
    model = fitted(KernelRidge())
    first, second = save(model, tmp_path / "a"), save(again(model, tmp_path), tmp_path / "b")
    assert first.read_bytes() == second.read_bytes()


# ---- refusals -----------------------------------------------------------------------------------


def rewritten(path, change):
    """The file with its document changed."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    document = json.loads(members["model.json"])
    members["model.json"] = json.dumps(change(document)).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


@pytest.fixture
def file(tmp_path):
    return save(fitted(KernelRidge(RBF(1.0))), tmp_path / "ridge.mercer")


def test_every_truncation_is_refused(file):
    content = file.read_bytes()
    for length in [*range(0, 60, 7), *range(60, len(content), len(content) // 40)]:
        file.write_bytes(content[:length])
        with pytest.raises(
            ValueError, match=r"ridge\.mercer: not a model file of mercer, or a damaged one"
        ):
            load(file)


def test_flipped_bytes_are_refused_or_change_nothing(file):
    """zipfile compares a checksum of every member; bytes that it ignores, such as dates, may change."""
    content, expected = file.read_bytes(), load(file).predict(X[:5])
    rng = np.random.default_rng(0)
    refused = 0
    for place in rng.integers(len(content), size=150):
        damaged = bytearray(content)
        damaged[place] ^= 0xFF
        file.write_bytes(bytes(damaged))
        try:
            predicted = load(file).predict(X[:5])
        except ValueError as problem:
            refused += 1
            assert "ridge.mercer" in str(problem)
        else:
            assert_array_equal(predicted, expected)
    assert refused > 100


@pytest.mark.parametrize(
    "name",
    ["os.system", "subprocess.Popen", "builtins.eval", "mercer.cli.exits.Refused", "kernels"],
)
def test_unknown_classes_are_never_made(file, name, monkeypatch):
    def no_import(*_args: Any, **_more: Any) -> Any:
        raise AssertionError("something was imported by name")

    def planted(document):
        document["model"]["state"]["kernel"] = {"class": name, "state": {"args": ["echo"]}}
        return document

    path = rewritten(file, planted)
    known = mercer.learn.model_document.known_classes()
    monkeypatch.setattr("mercer.learn.model_document.known_classes", lambda: known)
    monkeypatch.setattr("importlib.import_module", no_import)
    with pytest.raises(ValueError, match="is not a class that models consist of"):
        load(path)


def test_other_tampering_is_refused(file):
    content = file.read_bytes()
    for change in (
        lambda d: {**d, "model": {"class": "kernels.RBF", "state": {"bandwidth": 1.0}}},
        lambda d: {
            **d,
            "model": {"method": "__init__", "of": {"class": "kernels.RBF", "state": {}}},
        },
        lambda d: {**d, "model": {"array": 99}},
        lambda d: {**d, "model": {"strange": 1}},
        lambda d: {**d, "model": None},
        lambda d: {**d, "kind": "another"},
        lambda d: [d],
    ):
        file.write_bytes(content)
        with pytest.raises(ValueError, match=r"ridge\.mercer"):
            load(rewritten(file, change))


def test_arrays_with_pickles_and_false_headers_are_refused(file):
    evil = io.BytesIO()
    np.save(evil, np.array([print], dtype=object), allow_pickle=True)
    large = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        large, {"descr": "<f8", "fortran_order": False, "shape": (2**40,)}
    )
    for content in (evil.getvalue(), large.getvalue(), b"no array"):
        with zipfile.ZipFile(file) as archive:
            document = archive.read("model.json")
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("model.json", document)
            archive.writestr("arrays/0.npy", content)
        with pytest.raises(ValueError, match="not a model file"):
            load(file)


def test_newer_formats_and_other_versions_are_told(file, monkeypatch):
    content = file.read_bytes()
    with pytest.raises(ValueError, match=r"format 2 of mercer 9\.9.*pip install --upgrade mercer"):
        load(rewritten(file, lambda d: {**d, "format": 2, "mercer": "9.9"}))
    file.write_bytes(content)
    monkeypatch.setattr(mercer, "__version__", "99.0")
    with pytest.warns(InconsistentVersion):
        load(file)


def test_what_cannot_be_saved_is_said(tmp_path):
    kernel = FromCallable(lambda x, y: x @ y.T)
    with pytest.raises(
        TypeError, match=r"KernelRidge\.kernel\.function is of type function.*joblib"
    ):
        save(KernelRidge(kernel), tmp_path / "m")
    with pytest.raises(TypeError, match=r"MRMR\.relevance is of type"):
        save(MRMR(1, relevance=Hsic()), tmp_path / "m")
    with pytest.raises(TypeError, match="got Pipeline: pipelines of scikit-learn"):
        save(make_pipeline(KernelRidge()), tmp_path / "m")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "missing")
    (tmp_path / "p").write_bytes(pickle.dumps(KernelRidge()))
    with pytest.raises(ValueError, match="not a model file"):
        load(tmp_path / "p")
