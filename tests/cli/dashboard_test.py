"""The server of `grbm dashboard` and the files of `grbm report`, from outside: dashboard_test.py PROGRAM."""

import contextlib
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import time
import unittest
import urllib.parse

import numpy as np
from support import PATIENCE, PROGRAM, ProgramTest, run, write_tensors


def read_header(model):
    """The header of a model file, and what follows it."""
    data = model.read_bytes()
    end = 8 + int.from_bytes(data[:8], "little")
    return json.loads(data[8:end]), data[end:]


def set_sampler(model, **options):
    """The model file, with other options of its sampler."""
    header, tensors = read_header(model)
    metadata = header["__metadata__"]
    metadata["sampler"] = json.dumps(json.loads(metadata["sampler"]) | options)
    text = json.dumps(header).encode()
    model.write_bytes(len(text).to_bytes(8, "little") + text + tensors)


class Server:
    def __init__(self, folder, *arguments, before=()):
        """before: a command that starts the program."""
        self.process = subprocess.Popen([*before, PROGRAM, "dashboard", str(folder), "--port", "0", "--json", *arguments],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        self.address = urllib.parse.urlsplit(json.loads(line)["address"])

    def ask(self, path, method="GET", body=None, headers=None):
        """The status, and the answer: parsed where it is JSON."""
        connection = http.client.HTTPConnection(self.address.hostname, self.address.port, timeout=60)
        with contextlib.closing(connection):
            connection.request(method, path, body, headers or {})  # the path is sent as it stands
            answer = connection.getresponse()
            text = answer.read()
            if answer.getheader("Content-Type") == "application/json":
                text = json.loads(text)
            return answer.status, text

    def post(self, path, body, **headers):
        return self.ask(path, "POST", body, {"Content-Type": "application/json", **headers})

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        _, errors = self.process.communicate(timeout=20)
        return self.process.returncode, errors


class DashboardTest(ProgramTest):
    def serve(self, folder=None, *arguments, **options):
        server = Server(folder or self.folder / "runs", *arguments, **options)
        self.addCleanup(server.stop)
        return server

    def setUp(self):
        super().setUp()
        (self.folder / "runs").mkdir()
        self.train("runs/one")
        (self.folder / "secret").write_text("top secret")

    def assert_refused(self, answer, status, pattern):
        self.assertEqual(answer[0], status, str(answer)[:300])
        self.assertEqual(list(answer[1]), ["error"])
        self.assertRegex(answer[1]["error"], pattern)
        self.assertNotIn("\n", answer[1]["error"])


class Answers(DashboardTest):
    def test_runs_are_listed_and_described(self):
        server = self.serve()
        self.assertEqual(list(server.ask("/api/runs")[1]["runs"]), ["one"])
        status, described = server.ask("/api/runs/one")
        self.assertEqual(status, 200)
        self.assertEqual(described["total"], 200)
        self.assertEqual(described["settings"]["model"]["hidden"], 4)
        self.assertEqual(described["metrics"]["columns"]["update"], list(range(1, 201)))
        self.assertEqual([p["update"] for p in described["pictures"]][-1], 200)
        model = server.ask("/api/runs/one/model")[1]
        self.assertEqual(model["hidden"], 4)
        self.assertEqual([frame["step"] for frame in model["chain"]], list(range(11)))
        self.assertEqual(sum(model["variances"]["counts"]), 2)
        page = server.ask("/")[1].decode()
        self.assertIn("<!doctype html>", page)
        alone = self.serve(self.folder / "runs" / "one")
        self.assertEqual(list(alone.ask("/api/runs")[1]["runs"]), ["one"])

    def test_metrics_come_in_whole_lines_and_from_where_they_were_left(self):
        server = self.serve()
        path = self.folder / "runs" / "one" / "metrics.jsonl"
        token = server.ask("/api/runs/one")[1]["metrics"]["token"]
        more = lambda: server.ask(f"/api/runs/one/metrics?token={token}")[1]
        self.assertEqual(more()["columns"], {})
        with path.open("a") as file:
            file.write('{"update": 201, "x": 1')
        self.assertEqual(more()["columns"], {})
        with path.open("a") as file:
            file.write('.5}\nnot json\n{"update": 202}\n')
        self.assertEqual(more()["columns"], {"update": [201, 202], "x": [1.5, None]})
        self.assertFalse(more()["from_start"])
        path.write_text('{"update": 1}\n')  # shorter: from the start
        self.assertEqual((more()["from_start"], more()["columns"]), (True, {"update": [1]}))
        for wrong in ["x", "-", "1-", "99999999999999999999-1", "1-1"]:
            self.assertTrue(server.ask(f"/api/runs/one/metrics?token={wrong}")[1]["from_start"])
        path.unlink()
        self.assertEqual(more()["columns"], {})
        self.assertEqual(server.ask("/api/runs/one")[0], 200)

    def test_times_and_data_of_a_run(self):
        server = self.serve()
        described = server.ask("/api/runs/one")[1]
        times = described["times"]
        self.assertEqual(times["columns"]["update"], list(range(201)))
        self.assertEqual(times["columns"]["seconds"], sorted(times["columns"]["seconds"]))
        self.assertEqual(list(times["columns"]), ["update", "seconds"])
        self.assertEqual(len(times["starts"]), 1)
        self.assertRegex(times["starts"][0]["command"], "^grbm train gmm-iso ")
        self.assertEqual(len(described["data"]["points"]), 256)
        more = lambda: server.ask(f"/api/runs/one/times?token={times['token']}")[1]
        self.assertEqual((more()["from_start"], more()["columns"], more()["starts"]), (False, {}, []))
        with (self.folder / "runs" / "one" / "times.jsonl").open("a") as file:
            file.write('{"update": 200, "seconds": 99, "started": "2026-01-01T00:00:00Z"}\n')
        self.assertEqual(more()["columns"], {"update": [200], "seconds": [99]})
        self.assertEqual(more()["starts"], [{"update": 200, "seconds": 99, "started": "2026-01-01T00:00:00Z"}])
        (self.folder / "runs" / "one" / "times.jsonl").unlink()
        (self.folder / "runs" / "one" / "data.json").unlink()
        older = server.ask("/api/runs/one")[1]
        self.assertEqual((older["times"]["columns"], older["times"]["starts"], older["data"]), ({}, [], None))
        self.assert_refused(server.ask("/api/runs/one/data"), 404, "no such picture")
        (self.folder / "runs" / "one" / "data.png").write_bytes(b"\x89PNG")
        self.assertEqual(server.ask("/api/runs/one")[1]["data"], {"image": "data"})
        self.assertEqual(server.ask("/api/runs/one/data"), (200, b"\x89PNG"))

    def test_the_distance_is_that_of_evaluate(self):
        model = self.folder / "runs" / "one" / "model.safetensors"
        theirs = self.results("evaluate", model, "--data", "gmm-iso", "--metrics", "quick")["quick"]
        ours = self.serve().post("/api/runs/one/measure", "{}")[1]["scores"]["quick"]
        self.assertEqual(ours, theirs)
        self.assertIn("2000 samples", ours["frechet"]["note"])

    def test_many_lines_are_thinned_but_evaluations_are_kept(self):
        path = self.folder / "runs" / "one" / "metrics.jsonl"
        lines = [{"update": k, "a": k} | ({"q": 1, "q_error": 2} if k % 999 == 0 else {}) for k in range(1, 20001)]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        columns = self.serve().ask("/api/runs/one")[1]["metrics"]["columns"]
        self.assertLess(len(columns["update"]), 4100)
        self.assertEqual(columns["update"][-1], 20000)
        self.assertEqual(len([q for q in columns["q"] if q is not None]), 20)

    def test_samples_are_drawn_as_asked(self):
        server = self.serve()
        draw = lambda **body: server.post("/api/runs/one/samples", json.dumps(body))
        status, first = draw(steps=5, temperature=1, seed=3)
        self.assertEqual((status, len(first["points"])), (200, 256))
        self.assertEqual(draw(steps=5, temperature=1, seed=3)[1]["points"], first["points"])
        self.assertNotEqual(draw(steps=5, temperature=2, seed=3)[1]["points"], first["points"])
        self.assertEqual(draw()[0], 200)
        self.assert_refused(draw(steps=0), 400, "steps = 0: allowed is a whole number from 1 to 2000")
        self.assert_refused(draw(steps=1e9), 400, "steps")
        self.assert_refused(draw(steps="many"), 400, "steps")
        self.assert_refused(draw(temperature=-1), 400, "temperature")
        self.assert_refused(draw(stepz=3), 400, "did you mean 'steps'")
        for body in ["", "{", "[]", "null", "\xff", "[" * 1000]:
            self.assert_refused(server.post("/api/runs/one/samples", body.encode("latin-1")), 400, "samples")
        self.assertEqual(server.post("/api/runs/one/samples", "x" * 100_000)[0], 413)
        mixing = server.post("/api/runs/one/measure", "{}")[1]["mixing"]
        self.assertEqual(len(mixing["energies"]), 16)

    def test_answers_are_not_compressed(self):
        """A browser on the same machine asks for it, and would wait for seconds."""
        server = self.serve()
        connection = http.client.HTTPConnection(server.address.hostname, server.address.port, timeout=60)
        self.addCleanup(connection.close)
        for path in ["/", "/api/runs/one"]:
            connection.request("GET", path, headers={"Accept-Encoding": "gzip, deflate, br"})
            answer = connection.getresponse()
            self.assertIsNone(answer.getheader("Content-Encoding"), path)
            self.assertEqual(len(answer.read()), int(answer.getheader("Content-Length")))

    def test_events_tell_of_changes(self):
        server = self.serve()
        connection = http.client.HTTPConnection(server.address.hostname, server.address.port, timeout=20)
        self.addCleanup(connection.close)
        connection.request("GET", "/api/events", headers={"Accept-Encoding": "gzip, br"})
        answer = connection.getresponse()
        self.assertEqual(answer.getheader("Content-Type"), "text/event-stream")
        event = lambda: json.loads(re.match(r"data: (.*)\n", (answer.readline(), answer.readline())[0].decode())[1])
        first = event()
        self.assertEqual(list(first), ["one"])
        shutil.copytree(self.folder / "runs" / "one", self.folder / "two")
        os.rename(self.folder / "two", self.folder / "runs" / "two")
        self.assertEqual(list(event()), ["one", "two"])
        shutil.rmtree(self.folder / "runs" / "two")
        while "two" in (seen := event()):
            pass
        self.assertEqual(seen, first)

    def test_ctrl_c_ends_it_while_someone_looks_on(self):
        server = self.serve()
        connection = http.client.HTTPConnection(server.address.hostname, server.address.port, timeout=20)
        self.addCleanup(connection.close)
        connection.request("GET", "/api/events")
        connection.getresponse().readline()
        start = time.monotonic()
        self.assertEqual(server.stop(), (0, ""))
        self.assertLess(time.monotonic() - start, 10)

    def test_chains_have_an_end_whatever_the_model_says(self):
        """A sampler of 1e9 steps: the page shows as many as it has patience for, and says so."""
        model = self.folder / "runs" / "one" / "model.safetensors"
        set_sampler(model, steps=10**9)
        server = self.serve()
        described = server.ask("/api/runs/one/model")[1]
        self.assertEqual(described["chain"][-1]["step"], 2000)
        self.assertEqual(described["sampler"]["steps"], 10**9)
        self.assertRegex(described["chain_note"], "2000 steps.* 1000000000")
        scores = server.post("/api/runs/one/measure", "{}")[1]["scores"]
        self.assertIn(" 2000 steps", str(scores))
        out = self.folder / "report.html"
        self.succeed("report", model.parent, "--quiet", "-o", out)
        self.assertIn("chain_note", out.read_text())
        set_sampler(model, steps=10, langevin_steps=10**9)
        self.assert_refused(server.ask("/api/runs/one/model"), 400, "langevin_steps = 1000000000: allowed is .* 100000")
        self.refuse(65, "langevin_steps", "report", model.parent, "--fast", "-o", out)
        set_sampler(model, langevin_steps=10)
        self.assertNotIn("chain_note", server.ask("/api/runs/one/model")[1])

    def write_large_model(self, hidden):
        model = self.folder / "runs" / "one" / "model.safetensors"
        write_tensors(model, {"W": np.zeros((2, hidden), np.float32), "b": np.zeros(hidden, np.float32),
                              "mu": np.zeros(2, np.float32), "log_var": np.zeros(2, np.float32)},
                      read_header(model)[0]["__metadata__"])

    def ask_and_leave_it(self, server, path, body):
        connection = http.client.HTTPConnection(server.address.hostname, server.address.port, timeout=20)
        self.addCleanup(connection.close)
        connection.request("POST" if body else "GET", path, body, {"Content-Type": "application/json"})

    def test_ctrl_c_ends_it_while_samples_are_drawn(self):
        self.write_large_model(50_000)  # 256 chains of 2,000 steps take a minute
        for path, body in [("samples", '{"steps": 2000}'), ("measure", "{}")]:
            server = self.serve()
            for _ in range(3):  # one draws, the others wait for their turn
                self.ask_and_leave_it(server, f"/api/runs/one/{path}", body)
            time.sleep(1)
            start = time.monotonic()
            self.assertEqual(server.stop(), (0, ""))
            self.assertLess(time.monotonic() - start, 10, path)

    def test_the_second_signal_ends_it_at_once(self):
        self.write_large_model(2_000_000)  # a step takes a second
        catches = lambda status: int(re.search(r"SigCgt:\s*(\w+)", status.read_text())[1], 16) >> signal.SIGTERM - 1 & 1
        for _ in range(5):  # the first one may have been enough
            server = self.serve()
            self.ask_and_leave_it(server, "/api/runs/one/samples", '{"steps": 2000}')
            time.sleep(1)
            status = pathlib.Path(f"/proc/{server.process.pid}/status")
            self.assertTrue(catches(status))
            server.process.send_signal(signal.SIGINT)
            while server.process.poll() is None and catches(status):
                time.sleep(0.01)
            server.process.send_signal(signal.SIGTERM)
            if server.stop()[0] == -signal.SIGTERM:
                return
        self.fail("nothing ends it but the end of its work")


class Guards(DashboardTest):
    def test_nothing_outside_of_the_folder_is_served(self):
        runs = self.folder / "runs"
        outside = self.folder / "outside"
        shutil.copytree(runs / "one", outside)
        (runs / "link").symlink_to(outside)
        (runs / "inner").symlink_to(runs / "one")
        shutil.copytree(runs / "one", runs / "half")
        for name in ["model.safetensors", "metrics.jsonl"]:
            (runs / "half" / name).unlink()
            (runs / "half" / name).symlink_to(outside / name)
        shutil.rmtree(runs / "half" / "samples")
        (runs / "half" / "samples").symlink_to(outside / "samples")
        server = self.serve()
        self.assertEqual(list(server.ask("/api/runs")[1]["runs"]), ["half", "inner", "one"])
        half = server.ask("/api/runs/half")[1]
        self.assertEqual((half["metrics"]["columns"], half["pictures"]), ({}, []))
        self.assertEqual(server.ask("/api/runs/half/model")[0], 404)
        for path in ["/../secret", "/..%2fsecret", "/%2e%2e/secret", "/api/runs/../secret", "/api/runs/..", "/api/runs/%2e%2e",
                     "/api/runs/..%2f..%2fsecret", "/api/runs/link", "/api/runs/one%2f..%2f..%2foutside",
                     "/api/runs/one/pictures/..%2f..%2f..%2f..%2fsecret", "/api/runs/one/pictures/1%00", "//etc/passwd",
                     "/api/runs/one/config.toml", "/api/runs/one/pictures/-1", "/api/runs//", "/api/runs/one/pictures/200/x",
                     "/api", "/index.html", "/api/runs/" + "x" * 5000]:
            status, answer = server.ask(path)
            self.assertIn(status, (400, 404), path)
            self.assertNotIn("top secret", str(answer))

    def test_wrong_methods_and_other_pages_are_refused(self):
        server = self.serve()
        for method in ["PUT", "DELETE", "PATCH", "OPTIONS"]:
            self.assertEqual(server.ask("/api/runs", method)[0], 405, method)
        self.assert_refused(server.ask("/api/runs/one/samples"), 405, "allowed is POST")
        self.assert_refused(server.post("/api/runs", "{}"), 405, "allowed is GET")
        self.assert_refused(server.ask("/api/runs", headers={"Host": "evil.example"}), 403, "evil.example")
        self.assert_refused(server.ask("/", headers={"Host": f"127.0.0.1.evil.example:{server.address.port}"}), 403, "evil")
        for host in ["localhost", f"localhost:{server.address.port}", "127.0.0.1", "[::1]:80"]:
            self.assertEqual(server.ask("/api/runs", headers={"Host": host})[0], 200, host)
        samples = "/api/runs/one/samples"
        self.assert_refused(server.ask(samples, "POST", "{}", {"Content-Type": "text/plain"}), 415, "application/json")
        self.assert_refused(server.post(samples, "{}", Origin="http://evil.example"), 403, "another page")
        self.assertEqual(server.post(samples, "{}", Origin=f"http://127.0.0.1:{server.address.port}")[0], 200)

    def test_a_run_that_cannot_be_read_harms_no_other(self):
        broken = self.folder / "runs" / "broken"
        shutil.copytree(self.folder / "runs" / "one", broken)
        (broken / "manifest.json").write_text("{")
        server = self.serve()
        self.assert_refused(server.ask("/api/runs/broken"), 400, "manifest")
        (broken / "manifest.json").write_text('{"seed": 1, "data": {"rows": "many"}}')
        self.assertIn(server.ask("/api/runs/broken")[0], (400, 500))
        (broken / "model.safetensors").write_bytes(b"xx")
        self.assertEqual(server.ask("/api/runs/broken/model")[0], 400)
        self.assertEqual(server.ask("/api/runs/one/model")[0], 200)
        shutil.rmtree(self.folder / "runs")
        self.assertEqual(server.ask("/api/runs"), (200, {"runs": {}}))

    def test_files_that_would_exhaust_or_hang_it_are_refused(self):
        """Deep and long JSON, pipes and devices in place of a run's files: the server answers, and goes on."""
        server = self.serve()
        runs, out = self.folder / "runs", self.folder / "report.html"
        whole, broken = runs / "one", runs / "broken"
        (whole / "evaluation.json").write_text('{"quick": {"distance": {"value": 1}}}')
        picture = f"samples/{sorted((whole / 'samples').iterdir())[0].name}"
        deep = "[" * 200_000 + "]" * 200_000 + "\n"
        # What the page shows without, it leaves out; a run without the others is none.
        for name, status, code in [("manifest.json", 400, 65), ("config.toml", 400, 64), ("evaluation.json", 200, 0),
                                   (picture, 200, 0), ("metrics.jsonl", 200, 0)]:
            shutil.copytree(whole, broken)
            path = broken / name
            path.write_text(deep)
            self.assertEqual(server.ask("/api/runs/broken")[0], status, name)
            self.assertEqual(run("report", broken, "--fast", "-o", out).returncode, code, name)
            path.unlink()
            os.mkfifo(path)
            self.assert_refused(server.ask("/api/runs/broken"), 404, "cannot read: not a regular file")
            self.refuse(74, "cannot read: not a regular file", "report", broken, "--fast", "-o", out)
            path.unlink()
            path.symlink_to("/dev/zero")
            self.assertIn(server.ask("/api/runs/broken")[0], (200, 400, 404), name)  # outside of the folder: not there
            self.refuse(74, "cannot read: not a regular file", "report", broken, "--fast", "-o", out)
            shutil.rmtree(broken)
        # 30 MB of brackets are not even looked at.
        (whole / "evaluation.json").write_text("[" * 30_000_000)
        self.assert_refused(server.ask("/api/runs/one"), 404, "more than the 1048576 bytes")
        with open(f"/proc/{server.process.pid}/status") as lines:
            peak = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
        self.assertLess(peak, 400_000, "kB")

    def test_what_cannot_be_served_is_said_in_one_line(self):
        runs = self.folder / "runs"
        self.refuse(74, "nowhere: there is no such folder", "dashboard", self.folder / "nowhere")
        self.refuse(74, "there is no such folder", "dashboard", self.folder / "secret")
        self.refuse(64, "--port", "dashboard", runs, "--port", 70000)
        self.refuse(74, "cannot listen on port 0 of 203.0.113.7", "dashboard", runs, "--port", 0, "--host", "203.0.113.7")
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            self.refuse(74, f"port {port} of 127.0.0.1 is taken: give another with --port", "dashboard", runs, "--port", port)
        server = self.serve()
        self.refuse(74, "is taken", "dashboard", runs, "--port", server.address.port)


    def test_few_threads_answer_as_well_as_they_can(self):
        """The system starts one thread more than the first, or none."""
        if os.geteuid() != 0:
            self.skipTest("only root can become somebody who has no process yet")
        if PATIENCE > 1:
            self.skipTest("a sanitizer's own threads count, too")
        for path in [self.folder, *self.folder.rglob("*")]:
            path.chmod(0o755)
        few = lambda count: ["prlimit", f"--nproc={count}", "setpriv", "--reuid=64801", "--regid=64801", "--clear-groups"]
        if subprocess.run([*few(1), PROGRAM, "--version"], capture_output=True).returncode != 0:
            self.skipTest("the program is where only root can read it")
        none = subprocess.run([*few(1), PROGRAM, "dashboard", self.folder / "runs", "--port", "0"], capture_output=True,
                              text=True, timeout=60)
        self.assertEqual((none.returncode, none.stdout), (74, ""), none.stderr)
        self.assertRegex(none.stderr, r"^grbm: cannot start a thread [^\n]*ulimit -u[^\n]*\n$")
        server = self.serve(before=few(2))
        for _ in range(2):  # a stream of events leaves the only thread to the others
            connection = http.client.HTTPConnection(server.address.hostname, server.address.port, timeout=20)
            self.addCleanup(connection.close)
            connection.request("GET", "/api/events")
            self.assertRegex(connection.getresponse().read().decode(), r"^data: .*\n\n$")
        self.assertEqual(server.ask("/api/runs/one/model")[0], 200)
        self.assertIn("scores", server.post("/api/runs/one/measure", "{}")[1])
        code, errors = server.stop()
        self.assertEqual(code, 0)
        self.assertRegex(errors, r"^grbm: warning: the system starts no more than 1 of 32 threads[^\n]*\n$")

    def test_many_ranges_of_an_answer_are_refused(self):
        server = self.serve()
        ranges = lambda count: {"Range": "bytes=" + ",".join(["0-"] * count)}
        for count in [2, 700, 2500]:
            self.assert_refused(server.ask("/", headers=ranges(count)), 416, "several ranges")
        self.assert_refused(server.ask("/api/nothing", headers=ranges(700)), 416, "several ranges")
        self.assertEqual(server.ask("/", headers={"Range": "bytes=0-14"}), (206, b"<!doctype html>"))

    def test_clients_that_wait_for_the_word_to_go_on_get_it_once(self):
        server = self.serve()
        head = ("POST /api/runs/one/samples HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                "Connection: close\r\nExpect: 100-continue\r\nContent-Length: {}\r\n\r\n")
        for size, waits, first in [(2, True, "100 Continue"), (2, False, "200 OK"), (100_000, True, "413 ")]:
            with socket.create_connection((server.address.hostname, server.address.port), timeout=8) as client:
                client.sendall(head.format(size).encode() + (b"" if waits else b"{}"))
                answer = client.recv(1000).decode()
                self.assertTrue(answer.startswith("HTTP/1.1 " + first), answer)
                if first == "100 Continue":
                    client.sendall(b"{}")
                while more := client.recv(1 << 16):
                    answer += more.decode()
                self.assertEqual(answer.count("100 Continue"), first == "100 Continue", answer[:300])
                if size == 2:
                    self.assertIn("HTTP/1.1 200 OK", answer)


class Reports(DashboardTest):
    def test_a_report_is_one_file_that_names_no_address(self):
        out = self.folder / "report.html"
        # A name that is taken gives way to the path as it was given, which may hold anything.
        hostile = self.folder / "runs" / "</script><b>" / "one"
        hostile.parent.mkdir(parents=True)
        shutil.copytree(self.folder / "runs" / "one", hostile)
        results = self.results("report", self.folder / "runs" / "one", hostile, "-o", out)
        self.assertEqual((results["runs"], results["bytes"]), (2, out.stat().st_size))
        page = out.read_text()
        self.assertNotRegex(page, r"(src|href)=\"?https?:")
        data = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)[1]
        runs = json.loads(data)["runs"]
        self.assertEqual([each["name"] for each in runs], ["one", str(hostile)])
        self.assertEqual(len(runs[0]["measured"]["mixing"]["energies"]), 16)
        self.assertIn("quick", runs[0]["measured"]["scores"])

    def test_an_evaluation_that_was_kept_is_shown(self):
        folder = self.folder / "runs" / "one"
        evaluation = self.succeed("evaluate", folder / "model.safetensors", "--data", "gmm-iso", "--metrics", "mixture", "--json")
        (folder / "evaluation.json").write_text(evaluation.stdout)
        out = self.folder / "report.html"
        self.succeed("report", folder, "--fast", "--quiet", "-o", out)
        run_data = json.loads(re.search(r'id="data">(.*?)</script>', out.read_text(), re.S)[1])["runs"][0]
        self.assertEqual(list(run_data["evaluation"]), ["mixture"])
        self.assertNotIn("measured", run_data)

    def test_what_cannot_be_reported_is_said_in_one_line(self):
        runs = self.folder / "runs"
        out = self.folder / "report.html"
        self.refuse(65, "there is no run here: config.toml is missing", "report", runs, "-o", out)
        self.refuse(64, "allowed are .html", "report", runs / "one", "-o", self.folder / "report.pdf")
        self.refuse(74, "there is no folder", "report", runs / "one", "-o", self.folder / "no" / "report.html")
        self.assertFalse(out.exists())


if __name__ == "__main__":
    # Exit code 77: skipped.
    if "without its web page" in run("report", "nowhere", "-o", "x.html").stderr:
        print("skipped: this build has no web page, for want of npm")
        raise SystemExit(77)
    unittest.main()
