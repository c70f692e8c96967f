#!/usr/bin/python3
"""Runs that are killed and resumed, again and again, end with the bits of runs that were left alone.

kills.py PROGRAM LIBRARY [--kills 1000] [--aimed N] [--seconds S] [--seed S] [--json FILE]

Aimed kills: before, after and (writes) amid every single call that changes a file, one after the other. Random kills: at
random moments of runs that are killed and resumed until they come to their end. After each kill every file must be whole,
each resume must find nothing to complain of, and at the end every file of the folder must be that of an undisturbed run; of
times.jsonl, which no settings decide, the lines must be whole and in order.
"""

import shutil
import signal
import subprocess
import sys
import time

from campaign import SCENARIOS, SMALL, Campaign, Lost, check_files, compare, contents, settings

AIMED = settings(updates=12, every=4)
RANDOM = settings(updates=200, every=5)


class Kills(Campaign):
    def __init__(self):
        super().__init__(__doc__.splitlines()[0], [
            (["--kills"], {"type": int, "default": 1000, "help": "random kills (default: 1000)"}),
            (["--aimed"], {"type": int, "help": "aimed kills, drawn at random; without it, all there are"})])
        self.where = {}

    def whole(self, name, extra):
        """A run left alone: arguments, its files, how long it takes, and the calls it makes."""
        arguments = [*SMALL, *SCENARIOS[name], *extra]
        folder = self.folder / f"{name}-whole"
        shutil.rmtree(folder, ignore_errors=True)
        start = time.monotonic()
        self.must_succeed([*arguments, "--out", folder], under=folder)
        return arguments, contents(folder), time.monotonic() - start, self.calls()

    def note(self, folder):
        """Where the program was when it was killed: its last call."""
        calls = self.calls()
        kind, path = calls[-1] if calls else ("nothing", "")
        below = path.removeprefix(str(folder)).strip("/")
        file = "temporary file" if below.startswith(".grbm-") else below.split("/")[0] or "folder"
        place = f"{kind} {file}" if calls else "before the first call"
        self.where[place] = self.where.get(place, 0) + 1

    def aimed(self, name, arguments, reference, action, number):
        folder = self.folder / f"{name}-{action}-{number}"
        result = self.run([*arguments, "--out", folder], under=folder, fault=f"any:{number}:{action}")
        if result.returncode != -signal.SIGKILL:
            raise Lost(f"not killed at call {number}: exit code {result.returncode}: {result.stderr}")
        self.count("aimed kills")
        self.note(folder)
        check_files(folder)
        self.must_succeed([*arguments, "--resume", "--out", folder])
        compare(folder, reference)
        shutil.rmtree(folder)

    def all_aimed(self):
        cases = []
        for name in SCENARIOS:
            arguments, reference, _, calls = self.whole(name, AIMED)
            for number, (kind, _) in enumerate(calls, 1):
                for action in ["kill", "kill-after"] + ["kill-half"] * (kind == "write"):
                    cases.append((name, arguments, reference, action, number))
        self.details["aimed kills that there are"] = len(cases)
        self.dice.shuffle(cases)
        for case in cases[:self.options.aimed]:
            if self.time_is_up(share=0.5):  # the rest is for random ones
                break
            self.attempt(f"{case[0]}, {case[3]} at call {case[4]}", self.aimed, *case)

    def enough(self):
        return self.tried.get("random kills", 0) >= self.options.kills or self.time_is_up()

    def one_run(self, name, arguments, reference, duration):
        """One run, killed at random moments until it comes to its end, or until there were enough kills."""
        folder = self.folder / f"{name}-killed"
        shutil.rmtree(folder, ignore_errors=True)
        while True:
            process = subprocess.Popen([self.program, *arguments, "--resume", "--out", folder], stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, text=True, env=self.environment(folder, None))
            try:
                _, errors = process.communicate(timeout=300 if self.enough() else self.dice.uniform(0, duration))
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                _, errors = process.communicate()
            if process.returncode == 0 and not errors:
                compare(folder, reference)
                self.count("ends compared")
                return
            if process.returncode != -signal.SIGKILL or errors:
                raise Lost(f"exit code {process.returncode}: {errors.strip()}")
            self.count("random kills")
            self.note(folder)
            check_files(folder)

    def all_random(self):
        references = {name: self.whole(name, RANDOM)[:3] for name in SCENARIOS}
        while not self.enough() and len(self.lost) < 10:
            name = self.dice.choice(list(SCENARIOS))
            self.attempt(f"{name}, random", self.one_run, name, *references[name])

    def main(self):
        self.attempt("aimed", self.all_aimed)
        self.attempt("random", self.all_random)
        self.details["last calls before the kills"] = dict(sorted(self.where.items()))
        return self.end()


if __name__ == "__main__":
    sys.exit(Kills().main())
