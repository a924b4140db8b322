"""K @ V and w'Kw of a Gaussian kernel against the machine's floor and against peers.

The floor is 2nm(d+v)/GEMM + nm/exp seconds, GEMM and exp measured in the same run and the faster
exponential taken. A symmetric Gram matrix may go below: it needs only half of the tiles. About
ten minutes on two cores, and once three more for KeOps to compile; --quick leaves KeOps out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.machine import DTYPES, Limits
from benchmarks.report import Bar, Options, Report, Table, worst
from benchmarks.timing import Contender, Timing, interleaved
from mercer.gram import Gram, PermutedWeights, fast_exp
from mercer.kernels import RBF

ENGINES = {"NumPy": False, "numba": True} if peers.installed("numba") else {"NumPy": False}
Runs = dict["Case", dict[str, Timing]]
Check = Callable[[str, Any], None]
_SLOWER = {1: 1, 100: 10, 1000: 50}  # KeOps does one row in so many, and its time is multiplied


@dataclass(frozen=True)
class Case:
    """n points against n others in R^d, v columns."""

    n: int
    d: int
    v: int
    dtype: str

    def __str__(self) -> str:
        return f"{self.dtype}, d = {self.d}, v = {self.v}"

    def data(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        rng = np.random.default_rng(0)
        sizes = (self.n, self.d), (self.n, self.d), (self.n, self.v)
        return tuple(rng.standard_normal(size).astype(self.dtype) for size in sizes)

    @property
    def kernel(self) -> RBF:
        return RBF(float(self.d) ** 0.5)


def run(options: Options) -> Report:
    n, dims, widths = 10_000, (2, 10, 100), (1, 100, 1000)
    if options.quick:
        n, dims, widths = 1000, (2,), (1, 100)
    limits = Limits()
    limits.measure(2 if options.quick else 10)
    products: Runs = {}
    forms: Runs = {}
    try:
        for dtype, d, v in product(DTYPES, dims, widths):
            _run(Case(n, d, v, dtype), _products, products, limits, options)
        for dtype, d in product(DTYPES, dims):
            _run(Case(n, d, widths[-1], dtype), _forms, forms, limits, options)
    except KeyboardInterrupt:
        options.console.print("[red]stopped: this is what was measured until then[/]")
    tables = [_limits(limits), _product_table(products, limits), _form_table(forms, limits)]
    raw = [{"case": asdict(c), "times": _plain(t)} for c, t in [*products.items(), *forms.items()]]
    bars = [] if options.quick else _bars(products, forms, limits)
    title = f"Kernel products without the kernel matrix, n = m = {n:,}"
    title += " (by processor time: others used the machine)" if options.shared else ""
    return Report(title, tables, bars, {"limits": limits.history, "runs": raw})


# ---- what is run ----------------------------------------------------------------------------


@contextmanager
def _engine(with_numba: bool) -> Iterator[None]:
    """Gram matrices made inside use numba's exponential, or NumPy's."""
    before = fast_exp._MIN_VALUES_FOR_NUMBA
    fast_exp._MIN_VALUES_FOR_NUMBA = 0 if with_numba else 2**62
    try:
        yield
    finally:
        fast_exp._MIN_VALUES_FOR_NUMBA = before


def _run(case: Case, make: Any, runs: Runs, limits: Limits, options: Options) -> None:
    contenders, check = make(case, options.quick)
    options.console.print(f"[dim]{make.__name__[1:]}: {case}[/]", end=" ")
    runs[case] = interleaved(
        contenders, options.repeats, shared=options.shared, between=limits.measure, check=check
    )
    floor = limits.floor(case.n, case.n, case.d, case.v, case.dtype)
    told = ", ".join(f"{name} {timing.best / floor:.2f}" for name, timing in runs[case].items())
    options.console.print(f"[dim]floor {1000 * floor:.1f} ms, times {told}[/]")


def _products(case: Case, quick: bool) -> tuple[dict[str, Contender], Check]:
    x, y, v = case.data()
    g = case.kernel.rate

    def ours(other: np.ndarray | None, with_numba: bool) -> np.ndarray:
        with _engine(with_numba):
            return Gram(case.kernel, x, other) @ v

    found = {}
    for name, numba in ENGINES.items():
        found[f"{name} K(x,y)"] = Contender(lambda numba=numba: ours(y, numba))
        found[f"{name} K(x,x)"] = Contender(lambda numba=numba: ours(None, numba))
    found["blocked NumPy"] = Contender(lambda: peers.blocked_numpy(x, y, v, g))
    if peers.installed("torch"):
        found["blocked torch"] = Contender(lambda: peers.blocked_torch(x, y, v, g))
    if peers.installed("pykeops") and not quick:
        keops, part = peers.keops(case.d, case.v), case.n // _SLOWER[case.v]
        keops(x[:8], y[:8], v[:8], g)  # compiles
        found["KeOps"] = Contender(lambda: keops(x[:part], y, v, g), part / case.n)

    def check(name: str, answer: Any) -> None:
        """The first rows are those of the formula."""
        other = x if "K(x,x)" in name else y
        difference = (x[:16, None, :] - other[None, :, :]).astype(np.float64)
        wanted = np.exp(-g * (difference**2).sum(axis=2)) @ v
        scale = (1e-10 if case.dtype == "float64" else 1e-4) * np.abs(wanted).max()
        np.testing.assert_allclose(np.asarray(answer)[:16], wanted, atol=scale, err_msg=name)

    return found, check


def _forms(case: Case, quick: bool) -> tuple[dict[str, Contender], Check]:
    x, _, v = case.data()
    weights = np.repeat([1.0, -1.0], case.n // 2) / (case.n // 2)

    def ours(form: str, with_numba: bool) -> Any:
        with _engine(with_numba):
            gram = Gram(case.kernel, x)
        if form == "@":
            return gram @ v
        return gram.quad(v if form == "quad" else PermutedWeights(weights, case.v, rng=0))

    found = {
        f"{name} {form}": Contender(lambda form=form, numba=numba: ours(form, numba))
        for form, (name, numba) in product(("@", "quad", "quad permuted"), ENGINES.items())
    }
    wanted = np.einsum("ik,ik->k", v, ours("@", False), dtype=np.float64)
    near = 1e-8 if case.dtype == "float64" else 1e-3

    def check(name: str, answer: Any) -> None:
        """quad is v'Kv, and forms of other weights are positive too."""
        if name.endswith(" quad"):
            np.testing.assert_allclose(answer, wanted, rtol=near, err_msg=name)
        elif name.endswith("permuted"):
            np.testing.assert_array_less(0, answer, err_msg=name)

    return found, check


# ---- the printed page -----------------------------------------------------------------------


def _limits(limits: Limits) -> Table:
    floors = {dtype: limits.best_exp(dtype) for dtype in DTYPES}
    used = "; ".join(
        f"{dtype} {name} exp, {rate / 1e9:.2f} x 10^9/s" for dtype, (name, rate) in floors.items()
    )
    note = f"In the floor: {used}. Rates of processor time, added over the cores."
    return Table("Limits on all cores", limits.rows(), note)


def _product_table(products: Runs, limits: Limits) -> Table:
    rows = []
    for case, times in products.items():
        floor = limits.floor(case.n, case.n, case.d, case.v, case.dtype)
        row: dict[str, Any] = {"dtype": case.dtype, "d": case.d, "columns": case.v}
        row["floor, ms"] = 1000 * floor
        row |= {name: timing.best / floor for name, timing in times.items()}
        row["clock / cores"] = times["NumPy K(x,y)"].waiting
        rows.append(row)
    note = (
        "Best times as multiples of the floor, mercer first: with NumPy alone and with numba, "
        "Gram(k, x, y) and Gram(k, x), each made anew in every run. Clock / cores: time on the clock "
        "over processor time per core of the first; much more than 1: others used the machine."
    )
    seen = {name for times in products.values() for name in times}
    if "KeOps" in seen:
        parts = ", ".join(f"one in {k} for {v} columns" for v, k in _SLOWER.items() if k > 1)
        note += f" KeOps (compiled before) did part of the rows, {parts}; its time was multiplied."
    if any(timing.shared for times in products.values() for timing in times.values()):
        note += " Processor time counts the threads of peers that wait in a loop as well."
    wanted = {"numba K(x,y)": "numba", "blocked torch": "torch", "KeOps": "KeOps"}
    missing = [told for name, told in wanted.items() if name not in seen]
    note += f" Not run: {', '.join(missing)}." if missing else ""
    return Table("K @ V", rows, note)


def _form_table(forms: Runs, limits: Limits) -> Table:
    rows = []
    for case, times in forms.items():
        floor = limits.floor(case.n, case.n, case.d, case.v, case.dtype)
        for name in ENGINES:
            held, quad, permuted = (
                times[f"{name} {f}"].best for f in ("@", "quad", "quad permuted")
            )
            row = {"dtype": case.dtype, "d": case.d, "columns": case.v, "engine": name}
            row |= {
                "@ / floor": held / floor,
                "quad / @": quad / held,
                "quad permuted / @": permuted / held,
            }
            rows.append(row)
    note = "Gram(k, x).quad(W) against Gram(k, x) @ W with the same columns, and with as many PermutedWeights."
    return Table("w'Kw", rows, note)


def _bars(products: Runs, forms: Runs, limits: Limits) -> list[Bar]:
    def to_floor(engine: str, one: bool) -> Iterator[tuple[str, float]]:
        for case, times in products.items():
            floor = limits.floor(case.n, case.n, case.d, case.v, case.dtype)
            for name in (f"{engine} K(x,y)", f"{engine} K(x,x)"):
                if name in times and (case.v == 1) == one:
                    yield f"{name}, {case}", times[name].best / floor

    def to_peer(peer: str, engine: str) -> Iterator[tuple[str, float]]:
        for case, times in products.items():
            if peer in times and f"{engine} K(x,y)" in times:
                yield str(case), times[peer].best / times[f"{engine} K(x,y)"].best

    def to_product(form: str) -> Iterator[tuple[str, float]]:
        for (case, times), name in product(forms.items(), ENGINES):
            yield f"{name}, {case}", times[f"{name} {form}"].best / times[f"{name} @"].best

    bars = worst("NumPy alone / floor, 100 and 1,000 columns", 1.5, to_floor("NumPy", False))
    bars += worst("numba / floor, 100 and 1,000 columns", 1.3, to_floor("numba", False))
    bars += worst("numba / floor, one column", 2.0, to_floor("numba", True))
    for engine in ENGINES:
        bars += worst(
            f"blocked NumPy / {engine}", 1.0, to_peer("blocked NumPy", engine), at_least=True
        )
        bars += worst(f"KeOps / {engine}", 5.0, to_peer("KeOps", engine), at_least=True)
    bars += worst("quad / @, 1,000 columns", 0.65, to_product("quad"))
    return bars + worst("quad permuted / @, 1,000 columns", 0.65, to_product("quad permuted"))


def _plain(times: dict[str, Timing]) -> dict[str, Any]:
    def rounded(seconds: list[float]) -> list[float]:
        return [float(f"{s:.4g}") for s in seconds]

    return {name: {"wall": rounded(t.wall), "cpu": rounded(t.cpu)} for name, t in times.items()}
