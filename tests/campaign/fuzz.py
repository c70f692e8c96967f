#!/usr/bin/python3
"""Random input for every reader, followed by coverage: fuzz.py [--executions N] [--seconds S] [--jobs J] ...

Builds the programs of fuzz/ with clang in build-fuzz and runs them in slices, as many at once as --jobs says, until all
have made their executions, --seconds are over or Ctrl-C ends it: what is not given does not end it, and where neither is,
1e8 executions do. What was done is kept in build-fuzz/fuzz.json and the corpora in build-fuzz/corpus: the next call goes on
from there. Every reader gets the same time, so slow ones make fewer executions. A finding stays in build-fuzz/findings; the exit code is then 1. Programs without sanitizers (--sanitizers "")
run several times as fast and are built beside the others; what they reach, the others start from.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
SEEDS = ROOT / "fuzz" / "corpus"
READERS = ["idx", "gzip", "npy", "npz", "csv", "png", "jpeg", "gif", "safetensors", "model", "checkpoint", "toml", "manifest",
           "metrics", "evaluation", "http"]
LIMITS = ["-max_len=4096", "-malloc_limit_mb=256", "-rss_limit_mb=2048", "-timeout=10", "-print_final_stats=1", "-verbosity=1"]
# Short stacks of allocations make a tenth more executions: a finding run again by hand has them whole.
ENVIRONMENT = {"ASAN_OPTIONS": "malloc_context_size=2:quarantine_size_mb=16", **os.environ}
KEPT = 200_000  # bytes of seeds a reader, after --minimise


def build(folder, sanitizers, jobs):
    """The programs, where something of them changed."""
    compiler = os.environ.get("FUZZ_CXX", "clang++")
    commands = [["cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", f"-DCMAKE_CXX_COMPILER={compiler}",
                 "-DCMAKE_BUILD_TYPE=None", "-DCMAKE_CXX_FLAGS=-O1 -gline-tables-only -DNDEBUG", "-DGRBM_FUZZ=ON",
                 "-DBUILD_TESTING=OFF", f"-DGRBM_FUZZ_SANITIZERS={sanitizers}"],
                ["cmake", "--build", folder, "-j", str(jobs), "--target", "fuzz_programs"]]
    for command in commands:
        if subprocess.run(list(map(str, command)), stdout=subprocess.DEVNULL if command[1] == "-S" else None).returncode:
            sys.exit("fuzz: the programs cannot be built")


class Record:
    """What was done, by reader; on disk after every slice."""

    def __init__(self, path):
        self.path = path
        self.lock = threading.Lock()
        self.readers = json.loads(path.read_text()) if path.exists() else {}

    def entry(self, name):
        empty = {"executions": 0, "sanitized": 0, "seconds": 0.0, "edges": 0, "features": 0, "findings": 0}
        return self.readers.setdefault(name, empty)

    def add(self, name, executions, sanitized, seconds, edges, features, findings):
        with self.lock:
            entry = self.entry(name)
            entry["executions"] += executions
            entry["sanitized"] += executions if sanitized else 0
            entry["seconds"] += seconds
            entry["edges"] = max(entry["edges"], edges)
            entry["features"] = max(entry["features"], features)
            entry["findings"] += findings
            temporary = self.path.with_suffix(".tmp")
            temporary.write_text(json.dumps(self.readers, indent=1))
            temporary.replace(self.path)

    def rate(self, name):
        entry = self.entry(name)
        return entry["executions"] / entry["seconds"] if entry["seconds"] > 0 else 0.0

    def recheck(self, name, programs, work):
        """Findings that are findings no more become seeds."""
        left = 0
        for path in sorted((work / "findings").glob(f"{name}-*")):
            command = [str(programs / f"{name}_fuzz"), *LIMITS, str(path)]
            if subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=ENVIRONMENT).returncode:
                left += 1
            else:
                (work / "corpus" / name).mkdir(parents=True, exist_ok=True)
                path.rename(work / "corpus" / name / path.name)
        self.entry(name)["findings"] = left

    def total(self):
        return sum(self.entry(name)["executions"] for name in READERS)


def run_slice(name, programs, work, record, sanitized, seconds, executions):
    """One program for so many seconds, or executions: whichever end first."""
    corpus, findings, seeds = work / "corpus" / name, work / "findings", SEEDS / name
    for folder in (corpus, findings):
        folder.mkdir(parents=True, exist_ok=True)
    before = set(findings.glob(f"{name}-*"))
    command = [programs / f"{name}_fuzz", *LIMITS, f"-artifact_prefix={findings / name}-", f"-max_total_time={seconds}",
               f"-runs={executions}", corpus, *([seeds] if seeds.exists() else [])]
    start = time.monotonic()
    result = subprocess.run(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                            errors="replace", env=ENVIRONMENT, preexec_fn=lambda: os.nice(19))
    elapsed = time.monotonic() - start
    found = set(findings.glob(f"{name}-*")) - before
    status = re.findall(r"cov: (\d+) ft: (\d+)", result.stderr)
    edges, features = map(int, status[-1]) if status else (0, 0)
    numbers = re.findall(r"^#(\d+)\t", result.stderr, re.M) + re.findall(r"number_of_executed_units: (\d+)", result.stderr)
    record.add(name, max(map(int, numbers), default=0), sanitized, elapsed, edges, features, len(found))
    if result.returncode != 0:
        summary = re.findall(r"^SUMMARY: .*|^==\d+== ?ERROR: .*", result.stderr, re.M)
        where = ", ".join(map(str, sorted(found))) or "(no file)"
        print(f"fuzz: {name}: {summary[-1] if summary else result.stderr[-500:]}: {where}", file=sys.stderr, flush=True)
        if not found:  # the program itself fails: it would do so for ever
            record.add(name, 0, sanitized, 0, 0, 0, 1)
            return False
    return True


def shares(record, names, executions):
    """How many executions each reader has to make: all take the same time."""
    rates = {name: record.rate(name) for name in names}
    total = sum(rates.values())
    return {name: int(executions * rates[name] / total) + 1 for name in names}


def fuzz(options, programs, work, record):
    deadline = time.monotonic() + options.seconds if options.seconds else float("inf")
    broken = set()
    # Short sessions reach every reader, too.
    length = min(options.slice, options.seconds * options.jobs / len(options.readers)) if options.seconds else options.slice

    def work_on(name, seconds, executions):
        left = deadline - time.monotonic()
        if left > 0 and not run_slice(name, programs, work, record, options.sanitizers != "", max(1, int(min(seconds, left))),
                                      executions):
            broken.add(name)

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        # Those of unknown speed first, for some seconds.
        fresh = [name for name in options.readers if record.rate(name) == 0]
        list(pool.map(lambda name: work_on(name, 10, -1), fresh))
        while time.monotonic() < deadline:
            names = [name for name in options.readers if name not in broken]
            wanted = shares(record, names, options.executions) if names else {}
            left = {name: wanted[name] - record.entry(name)["executions"] for name in names}
            slices = [name for name in names if left[name] > 0]
            if not slices or record.total() >= options.executions:
                break
            list(pool.map(lambda name: work_on(name, length, left[name]), slices))
            if not options.quiet:
                print(f"fuzz: {record.total():,} executions", flush=True)


def minimise(programs, work, names):
    """The inputs of the corpora that reach something that no smaller one does, into fuzz/corpus."""
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            sources = [path for path in (SEEDS / name, work / "corpus" / name) if path.exists()]
            subprocess.run(list(map(str, [programs / f"{name}_fuzz", "-merge=1", *LIMITS, folder, *sources])), check=True,
                           stderr=subprocess.DEVNULL)
            room = KEPT - sum(path.stat().st_size for path in (SEEDS / name).iterdir())
            known = {path.read_bytes() for path in (SEEDS / name).iterdir()}
            for path in sorted(pathlib.Path(folder).iterdir(), key=lambda each: each.stat().st_size):
                if path.read_bytes() not in known and (room := room - path.stat().st_size) >= 0:
                    shutil.copy(path, SEEDS / name / path.name[:16])


def print_table(record, names):
    print(f"{'reader':<12} {'executions':>13} {'seconds':>8} {'per second':>10} {'edges':>7} {'features':>8} {'findings':>8}")
    totals = {"executions": 0, "sanitized": 0, "seconds": 0.0, "findings": 0}
    for name in names:
        e = record.entry(name)
        for key in totals:
            totals[key] += e[key]
        print(f"{name:<12} {e['executions']:>13,} {e['seconds']:>8.0f} {record.rate(name):>10,.0f} {e['edges']:>7} "
              f"{e['features']:>8} {e['findings']:>8}")
    rate = totals["executions"] / max(totals["seconds"], 1e-9)
    print(f"{'all':<12} {totals['executions']:>13,} {totals['seconds']:>8.0f} {rate:>10,.0f} {'':>7} {'':>8} "
          f"{totals['findings']:>8}")
    return totals["findings"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", 1)[0])
    parser.add_argument("--executions", type=lambda text: int(float(text)),
                        help="in all, those of earlier calls included (default: 1e8, or with --seconds no limit)")
    parser.add_argument("--seconds", type=float, default=0, help="of this call at most; 0: no limit")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="programs at once (default: one per core)")
    parser.add_argument("--slice", type=int, default=120, help="seconds of a program between two records (default: 120)")
    parser.add_argument("--readers", default=",".join(READERS), help="which, separated by commas (default: all)")
    parser.add_argument("--sanitizers", default="address,undefined",
                        help="what watches over them; '' is faster, and sees crashes and broken promises only")
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "build-fuzz", help="where to build and record")
    parser.add_argument("--restart", action="store_true", help="count from zero; the corpora are kept")
    parser.add_argument("--minimise", action="store_true", help="at the end, put what was reached into fuzz/corpus")
    parser.add_argument("--no-build", action="store_true", help="the programs are there")
    parser.add_argument("--json", action="store_true", help="print the record, not a table")
    parser.add_argument("--quiet", action="store_true", help="no progress")
    options = parser.parse_args()
    options.readers = options.readers.split(",")
    if options.executions is None:
        options.executions = 10**15 if options.seconds else 10**8
    unknown = set(options.readers) - set(READERS)
    if unknown:
        sys.exit(f"fuzz: unknown readers: {', '.join(sorted(unknown))}: allowed are {', '.join(READERS)}")
    programs = options.folder if options.sanitizers else options.folder / "fast"
    if not options.no_build:
        build(programs, options.sanitizers, options.jobs)
    options.folder.mkdir(exist_ok=True)
    path = options.folder / "fuzz.json"
    if options.restart:
        path.unlink(missing_ok=True)
    record = Record(path)
    for name in options.readers if options.sanitizers else []:
        record.recheck(name, programs, options.folder)
    try:
        fuzz(options, programs, options.folder, record)
    except KeyboardInterrupt:
        print("fuzz: stopped; call again to go on", file=sys.stderr)
    if options.minimise:
        minimise(programs, options.folder, options.readers)
    if options.json:
        print(json.dumps(record.readers))
        return 1 if any(entry["findings"] for entry in record.readers.values()) else 0
    return 1 if print_table(record, options.readers) else 0


if __name__ == "__main__":
    sys.exit(main())
