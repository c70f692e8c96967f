#!/usr/bin/python3
"""Trains the classifier by which `grbm evaluate --metrics classes` judges samples: a small convolutional network.

    train_classifier.py FOLDER OUT.safetensors [--epochs 8] [--seed 1]

FOLDER holds the four IDX files of MNIST, as `grbm data get mnist` leaves them. Needs PyTorch. Batch normalisation is folded
into the convolutions; src/evaluate/classifier.cc has the same layers. Prints the error on the test set, which training
never sees, and keeps it in the file.
"""
import argparse
import gzip
import pathlib
import sys
import time

import numpy
import torch
from torch import nn

from convert_inception import write_safetensors

# Name, channels in and out, window; a pool of 2 × 2 after those named in POOLED.
LAYERS = [("conv1", 1, 16, 5), ("conv2", 16, 32, 3), ("conv3", 32, 32, 3), ("conv4", 32, 64, 3), ("conv5", 64, 64, 3)]
POOLED = {"conv1", "conv3"}
CLASSES = 10


def read_idx(folder, name):
    path = folder / name
    data = path.read_bytes() if path.exists() else gzip.decompress((folder / f"{name}.gz").read_bytes())
    dimensions = data[3]
    shape = [int.from_bytes(data[4 + 4 * k:8 + 4 * k], "big") for k in range(dimensions)]
    return numpy.frombuffer(data, numpy.uint8, offset=4 + 4 * dimensions).reshape(shape)


def read_part(folder, part):
    images = torch.from_numpy(read_idx(folder, f"{part}-images-idx3-ubyte").astype(numpy.float32) / 255)[:, None]
    return images, torch.from_numpy(read_idx(folder, f"{part}-labels-idx1-ubyte").astype(numpy.int64))


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.convolutions = nn.ModuleDict(
            {name: nn.Conv2d(inputs, outputs, window, padding=window // 2, bias=False) for name, inputs, outputs, window in LAYERS})
        self.norms = nn.ModuleDict({name: nn.BatchNorm2d(outputs) for name, _, outputs, _ in LAYERS})
        self.dense = nn.Linear(LAYERS[-1][2], CLASSES)

    def forward(self, x):
        for name, *_ in LAYERS:
            x = torch.relu(self.norms[name](self.convolutions[name](x)))
            if name in POOLED:
                x = nn.functional.max_pool2d(x, 2)
        return self.dense(x.mean((2, 3)))

    def folded(self):
        """Tensors as the program reads them."""
        tensors = {}
        for name, *_ in LAYERS:
            norm = self.norms[name]
            scale = norm.weight.double() / torch.sqrt(norm.running_var.double() + norm.eps)
            weight = self.convolutions[name].weight.double() * scale[:, None, None, None]
            tensors[f"{name}.weight"], tensors[f"{name}.bias"] = weight, norm.bias.double() - norm.running_mean.double() * scale
        tensors["dense.weight"], tensors["dense.bias"] = self.dense.weight, self.dense.bias
        return {name: tensor.detach().numpy().astype("<f4") for name, tensor in tensors.items()}


def shifted(images):
    """Each batch moved by up to two pixels: writers do not centre as the data set does."""
    dx, dy = (int(torch.randint(-2, 3, ())) for _ in range(2))
    return nn.functional.pad(images, (2 + dx, 2 - dx, 2 + dy, 2 - dy))[..., 2:-2, 2:-2]


def errors(model, images, labels):
    model.eval()
    with torch.no_grad():
        wrong = sum(int((model(images[k:k + 1000]).argmax(1) != labels[k:k + 1000]).sum()) for k in range(0, len(images), 1000))
    model.train()
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("folder", type=pathlib.Path, help="of the IDX files")
    parser.add_argument("out", help="the safetensors file to write")
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--batch", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    try:
        images, labels = read_part(options.folder, "train")
        test_images, test_labels = read_part(options.folder, "t10k")
    except (OSError, ValueError, IndexError) as error:
        sys.exit(f"train_classifier: {options.folder}: {error}; grbm data get mnist fetches them")
    model = Classifier()
    steps = options.epochs * (len(images) // options.batch)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.003)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.003, total_steps=steps)
    start = time.monotonic()
    for epoch in range(options.epochs):
        order = torch.randperm(len(images))
        for k in range(0, len(images) - options.batch + 1, options.batch):
            rows = order[k:k + options.batch]
            loss = nn.functional.cross_entropy(model(shifted(images[rows])), labels[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
        wrong = errors(model, test_images, test_labels)
        print(f"epoch {epoch + 1}: {wrong / len(test_images):.2%} of the test set wrong, {time.monotonic() - start:.0f} s", flush=True)
    write_safetensors(options.out, model.folded(), {"network": "classifier", "data": "mnist", "test_error": f"{wrong / len(test_images):.4f}",
                                                    "seed": str(options.seed), "epochs": str(options.epochs)})
    print(f"{options.out}: {pathlib.Path(options.out).stat().st_size} bytes")


if __name__ == "__main__":
    main()
