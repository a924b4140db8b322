"""Exported models: columns of data frames and tensors as inputs, what the document says, and what is refused."""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer
from mercer.errors import NoRule, UnseenCategory
from mercer.kernels import RBF, Delta, Exponential, Laplace, Matern, Precomputed, Spectrum
from mercer.learn import SVC, SVR, KernelRidge, NadarayaWatson, to_onnx
from mercer.rkhs import MeanMap
from tests.learn.test_pickles import X, Y, fitted
from tests.support.onnx_runs import RUNTIMES, run

onnx = pytest.importorskip("onnx")

NEW = np.random.default_rng(5).normal(size=(40, X.shape[1]))
LABELS = np.array(["low", "middle", "high"])[np.digitize(Y, [-0.5, 0.5])]


@pytest.mark.parametrize("learner", [SVC(), KernelRidge(ridge=0.1), NadarayaWatson()], ids=str)
def test_columns_of_a_frame_with_categories(learner):
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"b": rng.choice(["x", "y z", "Öl"], 80), "a": rng.normal(size=80)})
    frame["flag"] = rng.choice([True, False], 80)
    y = (frame.b == "x") + frame.a > 0.5
    model = learner.fit(frame, y if is_classifier(learner) else y.astype(float))
    new = pd.DataFrame(
        {"b": ["x", "y z", "unseen"], "a": [0.5, -1.0, 0.2], "flag": [True, False, True]}
    )
    with pytest.warns(UnseenCategory):
        predicted = model.predict(new)
    for dtype in ("float64", "float32"):
        exported = to_onnx(model, dtype=dtype)
        assert [i.name for i in exported.graph.input] == ["b", "a", "flag"]
        kinds = {i.name: i.type.tensor_type.elem_type for i in exported.graph.input}
        assert kinds["b"] == onnx.TensorProto.STRING
        inputs = {
            name: new[[name]]
            .to_numpy(str if kinds[name] == onnx.TensorProto.STRING else dtype)
            .astype(object if kinds[name] == onnx.TensorProto.STRING else dtype)
            for name in kinds
        }
        for runtime in RUNTIMES:
            ours = run(exported, inputs, runtime)
            ours = ours["label"] if is_classifier(learner) else ours["variable"][:, 0]
            assert_allclose(ours, predicted, rtol=0, atol=1e-12 if dtype == "float64" else 1e-4)


def test_a_frame_of_numbers_is_one_input_in_the_order_of_fit():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = KernelRidge(RBF(2.0)).fit(frame, Y)
    exported = to_onnx(model)
    assert json.loads(metadata(exported)["columns"]) == ["a", "b", "c", "d"]
    predicted = model.predict(pd.DataFrame(NEW, columns=list("abcd")))
    assert_allclose(run(exported, NEW, "reference")["variable"][:, 0], predicted, atol=1e-9)
    scaled = make_pipeline(StandardScaler(), KernelRidge(RBF(2.0))).fit(frame, Y)
    assert "columns" in metadata(to_onnx(scaled))


def test_tensors_are_exported_in_their_precision():
    torch = pytest.importorskip("torch")
    points = torch.randn(60, 3, dtype=torch.float32)
    model = KernelRidge(RBF(1.0)).fit(points, points[:, 0])
    exported = to_onnx(model, std=True, interval=0.8)
    assert exported.graph.input[0].type.tensor_type.elem_type == onnx.TensorProto.FLOAT
    new = points[:9] + 0.1
    outputs = run(exported, new.numpy(), "reference")
    assert_allclose(outputs["variable"][:, 0], model.predict(new), atol=1e-5)
    assert_allclose(outputs["std"][:, 0], model.predict(new, return_std=True)[1], atol=1e-4)
    assert_allclose(outputs["interval"], model.predict_interval(new, level=0.8), atol=1e-4)


# ---- the document -------------------------------------------------------------------------------


def metadata(exported: Any) -> dict[str, str]:
    return {p.key: p.value for p in exported.metadata_props}


def test_document_says_where_it_comes_from():
    model = SVC(RBF(2.0), probability=True).fit(X, LABELS)
    exported = to_onnx(model)
    assert metadata(exported)["mercer"] == exported.producer_version == mercer.__version__
    assert metadata(exported)["kernel"] == "RBF(bandwidth=2.0)"
    assert metadata(exported)["learner"].startswith("SVC(")
    assert exported.producer_name == "mercer"
    assert [i.version for i in exported.opset_import if i.domain == ""] == [18]
    dims = exported.graph.input[0].type.tensor_type.shape.dim
    assert dims[0].dim_param == "rows"
    assert dims[1].dim_value == X.shape[1]
    assert to_onnx(model).SerializeToString() == exported.SerializeToString()


def test_no_array_has_three_axes():
    """Points, learnt points and columns are never broadcast against each other."""
    wide = np.random.default_rng(0).normal(size=(50, 30))
    for kernel in (RBF(4.0), Exponential(4.0), Laplace(9.0), Delta(), Matern(2.5, 4.0)):
        exported = to_onnx(KernelRidge(kernel).fit(wide, wide[:, 0]))
        inferred = onnx.shape_inference.infer_shapes(exported)
        ranks = {len(v.type.tensor_type.shape.dim) for v in inferred.graph.value_info}
        assert max(ranks) == 2


def test_what_is_not_a_fitted_learner_is_refused(monkeypatch):
    with pytest.raises(TypeError, match="model must be a fitted estimator.*got <class"):
        to_onnx(SVC)
    with pytest.raises(TypeError, match="must be a fitted estimator"):
        to_onnx(X)
    with pytest.raises(NotFittedError):
        to_onnx(SVC())
    model = fitted(SVR())
    with pytest.raises(ValueError, match="dtype must be 'float32', 'float64' or None, got 'int8'"):
        to_onnx(model, dtype="int8")
    with pytest.raises(ValueError, match="std is an output of KernelRidge, got SVR"):
        to_onnx(model, std=True)
    with pytest.raises(ValueError, match="interval must be between 0 and 1"):
        to_onnx(fitted(KernelRidge()), interval=1.5)
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"to_onnx needs onnx: pip install 'mercer\[onnx\]'"):
        to_onnx(model)


def test_points_that_are_no_rows_of_numbers(monkeypatch):
    words = KernelRidge(Spectrum(1)).fit(["ab", "ba", "aa", "bb"], [0.0, 0.0, 1.0, -1.0])
    with pytest.raises(NoRule, match="whose points are objects: use mercer.learn.save"):
        to_onnx(words)
    bags = KernelRidge(MeanMap(RBF(1.0))).fit([X[:3], X[3:9]], [0.0, 1.0])
    with pytest.raises(NoRule, match="no ONNX graph"):
        to_onnx(bags)
    known = KernelRidge(Precomputed(X @ X.T)).fit(np.arange(9.0)[:, None], Y[:9])
    with pytest.raises(NoRule, match="no values at new points: fit with the kernel itself"):
        to_onnx(known)
    monkeypatch.setattr("mercer.learn.onnx_export.onnx_document._MAX_BYTES", 1000)
    with pytest.raises(ValueError, match="an ONNX file holds 2 GiB: use dtype='float32'"):
        to_onnx(fitted(SVR()))


def test_columns_with_the_name_of_an_output():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"label": ["a", "b", "a", "b"], "x": [0.0, 1.0, 2.0, 3.0]})
    with pytest.raises(ValueError, match="column 'label' has the name of an output.*rename"):
        to_onnx(SVC().fit(frame, [0, 1, 0, 1]))


def test_columns_with_the_names_of_operations():
    """An input of the name of a constant replaced the constant; one of the name of an operation was no valid graph."""
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    kinds, amounts = rng.choice(["u", "v"], 40), rng.normal(size=40)
    model = KernelRidge(RBF(1.0).select(["b"]) * (Delta().select("kind") + 1.0))
    known = to_onnx(model.fit(pd.DataFrame({"b": amounts, "kind": kinds}), Y[:40]))
    taken = {name for node in known.graph.node for name in node.output}
    taken |= {constant.name for constant in known.graph.initializer}
    for name in sorted(taken - {"variable"}):
        frame = pd.DataFrame({name: amounts, "kind": kinds})
        model.set_params(kernel=RBF(1.0).select([name]) * (Delta().select("kind") + 1.0))
        exported = to_onnx(model.fit(frame, Y[:40]))
        inputs = {name: amounts[:, None], "kind": kinds.astype(object)[:, None]}
        for runtime in RUNTIMES:
            ours = run(exported, inputs, runtime)["variable"][:, 0]
            assert_allclose(ours, model.predict(frame), rtol=0, atol=1e-12)
    unnamed = pd.DataFrame({"": amounts, "kind": kinds})
    with pytest.raises(ValueError, match="a column has no name"):
        to_onnx(KernelRidge().fit(unnamed, Y[:40]))
