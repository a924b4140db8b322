"""Data frames of any library: one Gram matrix, columns by name, categories by label."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer.frames import Columns, category_codes, numbers, table
from mercer.gram import Gram
from mercer.kernels import RBF, Constant, Delta, Laplace, Linear, Sobolev, Tensor, default_kernel
from mercer.rkhs import Function, hsic, mmd2, witness

RNG = np.random.default_rng(0)
X = RNG.standard_normal((8, 3))
CITY, SIZE = [*"RRORPPOR"], [*"smlsmlsm"]

LIBRARIES = {
    "pandas": pd.DataFrame,
    "pandas, Arrow inside": lambda data: pd.DataFrame(data).convert_dtypes(dtype_backend="pyarrow"),
    "pandas, categories": lambda data: pd.DataFrame(data).astype(
        {c: "category" for c, v in data.items() if isinstance(v[0], str)}
    ),
    "polars": pl.DataFrame,
    "polars, categories": lambda data: pl.DataFrame(data).cast({pl.String: pl.Categorical}),
    "Arrow": pa.table,
    "Arrow, dictionaries": lambda data: pa.table(
        {
            c: pa.array(v).dictionary_encode() if isinstance(v[0], str) else v
            for c, v in data.items()
        }
    ),
    "Arrow, a batch": pa.record_batch,
}
every_library = pytest.mark.parametrize("frame", LIBRARIES.values(), ids=LIBRARIES)


def plain(x: np.ndarray = X) -> dict:
    return dict(zip("abc", x.T, strict=True))


def people() -> dict:
    return {"height": X[:, 0], "city": CITY, "age": [31, 41, 59, 26, 53, 58, 97, 93], "size": SIZE}


def equal(labels: list[str]) -> np.ndarray:
    return np.equal.outer(np.array(labels), np.array(labels)).astype(float)


# ---- numbers ----------------------------------------------------------------------------------


@every_library
def test_numbers_give_the_same_gram_matrix(frame):
    assert_allclose(Gram(RBF(1.3), frame(plain())).dense(), RBF(1.3)(X), rtol=1e-12)
    assert_allclose(Linear()(frame(plain()), X[:4]), X @ X[:4].T, rtol=1e-12)
    assert_allclose(Linear()(X[:4], frame(plain())), X[:4] @ X.T, rtol=1e-12)


@every_library
def test_names_are_kept(frame):
    found = table(frame(people()), "x")
    assert found.columns == Columns(("height", "city", "age", "size"), (False, True, False, True))
    assert Function(RBF(), frame(plain()), np.ones(8)).columns.names == ("a", "b", "c")


@pytest.mark.parametrize(
    "columns", [[0, 1, 2], ["a", 1, ("b", 2)], [2.5, None, True]], ids=["numbers", "mixed", "odd"]
)
def test_columns_of_pandas_may_have_any_names(columns):
    frame = pd.DataFrame(X, columns=pd.Index(columns, dtype=object))
    assert_allclose(RBF()(frame), RBF()(X), rtol=1e-12)
    assert_allclose(RBF().select(str(columns[1]))(frame), RBF()(X[:, 1]), rtol=1e-12)


def test_series_are_points_on_the_line_and_weights():
    for line in (pd.Series(X[:, 0]), pl.Series(X[:, 0]), pa.chunked_array([X[:, 0]])):
        assert_allclose(RBF()(line), RBF()(X[:, 0]), rtol=1e-12)
        assert numbers(line, "x").shape == (8,)
        assert_allclose(Gram(RBF(), X) @ line, RBF()(X) @ X[:, 0], rtol=1e-12)


def test_dtypes():
    single = pl.DataFrame(plain(), schema_overrides=dict.fromkeys("abc", pl.Float32))
    assert RBF()(single).dtype == np.float32
    assert RBF()(single.with_columns(c=pl.lit(1.0))).dtype == np.float64
    odd = pd.DataFrame({"a": pd.array([1, 2], "Int64"), "b": pd.array([True, False], "boolean")})
    assert_array_equal(table(odd, "x").values, [[1, 1], [2, 0]])
    money = pa.table({"a": pa.array([Decimal("1.25"), Decimal("-3.50")])})
    assert_array_equal(table(money, "x").values, [[1.25], [-3.5]])
    assert table(X, "x") is None
    assert table({"a": [1.0]}, "x") is None


# ---- columns by name --------------------------------------------------------------------------


@every_library
def test_select_binds_to_names(frame):
    data = frame(people())
    assert_allclose(RBF().select("height")(data), RBF()(X[:, 0]), rtol=1e-12)
    both = RBF().select("height") * Delta().select(["size", "city"])
    assert_allclose(both(data), RBF()(X[:, 0]) * equal(CITY) * equal(SIZE), rtol=1e-12)
    assert_allclose(RBF().select(("c", "a"))(frame(plain())), RBF()(X[:, [2, 0]]), rtol=1e-12)
    assert_allclose(RBF().select(-1)(frame(plain())), RBF()(X[:, 2]), rtol=1e-12)


@every_library
def test_columns_of_y_may_come_in_another_order(frame):
    data, turned = frame(people()), frame(dict(reversed(people().items())))
    kernel = RBF(50.0).select(["height", "age"]) * Delta().select("city")
    assert_allclose(kernel(data, turned), kernel(data), rtol=1e-12)
    assert_allclose(Gram(kernel, data, turned).dense(), kernel(data), rtol=1e-12)
    other = LIBRARIES["pandas"](dict(reversed(people().items())))
    assert_allclose(kernel(data, other), kernel(data), rtol=1e-12)


def test_columns_are_aligned_wherever_two_frames_meet():
    x, y = pd.DataFrame(plain()), pd.DataFrame(plain(X[::-1] + 0.5))
    turned, kernel = pl.DataFrame(y[["c", "a", "b"]].to_dict("list")), RBF().scaled((1.0, 2.0, 3.0))
    assert mmd2(kernel, x, turned) == pytest.approx(mmd2(kernel, x, y), rel=1e-12)
    assert_allclose(witness(kernel, x, turned)(turned), witness(kernel, x, y)(y), rtol=1e-12)
    f = Function(kernel, x, np.ones(8))
    assert_allclose(f(turned), f(y), rtol=1e-12)
    assert f.inner(Function(kernel, turned, np.ones(8))) == pytest.approx(
        f.inner(Function(kernel, y, np.ones(8))), rel=1e-12
    )


def test_one_column_needs_no_name():
    x, y = pd.DataFrame({"before": X[:, 0]}), pd.DataFrame({"after": X[:, 1]})
    assert_allclose(RBF()(x, y), RBF()(X[:, 0], X[:, 1]), rtol=1e-12)
    assert hsic(RBF(), RBF(), x, y) == pytest.approx(hsic(RBF(), RBF(), X[:, 0], X[:, 1]))


def test_groups_of_a_tensor_are_bound_to_their_own_columns():
    data = pd.DataFrame(people())[["age", "height", "city"]]
    kernel = Tensor(RBF().select("height"), Delta(), widths=(2, 1))
    assert_allclose(kernel(data), RBF()(X[:, 0]) * equal(CITY), rtol=1e-12)
    with pytest.raises(ValueError, match="no column 'city' in x: use age, height"):
        Tensor(RBF().select("city"), Delta(), widths=(2, 1))(data)
    with pytest.raises(ValueError, match="widths add up to 3, but x has 2 columns"):
        kernel(data[["age", "city"]])


def test_kernels_of_kernels_on_categories():
    data = pd.DataFrame({"city": CITY})
    level2 = RBF(1.0).on(Delta())  # the outer kernel sees distances, not columns
    assert_allclose(level2(data), np.exp(-(1 - equal(CITY))), rtol=1e-12)
    mixture = 0.5 * Delta() + Constant(1.0)
    assert_allclose(mixture.normalized()(data), (0.5 * equal(CITY) + 1) / 1.5, rtol=1e-12)


# ---- categories -------------------------------------------------------------------------------


@every_library
def test_categories_are_compared_by_label(frame):
    one, other = frame({"city": CITY}), frame({"city": [*"PORPORPO"]})
    expected = np.equal.outer(np.array(CITY), np.array([*"PORPORPO"])).astype(float)
    assert_array_equal(Delta()(one, other), expected)
    assert_array_equal(Delta()(one), equal(CITY))
    assert_array_equal(table(one, "x").values[:, 0], category_codes(CITY))
    assert_array_equal(Delta()(one, [[c] for c in CITY]), equal(CITY))  # labels without a frame


@every_library
def test_default_kernel_takes_mixed_frames(frame):
    data = frame(people())
    expected = default_kernel(pd.DataFrame(people()))(pd.DataFrame(people()))
    assert_allclose(default_kernel(data)(data), expected, rtol=1e-12)


def test_codes_are_whole_numbers_float64_holds():
    codes = category_codes([f"level {i}" for i in range(10_000)])
    assert len(np.unique(codes)) == 10_000
    assert_array_equal(codes, codes.astype(np.int64))
    assert_array_equal(category_codes(["b", "a"]), category_codes(["a", "b"])[::-1])
    enum = pl.DataFrame({"c": pl.Series(CITY, dtype=pl.Enum(["P", "O", "R"]))})
    assert_array_equal(table(enum, "x").values[:, 0], category_codes(CITY))


# ---- refusals ---------------------------------------------------------------------------------

HOLES = [None, *X[1:, 0].tolist()]


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        (
            pd.DataFrame({"a": HOLES, "b": HOLES}),
            ValueError,
            r"x has missing values \(a: 1, b: 1\)",
        ),
        (pl.DataFrame({"a": HOLES, "b": X[:, 0]}), ValueError, r"missing values \(a: 1\): drop"),
        (pa.table({"a": [None, "r"]}), ValueError, r"missing values \(a: 1\): drop those rows"),
        (pd.DataFrame({"a": pd.array([None, 1], "Int64")}), ValueError, r"missing values \(a: 1\)"),
        (pl.DataFrame({"a": [np.nan, None, 1.0]}), ValueError, r"missing values \(a: 2\)"),
        (pl.DataFrame({"a": [1.0]}).lazy(), TypeError, r"x is a lazy frame: call \.collect\(\)"),
        (pl.DataFrame({"a": [[1.0]]}), TypeError, "column 'a' of x has dtype List.*convert it to"),
        (
            pd.DataFrame({"a": pd.to_datetime(["2020-01-01"])}),
            TypeError,
            "column 'a' of x holds dates or times.*time='a'",
        ),
        (pd.DataFrame({"a": [1 + 2j]}), TypeError, "column 'a' of x has dtype"),
        (
            pd.DataFrame({"a": [2**53 + 1]}),
            ValueError,
            r"column 'a' of x has integers beyond 2\*\*53",
        ),
        (
            pd.DataFrame([[1, 2]], columns=["a", "a"]),
            ValueError,
            "x must have different column names",
        ),
        (
            pd.DataFrame([[1, 2]], columns=[0, "0"]),
            ValueError,
            "x must have different column names",
        ),
        (pd.DataFrame({"a": []}), ValueError, r"x must have rows and columns.*\(0, 1\)"),
        (pd.DataFrame(index=[1, 2]), ValueError, r"x must have rows and columns.*\(2, 0\)"),
        (
            pd.DataFrame({"a": CITY}),
            TypeError,
            "column 'a' of x holds categories, which RBF does not",
        ),
    ],
    ids=lambda value: None,
)
def test_what_a_frame_must_not_hold(data, error, message):
    with pytest.raises(error, match=message):
        RBF()(data)


def test_categories_where_numbers_are_needed():
    data = pd.DataFrame(people())
    with pytest.raises(TypeError, match="column 'city' of y holds categories, which Laplace"):
        Laplace()(X, data)
    with pytest.raises(TypeError, match="column 'city' of x holds categories, which Transformed"):
        Sobolev().transformed(abs)(data)
    with pytest.raises(TypeError, match="column 'city' of v holds categories where numbers"):
        Gram(RBF(), X) @ data
    with pytest.raises(TypeError, match="column 'a' must be of one kind in x and y"):
        Delta()(pd.DataFrame({"a": CITY}), pd.DataFrame({"a": X[:, 0]}))


def test_columns_that_are_not_there():
    with pytest.raises(ValueError, match="no column 'd' in x: use a, b, c"):
        RBF().select("d")(pd.DataFrame(plain()))
    with pytest.raises(ValueError, match="no column 3: x has 3 columns, use 0 to 2"):
        RBF().select(3)(pd.DataFrame(plain()))
    with pytest.raises(TypeError, match="column 'a' is a name: pass a data frame"):
        RBF().select("a")(X)
    with pytest.raises(
        ValueError, match=r"x and y must have the same columns; only one has \['c', 'd'\]"
    ):
        RBF()(pd.DataFrame(plain()), pd.DataFrame(plain()).rename(columns={"c": "d"}))


def test_a_damaged_arrow_table_is_refused():
    offsets = pa.py_buffer(np.array([0, 2**30, 4], np.int32))
    words = pa.StringArray.from_buffers(2, offsets, pa.py_buffer(b"abcd"))
    whole = pa.table({"x": [1.0, 2.0], "word": words})
    for damaged in (whole, whole.to_batches()[0]):
        with pytest.raises(ValueError, match="x is a damaged Arrow table"):
            table(damaged, "x")
