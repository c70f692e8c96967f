#!/usr/bin/python3
"""The dashboard under a crowd, half of it rude, while a run trains in its folder.

soak.py PROGRAM [--seconds S] [--clients N] [--growth-mb M] [--seed S] [--json FILE]

Polite clients ask and look at the answer: it must be right, and there within a bound. Rude ones send slowly, or half of a
request, or garbage, or headers without end; they leave amid an answer, never read it, hoard connections, and ask for costly
work that they do not wait for. All the while the server's memory, threads and file descriptors are watched: after the
warm-up they must not grow, and when everybody has left, no connection may be left. All of it on 127.0.0.1.
"""

import argparse
import asyncio
import collections
import contextlib
import json
import os
import pathlib
import random
import resource
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

TINY = ["--quiet", "--threads", "1", "--set", "model.hidden=4", "--set", "sampler.steps=10", "--set", "train.burn_in=2"]
ANSWER_SECONDS = 10       # the longest that a polite client waits, on a machine that is busy with all this
RUDE_SECONDS = 30         # the longest that a rude one goes on, in a long soak
GONE_SECONDS = 30         # after which no connection is left
GROWTH = 1.10             # of memory after the warm-up; --growth-mb beyond it
FILES = 1024              # that the server may open, a shell's usual limit
VISITS = 60               # a second, of all clients together


class Wrong(Exception):
    """A polite client did not get what it asked for."""


class Server:
    """The dashboard, and what the system says of it."""

    def __init__(self, program, folder):
        limit = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, FILES))
        self.process = subprocess.Popen([program, "dashboard", folder, "--port", "0", "--json"], stdout=subprocess.PIPE,
                                        text=True, preexec_fn=limit)
        address = json.loads(self.process.stdout.readline())["address"]
        self.port = int(address.rstrip("/").rpartition(":")[2])

    def look(self):
        """Bytes of memory, threads, file descriptors."""
        status = dict(line.split(":", 1) for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines())
        files = len(os.listdir(f"/proc/{self.process.pid}/fd"))
        return int(status["VmRSS"].split()[0]) << 10, int(status["Threads"]), files

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(timeout=30)


def train(program, folder, *settings):
    """At the lowest priority: it would take all the time that there is."""
    return subprocess.Popen([program, "train", "gmm-iso", "--out", folder, *TINY, *settings], stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL, preexec_fn=lambda: os.nice(19))


class Soak:
    def __init__(self, options):
        self.options = options
        self.dice = random.Random(options.seed)
        self.tried = collections.Counter()
        self.lost = []
        self.slowest = 0.0
        self.seen = []  # (seconds, memory, threads, files)
        self.rude_seconds = min(RUDE_SECONDS, options.seconds)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="grbm-soak-"))
        self.runs = self.folder / "runs"

    # One connection.

    async def open(self, **options):
        return await asyncio.open_connection("127.0.0.1", self.server.port, limit=1 << 24, **options)

    def request(self, path, method="GET", body=None):
        lines = [f"{method} {path} HTTP/1.1", f"Host: 127.0.0.1:{self.server.port}"]
        if body is not None:
            lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
        return ("\r\n".join(lines) + "\r\n\r\n" + (body or "")).encode()

    @staticmethod
    async def head(reader):
        """Status and headers."""
        lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines[1:] if line)}
        return int(lines[0].split()[1]), headers

    async def ask(self, reader, writer, path, method="GET", body=None):
        """Status, and the body as text or as what the JSON says."""
        writer.write(self.request(path, method, body))
        await writer.drain()
        status, headers = await self.head(reader)
        content = await reader.readexactly(int(headers["content-length"]))
        return status, json.loads(content) if headers["content-type"] == "application/json" else content

    # Polite clients.

    async def polite(self, dice):
        """One visit: a few questions on one connection, each answered in time."""
        start = time.monotonic()
        reader, writer = await self.open()
        try:
            if dice.random() < 0.1:
                await asyncio.wait_for(self.look_on(reader, writer), ANSWER_SECONDS)
                return
            for number in range(dice.randint(1, 3)):
                path, check, *posted = dice.choice(self.questions())
                try:
                    status, answer = await asyncio.wait_for(self.ask(reader, writer, path, *posted), ANSWER_SECONDS)
                except (asyncio.IncompleteReadError, ConnectionError):
                    if number == 0:
                        raise
                    # A server may end a connection between two answers: browsers then ask again on another, and so do we.
                    self.tried["connections ended between answers"] += 1
                    await self.close(writer)
                    reader, writer = await self.open()
                    status, answer = await asyncio.wait_for(self.ask(reader, writer, path, *posted), ANSWER_SECONDS)
                self.slowest = max(self.slowest, time.monotonic() - start)
                start = time.monotonic()
                self.tried["answers"] += 1
                if not check(status, answer):
                    raise Wrong(f"{path}: {status} {str(answer)[:200]}")
        finally:
            await self.close(writer)

    def questions(self):
        is_run = lambda status, answer: status == 200 and {"name", "metrics", "pictures"} <= answer.keys()
        going = lambda check: lambda status, answer: check(status, answer) or status in (400, 404)  # is begun anew, now and then
        refused = lambda code: lambda status, answer: status == code and list(answer) == ["error"]
        return [("/", lambda status, page: status == 200 and b"</html>" in page),
                ("/api/runs", lambda status, answer: status == 200 and "one" in answer["runs"]),
                ("/api/runs/one", is_run),
                ("/api/runs/live", going(is_run)),
                ("/api/runs/live/metrics", going(lambda status, answer: status == 200 and "columns" in answer)),
                ("/api/runs/one/model", lambda status, answer: status == 503 or (status == 200 and "variances" in str(answer))),
                ("/api/runs/nobody", refused(404)),
                ("/api/runs/one/samples", refused(405)),
                ("/api/runs/one/samples", lambda status, answer: status in (200, 503), "POST", '{"steps": 5}'),
                ("/api/runs/one/samples", refused(400), "POST", '{"steps": "many"}')]

    async def look_on(self, reader, writer):
        """The first event, or word that too many are looking on."""
        writer.write(self.request("/api/events"))
        status, headers = await self.head(reader)
        if status == 200:
            await reader.readuntil(b"data: ")
        elif status != 503:
            raise Wrong(f"/api/events: {status}")
        self.tried["streams of events"] += 1

    @staticmethod
    async def close(writer):
        writer.close()
        with contextlib.suppress(OSError, asyncio.TimeoutError):
            await asyncio.wait_for(writer.wait_closed(), 5)

    # Rude clients. Whatever becomes of them is right, so long as it ends.

    async def send_slowly(self, dice, reader, writer):
        for byte in self.request("/api/runs"):
            writer.write(bytes([byte]))
            await writer.drain()
            await asyncio.sleep(dice.uniform(0, 2))

    async def send_half(self, dice, reader, writer):
        request = self.request("/api/runs/one/samples", "POST", '{"steps": 5}')
        writer.write(request[:dice.randrange(len(request))])
        await reader.read()

    async def send_endless_headers(self, dice, reader, writer):
        writer.write(b"GET / HTTP/1.1\r\n")
        for number in range(100_000):
            writer.write(b"X-%d: %s\r\n" % (number, b"x" * dice.choice([1, 100, 10_000])))
            await writer.drain()

    async def send_garbage(self, dice, reader, writer):
        for _ in range(dice.randint(1, 20)):
            writer.write(dice.randbytes(dice.randrange(1, 5000)))
            await writer.drain()
        await reader.read()

    async def lie_about_length(self, dice, reader, writer):
        length = dice.choice(["99999999999999999999", "-1", "4000", "x", "1e3", "0"])
        writer.write(b"POST /api/runs/one/samples HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                     b"Content-Length: " + length.encode() + b"\r\n\r\n{}")
        await reader.read()

    async def leave(self, dice, reader, writer):
        """Amid the answer, without a word: the connection is reset."""
        writer.write(self.request(dice.choice(["/", "/api/runs/one", "/api/runs/live", "/api/events"])))
        await asyncio.sleep(dice.choice([0, 0, 0.01, 0.5]))
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    async def never_read(self, dice, reader, writer):
        path = dice.choice(["/", "/api/events", "/api/runs/live"])
        for _ in range(dice.choice([1, 200])):
            writer.write(self.request(path))
            await writer.drain()
        await asyncio.sleep(self.rude_seconds)

    async def hoard(self, dice, reader, writer):
        others = []
        try:
            for _ in range(dice.randint(2, 20)):
                others.append((await self.open())[1])
            await asyncio.sleep(dice.uniform(0, self.rude_seconds))
        finally:
            for other in others:
                await self.close(other)

    async def keep_it_busy(self, dice, reader, writer):
        work = dice.choice(["samples", "samples", "samples", "measure"])
        writer.write(self.request(f"/api/runs/one/{work}", "POST", '{"steps": 2000}' if work == "samples" else "{}"))
        await writer.drain()

    async def rude(self, dice):
        way = dice.choice([self.send_slowly, self.send_half, self.send_endless_headers, self.send_garbage,
                           self.lie_about_length, self.leave, self.never_read, self.hoard, self.keep_it_busy])
        self.tried["rude visits"] += 1
        with contextlib.suppress(OSError, asyncio.TimeoutError, asyncio.IncompleteReadError):
            reader, writer = await self.open()
            if way == self.never_read:
                writer.transport.pause_reading()
            try:
                await asyncio.wait_for(way(dice, reader, writer), self.rude_seconds)
            finally:
                await self.close(writer)

    # All together.

    async def client(self, number, end):
        dice = random.Random(self.options.seed * 1_000_003 + number)
        is_rude = number % 2 == 1
        # As many visits a second, however many clients there are.
        pause = self.options.clients / VISITS
        await asyncio.sleep(dice.uniform(0, pause))
        while time.monotonic() < end:
            try:
                await (self.rude(dice) if is_rude else self.polite(dice))
            except (OSError, ValueError, KeyError, Wrong, asyncio.TimeoutError, asyncio.IncompleteReadError) as error:
                self.lose(f"client {number}: {type(error).__name__}: {error}")
            await asyncio.sleep(dice.uniform(0, 2 * pause))

    def lose(self, what):
        self.lost.append({"case": f"{time.monotonic() - self.start:.1f} s", "what": what})
        if len(self.lost) <= 20:
            print(f"LOST: {what}", file=sys.stderr, flush=True)

    async def watch(self, end):
        while time.monotonic() < end:
            self.seen.append((time.monotonic() - self.start, *self.server.look()))
            await asyncio.sleep(1)

    async def keep_training(self, end):
        """One run after the other in the same folder, so that metrics and the answers with them stay small."""
        while time.monotonic() < end:
            shutil.rmtree(self.runs / "live", ignore_errors=True)
            run = train(self.options.program, self.runs / "live", "--set", "train.epochs=100000")
            try:
                await asyncio.sleep(min(60, max(1, end - time.monotonic())))
                if run.poll() is not None:
                    self.lose(f"the run ended with code {run.returncode}")
            finally:
                run.kill()
                run.wait()
            self.tried["runs trained beside it"] += 1

    async def crowd(self):
        end = self.start + self.options.seconds
        await asyncio.gather(self.watch(end), self.keep_training(end),
                             *(self.client(number, end) for number in range(self.options.clients)))

    def check_growth(self, before):
        """What the server holds, in the second fifth of the time and in the last; then, with everybody gone."""
        part = lambda column, low, high: max(
            [each[column] for each in self.seen if low <= each[0] / self.options.seconds <= high], default=0)
        early, late = part(1, 0.2, 0.4), part(1, 0.8, 1)
        if late > early * GROWTH + (self.options.growth_mb << 20):
            self.lose(f"memory grew from {early >> 20} to {late >> 20} MB")
        # The threads that it keeps may be more than before anybody came; connections may not.
        deadline = time.monotonic() + GONE_SECONDS
        while (after := self.server.look())[2] > before[2] and time.monotonic() < deadline:
            time.sleep(0.2)
        if after[2] > before[2]:
            self.lose(f"{after[2]} file descriptors when everybody had left, {before[2]} before they came")
        return {"memory_mb": {"before": before[0] >> 20, "early": early >> 20, "late": late >> 20, "after": after[0] >> 20},
                "file_descriptors": {"before": before[2], "most": part(3, 0, 1), "after": after[2]},
                "threads": {"before": before[1], "most": part(2, 0, 1), "after": after[1]}}

    def run(self):
        if train(self.options.program, self.runs / "one", "--set", "train.epochs=20").wait() != 0:
            sys.exit("soak: the first run cannot be trained")
        self.server = Server(self.options.program, self.runs)
        self.start = time.monotonic()
        before = self.server.look()
        details = {"clients": self.options.clients}
        try:
            asyncio.run(self.crowd())
            details.update(self.check_growth(before))
        except FileNotFoundError:
            self.lose(f"the server ended with code {self.server.process.wait()}")
        else:
            if (code := self.server.stop()) != 0:
                self.lose(f"the server ended with code {code}")
        details["slowest_answer_seconds"] = round(self.slowest, 2)
        return details

    def report(self, details):
        seconds = time.monotonic() - self.start
        tried = ", ".join(f"{number:,} {what}" for what, number in sorted(self.tried.items()))
        print(f"soak: {self.options.clients} clients, {tried}; lost: {len(self.lost) or 'nothing'} ({seconds:.0f} s, seed "
              f"{self.options.seed})\n{json.dumps(details)}")
        if self.options.json:
            report = {"name": "soak", "seed": self.options.seed, "seconds": round(seconds, 1), "tried": dict(self.tried),
                      **details, "lost": self.lost}
            self.options.json.write_text(json.dumps(report, indent=1) + "\n")
        shutil.rmtree(self.folder, ignore_errors=True)
        return 1 if self.lost else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=lambda path: str(pathlib.Path(path).resolve()), help="the program to be tried")
    parser.add_argument("--seconds", type=float, default=3600, help="how long (default: 3600)")
    parser.add_argument("--clients", type=int, default=1000, help="how many at a time (default: 1000)")
    parser.add_argument("--growth-mb", type=int, default=16, help="by how much memory may grow beyond a tenth (default: 16)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=pathlib.Path, help="where to write what was tried and what was lost")
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    if "without its web page" in subprocess.run([options.program, "report", "nowhere", "-o", "x.html"], capture_output=True,
                                                text=True).stderr:
        print("skipped: this build has no web page, for want of npm")
        return 77
    soak = Soak(options)
    return soak.report(soak.run())


if __name__ == "__main__":
    sys.exit(main())
