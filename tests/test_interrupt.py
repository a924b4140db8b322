"""Long runs answer Ctrl-C within about a second."""

from __future__ import annotations

import signal
import sys
import threading
import time

import numpy as np
import pytest

from mercer import htest, learn, rkhs
from mercer.kernels import Laplace
from mercer.learn.machines import smo

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="sends a POSIX signal to a thread")

rng = np.random.default_rng(0)
X, Y, Z = rng.normal(size=(3, 1500, 8))

RUNS = {
    "DHSIC": lambda: htest.DHSIC().test(X, Y, Z, rng=0),
    "KCCA": lambda: learn.KCCA(random_state=0).fit(X[:900], Y[:900]),
    "kcca": lambda: rkhs.kcca(Laplace(1.0), None, X, Y, ridge=0.01),
    "SVR": lambda: learn.SVR(C=1e7, epsilon=0.0).fit(X[:300, :2], Z[:300, 0]),
}
REPEATS = 200  # so that no machine is done before it is interrupted


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_a_long_run_stops(run, monkeypatch):
    """The signal is answered in the middle of a run; three seconds leave room for a busy machine."""
    monkeypatch.setattr(smo, "has_compiler", lambda: False)  # nothing is compiled meanwhile
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs ignore it
    sent: list[float] = []

    def interrupt() -> None:
        sent.append(time.perf_counter())
        signal.pthread_kill(main, signal.SIGINT)

    main = threading.main_thread().ident
    assert main is not None
    timer = threading.Timer(0.4, interrupt)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            _ = [run() for _ in range(REPEATS)]
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, before)
    assert time.perf_counter() - sent[0] < 3.0
