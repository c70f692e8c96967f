#!/usr/bin/python3
"""Known mistakes, one by one: each must turn its named test red.

run.py [--jobs N] [--check] [WORDS ...]

A mutant is the build's library, and where it matters its test program, linked again with those few objects that a changed
file is part of; the sources and the build stay as they are, so several can be tried at once. --check only says whether each
mistake of mutants.toml still finds its place in the sources. With words, only mutants that have one of them in their names.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import time
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BUILD = ROOT / "build"
SECONDS = 900  # after which a test counts as red


def must(*command):
    result = subprocess.run(list(map(str, command)), capture_output=True, text=True, cwd=BUILD)
    if result.returncode != 0:
        sys.exit(f"mutants: {' '.join(map(str, command))} failed:\n{result.stdout}{result.stderr}")
    return result.stdout


def read_mutants():
    mutants = tomllib.loads((HERE / "mutants.toml").read_text())["mutant"]
    lost = []
    for mutant in mutants:
        count = (ROOT / mutant["file"]).read_text().count(mutant["find"])
        if count != 1:
            lost.append(f"mutants: {mutant['file']}: stands {count} times, not once: {mutant['find']}")
        mutant["program"], _, mutant["filter"] = mutant["test"].partition(":")
    if lost:
        sys.exit("\n".join(lost))
    return mutants


def passes(program, name, library):
    """Whether the test passes with the library of that folder."""
    try:
        result = subprocess.run([program, f"--gtest_filter={name}", "--gtest_fail_fast"], capture_output=True, text=True,
                                timeout=SECONDS, env=dict(os.environ, LD_LIBRARY_PATH=str(library)))
    except subprocess.TimeoutExpired:
        return False
    if "Running 0 tests" in result.stdout:
        raise RuntimeError(f"there is no test {program.name}:{name}")
    return result.returncode == 0


class Build:
    """How the build compiles and links, and what is part of what."""

    def __init__(self, programs):
        must("cmake", "--build", BUILD, "--target", "grbm_program", *programs)
        self.compile = {}  # by object
        for entry in json.loads((BUILD / "compile_commands.json").read_text()):
            words = shlex.split(entry["command"])
            self.compile[words[words.index("-o") + 1]] = words
        self.parts = {}  # the objects that a file is part of
        for block in must("ninja", "-t", "deps").split("\n\n"):
            lines = block.strip().splitlines()
            for path in lines[1:]:
                self.parts.setdefault(os.path.normpath(BUILD / path.strip()), set()).add(lines[0].split(":")[0])
        library = (BUILD / "src" / "libgrbm.so").resolve()
        self.links = {name: must("ninja", "-t", "commands", name).splitlines()[-1]
                      for name in [f"src/{library.name}", *(f"tests/{program}" for program in programs)]}
        self.library = f"src/{library.name}"

    def run(self, command):
        result = subprocess.run(command, shell=True, capture_output=True, text=True, cwd=BUILD)
        if result.returncode != 0:
            raise RuntimeError(f"does not compile:\n{result.stdout}{result.stderr}")

    def compile_object(self, name, mutant, folder):
        """One object with the changed file in place of its own."""
        words = list(self.compile[name])
        words[words.index("-o") + 1] = str(folder / name)
        source = words.index("-c") + 1
        if os.path.samefile(words[source], ROOT / mutant["file"]):
            words[source] = str(folder / mutant["file"])
        includes = [f"-I{folder / 'include'}", f"-I{folder / 'src'}"]
        compiler = next(place for place, word in enumerate(words) if word.startswith("-"))
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        self.run(shlex.join([*words[:compiler], *includes, *words[compiler:], "-w"]))

    def link(self, name, objects, folder):
        """A library or program of the build, with some of its objects in place of its own."""
        command = self.links[name].split(" && ")
        place = next(place for place, part in enumerate(command) if f" -o {name} " in part)
        words = command[place].split(" ")
        words[words.index("-o") + 1] = str(folder / name)
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        self.run(" ".join(str(folder / word) if word in objects else word for word in words))

    def kills(self, number, mutant):
        """Whether the mutant's test is red."""
        folder = BUILD / "mutants" / str(number)
        shutil.rmtree(folder, ignore_errors=True)
        changed = folder / mutant["file"]
        changed.parent.mkdir(parents=True)
        changed.write_text((ROOT / mutant["file"]).read_text().replace(mutant["find"], mutant["replace"]))
        program = f"tests/{mutant['program']}"
        used = self.links[self.library] + self.links[program]
        objects = [name for name in self.parts[str(ROOT / mutant["file"])] if f"{name} " in used]
        for name in objects:
            self.compile_object(name, mutant, folder)
        for name in [self.library, program]:
            if any(f"{each} " in self.links[name] for each in objects):
                self.link(name, objects, folder)
        if (folder / self.library).exists():
            soname = (BUILD / "src" / "libgrbm.so").readlink().name
            (folder / "src" / soname).symlink_to(pathlib.Path(self.library).name)
        red = not passes(folder / program if (folder / program).exists() else BUILD / program, mutant["filter"],
                         folder / "src")
        shutil.rmtree(folder)
        return red


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="mutants at once (default: one per core)")
    parser.add_argument("--check", action="store_true", help="only see whether all find their places")
    parser.add_argument("words", nargs="*", help="only mutants with one of these in their names")
    options = parser.parse_args()
    mutants = [mutant for mutant in read_mutants() if not options.words or any(word in mutant["name"] for word in options.words)]
    if options.check:
        return 0
    if not mutants:
        sys.exit("mutants: none has such a name")

    print("mutants: building the unchanged sources", flush=True)
    build = Build(sorted({mutant["program"] for mutant in mutants}))
    survivors = []
    start = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        tests = sorted({(mutant["program"], mutant["filter"]) for mutant in mutants})
        for test, green in zip(tests, pool.map(lambda test: passes(BUILD / "tests" / test[0], test[1], ""), tests)):
            if not green:
                sys.exit(f"mutants: {':'.join(test)} fails on the unchanged sources")
        tries = [pool.submit(build.kills, number, mutant) for number, mutant in enumerate(mutants, 1)]
        for number, (mutant, result) in enumerate(zip(mutants, tries), 1):
            if (error := result.exception()) is not None:
                pool.shutdown(cancel_futures=True)
                sys.exit(f"mutants: {mutant['name']}: {error}")
            red = result.result()
            print(f"{number:3}/{len(mutants)}  {'red, as it must' if red else 'SURVIVED       '}  {mutant['name']}", flush=True)
            if not red:
                survivors.append(mutant["name"])
    print(f"mutants: {len(mutants) - len(survivors)} of {len(mutants)} red, in {time.monotonic() - start:.0f} s")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
