"""MMD and HSIC against plain NumPy, peers and theory."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import mercer
from mercer.kernels import RBF, Energy, Laplace, Linear, Polynomial
from mercer.kernels.bandwidth import median_bandwidth
from mercer.rkhs import hsic, mmd2, witness

KERNELS = [RBF(0.9), Laplace(1.5), Energy(), Linear(), Polynomial(3), RBF(2.0) * Laplace(1.0) + 1]


@pytest.fixture
def samples():
    rng = np.random.default_rng(0)
    return rng.normal(size=(45, 3)), rng.normal(0.4, 1.2, size=(31, 3))


@pytest.fixture
def pairs():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(40, 2))
    return x, np.sin(x[:, :1]) + 0.5 * rng.normal(size=(40, 1))


def plain_mmd2(kernel, x, y, unbiased):
    kxx, kyy, kxy = kernel(x, x), kernel(y, y), kernel(x, y)
    if not unbiased:
        return kxx.mean() + kyy.mean() - 2 * kxy.mean()
    n, m = kxy.shape
    off_x, off_y = kxx.sum() - np.trace(kxx), kyy.sum() - np.trace(kyy)
    return off_x / (n * (n - 1)) + off_y / (m * (m - 1)) - 2 * kxy.mean()


def plain_hsic(k, l):
    n = len(k)
    h = np.eye(n) - 1 / n
    return np.trace(k @ h @ l @ h) / n**2


def song_hsic(k, l):
    """Song et al. 2012, eq. (5), word for word."""
    n = len(k)
    k, l = k - np.diag(np.diag(k)), l - np.diag(np.diag(l))
    one = np.ones(n)
    terms = (
        np.trace(k @ l)
        + (one @ k @ one) * (one @ l @ one) / ((n - 1) * (n - 2))
        - 2 / (n - 2) * (one @ k @ l @ one)
    )
    return terms / (n * (n - 3))


@pytest.mark.parametrize("unbiased", [True, False])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_mmd2_is_the_plain_formula(kernel, unbiased, samples):
    x, y = samples
    got = mmd2(kernel, x, y, unbiased=unbiased)
    assert isinstance(got, float)
    assert_allclose(got, plain_mmd2(kernel, x, y, unbiased), rtol=1e-9, atol=1e-11)
    assert_allclose(mmd2(kernel, y, x, unbiased=unbiased), got, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("kernel_x", KERNELS, ids=repr)
@pytest.mark.parametrize("kernel_y", [RBF(0.5), Energy()], ids=repr)
def test_hsic_is_the_plain_formula(kernel_x, kernel_y, pairs):
    x, y = pairs
    k, l = kernel_x(x), kernel_y(y)
    assert_allclose(hsic(kernel_x, kernel_y, x, y), plain_hsic(k, l), rtol=1e-9)
    got = hsic(kernel_x, kernel_y, x, y, unbiased=True)
    assert isinstance(got, float)
    assert_allclose(got, song_hsic(k, l), rtol=1e-8)
    assert_allclose(hsic(kernel_y, kernel_x, y, x, unbiased=True), got, rtol=1e-9)


def test_hsic_of_linear_kernels_is_the_squared_covariance(pairs):
    x, y = pairs
    covariance = (x - x.mean(0)).T @ (y - y.mean(0)) / len(x)
    assert_allclose(hsic(Linear(), Linear(), x, y), np.sum(covariance**2), rtol=1e-10)


def test_mmd2_of_the_linear_kernel_is_the_distance_of_means(samples):
    x, y = samples
    want = np.sum((x.mean(0) - y.mean(0)) ** 2)
    assert_allclose(mmd2(Linear(), x, y, unbiased=False), want, rtol=1e-10)


# ---- peers --------------------------------------------------------------------------------


def test_energy_distance_and_distance_covariance_are_dcors(samples, pairs):
    dcor = pytest.importorskip("dcor")
    x, y = samples
    assert_allclose(
        2 * mmd2(Energy(), x, y, unbiased=False), dcor.energy_distance(x, y), rtol=1e-10
    )
    x, y = pairs
    want = dcor.distance_covariance_sqr(x, y, method="naive")
    assert_allclose(4 * hsic(Energy(), Energy(), x, y), want, rtol=1e-10)
    want = dcor.u_distance_covariance_sqr(x, y, method="naive")
    assert_allclose(4 * hsic(Energy(), Energy(), x, y, unbiased=True), want, rtol=1e-9)


def test_scikit_learn_kernels_give_the_same(samples, pairs):
    pairwise = pytest.importorskip("sklearn.metrics.pairwise")
    from sklearn.preprocessing import KernelCenterer

    x, y = samples
    kernel = RBF.from_gamma(0.3)
    both = np.concatenate([x, y])
    w = np.repeat([1 / len(x), -1 / len(y)], [len(x), len(y)])
    want = w @ pairwise.rbf_kernel(both, gamma=0.3) @ w
    assert_allclose(mmd2(kernel, x, y, unbiased=False), want, rtol=1e-10)
    x, y = pairs
    k = KernelCenterer().fit_transform(pairwise.rbf_kernel(x, gamma=0.3))
    l = pairwise.laplacian_kernel(y, gamma=0.5)
    assert_allclose(hsic(kernel, Laplace(2.0), x, y), np.sum(k * l) / len(x) ** 2, rtol=1e-10)


# ---- theory -------------------------------------------------------------------------------


def test_biased_measures_are_never_negative_and_vanish_on_equals(samples):
    x, _ = samples
    assert mmd2(RBF(1.0), x, x, unbiased=False) < 1e-15
    assert mmd2(RBF(1.0), x, x.copy(), unbiased=False) >= 0
    assert 0 <= hsic(RBF(1.0), RBF(1.0), x, np.ones((len(x), 1))) < 1e-15


def test_unbiased_measures_are_unbiased():
    # under the null both have mean zero; the biased ones do not
    rng = np.random.default_rng(2)
    draws = 400
    mmds, hsics, biased = np.empty(draws), np.empty(draws), np.empty(draws)
    for i in range(draws):
        x, y = rng.normal(size=(2, 12, 1))
        mmds[i] = mmd2(RBF(1.0), x, y)
        hsics[i] = hsic(RBF(1.0), RBF(1.0), x, y, unbiased=True)
        biased[i] = hsic(RBF(1.0), RBF(1.0), x, y)
    for values in (mmds, hsics):
        assert np.min(values) < 0
        assert abs(values.mean()) < 4 * values.std() / np.sqrt(draws)
    assert biased.mean() > 10 * biased.std() / np.sqrt(draws)


def test_mmd2_of_gaussians_is_the_closed_form():
    # E k(X, Y) = s / sqrt(s^2 + 2) exp(-d^2 / (2 (s^2 + 2))) for unit normals d apart
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=4000), 0.7 + rng.normal(size=4000)
    same = 1 / np.sqrt(3)
    want = 2 * same * (1 - np.exp(-0.49 / 6))
    assert_allclose(mmd2(RBF(1.0), x, y), want, atol=4 * np.sqrt(want / 4000))


def test_the_witness_is_the_gradient_of_the_difference(samples):
    x, y = samples
    kernel = RBF(0.9)
    w = witness(kernel, x, y)
    biased = mmd2(kernel, x, y, unbiased=False)
    assert_allclose(w.norm2(), biased, rtol=1e-9)
    assert_allclose(w(x).mean() - w(y).mean(), biased, rtol=1e-9)
    at = np.random.default_rng(4).normal(size=(8, 3))
    assert_allclose(w(at), kernel(at, x).mean(1) - kernel(at, y).mean(1), rtol=1e-9, atol=1e-12)
    unit = w / w.norm()
    assert_allclose(unit(x).mean() - unit(y).mean(), np.sqrt(biased), rtol=1e-9)


SHIFTED = [
    None,
    RBF(0.8),
    Laplace(1.0),
    Energy(),
    Energy(1.9),
    Linear(),
    3 * Linear().scaled(0.5) + RBF(1.0),
    Energy().select(0),
]


@pytest.mark.parametrize("kernel", SHIFTED, ids=repr)
def test_shifting_the_data_changes_nothing(kernel, samples, pairs):
    shift = np.array([1e6, -1e6, 1e6])
    x, y = samples
    assert_allclose(mmd2(kernel, x + shift, y + shift), mmd2(kernel, x, y), rtol=1e-6)
    a, b = pairs
    for unbiased in (False, True):
        want = hsic(kernel, kernel, a, b, unbiased=unbiased)
        got = hsic(kernel, kernel, a + shift[:2], b - 1e6, unbiased=unbiased)
        assert_allclose(got, want, rtol=1e-6)


# ---- defaults, doors, libraries -----------------------------------------------------------


def test_without_a_kernel_the_median_distance_is_used(samples, pairs):
    x, y = samples
    pooled = RBF(median_bandwidth(np.concatenate([x, y])))
    assert mmd2(None, x, y) == mmd2(pooled, x, y)
    assert witness(None, x, y).kernel == pooled
    x, y = pairs
    own = RBF(median_bandwidth(x)), RBF(median_bandwidth(y))
    assert hsic(None, None, x, y) == hsic(*own, x, y)
    assert hsic(own[0], None, x, y) == hsic(*own, x, y)


def test_tiles_do_not_change_the_numbers():
    rng = np.random.default_rng(5)
    x, y = rng.normal(size=(1500, 2)), rng.normal(size=(1300, 2))
    kernel = Laplace(1.0)
    with mercer.config(memory="16MiB", threads=1):
        got = mmd2(kernel, x, y), hsic(kernel, kernel, x[:1300], y, unbiased=True)
    assert_allclose(got[0], plain_mmd2(kernel, x, y, True), rtol=1e-8, atol=1e-12)
    assert_allclose(got[1], song_hsic(kernel(x[:1300]), kernel(y)), rtol=1e-6, atol=1e-12)


def test_torch_and_float32_give_the_same(samples, pairs):
    torch = pytest.importorskip("torch")
    for convert, rtol in [
        (torch.tensor, 1e-10),
        (lambda a: a.astype(np.float32), 2e-4),
        (lambda a: torch.tensor(a, dtype=torch.float32), 2e-4),
    ]:
        x, y = samples
        got = mmd2(None, convert(x), convert(y))
        assert isinstance(got, float)
        assert_allclose(got, mmd2(None, x, y), rtol=rtol)
        x, y = pairs
        got = hsic(None, RBF(1.0), convert(x), convert(y), unbiased=True)
        assert_allclose(got, hsic(None, RBF(1.0), x, y, unbiased=True), rtol=rtol)
    w = witness(None, torch.tensor(samples[0]), torch.tensor(samples[1]))
    assert_allclose(w.norm2(), mmd2(None, *samples, unbiased=False), rtol=1e-10)


def test_frames_are_matched_by_name(samples):
    pd = pytest.importorskip("pandas")
    x, y = samples
    kernel = Laplace(1.0).scaled([1.0, 2.0, 3.0])
    left = pd.DataFrame(x, columns=list("abc"))
    right = pd.DataFrame(y, columns=list("abc"))[["c", "a", "b"]]
    assert_allclose(mmd2(kernel, left, right), mmd2(kernel, x, y), rtol=1e-12)
    w = witness(kernel, left, right)
    assert_allclose(w(right), witness(kernel, x, y)(y), rtol=1e-10)
    named = RBF(1.0).select("c")
    want = hsic(RBF(1.0), RBF(1.0), x[:, 2], x[:, 0])
    assert_allclose(hsic(named, RBF(1.0).select("a"), left, left), want, rtol=1e-10)


def test_refusals_say_what_was_needed():
    x = np.arange(6.0)
    with pytest.raises(
        ValueError, match=r"mmd2\(unbiased=True\) needs at least 2 points in y, got 1"
    ):
        mmd2(RBF(1.0), x, x[:1])
    assert mmd2(RBF(1.0), x, x[:1], unbiased=False) > 0
    with pytest.raises(
        ValueError, match=r"hsic\(unbiased=True\) needs at least 4 points in x, got 3"
    ):
        hsic(RBF(1.0), RBF(1.0), x[:3], x[:3], unbiased=True)
    with pytest.raises(ValueError, match="same number of points, got 6 and 5"):
        hsic(RBF(1.0), RBF(1.0), x, x[:5])
    with pytest.raises(ValueError, match="all points of x are equal"):
        mmd2(None, np.zeros(5), np.zeros(4))
    with pytest.raises(TypeError, match="kernel must be a kernel"):
        mmd2("rbf", x, x)
    with pytest.raises(TypeError, match="kernel_y must be a kernel"):
        hsic(RBF(1.0), "rbf", x, x)
    with pytest.raises(TypeError, match="kernel must be a kernel"):
        witness("rbf", x, x)
    with pytest.raises(ValueError, match="y has NaN"):
        hsic(None, None, x, x * np.nan)


def test_arrays_of_the_strict_standard(samples, pairs):
    xp = pytest.importorskip("array_api_strict")
    for device in (xp.Device("CPU_DEVICE"), xp.Device("device1")):
        x, y = (xp.asarray(a, device=device) for a in samples)
        assert_allclose(mmd2(None, x, y), mmd2(None, *samples), rtol=1e-10)
        w = witness(Laplace(1.0), x, y)
        assert_allclose(w.norm2(), mmd2(Laplace(1.0), *samples, unbiased=False), rtol=1e-10)
        assert w(x).device == device
        a, b = (xp.asarray(v, device=device) for v in pairs)
        for unbiased in (False, True):
            want = hsic(None, Energy(), *pairs, unbiased=unbiased)
            assert_allclose(hsic(None, Energy(), a, b, unbiased=unbiased), want, rtol=1e-10)


def test_words_have_measures_too():
    words, others = ["to", "be", "or"], ["not", "to", "bee"]
    lengths = Energy().transformed(lambda w: np.array([float(len(v)) for v in w])[:, None])
    x, y = np.array([2.0, 2, 2]), np.array([3.0, 2, 3])
    assert_allclose(mmd2(lengths, words, others), mmd2(Energy(), x, y), rtol=1e-12)
    assert_allclose(witness(lengths, words, others)(["abcd"]), witness(Energy(), x, y)([4.0]))
    more = ["a", "bb", "ccc", "d"]
    want = hsic(Energy(), Energy(), [1.0, 2, 3, 1], [1.0, 2, 3, 1], unbiased=True)
    assert_allclose(hsic(lengths, lengths, more, more, unbiased=True), want, rtol=1e-12)


def test_two_columns_of_one_frame_are_two_samples(samples):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(samples[0], columns=list("abc"))
    w = witness(None, frame["a"], frame["b"])
    biased = mmd2(None, frame["a"], frame["b"], unbiased=False)
    assert_allclose(w.norm2(), biased, rtol=1e-10)
    assert_allclose(
        mmd2(None, samples[0][:, 0], samples[0][:, 1], unbiased=False), biased, rtol=1e-12
    )


def test_two_libraries_are_refused():
    torch = pytest.importorskip("torch")
    x = np.arange(6.0)
    with pytest.raises(TypeError, match="same library"):
        hsic(RBF(1.0), RBF(1.0), x, torch.tensor(x))
    with pytest.raises(TypeError, match="same library"):
        mmd2(None, x, torch.tensor(x))
