"""Ctrl-C, threads, memory: what a long life in a notebook asks for."""

import faulthandler
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import grbm


PATIENCE = 20  # seconds that a busy machine may take; what is stopped would take minutes


@pytest.fixture(autouse=True)
def watchdog():
    """What hears no signal would go on for hours: it ends the tests instead."""
    faulthandler.dump_traceback_later(8 * PATIENCE, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()


def interrupt():
    os.kill(os.getpid(), signal.SIGINT)


def interrupt_after(seconds):
    threading.Timer(seconds, interrupt).start()


def interrupt_after_updates(count):
    """A callback. The signal comes from another thread, at any moment after so many updates."""
    reached = threading.Event()
    threading.Thread(target=lambda: (reached.wait(), interrupt()), daemon=True).start()
    return lambda metrics: reached.set() if metrics["update"] == count else None


# One update of it takes longer than the tests wait.
SLOW = dict(n_hidden=512, steps=100_000, batch_size=100, epochs=1, random_state=1)


def test_ctrl_c_stops_a_fit_amid_an_update_and_leaves_a_model(X):
    rbm = grbm.GaussianBernoulliRBM(**SLOW)
    interrupt_after(1.5)
    start = time.monotonic()
    with pytest.warns(UserWarning, match="interrupted"):
        rbm.fit(X)
    assert time.monotonic() - start < PATIENCE
    assert rbm.n_updates_ == 0 and rbm.transform(X).shape == (400, 512)


def test_ctrl_c_between_updates_keeps_those_that_were_made(X):
    rbm = grbm.GaussianBernoulliRBM(n_hidden=64, steps=20, epochs=1e6, random_state=1, callbacks=[interrupt_after_updates(5)])
    with pytest.warns(UserWarning, match="interrupted"):
        rbm.fit(X)
    made = rbm.n_updates_
    assert made >= 5
    alone = grbm.GaussianBernoulliRBM(
        n_hidden=64, steps=20, epochs=1e6, random_state=1, callbacks=[lambda metrics: metrics["update"] == made]
    ).fit(X)
    assert alone.model_ == rbm.model_


def test_ctrl_c_stops_sampling_and_likelihoods():
    for call in (
        lambda: grbm.Model.initial(200, 200).sample(100, steps=100_000),
        lambda: grbm.log_partition(grbm.Model.initial(200, 200), temperatures=10**5),
        lambda: grbm.Model.initial(200, 200).sample(10, steps=100_000, step=grbm.Gibbs().hook(1)),
    ):
        interrupt_after(1)
        start = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            call()
        assert time.monotonic() - start < PATIENCE


def rolling(visible):
    """A model of which each row depends on the one before."""
    W, A, B = np.zeros((visible, 64)), np.zeros((visible, visible)), np.zeros((64, visible))
    return grbm.Model(W, np.zeros(64), np.zeros(visible), np.zeros(visible), A=A, B=B, history=1)


def labelled(classes):
    """A model of one value and many classes."""
    units = np.zeros(classes + 1)
    return grbm.Model(np.zeros((classes + 1, 200)), np.zeros(200), units, units, classes=[str(k) for k in range(classes)])


def test_ctrl_c_stops_what_is_no_chain():
    known = np.arange(50) < 25
    for call in (
        lambda: grbm.Model.initial(50, 50).inpaint(np.zeros((100, 50)), known, steps=10**7),
        lambda: grbm.log_partition(grbm.Model.initial(50_000, 20)),  # 2^20 states
        lambda: rolling(64).sample_given(np.zeros((100, 64)), steps=10**7),
        lambda: rolling(8).sample_series(np.zeros((1, 8)), frames=10**6),
        lambda: labelled(500).class_probabilities(np.zeros((50_000, 1))),
    ):
        interrupt_after(1)
        start = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            call()
        assert time.monotonic() - start < PATIENCE


def heard_within(call):
    """What share of call(times) was over when a signal that came early in it was heard: 1 where that had to wait for its end.
    It is called with as many times the rows as take long enough to tell, on any machine."""
    heard = []
    before = signal.signal(signal.SIGUSR1, lambda *_: heard.append(time.monotonic()))
    try:
        times, seconds = 1, 0
        while seconds < 0.4:
            start = time.monotonic()
            call(times)
            seconds = time.monotonic() - start
            times *= 2
        threading.Timer(0.05, lambda: os.kill(os.getpid(), signal.SIGUSR1)).start()
        start = time.monotonic()
        call(times)
        end = time.monotonic()
    finally:
        signal.signal(signal.SIGUSR1, before)
    return (heard[0] - start) / (end - start) if heard else 1


@pytest.mark.parametrize(
    "name", ["marginal_energy", "row_log_likelihoods", "frechet_distance", "kernel_distance", "quick_distance"]
)
def test_signals_are_heard_within(name):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(20_000, 100)).astype(np.float32)
    model = grbm.Model.initial(100, 5_000)
    wide = rng.normal(size=(3000, 900)).astype(np.float32)

    def many(x, times):
        return np.tile(x, (times, 1))

    calls = {
        "marginal_energy": lambda times: model.marginal_energy(many(rows, times), threads=1),
        "row_log_likelihoods": lambda times: grbm.row_log_likelihoods(model, many(rows, times), 0.0, threads=1),
        "frechet_distance": lambda times: grbm.frechet_distance(many(wide, times), many(wide[::-1], times)),
        "kernel_distance": lambda times: grbm.kernel_distance(many(rows, times), many(rows[::-1], times)),
        "quick_distance": lambda times: grbm.quick_distance(many(wide, times), many(wide[::-1], times), threads=1),
    }
    assert heard_within(calls[name]) < 0.9


DAEMON = """
import sys, threading, warnings
import numpy as np, grbm
X = np.random.default_rng(0).normal(size=(200, 5)).astype(np.float32)
begun = threading.Event()
class Slow(grbm.Gibbs):
    def step(self, model, v, h, rng):
        begun.set()
        return super().step(model, v, h, rng)
def with_a_callback():
    grbm.GaussianBernoulliRBM(n_hidden=8, steps=1, epochs=1e9, callbacks=[lambda metrics: begun.set()]).fit(X)
def with_a_step():
    grbm.GaussianBernoulliRBM(8, Slow(), steps=1000, epochs=1e9).fit(X)
def with_progress():
    while True:
        grbm.log_partition(grbm.Model.initial(30, 30), temperatures=100, progress=lambda *_: begun.set())
def without():
    begun.set()
    while True:
        grbm.Model.initial(5, 5).sample(10, steps=1)
threading.Thread(target=globals()[sys.argv[1]], daemon=True).start()
begun.wait()
"""


@pytest.mark.parametrize("what", ["with_a_callback", "with_a_step", "with_progress", "without"])
def test_the_interpreter_ends_while_a_daemon_thread_computes(what):
    for _ in range(3):
        result = subprocess.run([sys.executable, "-c", DAEMON, what], capture_output=True, text=True, timeout=120)
        assert result.returncode == 0 and not result.stderr, (result.returncode, result.stderr)


@pytest.mark.parametrize(
    "what",
    ["kept = grbm.Dataset(X)", "kept = [grbm.Dataset(X)]; kept.append(kept)", "import builtins; builtins.kept = grbm.Dataset(X)"],
)
def test_a_script_ends_that_still_has_data(what):
    script = f"import numpy as np, grbm\nX = np.ones((20, 3), np.float32)\n{what}"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert result.returncode == 0 and not result.stderr, (result.returncode, result.stderr)


def test_an_interpreter_beside_this_one_changes_nothing():
    pytest.importorskip("_xxsubinterpreters")
    script = """import numpy as np, grbm, _xxsubinterpreters as s
s.destroy(s.create())
X = np.random.default_rng(0).normal(size=(200, 5)).astype(np.float32)
grbm.GaussianBernoulliRBM(n_hidden=4, epochs=5, callbacks=[lambda metrics: None]).fit(X)
kept = grbm.Dataset(X)"""
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert result.returncode == 0 and not result.stderr, (result.returncode, result.stderr)


def test_ctrl_c_stops_a_run_in_a_folder_with_a_checkpoint(tmp_path):
    with pytest.warns(UserWarning, match="resume"):
        run = grbm.train(
            "gmm-iso", settings={"train.epochs": 1e6}, out=tmp_path / "run", progress=False, callbacks=[interrupt_after_updates(5)]
        )
    assert not run.finished and int(run.model.provenance["updates"]) >= 5


def test_two_threads_fit_at_once(X):
    alone = grbm.GaussianBernoulliRBM(n_hidden=64, steps=20, epochs=20, random_state=1).fit(X).model_
    models, others = [], []

    def fit():
        models.append(grbm.GaussianBernoulliRBM(n_hidden=64, steps=20, epochs=20, random_state=1).fit(X).model_)

    threads = [threading.Thread(target=fit) for _ in range(3)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        others.append(time.monotonic())  # the interpreter is free meanwhile
        time.sleep(0.001)
    assert len(models) == 3 and all(model == alone for model in models)
    assert len(others) > 5 and max(np.diff(others)) < PATIENCE


def test_the_gil_is_released_in_computation():
    model = grbm.Model.initial(300, 300)
    ticks = []
    stop = threading.Event()

    def tick():
        while not stop.wait(0.002):
            ticks.append(1)

    thread = threading.Thread(target=tick)
    thread.start()
    model.sample(200, steps=300)
    stop.set()
    thread.join()
    assert len(ticks) > 10


def in_a_process(code):
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout.split()


MEMORY = """
import numpy as np, grbm
def memory(name):
    lines = dict(line.split(":") for line in open("/proc/self/status") if ":" in line)
    return int(lines[name].split()[0]) / 1024
"""


def test_a_thousand_fits_hold_memory_steady():
    growth = in_a_process(MEMORY + """
rows = np.random.default_rng(0).normal(size=(200, 20)).astype(np.float32)
def fit():
    X = rows.copy()
    rbm = grbm.GaussianBernoulliRBM(n_hidden=30, steps=2, epochs=1, random_state=1).fit(X)
    rbm.transform(X), rbm.sample(3, steps=2), rbm.sample(3, steps=2, return_chain=True), rbm.reconstruct(X)
for _ in range(200):
    fit()
before = memory("VmRSS")
for _ in range(1000):
    fit()
print(memory("VmRSS") - before)
""")  # fmt: skip
    assert float(growth[0]) < 8  # MiB; one leaked copy of X per fit would be 15


def test_a_fit_takes_no_second_copy_of_the_data():
    growth, size = in_a_process(MEMORY + """
X = np.zeros((60000, 784), np.float32)
rng = np.random.default_rng(0)
for block in X.reshape(60, 1000, 784):
    block[:] = rng.random(block.shape, np.float32)
grbm.GaussianBernoulliRBM(n_hidden=64, steps=2, epochs=0.01).fit(X[:1000])
open("/proc/self/clear_refs", "w").write("5")  # the peak begins anew
before = memory("VmRSS")
rbm = grbm.GaussianBernoulliRBM(n_hidden=64, steps=2, epochs=0.02).fit(X)
rbm.transform(X[:30000])
print(memory("VmHWM") - before, X.nbytes / 2**20)
""")  # fmt: skip
    assert float(growth) < 0.25 * float(size), (growth, size)
