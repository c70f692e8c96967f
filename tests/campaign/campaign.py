"""What the campaign's scripts share: runs to be disturbed, the look at a folder afterwards, limits and reports."""

import argparse
import json
import os
import pathlib
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time

# Small enough that a run takes a fraction of a second, and full of writes: a checkpoint every few updates, pictures,
# evaluation. Together they have persistent chains, chains from data and from noise that cool, momentum and Adam, points
# and images.
SMALL = ["train", "gmm-iso", "--quiet", "--threads", "1", "--set", "data.subset=200", "--set", "train.batch_size=50", "--set", "model.hidden=4",
         "--set", "sampler.steps=4", "--set", "checkpoint.every_seconds=0", "--set", "checkpoint.pictures=6", "--set",
         "evaluate.samples=20"]
SCENARIOS = {
    "pcd": ["--set", "train.algorithm=pcd", "--set", "train.start_temperature=1", "--set", "train.burn_in=1", "--set",
            "train.momentum=0.5", "--set", "evaluate.every_steps=7"],
    "adam": ["--set", "train.optimizer=adam", "--set", "train.start_temperature=20", "--set", "train.burn_in=2", "--set",
             "evaluate.every_steps=5"],
    "images": ["--set", "data.source=strokes", "--set", "train.algorithm=cd", "--set", "train.start_temperature=1", "--set",
               "train.burn_in=0", "--set", "train.optimizer=adam", "--set", "evaluate.every_steps=9", "--set",
               "train.log_every=2"],
    "noise": ["--set", "sampler.method=gibbs", "--set", "sampler.adjust=none", "--set", "train.algorithm=pcd", "--set",
              "train.start_temperature=1", "--set", "train.burn_in=0", "--set", "train.optimizer=adam", "--set",
              "train.hidden=probability", "--set", "train.visible=mean", "--set", "train.unit_scale=data", "--set",
              "train.centred=true", "--set", "data.noise=1", "--set", "generate.steps=9"],
}


# They name whoever held them last.
LOCKS = ("run.lock", "lock", ".mnist.lock")
# What the settings do not decide: when a run was at work.
TIMES = "times.jsonl"


def settings(updates, every):
    return ["--set", f"train.epochs={updates / 4}", "--set", f"checkpoint.every_steps={every}"]


class Lost(Exception):
    """Something was lost, broken or wrong: what and where."""


def safetensors_metadata(path):
    """The metadata of a whole file; anything else is a loss."""
    data = path.read_bytes()
    try:
        size = struct.unpack("<Q", data[:8])[0]
        header = json.loads(data[8:8 + size])
        end = max(tensor["data_offsets"][1] for name, tensor in header.items() if name != "__metadata__")
        if len(data) != 8 + size + end:
            raise ValueError(f"{len(data)} bytes, not {8 + size + end}")
        return header["__metadata__"]
    except (struct.error, ValueError, KeyError) as error:
        raise Lost(f"{path} is broken: {error}") from error


def check_files(folder):
    """Every file of a run's folder is whole, whatever happened to the program that wrote it."""
    for path in sorted(folder.rglob("*")):
        if path.is_dir() or path.name.endswith(".tmp") or path.name in LOCKS:
            continue
        data = path.read_bytes()
        if path.suffix == ".safetensors":
            safetensors_metadata(path)
        elif path.suffix == ".json":
            try:
                json.loads(data)
            except ValueError as error:
                raise Lost(f"{path} is broken: {error}") from error
        elif path.suffix == ".png" and not (data.startswith(b"\x89PNG\r\n\x1a\n") and data.endswith(b"IEND\xaeB`\x82")):
            raise Lost(f"{path} is broken: {len(data)} bytes")
        elif path.suffix == ".jsonl":
            for line in data.split(b"\n")[:-1]:  # the last may be cut
                try:
                    json.loads(line)
                except ValueError as error:
                    raise Lost(f"{path} is broken: {error}: {line[:60]}") from error
        elif path.suffix in (".toml", ".txt") and not data.endswith(b"\n"):
            raise Lost(f"{path} is cut")


def contents(folder):
    """Everything in a folder that the settings decide; temporary and damaged files would show here."""
    files = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*")
             if path.is_file() and path.name not in (*LOCKS, TIMES)}
    if "manifest.json" in files:  # the threads of the first start are in it
        files["manifest.json"] = re.sub(rb'"threads": \d+', b"", files["manifest.json"])
    return files


def check_times(folder):
    """Every line of metrics has its time, and times only grow, whatever was lost between them."""
    if not (folder / TIMES).exists():
        return
    times = [json.loads(line) for line in (folder / TIMES).read_text().splitlines()]
    for name in ("update", "seconds"):
        values = [line[name] for line in times]
        if values != sorted(values):
            raise Lost(f"{folder / TIMES}: {name} goes back")
    missing = {json.loads(line)["update"] for line in (folder / "metrics.jsonl").read_text().splitlines()} - {
        line["update"] for line in times}
    if missing:
        raise Lost(f"{folder / TIMES}: no time of the updates {sorted(missing)}")


def compare(folder, reference):
    """The same files with the same bits."""
    check_times(folder)
    ours = contents(folder)
    if ours == reference:
        return
    differing = sorted(name for name in ours.keys() | reference.keys() if ours.get(name) != reference.get(name))
    raise Lost(f"{folder.name}: other than a run left alone: {', '.join(differing)}")


class Campaign:
    """Arguments, a folder to work in, the program with a fault, and the report at the end."""

    def __init__(self, description, arguments):
        parser = argparse.ArgumentParser(description=description)
        parser.add_argument("program", type=pathlib.Path, help="the program to be tried")
        parser.add_argument("interpose", type=pathlib.Path, help="the library of interpose.cc")
        parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after this time")
        parser.add_argument("--seed", type=int, default=1)
        parser.add_argument("--json", type=pathlib.Path, help="where to write what was tried and what was lost")
        for names, options in arguments:
            parser.add_argument(*names, **options)
        self.options = parser.parse_args()
        self.program = str(self.options.program.resolve())
        self.interpose = str(self.options.interpose.resolve())
        self.dice = random.Random(self.options.seed)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="grbm-campaign-"))
        self.log = self.folder / "calls.log"
        self.start = time.monotonic()
        self.tried = {}
        self.details = {}
        self.lost = []

    def time_is_up(self, share=1.0):
        return time.monotonic() - self.start > share * self.options.seconds

    def count(self, what, number=1):
        self.tried[what] = self.tried.get(what, 0) + number

    def environment(self, under, fault):
        self.log.unlink(missing_ok=True)
        environment = dict(os.environ, LD_PRELOAD=self.interpose, GRBM_FAULT_UNDER=str(under),
                           GRBM_FAULT_LOG=str(self.log))
        if fault:
            environment["GRBM_FAULT"] = fault
        return environment

    def run(self, arguments, under=None, fault=None, env=None, **options):
        """The program; with a fault where `under` is given."""
        environment = self.environment(under, fault) if under else dict(os.environ)
        return subprocess.run([self.program, *map(str, arguments)], capture_output=True, text=True, timeout=300,
                              env={**environment, **(env or {})}, **options)

    def calls(self):
        """What the last run with `under` did to files: (kind, path), in order. A line that a kill cut short is none."""
        if not self.log.exists():
            return []
        return [tuple(line.split(" ", 1)) for line in self.log.read_text().split("\n")[:-1]]

    def must_succeed(self, arguments, **options):
        result = self.run(arguments, **options)
        if result.returncode != 0 or result.stderr:
            raise Lost(f"grbm {' '.join(map(str, arguments))}: exit code {result.returncode}: {result.stderr.strip()}")
        return result

    def attempt(self, name, action, *arguments, **options):
        """Runs one case; what it lost is noted, and its folder kept."""
        try:
            action(*arguments, **options)
        except (Lost, subprocess.TimeoutExpired) as error:
            self.lost.append({"case": name, "what": str(error)})
            print(f"LOST in {name}: {error}", file=sys.stderr)

    def end(self):
        """The summary line, the report, and the exit code."""
        seconds = time.monotonic() - self.start
        if not self.lost:
            shutil.rmtree(self.folder)
        tried = ", ".join(f"{number} {what}" for what, number in self.tried.items())
        print(f"{pathlib.Path(sys.argv[0]).stem}: {tried}; lost: {len(self.lost) or 'nothing'} ({seconds:.0f} s, seed "
              f"{self.options.seed})" + (f"; see {self.folder}" if self.lost else ""))
        if self.options.json:
            report = {"name": pathlib.Path(sys.argv[0]).stem, "seed": self.options.seed, "seconds": round(seconds, 1),
                      "tried": self.tried, **self.details, "lost": self.lost}
            self.options.json.write_text(json.dumps(report, indent=1) + "\n")
        return 1 if self.lost else 0
