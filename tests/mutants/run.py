#!/usr/bin/python3
"""Applies the mistakes of mutants.toml one by one to a copy of the sources: each must turn its named test red."""

import pathlib
import subprocess
import sys
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
WORK = ROOT / "build-mutants"
SOURCE = WORK / "source"
BUILD = WORK / "build"


def run(*command):
    return subprocess.run(command, capture_output=True, text=True)


def must(*command):
    result = run(*command)
    if result.returncode != 0:
        sys.exit(f"mutants: {' '.join(map(str, command))} failed:\n{result.stdout}{result.stderr}")


def copy_sources():
    """Brings SOURCE up to date; files that have not changed keep their times, so that little is built again."""
    listed = subprocess.check_output(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT)
    for name in filter(None, listed.decode().split("\0")):
        target = SOURCE / name
        content = (ROOT / name).read_bytes()
        if not target.exists() or target.read_bytes() != content:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)


def build(targets):
    return run("cmake", "--build", BUILD, "--target", *targets)


def passes(test):
    program, _, name = test.partition(":")
    result = run(BUILD / "tests" / program, f"--gtest_filter={name}", "--gtest_fail_fast")
    if "Running 0 tests" in result.stdout:
        sys.exit(f"mutants: there is no test {test}")
    return result.returncode == 0


def main():
    mutants = tomllib.loads((HERE / "mutants.toml").read_text())["mutant"]
    targets = sorted({mutant["test"].partition(":")[0] for mutant in mutants})

    print("mutants: building the unchanged sources", flush=True)
    copy_sources()
    must("cmake", "-S", SOURCE, "-B", BUILD, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=RelWithDebInfo", "-DCMAKE_CXX_FLAGS=-w")
    must("cmake", "--build", BUILD, "--target", *targets)
    for test in sorted({mutant["test"] for mutant in mutants}):
        if not passes(test):
            sys.exit(f"mutants: {test} fails on the unchanged sources")

    survivors = []
    for number, mutant in enumerate(mutants, 1):
        path = SOURCE / mutant["file"]
        original = path.read_text()
        if original.count(mutant["find"]) != 1:
            sys.exit(f"mutants: {mutant['file']}: stands {original.count(mutant['find'])} times, not once: {mutant['find']}")
        path.write_text(original.replace(mutant["find"], mutant["replace"]))
        try:
            built = build([mutant["test"].partition(":")[0]])
            if built.returncode != 0:
                sys.exit(f"mutants: {mutant['name']}: does not compile:\n{built.stdout}")
            red = not passes(mutant["test"])
        finally:
            path.write_text(original)
        print(f"{number:3}/{len(mutants)}  {'red, as it must' if red else 'SURVIVED       '}  {mutant['name']}", flush=True)
        if not red:
            survivors.append(mutant["name"])
    print(f"{len(mutants) - len(survivors)} passed, {len(survivors)} failed")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
