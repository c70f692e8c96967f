#!/usr/bin/env python3
"""One update of contrastive divergence in PyTorch, timed in turns with grbm's own: `make torch-baseline`.

The samplers are those of docs/math.md, whose numbers are cited, written as one would for PyTorch: float32, whole
batches, all cores, no autograd. Each has several forms:
  as written      each formula computes the products that it names, so that K inner steps call dE/dv(v, h) K times, and
                  dE/dlog_var takes W h; all samples are kept, and the gradient is their mean
  shared          products are made once and handed on: W h once for K inner steps, logits once for draws and energies;
                  the gradient's sums are taken as the chains run, W h is left out of them, and no sample is kept
  shared, closed  the same, with the K inner steps as one draw
"""
import argparse
import json
import math
import os
import re
import statistics
import subprocess
import sys
import time

import torch
from torch.nn import functional

STEP_SIZE = 0.04  # these five are grbm's defaults, and what `grbm bench` takes
INNER_STEPS = 10
CLIP_NORM = 10.0
LEARNING_RATE = 1e-4
INITIAL_VARIANCE = 1.0


def cosine(k, count):
    """(25)"""
    return 0.5 * (1 + math.cos(math.pi * k / count))


class Model:
    def __init__(self, W, b, mu, log_var):
        self.W, self.b, self.mu, self.log_var = W, b, mu, log_var
        self.refresh()

    @classmethod
    def initial(cls, visible, hidden):
        """(30)"""
        W = torch.randn(visible, hidden) * math.sqrt(INITIAL_VARIANCE / (visible + hidden))
        return cls(W, torch.zeros(hidden), torch.zeros(visible), torch.full((visible,), math.log(INITIAL_VARIANCE)))

    def parameters(self):
        return self.W, self.b, self.mu, self.log_var

    def refresh(self):
        """To be called when the parameters have changed."""
        self.var = self.log_var.exp()
        self.sigma = self.var.sqrt()

    def logits(self, v):
        """(4)"""
        return torch.addmm(self.b, v / self.var, self.W)

    def mean(self, h):
        """(3)"""
        return torch.addmm(self.mu, h, self.W.t())

    def quadratic(self, v):
        return ((v - self.mu) ** 2 / (2 * self.var)).sum(1)

    def energy(self, v, h):
        """(1)"""
        return self.quadratic(v) - (((v / self.var) @ self.W) * h).sum(1) - h @ self.b

    def energy_gradient(self, v, h):
        """(6); with p(h | v) for h it is (7)."""
        return (v - self.mu - h @ self.W.t()) / self.var

    def parameter_gradients(self, v, h):
        """(9), the means over the states: of dE/dW, dE/db, dE/dmu and dE/dlog_var"""
        d = v - self.mu
        return (-(v / self.var).t() @ h / len(v), -h.mean(0), -(d / self.var).mean(0),
                ((v * (h @ self.W.t()) - d**2 / 2) / self.var).mean(0))

    def marginal_energy(self, v):
        """(5)"""
        return self.quadratic(v) - functional.softplus(self.logits(v)).sum(1)


def log_hidden(x, h):
    """log p(h | v), of logits x (21)"""
    return (h * x).sum(1) - functional.softplus(x).sum(1)


def log_normal(v, mean, noise):
    """log N(v; mean, noise^2) up to what does not depend on v and mean"""
    return -(((v - mean) / noise) ** 2).sum(1) / 2


class Gibbs:
    """(14)"""
    def __init__(self, model, form):
        self.model, self.form = model, form

    def start(self, v):
        return v, torch.bernoulli(torch.sigmoid(self.model.logits(v)))

    def step(self, state, t, steps):
        _, h = state
        v = self.model.mean(h)
        v.addcmul_(self.model.sigma, torch.randn_like(v))
        return self.start(v)

    @staticmethod
    def sample(state):
        """What the gradient's sums are taken over: v and h, or p(h | v)."""
        return state[0], state[1]


class GibbsLangevin(Gibbs):
    """(16), (17)"""
    def __init__(self, model, form, inner=INNER_STEPS, step_size=STEP_SIZE):
        super().__init__(model, form)
        alpha = step_size * float(model.var.mean())  # (26)
        self.alphas = [alpha * cosine(k, inner) for k in range(inner)]
        self.keep = torch.ones_like(model.var)
        variance = torch.zeros_like(model.var)
        for a in reversed(self.alphas):
            variance += 2 * a * self.keep**2
            self.keep = self.keep * (1 - a / model.var)
        self.noise = variance.sqrt()

    def move(self, v, h, mean=None):
        if self.form == "as written":
            for a in self.alphas:
                v = v - a * self.model.energy_gradient(v, h) + math.sqrt(2 * a) * torch.randn_like(v)
            return v
        mean = self.model.mean(h) if mean is None else mean
        if self.form == "shared":
            v = v.clone()
            for a in self.alphas:
                v.sub_((v - mean).mul_(a / self.model.var)).add_(torch.randn_like(v), alpha=math.sqrt(2 * a))
            return v
        return self.composed(v, mean).addcmul_(self.noise, torch.randn_like(v))

    def composed(self, v, mean):
        """The mean of the K inner steps."""
        return torch.addcmul(mean, self.keep, v - mean)

    def step(self, state, t, steps):
        return self.start(self.move(*state))


class AdjustedGibbsLangevin(GibbsLangevin):
    """(20). A state is v and h and, where they are shared, their logits and the mean mu + W h."""
    def start(self, v):
        x = self.model.logits(v)
        h = torch.bernoulli(torch.sigmoid(x))
        return (v, h) if self.form == "as written" else (v, h, x, self.model.mean(h))

    def log_ratio(self, old, new):
        model = self.model
        if self.form == "as written":
            (v, h), (w, g) = old, new
            return (model.energy(v, h) - model.energy(w, g)
                    + log_normal(v, self.composed(w, model.mean(g)), self.noise)
                    - log_normal(w, self.composed(v, model.mean(h)), self.noise)
                    + log_hidden(model.logits(v), h) - log_hidden(model.logits(w), g))
        (v, h, x, m), (w, g, y, n) = old, new  # E + log p(h | v) is the marginal energy (21)
        return (model.quadratic(v) - functional.softplus(x).sum(1) - model.quadratic(w) + functional.softplus(y).sum(1)
                + log_normal(v, self.composed(w, n), self.noise) - log_normal(w, self.composed(v, m), self.noise))

    def step(self, state, t, steps):
        if self.form == "as written":
            proposal = self.start(self.move(*state))
        else:
            proposal = self.start(self.move(state[0], state[1], state[3]))
        return accept(self.log_ratio(state, proposal), state, proposal)


def accept(log_ratio, state, proposal):
    """Puts the rejected rows of the proposal back."""
    rejected = torch.rand_like(log_ratio).log() >= log_ratio
    for now, new in zip(state, proposal):
        new[rejected] = now[rejected]
    return proposal


class Langevin:
    """(23). A state is v and p(h | v)."""
    def __init__(self, model, form, step_size=STEP_SIZE):
        self.model, self.form = model, form
        self.alpha = step_size * float(model.var.mean())

    def start(self, v):
        return v, torch.sigmoid(self.model.logits(v))

    def step(self, state, t, steps):
        v, p = state
        a = self.alpha * cosine(t, steps)
        return self.start(v - a * self.model.energy_gradient(v, p) + math.sqrt(2 * a) * torch.randn_like(v))

    @staticmethod
    def sample(state):
        return state[0], state[1]


class AdjustedLangevin(Langevin):
    """(24). A state is v and p(h | v) and, where they are shared, dE/dv and the marginal energy."""
    def start(self, v):
        x = self.model.logits(v)
        p = torch.sigmoid(x)
        if self.form == "as written":
            return v, p
        return v, p, self.model.energy_gradient(v, p), self.model.quadratic(v) - functional.softplus(x).sum(1)

    def log_ratio(self, old, new, a):
        if self.form == "as written":
            old, new = ((v, p, self.model.energy_gradient(v, p), self.model.marginal_energy(v)) for v, p in (old, new))
        (v, _, v_gradient, v_energy), (w, _, w_gradient, w_energy) = old, new
        noise = math.sqrt(2 * a)
        return (v_energy - w_energy + log_normal(v, w - a * w_gradient, noise)
                - log_normal(w, v - a * v_gradient, noise))

    def step(self, state, t, steps):
        a = self.alpha * cosine(t, steps)
        v, p = self.sample(state)
        gradient = self.model.energy_gradient(v, p) if self.form == "as written" else state[2]
        proposal = self.start(v - a * gradient + math.sqrt(2 * a) * torch.randn_like(v))
        return accept(self.log_ratio(state, proposal, a), state, proposal)


class Sums:
    """The sums over states that will do for the gradients of the energy (9)."""
    def __init__(self, model):
        self.model = model
        self.outer, self.hidden, self.offset, self.square = (torch.zeros_like(p) for p in model.parameters())
        self.count = 0

    def add(self, v, h):
        d = v - self.model.mu
        self.outer.addmm_(v.t(), h)
        self.hidden += h.sum(0)
        self.offset += d.sum(0)
        self.square += (d * d).sum(0)
        self.count += len(v)

    def gradients(self):
        """What Model.parameter_gradients is of all states."""
        model, n = self.model, self.count
        interaction = (model.W * self.outer).sum(1)
        return (-self.outer / model.var[:, None] / n, -self.hidden / n, -self.offset / model.var / n,
                (interaction - self.square / 2) / model.var / n)


def samples(sampler, v, steps):
    """Chains from v, step by step."""
    state = sampler.start(v)
    for t in range(steps):
        state = sampler.step(state, t, steps)
        yield sampler.sample(state)


def mean_gradients(model, form, states):
    """Of pairs of v and h."""
    if form == "as written":
        return model.parameter_gradients(*(torch.cat(parts) for parts in zip(*states)))
    sums = Sums(model)
    for v, h in states:
        sums.add(v, h)
    return sums.gradients()


@torch.no_grad()
def gradient(model, sampler, data, steps):
    """(31): chains from noise, every step of them counted."""
    on_data = [sampler.sample(sampler.start(data))]
    positive = mean_gradients(model, sampler.form, on_data)
    negative = mean_gradients(model, sampler.form, samples(sampler, torch.randn_like(data), steps))
    return [p - n for p, n in zip(positive, negative)]


@torch.no_grad()
def update(model, sampler, data, steps):
    gradients = gradient(model, sampler, data, steps)
    norm = math.sqrt(sum(float((g * g).sum()) for g in gradients))
    for parameter, g in zip(model.parameters(), gradients):
        parameter.sub_(g, alpha=LEARNING_RATE * min(1.0, CLIP_NORM / norm))  # (32), (33)
    model.refresh()


# grbm's name of the sampler, what makes it, its forms, and the ratio that is wanted to the first of them.
SAMPLERS = [
    ("gibbs", Gibbs, ["as written", "shared"], 4.5),
    ("gibbs-langevin", GibbsLangevin, ["as written", "shared", "shared, closed"], 10),
    ("gibbs-langevin, metropolis", AdjustedGibbsLangevin, ["as written", "shared", "shared, closed"], 15),
    ("langevin", Langevin, ["as written", "shared"], None),
    ("langevin, metropolis", AdjustedLangevin, ["as written", "shared"], None),
]
CASES = [(name, form, lambda model, make=make, form=form: make(model, form), wanted if form == forms[0] else None)
         for name, make, forms, wanted in SAMPLERS for form in forms]


def blas_in_use():
    """The BLAS that this process has loaded."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
        paths = {line.split()[-1] for line in maps if re.search(r"/lib(openblas|blis|blas|mkl)\S*\.so", line)}
    named = sorted(path for path in paths if not path.endswith("/libblas.so.3"))
    return ", ".join(os.path.basename(path) for path in named or sorted(paths)) or "of its own"


def time_torch(make, a):
    torch.manual_seed(1)
    model = Model.initial(a.visible, a.hidden)
    data = torch.randn(a.batch, a.visible)
    update(model, make(model), data, 2)  # warm
    start = time.perf_counter()
    update(model, make(model), data, a.steps)
    return time.perf_counter() - start


def time_grbm(name, a):
    shape = f"{a.visible}x{a.hidden}x{a.batch}x{a.steps}"
    command = [a.grbm, "bench", "--shape", shape, "--sampler", name, "--seconds", "0", "--no-scaling", "--threads",
               str(a.threads), "--json"]
    out = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
    return json.loads(out)["cases"][0]["seconds"]


def main():
    parser = argparse.ArgumentParser(description="Times one update in PyTorch in turns with grbm's own.")
    parser.add_argument("--visible", type=int, default=784)
    parser.add_argument("--hidden", type=int, default=4096)
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--steps", type=int, default=100, help="steps of the chains per update")
    parser.add_argument("--repeat", type=int, default=3, help="turns; the median counts")
    parser.add_argument("--sampler", action="append", help="only this sampler, by grbm's name; may be repeated")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--grbm", default="build/grbm", help="the program to compare with")
    parser.add_argument("--json", action="store_true")
    a = parser.parse_args()
    torch.set_num_threads(a.threads)

    cases = [case for case in CASES if not a.sampler or case[0] in a.sampler]
    if not cases:
        parser.error(f"--sampler {a.sampler}: allowed are: {'; '.join(sorted({case[0] for case in CASES}))}")
    results = []
    if not a.json:
        print(f"PyTorch {torch.__version__}, {torch.get_num_threads()} threads, BLAS {blas_in_use()}; "
              f"{a.visible}x{a.hidden}, batch {a.batch}, {a.steps} steps, median of {a.repeat}\n")
        print(f"{'sampler':28} {'PyTorch form':15} {'PyTorch s':>10} {'grbm s':>8} {'ratio':>6} {'wanted':>6}",
              flush=True)
    for name, form, make, wanted in cases:
        turns = [(time_torch(make, a), time_grbm(name, a)) for _ in range(a.repeat)]
        torch_seconds, grbm_seconds = (statistics.median(times) for times in zip(*turns))
        ratio = statistics.median(t / g for t, g in turns)
        results.append({"sampler": name, "form": form, "torch_seconds": torch_seconds, "grbm_seconds": grbm_seconds,
                        "ratio": ratio, "wanted": wanted})
        if not a.json:
            print(f"{name:28} {form:15} {torch_seconds:10.2f} {grbm_seconds:8.2f} {ratio:6.1f} {wanted or '':>6}",
                  flush=True)
    if a.json:
        print(json.dumps({"torch": torch.__version__, "blas": blas_in_use(), "threads": torch.get_num_threads(),
                          "visible": a.visible, "hidden": a.hidden, "batch": a.batch, "steps": a.steps,
                          "repeat": a.repeat, "cases": results}, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
