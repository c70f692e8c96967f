#!/usr/bin/python3
"""Runs the campaign, part by part, and writes what was tried and what was lost into docs/reliability.md.

run.py [PART...] [--minutes M] [--build DIR] [--check]

Without a PART, all of them, one after the other: kills, faults, fuzz and soak share the minutes; asan-ubsan, tsan and mutants
go to their end. Each is noted in docs/reliability/results.json when it is over, and sessions on the same sources add up (those of
fuzz on any), each with a seed of its own: a campaign can be stopped, gone on with and made longer, and its parts can run side by side. --check
only says whether the table is that of the results.
"""

import argparse
import collections
import datetime
import json
import os
import pathlib
import re
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PAGE = ROOT / "docs" / "reliability.md"
RESULTS = ROOT / "docs" / "reliability" / "results.json"
MARKS = "<!-- campaign: begin -->\n", "<!-- campaign: end -->\n"
SOURCES = ["CMakeLists.txt", "apps", "cmake", "fuzz", "include", "presets", "src", "tests", "web"]

# What the table says of each.
PARTS = {
    "kills": "runs killed at any moment and resumed: every file whole, the end bit for bit that of a run left alone",
    "faults": "every call that changes a file made to fail: one line, the right exit code, the newest checkpoint intact",
    "fuzz": "random input for each of 16 readers, followed by coverage",
    "soak": "the dashboard under clients of which half are rude, while a run trains: right answers in time, and neither "
            "memory nor file descriptors grow",
    "asan-ubsan": "the whole suite under the address and undefined-behaviour sanitizers",
    "tsan": "the whole suite under the thread sanitizer",
    "mutants": "known mistakes in the sources: each turns its test red",
}
TIMED = ["kills", "faults", "fuzz", "soak"]
ADDED = ["fuzz"]  # what adds up over versions, too: random input is as good for the next one


class Skipped(Exception):
    """The part cannot be run here: why."""


def git(*arguments):
    return subprocess.check_output(["git", *arguments], cwd=ROOT, text=True).strip()


def sources():
    """The last commit that touched what is tried."""
    changed = git("status", "--porcelain", "--", *SOURCES)
    return git("log", "-1", "--format=%h", "--", *SOURCES) + (" with changes" if changed else "")


def machine():
    cpu = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    system = re.search(r'PRETTY_NAME="(.*)"', pathlib.Path("/etc/os-release").read_text())
    return f"{cpu[1] if cpu else os.uname().machine}, {os.cpu_count()} cores, {system[1] if system else 'Linux'}"


def run_script(name, seconds, seed, *arguments, more=()):
    """A script of this folder that writes a report: tried, by kind; lost, as a list."""
    script = HERE / f"{name}.py"
    if not script.exists():
        raise Skipped(f"{script.relative_to(ROOT)} is not there")
    report = ROOT / "build-campaign" / f"{name}.json"
    report.parent.mkdir(exist_ok=True)
    report.unlink(missing_ok=True)
    code = subprocess.run([sys.executable, script, *arguments, "--seconds", f"{seconds:.0f}", "--seed", str(seed), "--json",
                           report, *more]).returncode
    if code == 77:
        raise Skipped("this build cannot")
    if not report.exists():
        return {"tried": {}, "lost": [{"case": name, "what": f"it ended with code {code}, without a report"}]}
    return json.loads(report.read_text())


def kills(options, seconds, seed):
    return run_script("kills", seconds, seed, options.program, options.build / "tests" / "libgrbm_interpose.so")


def faults(options, seconds, seed):
    return run_script("faults", seconds, seed, options.program, options.build / "tests" / "libgrbm_interpose.so")


def soak(options, seconds, seed):
    return run_script("soak", seconds, seed, options.program)


def fuzz(options, seconds, seed):
    """Half of the time under sanitizers, half without, which is faster. Notes what was made since it was last noted."""
    for sanitizers in (["--sanitizers", ""], []):
        subprocess.run([sys.executable, HERE / "fuzz.py", "--seconds", f"{seconds / 2:.0f}", *sanitizers])
    path = ROOT / "build-fuzz" / "fuzz.json"
    record = json.loads(path.read_text())
    path.rename(path.with_suffix(".noted.json"))
    return {"tried": {"executions": sum(reader["executions"] for reader in record.values()),
                      "of them under sanitizers": sum(reader["sanitized"] for reader in record.values())},
            "lost": [{"case": name, "what": f"{reader['findings']} findings"} for name, reader in record.items()
                     if reader["findings"]],
            "seconds": round(sum(reader["seconds"] for reader in record.values()), 1)}


def make(target, count, *variables):
    """make TARGET; `count` turns what it prints into what was tried and lost."""
    output = []
    with subprocess.Popen(["make", "--no-print-directory", target, *variables], cwd=ROOT, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True) as process:
        for line in process.stdout:
            print(line, end="", flush=True)
            output.append(line)
    tried, lost = count("".join(output))
    if process.returncode != 0 and not lost:
        lost = [{"case": target, "what": f"make {target} ended with code {process.returncode}: {''.join(output[-3:]).strip()}"}]
    return {"tried": tried, "lost": lost, "whole": True}


def count_tests(output):
    """What CTest tells at its end."""
    totals = [int(number) for number in re.findall(r"tests passed, \d+ tests failed out of (\d+)", output)]
    lost = re.findall(r"^\s*\d+ - (.*) \((?:Failed|Timeout|SEGFAULT|Subprocess aborted|Not Run)\)", output, re.M)
    return {"tests": sum(totals)}, [{"case": name, "what": "not clean"} for name in lost]


def asan_ubsan(options, seconds, seed):
    return make("sanitize", count_tests, "SANITIZERS=asan-ubsan")


def tsan(options, seconds, seed):
    return make("sanitize", count_tests, "SANITIZERS=tsan")


def mutants(options, seconds, seed):
    def count(output):
        survivors = re.findall(r"^ *\d+/\d+  SURVIVED +(.*)", output, re.M)
        red = len(re.findall(r"^ *\d+/\d+  red", output, re.M))
        return {"mutants": red + len(survivors)}, [{"case": name, "what": "survived"} for name in survivors]
    return make("mutants", count)


def add_up(before, report):
    """Both sessions as one. Neither is changed."""
    if before is None or report.pop("whole", False):
        return {"sessions": before["sessions"] + 1 if before else 1, **report}
    tried = collections.Counter(before["tried"])
    tried.update(report["tried"])
    return {**report, "sessions": before["sessions"] + 1, "tried": dict(tried), "lost": before["lost"] + report["lost"],
            "seconds": before["seconds"] + report["seconds"]}


def table(results):
    def how_long(seconds):
        return f"{seconds / 3600:.1f} h" if seconds >= 5400 else f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"

    lines = ["| what was tried | how often | lost | time | on | sources |", "| --- | --- | --- | --- | --- | --- |"]
    for name, what in PARTS.items():
        if name not in results:
            lines.append(f"| {what} | not yet | | | | |")
            continue
        part = results[name]
        tried = ", ".join(f"{number:,} {kind}" for kind, number in part["tried"].items())
        sources = f"{part['since']} to {part['sources']}" if "since" in part else part["sources"]
        lines.append(f"| {what} | {tried} | {len(part['lost']) or 'nothing'} | {how_long(part['seconds'])} | {part['date']} | "
                     f"{sources} |")
    machines = sorted({part["machine"] for part in results.values()})
    return "\n".join([*lines, "", *(f"Machine: {name}." for name in machines), ""])


def page(results):
    text = PAGE.read_text()
    before, rest = text.split(MARKS[0])
    return before + MARKS[0] + table(results) + MARKS[1] + rest.split(MARKS[1])[1]


def read_results():
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else {}


def run_part(name, options):
    """True where nothing was lost."""
    here = sources()
    before = read_results().get(name)
    since = before.get("since", before["sources"]) if before and name in ADDED else here
    if before and before["sources"] != here:
        before = {**before, "lost": []} if name in ADDED else None
    timed = [part for part in options.parts if part in TIMED]
    print(f"campaign: {name}: {PARTS[name]}", flush=True)
    start = time.monotonic()
    try:
        report = globals()[name.replace("-", "_")](options, options.minutes * 60 / max(1, len(timed)), before["sessions"] + 1 if before else 1)
    except Skipped as reason:
        print(f"campaign: {name} is left out: {reason}", flush=True)
        return True
    report.setdefault("seconds", round(time.monotonic() - start, 1))
    for key in ("name", "seed"):
        report.pop(key, None)
    results = read_results()  # another part may have been noted since
    results[name] = {**add_up(before, report), "date": datetime.date.today().isoformat(), "sources": here,
                     "machine": machine(), **({"since": since} if since != here else {})}
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    PAGE.write_text(page(results))
    lost = len(report["lost"])
    print(f"campaign: {name}: lost {lost or 'nothing'}", flush=True)
    return lost == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"which: {', '.join(PARTS)} (default: all)")
    parser.add_argument("--minutes", type=float, default=60, help="that kills, faults, fuzz and soak share (default: 60)")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build", help="where the program is (default: build)")
    parser.add_argument("--check", action="store_true", help="say whether the table is that of the results")
    options = parser.parse_args()
    options.program = options.build / "grbm"
    options.parts = options.parts or list(PARTS)
    if unknown := set(options.parts) - PARTS.keys():
        sys.exit(f"campaign: there is no part {', '.join(sorted(unknown))}: allowed are {', '.join(PARTS)}")
    if options.check:
        if page(read_results()) != PAGE.read_text():
            sys.exit("campaign: the table of docs/reliability.md is not that of docs/reliability/results.json")
        return 0
    return 0 if all([run_part(name, options) for name in options.parts]) else 1


if __name__ == "__main__":
    sys.exit(main())
