"""The baseline computes what grbm computes: its rules of acceptance against naive densities, its gradient against
autograd, its exact samplers against the exact law. Skipped (exit status 77) where PyTorch is not installed."""
import itertools
import math
import os
import sys
import unittest

try:
    import torch
except ImportError:
    print("PyTorch is not installed: `make torch-baseline` installs it")
    sys.exit(77)

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import torch_baseline as baseline  # noqa: E402

FORMS = ["as written", "shared", "shared, closed"]


def small_model(visible=3, hidden=4):
    torch.manual_seed(2)
    return baseline.Model(torch.randn(visible, hidden), torch.randn(hidden), torch.randn(visible),
                          0.3 * torch.randn(visible))


# Log-densities by loops over units: an opinion of their own.
def energy(model, v, h):
    W, b, mu, var = model.W.tolist(), model.b.tolist(), model.mu.tolist(), model.log_var.exp().tolist()
    total = sum((v[i] - mu[i]) ** 2 / (2 * var[i]) for i in range(len(v)))
    total -= sum(v[i] * W[i][j] * h[j] / var[i] for i in range(len(v)) for j in range(len(h)))
    return total - sum(b[j] * h[j] for j in range(len(h)))


def log_p_hidden(model, v, h):
    """By normalising over all hidden states."""
    states = list(itertools.product([0, 1], repeat=len(h)))
    return -energy(model, v, h) - math.log(sum(math.exp(-energy(model, v, s)) for s in states))


def marginal(model, v):
    states = itertools.product([0, 1], repeat=len(model.b))
    return -math.log(sum(math.exp(-energy(model, v, s)) for s in states))


def log_density(x, mean, var):
    return -0.5 * (x - mean) ** 2 / var - 0.5 * math.log(2 * math.pi * var)


def log_q_inner(model, v, h, w, step_size, inner):
    """log q(w | v, h): the mean and variance of K inner steps, step by step."""
    var, alpha, total = model.var.tolist(), step_size * float(model.var.mean()), 0
    for i, target in enumerate(w):
        m = float(model.mu[i]) + sum(float(model.W[i, j]) * h[j] for j in range(len(h)))
        mean, variance = v[i], 0.0
        for k in range(inner):
            a = alpha * 0.5 * (1 + math.cos(math.pi * k / inner))
            mean -= a * (mean - m) / var[i]
            variance = (1 - a / var[i]) ** 2 * variance + 2 * a
        total += log_density(target, mean, variance)
    return total


class TorchBaseline(unittest.TestCase):
    def setUp(self):
        torch.set_num_threads(1)
        torch.set_default_dtype(torch.float64)
        self.model = small_model()

    def test_joint_rule_is_the_ratio_of_densities(self):
        for form in FORMS:
            sampler = baseline.AdjustedGibbsLangevin(self.model, form, step_size=0.3)
            old = sampler.start(torch.randn(20, 3))
            new = sampler.start(sampler.move(*old[:2]))
            ratio = sampler.log_ratio(old, new)
            for r in range(20):
                (v, h), (w, g) = ([part[r].tolist() for part in state[:2]] for state in (old, new))
                naive = (energy(self.model, v, h) - energy(self.model, w, g)
                         + log_q_inner(self.model, w, g, v, 0.3, 10) - log_q_inner(self.model, v, h, w, 0.3, 10)
                         + log_p_hidden(self.model, v, h) - log_p_hidden(self.model, w, g))
                self.assertAlmostEqual(float(ratio[r]), naive, delta=1e-9 * (1 + abs(naive)), msg=form)

    def test_marginal_rule_is_the_ratio_of_densities(self):
        a = 0.1
        for form in ["as written", "shared"]:
            sampler = baseline.AdjustedLangevin(self.model, form)
            old, new = sampler.start(torch.randn(20, 3)), sampler.start(torch.randn(20, 3))
            ratio = sampler.log_ratio(old, new, a)

            def log_q(v, w):  # with the gradient of the marginal energy by differences
                total = 0
                for i in range(3):
                    up, down = ([x + (d if k == i else 0) for k, x in enumerate(v)] for d in (1e-5, -1e-5))
                    slope = (marginal(self.model, up) - marginal(self.model, down)) / 2e-5
                    total += log_density(w[i], v[i] - a * slope, 2 * a)
                return total
            for r in range(20):
                v, w = old[0][r].tolist(), new[0][r].tolist()
                naive = marginal(self.model, v) - marginal(self.model, w) + log_q(w, v) - log_q(v, w)
                self.assertAlmostEqual(float(ratio[r]), naive, delta=1e-6 * (1 + abs(naive)), msg=form)

    def test_forms_of_the_inner_steps_draw_from_one_law(self):
        n = 50000
        v, h = torch.tensor([1.0, -2.0, 0.5]).expand(n, 3), torch.tensor([1.0, 0.0, 1.0, 1.0]).expand(n, 4)
        for form in FORMS:
            sampler = baseline.GibbsLangevin(self.model, form, step_size=0.3)
            drawn = sampler.move(v, h)
            mean, noise = sampler.composed(v[:1], self.model.mean(h[:1]))[0], sampler.noise
            # Six means and variances in three forms within 6 standard errors: wrongly red with probability 4e-8.
            for i in range(3):
                z = float((drawn[:, i].mean() - mean[i]) / noise[i]) * math.sqrt(n)
                self.assertLess(abs(z), 6, form)
                z = (float(drawn[:, i].var() / noise[i] ** 2) - 1) * math.sqrt(n / 2)
                self.assertLess(abs(z), 6, form)

    def test_gradient_is_that_of_autograd(self):
        v, h = torch.randn(50, 3), torch.bernoulli(torch.full((50, 4), 0.5))
        sums = baseline.Sums(self.model)
        sums.add(v[:20], h[:20])
        sums.add(v[20:], h[20:])
        leaves = [p.clone().requires_grad_() for p in self.model.parameters()]
        baseline.Model(*leaves).energy(v, h).mean().backward()
        for ours, leaf in zip(sums.gradients(), leaves):
            torch.testing.assert_close(ours, leaf.grad, rtol=1e-10, atol=1e-10)

    def test_kept_samples_and_sums_give_one_gradient(self):
        data = torch.randn(30, 3)
        both = []
        for form in ["as written", "shared"]:
            torch.manual_seed(5)
            both.append(baseline.gradient(self.model, baseline.Gibbs(self.model, form), data, 4))
        for kept, summed in zip(*both):
            torch.testing.assert_close(kept, summed, rtol=1e-10, atol=1e-10)

    def test_exact_samplers_keep_the_exact_law(self):
        # Exact draws: h by enumeration (12), v given h; then three steps. Ten moments of each of six samplers within 6
        # standard errors: wrongly red with probability 1e-7.
        n = 50000
        states = torch.tensor(list(itertools.product([0.0, 1.0], repeat=4)))
        m = self.model.mean(states)
        log_weight = states @ self.model.b + ((m**2 - self.model.mu**2) / (2 * self.model.var)).sum(1)
        p = torch.softmax(log_weight, 0)
        samplers = [baseline.Gibbs(self.model, "shared")]
        samplers += [baseline.AdjustedGibbsLangevin(self.model, form, step_size=0.2) for form in FORMS]
        samplers += [baseline.AdjustedLangevin(self.model, form, step_size=0.2) for form in FORMS[:2]]
        for sampler in samplers:
            h = states[torch.multinomial(p, n, replacement=True)]
            v = self.model.mean(h) + self.model.sigma * torch.randn(n, 3)
            state = sampler.start(v)
            for _ in range(3):
                state = sampler.step(state, 0, 10)
            moved = float((state[0] != v).double().mean())
            self.assertGreater(moved, 0.2)
            v, h = sampler.sample(state)
            for value, exact in [(v, p @ m), (v**2, p @ (m**2) + self.model.var), (h, p @ states)]:
                z = (value.mean(0) - exact) / value.std(0) * math.sqrt(n)
                self.assertLess(float(z.abs().max()), 6, f"{type(sampler).__name__} {getattr(sampler, 'form', '')}")


if __name__ == "__main__":
    unittest.main()
