"""Triton code with placeholders for the loads of a tile and for the formula of its values.

Numbers of points are not specialised: Triton would compile again for other divisibility of them.
"""

HEAD = '''import triton
import triton.language as tl


@triton.jit
def exp2(x):
    """2^x of float32 by the instruction of the device, correct to two units in the last place."""
    return tl.inline_asm_elementwise(
        "ex2.approx.ftz.f32 $0, $1;", "=f,f", [x], dtype=tl.float32, is_pure=True, pack=1
    )


'''
PLAIN_HEAD = """import triton
import triton.language as tl


@triton.jit
def exp2(x):
    return tl.exp2(x)


"""

SUMS = '''@triton.jit(do_not_specialize=["n", "m"])
def sums(out, v, n, m, stride, per, parameters, {arguments}BM: tl.constexpr, BN: tl.constexpr):
    """out[split, c, i] = sum_j k(x_i, y_j) v[c, j] over the columns of a split; the last c: squares."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    split = tl.program_id(1)
{prologue}
{zeros}
    for start in range(split * per, tl.minimum((split + 1) * per, m), BN):
        columns = start + tl.arange(0, BN)
{gather}
    base = out + split.to(tl.int64) * {count} * n
{store}
'''

VALUES = '''@triton.jit
def values(out, scaling, size, width, first_row, first_column, parameters, {arguments}PER: tl.constexpr, DIAGONAL: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """out[k, i, j] = scaled value of kernel k at (first_row + i, first_column + j), half; DIAGONAL: 0 for i = j."""
    down = tl.program_id(1) * BM + tl.arange(0, BM)
    rows = first_row + down
{prologue}
    for start in range(tl.program_id(0) * PER, tl.minimum((tl.program_id(0) + 1) * PER, width), BN):
        across = start + tl.arange(0, BN)
        columns = first_column + across
        places = out + down[:, None].to(tl.int64) * width + across[None, :]
{store}
'''

PRODUCT = '''@triton.jit(do_not_specialize=["n", "m"])
def product(out, high, low, unit, n, m, per, parameters, {arguments}WIDTH: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BC: tl.constexpr):
    """out[split, i, c] = sum_j k(x_i, y_j) v[j, c] / unit over the columns of a split, v = high + low.

    Tensor cores truncate long sums towards zero, so the sums of tiles are accumulated outside of them
    (by a product with `one`; otherwise the compiler would fuse the two additions again).
    """
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    chosen = tl.program_id(1) * BC + tl.arange(0, BC)
    split = tl.program_id(2)
    inverse = tl.load(unit)
    one = tl.load(unit + 1)
{prologue}
    total = tl.zeros((BM, BC), tl.float32)
    for start in range(split * per, tl.minimum((split + 1) * per, m), BN):
        columns = start + tl.arange(0, BN)
        at = columns[:, None].to(tl.int64) * WIDTH + chosen[None, :]
        first = tl.load(high + at)
        second = tl.load(low + at)
{tile}
        value = value * inverse
        major = value.to(tl.float16)
        minor = (value - major.to(tl.float32)).to(tl.float16)
        part = tl.dot(major, first)
        part = tl.dot(major, second, part)
        part = tl.dot(minor, first, part)
        total = tl.fma(part, one, total)
    base = out + split.to(tl.int64) * n * WIDTH
    tl.store(base + rows[:, None].to(tl.int64) * WIDTH + chosen[None, :], total, mask=rows[:, None] < n)
'''

BAGS = '''@triton.jit(do_not_specialize=["n", "m"])
def bags(out, first, second, u, v, start, width, n, m, parameters, {arguments}HALF: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """out[a, b] = the sum of u_i k(x_i, y_j) v_j over the rows i of bag a and the columns j of bag b."""
    a = start + tl.program_id(1)
    b = tl.program_id(0)
    if (HALF == 0) | (b >= a):
        top = tl.load(first + a)
        bottom = tl.load(first + a + 1)
        left = tl.load(second + b)
        right = tl.load(second + b + 1)
        total = tl.zeros((BM, BN), {dtype})
        for row in range(top, bottom, BM):
            places = row + tl.arange(0, BM)
            rows = tl.minimum(places, n - 1)
            down = tl.load(u + rows, mask=places < bottom, other=0.0)
{prologue}
            for column in range(left, right, BN):
                others = column + tl.arange(0, BN)
                columns = tl.minimum(others, m - 1)
                across = tl.load(v + columns, mask=others < right, other=0.0)
{tile}
                total += value * across[None, :] * down[:, None]
        tl.store(out + a.to(tl.int64) * width + b, tl.sum(total.to(tl.float64)))
'''

DIAGONALS = '''@triton.jit(do_not_specialize=["n", "first", "count"])
def diagonals(out, n, first, count, parameters, {arguments}BM: tl.constexpr, BN: tl.constexpr):
    """out[d, i] = k(x_i, y_j) with j = i + first + d modulo n."""
    at = tl.program_id(0) * BM + tl.arange(0, BM)
    places = tl.program_id(1) * BN + tl.arange(0, BN)
    rows = tl.minimum(at, n - 1)
    columns = rows[:, None] + (first + places)[None, :]
    columns = tl.where(columns >= n, columns - n, columns)
    columns = tl.minimum(columns, n - 1)
{prologue}
{tile}
    inside = (at < n)[:, None] & (places < count)[None, :]
    tl.store(out + places[None, :].to(tl.int64) * n + at[:, None], value, mask=inside)
'''

SHIFTED = '''import triton
import triton.language as tl


@triton.jit
def shifted(out, first, others, shifts, n, diagonals, number, MATRICES: tl.constexpr, BB: tl.constexpr, BN: tl.constexpr):
    """out[d, b] = sum_i first[d, i] prod_k others[k, d, i + shifts[k, b]], indices modulo n."""
    chosen = tl.program_id(0) * BB + tl.arange(0, BB)
    d = tl.program_id(1).to(tl.int64)
    total = tl.zeros((BB, BN), tl.float64)
    for start in range(0, n, BN):
        places = start + tl.arange(0, BN)
        inside = (places < n)[None, :]
        value = tl.load(first + d * n + places, mask=places < n, other=0.0)[None, :]
        for k in tl.static_range(MATRICES):
            shift = tl.load(shifts + k * number + chosen, mask=chosen < number, other=0)
            at = places[None, :] + shift[:, None]
            at = tl.where(at >= n, at - n, at)
            value = value * tl.load(others + (k * diagonals + d) * n + at, mask=inside, other=0.0)
        total += value
    tl.store(out + d * number + chosen, tl.sum(total, 1), mask=chosen < number)
'''

PIVOTED = '''import triton
import triton.language as tl


@triton.jit(do_not_specialize=["k"])
def search(remaining, pivots, roots, traces, n, k, BN: tl.constexpr):
    """Pivot k, the first place of the largest remaining entry, its root, and the sum of all entries."""
    best = tl.full((), -1.0, tl.float64)
    total = tl.zeros((), tl.float64)
    place = tl.zeros((), tl.int64)
    for start in range(0, n, BN):
        places = start + tl.arange(0, BN)
        values = tl.load(remaining + places, mask=places < n, other=-1.0)
        total += tl.sum(tl.where(places < n, values, 0.0), 0)
        largest = tl.max(values, 0)
        first = tl.min(tl.where(values == largest, places, n), 0)
        place = tl.where(largest > best, first.to(tl.int64), place)
        best = tl.maximum(largest, best)
    tl.store(pivots + k, place)
    tl.store(roots + k, tl.sqrt(best))
    tl.store(traces + k, total)


@triton.jit(do_not_specialize=["k"])
def row(dense, rows, remaining, pivots, roots, n, k, BK: tl.constexpr, BN: tl.constexpr):
    """Row k of the factor, (dense[p] - sum_j rows[j, p] rows[j]) / root, and what remains."""
    columns = tl.program_id(0) * BN + tl.arange(0, BN)
    inside = columns < n
    pivot = tl.load(pivots + k)
    total = tl.zeros((BK, BN), tl.float64)
    for start in range(0, k, BK):
        earlier = start + tl.arange(0, BK)
        at = earlier.to(tl.int64) * n
        weights = tl.load(rows + at + pivot, mask=earlier < k, other=0.0)
        mask = (earlier < k)[:, None] & inside[None, :]
        total += weights[:, None] * tl.load(rows + at[:, None] + columns[None, :], mask=mask, other=0.0)
    value = tl.load(dense + pivot * n + columns, mask=inside, other=0.0).to(tl.float64)
    value = (value - tl.sum(total, 0)) / tl.load(roots + k)
    rest = tl.load(remaining + columns, mask=inside, other=0.0) - value * value
    rest = tl.where((columns == pivot) | (rest < 0.0), 0.0, rest)
    tl.store(rows + tl.full((), 1, tl.int64) * k * n + columns, value, mask=inside)
    tl.store(remaining + columns, rest, mask=inside)
'''
