#!/usr/bin/python3
"""Digits from a variational autoencoder, for comparison: 784-400-20 and back, as in Kingma and Welling, in PyTorch.

    vae_baseline.py FOLDER OUT.npy [--minutes 10] [--threads 2] [--samples 10000] [--seed 1]

FOLDER holds the four IDX files of MNIST, as `grbm data get mnist` leaves them. Trains for so many minutes, then writes the
decoder's means at points of the prior, as bytes: `grbm evaluate --given OUT.npy --data mnist` judges them like samples of
grbm's own.
"""
import argparse
import pathlib
import sys
import time

import numpy
import torch
from torch import nn
from torch.nn import functional

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "python" / "tools"))
from train_classifier import read_part  # noqa: E402

BATCH = 100
LEARNING_RATE = 1e-3


class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode = nn.Sequential(nn.Linear(784, 400), nn.ReLU(), nn.Linear(400, 2 * 20))
        self.decode = nn.Sequential(nn.Linear(20, 400), nn.ReLU(), nn.Linear(400, 784))

    def loss(self, x):
        """The negative lower bound, in nats a row."""
        mean, log_variance = self.encode(x).chunk(2, dim=1)
        z = mean + (0.5 * log_variance).exp() * torch.randn_like(mean)
        missed = functional.binary_cross_entropy_with_logits(self.decode(z), x, reduction="sum")
        divergence = -0.5 * (1 + log_variance - mean ** 2 - log_variance.exp()).sum()
        return (missed + divergence) / len(x)

    def samples(self, count):
        with torch.no_grad():
            return torch.sigmoid(self.decode(torch.randn(count, 20)))


def train(model, images, seconds):
    """By Adam. Returns the number of epochs, of which the last may be part of one."""
    optimizer = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE)
    start = time.monotonic()
    updates = 0
    while time.monotonic() - start < seconds:
        for rows in torch.randperm(len(images)).split(BATCH):
            loss = model.loss(images[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            updates += 1
            if time.monotonic() - start >= seconds:
                break
    return updates * BATCH / len(images)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("folder", type=pathlib.Path, help="of the IDX files")
    parser.add_argument("out", type=pathlib.Path, help="the .npy file to write")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--samples", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    torch.set_num_threads(options.threads)
    try:
        images = read_part(options.folder, "train")[0].flatten(1)
    except (OSError, ValueError, IndexError) as error:
        sys.exit(f"vae_baseline: {options.folder}: {error}; grbm data get mnist fetches them")
    model = Autoencoder()
    epochs = train(model, images, 60 * options.minutes)
    with torch.no_grad():
        bound = model.loss(images[:10000])
    rows = (model.samples(options.samples) * 255).round().to(torch.uint8).numpy()
    numpy.save(options.out, rows.reshape(-1, 28, 28))
    print(f"{epochs:.1f} epochs in {options.minutes} minutes on {options.threads} threads, negative bound {bound:.1f} nats: {options.out}")


if __name__ == "__main__":
    main()
