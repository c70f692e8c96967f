#!/usr/bin/python3
"""What the program gets of the classifier computes what PyTorch trained. Skipped (exit status 77) where it is missing."""
import pathlib
import sys
import unittest

try:
    import torch
except ImportError:
    print("PyTorch is not installed: `make classifier` installs it")
    sys.exit(77)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import train_classifier as tool  # noqa: E402


class Folded(unittest.TestCase):
    def test_normalisation_is_folded_into_the_convolutions(self):
        torch.manual_seed(1)
        model = tool.Classifier()
        images = torch.rand(64, 1, 28, 28)
        for _ in range(3):  # other means, variances and scales than those of the start
            model(images)
        with torch.no_grad():
            for norm in model.norms.values():
                norm.weight.uniform_(0.5, 2)
                norm.bias.normal_()
        model.eval()
        with torch.no_grad():
            expected = model(images)
        weights = {name: torch.from_numpy(array) for name, array in model.folded().items()}
        x = images
        for name, _, _, window in tool.LAYERS:
            x = torch.relu(torch.conv2d(x, weights[f"{name}.weight"], weights[f"{name}.bias"], padding=window // 2))
            if name in tool.POOLED:
                x = torch.max_pool2d(x, 2)
        logits = x.mean((2, 3)) @ weights["dense.weight"].T + weights["dense.bias"]
        self.assertLess(float((logits - expected).abs().max()), 1e-4 * float(expected.abs().max()))

    def test_shifts_move_whole_images(self):
        torch.manual_seed(2)
        images = torch.zeros(3, 1, 28, 28)
        images[:, 0, 13, 13] = 1
        places = {tuple(tool.shifted(images)[0, 0].nonzero()[0].tolist()) for _ in range(300)}
        self.assertEqual(places, {(y, x) for y in range(11, 16) for x in range(11, 16)})


if __name__ == "__main__":
    unittest.main()
