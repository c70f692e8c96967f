// The page in a real browser: node browser.test.mjs PROGRAM CHROMIUM.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { appendFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { chromium } from "playwright-core";

const [program, executablePath] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), "grbm-browser-"));
const at = (...parts) => join(folder, ...parts);
const mkFolder = (folder, name) => {
  mkdirSync(folder, { recursive: true });
  return join(folder, name);
};
const grbm = (...args) => execFileSync(program, args.map(String), { stdio: ["ignore", "pipe", "pipe"] });
let browser;
const servers = [];
let address;

/** 200 images of a bright spot: enough to have pictures, curves and filters. */
function writeImages(path) {
  const side = 8;
  const pixels = Buffer.alloc(200 * side * side);
  for (let k = 0; k < 200; ++k) {
    for (let y = 0; y < side; ++y) {
      for (let x = 0; x < side; ++x) {
        const d = (x - (k % 5) - 1) ** 2 + (y - (k % 7)) ** 2;
        pixels[(k * side + y) * side + x] = Math.round(255 * Math.exp(-d / 3));
      }
    }
  }
  const header = Buffer.alloc(16);
  [0x803, 200, side, side].forEach((value, k) => header.writeUInt32BE(value, 4 * k));
  writeFileSync(path, Buffer.concat([header, pixels]));
}

function train(out, ...settings) {
  const preset = at("spots.toml");
  writeFileSync(preset, `[data]\nsource = "${at("spots.idx")}"\n[model]\nhidden = 8\n[sampler]\nsteps = 5\n[train]\nbatch_size = 20\nepochs = 20\n[evaluate]\nevery_steps = 50\nsamples = 40\n`);
  grbm("train", preset, "--quiet", "--threads", 1, "--out", out, ...settings.flatMap((s) => ["--set", s]));
}

/** The address of a dashboard, which ends with the tests. */
function serve(runs) {
  const server = spawn(program, ["dashboard", runs, "--port", "0", "--json"], { stdio: ["ignore", "pipe", "inherit"] });
  servers.push(server);
  return new Promise((resolve, reject) => {
    server.stdout.once("data", (text) => resolve(JSON.parse(text).address));
    server.once("exit", (code) => reject(new Error(`dashboard ended with ${code}`)));
  });
}

before(async () => {
  writeImages(at("spots.idx"));
  train(at("runs", "one"));
  train(at("runs", "two"), "model.hidden=12", "train.learning_rate=0.02");
  grbm("train", "gmm-iso", "--quiet", "--threads", 1, "--out", at("points"), "--set", "train.epochs=20");
  browser = await chromium.launch({
    executablePath, headless: true,
    args: ["--disable-background-networking", "--disable-component-update", "--disable-gpu", "--no-first-run",
      ...(process.getuid() === 0 ? ["--no-sandbox"] : [])],
  });
  address = await serve(at("runs"));
});

after(async () => {
  await browser?.close();
  for (const server of servers) server.kill("SIGINT");
  rmSync(folder, { recursive: true, force: true });
});

/** Every text that a chart has drawn since its last frame: where it began and ended, and how wide its canvas is. */
const noteTexts = () => {
  const fill = CanvasRenderingContext2D.prototype.fillText;
  CanvasRenderingContext2D.prototype.fillText = function (text, x, y, ...rest) {
    const { a, e } = this.getTransform();
    const width = this.measureText(text).width * a;
    const left = e + x * a - (this.textAlign === "center" ? width / 2 : this.textAlign === "right" || this.textAlign === "end" ? width : 0);
    if (performance.now() - (this.canvas.drawn ?? -Infinity) > 100) this.canvas.texts = [];
    this.canvas.drawn = performance.now();
    this.canvas.texts.push({ text, left, right: left + width, room: this.canvas.width });
    return fill.call(this, text, x, y, ...rest);
  };
};

/** A page on which every complaint and every request is noted. */
async function open(url, { routes = {}, ...options } = {}) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 }, ...options });
  await page.addInitScript(noteTexts);
  for (const [pattern, handle] of Object.entries(routes)) await page.route(pattern, handle);
  const complaints = [];
  const requests = [];
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("request", (request) => requests.push(request.url()));
  await page.goto(url);
  await page.waitForSelector(".chart canvas");
  return { page, complaints, requests };
}

function report(...runs) {
  const out = at(`${runs.join("-").replaceAll("/", "-")}.html`);
  grbm("report", ...runs.map((run) => at(run)), "--quiet", "--threads", 1, "-o", out);
  return `file://${out}`;
}

/** How many pixels of each chart are neither transparent nor grey: the curves. */
const coloured = (page) => page.$$eval(".plot .uplot canvas", (canvases) => canvases.map((canvas) => {
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  let count = 0;
  for (let k = 0; k < data.length; k += 4) {
    if (data[k + 3] > 100 && Math.max(data[k], data[k + 1], data[k + 2]) - Math.min(data[k], data[k + 1], data[k + 2]) > 40) ++count;
  }
  return count;
}));
const overflow = (page) => page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
const chartTexts = (page, title) => page.locator(".chart", { hasText: title }).locator(".uplot canvas").first().evaluate((canvas) => canvas.texts);
const names = (page) => page.$$eval(".runs tbody td:first-child label", (labels) => labels.map((label) => label.textContent));
const player = (page, title) => page.locator(".player", { hasText: title });

test("a report draws its charts and needs nothing from anywhere", async () => {
  const url = report("runs/one");
  const { page, complaints, requests } = await open(url);
  const counts = await coloured(page);
  assert.ok(counts.length >= 8, `${counts.length} charts`);
  for (const count of counts) assert.ok(count > 50, `a blank chart: ${counts}`);
  assert.deepEqual(requests.filter((each) => each !== url && !each.startsWith("data:")), []);
  assert.deepEqual(complaints, []);
  for (const text of ["Samples over training", "The chain from noise", "Filters", "Variances of the visible units", "R̂", "Quick distance", "gibbs-langevin"]) {
    assert.ok((await page.textContent("main")).includes(text), text);
  }
  await page.close();
});

test("pointing at a curve shows its values, dragging zooms, and a button goes back", async () => {
  const { page, complaints } = await open(report("runs/one"));
  const chart = page.locator(".chart", { hasText: "Reconstruction error" });
  await chart.scrollIntoViewIfNeeded();
  const over = await chart.locator(".u-over").boundingBox();
  assert.ok(over);
  await page.mouse.move(over.x + over.width / 2, over.y + over.height / 2);
  assert.match(await chart.locator(".tip").textContent(), /^update (9|10)\d.*one 0\.\d+/);
  await page.mouse.move(over.x + over.width * 0.2, over.y + 40);
  await page.mouse.down();
  await page.mouse.move(over.x + over.width * 0.5, over.y + 60, { steps: 5 });
  await page.mouse.up();
  const reset = chart.getByRole("button", { name: "Reset zoom" });
  await reset.waitFor({ state: "visible" });
  await reset.click();
  await reset.waitFor({ state: "hidden" });
  assert.deepEqual(complaints, []);
  await page.close();
});

test("sliders and the keyboard move pictures and charts", async () => {
  const { page, complaints } = await open(report("runs/one"));
  for (const title of ["Samples over training", "The chain from noise"]) {
    const card = player(page, title);
    const slider = card.locator("input[type=range]");
    const shown = async () => [await card.locator("img").first().getAttribute("src"), await card.locator("figcaption b").first().textContent()];
    const [lastImage, lastText] = await shown();
    await slider.focus();
    await page.keyboard.press("Home");
    const [firstImage, firstText] = await shown();
    assert.notEqual(firstImage, lastImage);
    assert.notEqual(firstText, lastText);
    await page.keyboard.press("ArrowRight");
    assert.notEqual((await shown())[1], firstText);
    await page.keyboard.press("Home");
    await page.keyboard.press("Space");
    assert.equal(await card.locator("button.play").getAttribute("aria-pressed"), "true");
    await page.waitForFunction((input) => Number(input.value) >= 2, await slider.elementHandle());
    await page.keyboard.press("Space");
    assert.equal(await card.locator("button.play").getAttribute("aria-pressed"), "false");
  }
  const plot = page.locator(".chart", { hasText: "Reconstruction error" }).locator(".plot");
  const tip = plot.locator(".tip");
  await plot.focus();
  await page.keyboard.press("ArrowRight");
  const first = await tip.textContent();
  await page.keyboard.press("ArrowRight");
  assert.notEqual(await tip.textContent(), first);
  await page.keyboard.press("+");
  await page.getByRole("button", { name: "Reset zoom" }).first().waitFor({ state: "visible" });
  await page.keyboard.press("0");
  await page.getByRole("button", { name: "Reset zoom" }).first().waitFor({ state: "hidden" });
  assert.deepEqual(complaints, []);
  await page.close();
});

test("runs are compared side by side, and what differs is marked", async () => {
  const { page, complaints } = await open(report("runs/one", "runs/two"));
  const marked = await page.$$eval("tr.differs th", (cells) => cells.map((cell) => cell.textContent));
  assert.deepEqual(marked, ["hidden", "learning_rate"]);
  assert.equal(await player(page, "Samples over training").locator("figure").count(), 3); // the data beside them, once
  assert.equal(await page.locator("tr.differs").count(), 2);
  assert.ok(!(await page.textContent("main")).includes("variance_floor"));
  await page.getByLabel("differences only").uncheck();
  assert.ok((await page.textContent("main")).includes("variance_floor"));
  await page.getByLabel("Show two").uncheck();
  assert.equal(await player(page, "Samples over training").locator("figure").count(), 2);
  assert.deepEqual(complaints, []);
  await page.close();
});

test("runs say when they were started, by which command, how long they took, and can be seen by time", async () => {
  const { page, complaints } = await open(report("runs/one"));
  const overview = await page.textContent(".overview");
  assert.match(overview, /Started20\d\d-\d\d-\d\d \d\d:\d\dTime of training[\d.]+ sUpdates per second[\d.,]+\/s/);
  assert.match(await page.textContent(".facts"), /commandgrbm train \S+spots\.toml --quiet --threads 1 --out \S+one/);
  await page.getByLabel("Horizontal axis").selectOption("time");
  const plot = page.locator(".chart", { hasText: "Reconstruction error" }).locator(".plot");
  await plot.focus();
  await page.keyboard.press("End");
  assert.match(await plot.locator(".tip").textContent(), /^[\d.]+ sone 0\.\d+/);
  assert.deepEqual(complaints, []);
  await page.close();
});

test("axes fit their values, labels are whole, and lines have names", async () => {
  const { page } = await open(report("runs/one"));
  await page.waitForTimeout(300);
  for (const canvas of await page.$$eval(".uplot canvas", (all) => all.map((canvas) => canvas.texts))) {
    for (const { text, left, right, room } of canvas) assert.ok(left >= 0 && right <= room, `"${text}" from ${left} to ${right} of ${room}`);
  }
  // Variances within a factor of ten have an axis within it.
  const values = readFileSync(at("runs", "one", "metrics.jsonl"), "utf8").trim().split("\n").map((line) => JSON.parse(line));
  const [low, high] = [Math.exp(Math.min(...values.map((v) => v.min_log_var))), Math.exp(Math.max(...values.map((v) => v.max_log_var)))];
  const ticks = (await chartTexts(page, "Variance σ²")).map(({ text }) => Number(text)).filter((tick) => tick > 0 && tick < 20);
  assert.ok(high < 10 * low && ticks.length >= 3, String(ticks));
  for (const tick of ticks) assert.ok(tick > low / 1.2 && tick < high * 1.2, `${tick}, values from ${low} to ${high}`);
  assert.equal(await page.locator(".chart", { hasText: "Energy of chains" }).locator(".legend").textContent(), "from datafrom noise");
  await page.close();
});

test("smoothing has a strength, and is not for what was set", async () => {
  const { page } = await open(report("points"));
  const tip = async (title) => {
    const plot = page.locator(".chart", { hasText: title }).locator(".plot");
    await plot.focus();
    await page.keyboard.press("ArrowRight");
    return plot.locator(".tip").textContent();
  };
  assert.match(await tip("Reconstruction error"), /smooth/);
  assert.doesNotMatch(await tip("Learning rate"), /smooth/);
  await page.getByLabel("Smoothing").focus();
  await page.keyboard.press("Home");
  assert.doesNotMatch(await tip("Reconstruction error"), /smooth/);
  await page.close();
});

test("points of the plane are drawn, and an unfinished run is shown", async () => {
  const unfinished = at("unfinished");
  execFileSync("cp", ["-r", at("points"), unfinished]);
  rmSync(join(unfinished, "model.safetensors"));
  const lines = readFileSync(join(unfinished, "metrics.jsonl"), "utf8").split("\n");
  writeFileSync(join(unfinished, "metrics.jsonl"), lines.slice(0, 90).join("\n") + "\n" + lines[91].slice(0, 20));
  const { page, complaints } = await open(report("points", "unfinished"));
  const inked = await page.$$eval("canvas.plane", (canvases) => canvases.map((canvas) =>
    canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.some((value) => value > 0)));
  assert.ok(inked.length >= 3 && inked.every(Boolean), String(inked));
  assert.match(await page.textContent(".runs"), /unfinished90 of 200 updatesnot finished/);
  const labels = await page.$$eval("canvas.plane", (canvases) => canvases.flatMap((canvas) => canvas.texts));
  assert.ok(labels.length > 10);
  for (const { text, left, right, room } of labels) assert.ok(left >= 0 && right <= room, `"${text}" from ${left} to ${right} of ${room}`);
  // Two variances are told, not counted in a histogram.
  const variances = page.locator(".card", { hasText: "Variances σ² of the visible units" });
  assert.match(await variances.textContent(), /v₁[\d.]+v₂[\d.]+/);
  assert.equal(await page.locator(".chart:visible", { hasText: "Variances of the visible units" }).count(), 0);
  assert.deepEqual(complaints, []);
  await page.close();
});

test("a phone shows all without scrolling sideways, and the dark is dark", async () => {
  for (const url of [report("runs/one"), report("runs/one", "runs/two"), report("points"), address]) {
    const { page } = await open(url, { viewport: { width: 375, height: 700 } });
    assert.ok((await overflow(page)) <= 0, url);
    await page.close();
  }
  const light = await open(report("runs/one"), { colorScheme: "light" });
  const dark = await open(report("runs/one"), { colorScheme: "dark" });
  const brightness = ({ page }) => page.evaluate(() => Number(getComputedStyle(document.body).backgroundColor.match(/\d+/)[0]));
  assert.ok((await brightness(light)) > 200);
  assert.ok((await brightness(dark)) < 60);
  for (const count of await coloured(dark.page)) assert.ok(count > 50);
  await light.page.close();
  await dark.page.close();
});

test("a live page follows its runs, whatever happens to their files", async () => {
  const metrics = at("runs", "one", "metrics.jsonl");
  const whole = readFileSync(metrics, "utf8");
  const { page, complaints, requests } = await open(address);
  const row = page.locator(".runs tbody tr", { hasText: "one" });
  const says = (text) => row.filter({ hasText: text }).waitFor({ timeout: 5000 });
  await says("200 of 200");

  // A line is written in two halves: only the second counts.
  const line = JSON.stringify({ ...JSON.parse(whole.trim().split("\n").pop()), update: 201, reconstruction: 0.125 }) + "\n";
  appendFileSync(metrics, line.slice(0, 30));
  await page.waitForTimeout(800);
  await says("200 of 200");
  appendFileSync(metrics, line.slice(30));
  await says("201 of 200");
  await says("0.125");

  // Cut back, as by a run that is resumed.
  truncateSync(metrics, whole.indexOf("\n", whole.length / 2) + 1);
  await row.filter({ hasNotText: "201 of" }).waitFor({ timeout: 5000 });
  await says("training");
  assert.match(await row.textContent(), /training.*[\d.]+ s/);
  await page.getByRole("button", { name: "Sort by Time left" }).waitFor({ timeout: 5000 });
  writeFileSync(metrics, whole);
  await says("200 of 200");

  // A run comes, and goes.
  execFileSync("cp", ["-r", at("runs", "two"), at("three")]);
  renameSync(at("three"), at("runs", "three"));
  const third = page.locator(".runs tbody tr", { hasText: "three" });
  await third.waitFor({ timeout: 5000 });
  rmSync(at("runs", "three"), { recursive: true });
  await third.filter({ hasText: "gone" }).waitFor({ timeout: 5000 });

  assert.deepEqual(requests.filter((url) => !url.startsWith(address) && !url.startsWith("data:")), []);
  assert.deepEqual(complaints.filter((text) => !text.includes("404")), []);
  await page.close();
});

test("runs are shown as they come, in the order of their names, and can be sorted and found", async () => {
  const many = at("many");
  for (let k = 12; k >= 1; --k) execFileSync("cp", ["-r", at("runs", k === 3 ? "two" : "one"), mkFolder(many, `run${k}`)]);
  let late;
  const held = new Promise((resolve) => (late = resolve));
  const { page, complaints } = await open(await serve(many), { routes: { "**/api/runs/run2": async (route) => { await held; await route.continue(); } } });
  await page.waitForFunction(() => document.querySelectorAll(".runs tbody tr").length === 11);
  assert.match(await page.textContent("main > .empty"), /Reading runs: 11 of 12/);
  assert.ok((await coloured(page)).length > 5, "curves of those that are here");
  late();
  await page.waitForFunction(() => document.querySelectorAll(".runs tbody tr").length === 12);
  assert.deepEqual(await names(page), Array.from({ length: 12 }, (_, k) => `run${k + 1}`));
  assert.ok(await page.locator("main > .empty").isHidden());

  // Twelve runs, twelve looks.
  await page.getByLabel("Show all").check();
  const looks = await page.$$eval(".runs tbody .swatch", (dots) => dots.map((dot) => `${dot.style.background} ${dot.className}`));
  assert.equal(new Set(looks).size, 12, String(looks));
  assert.match(looks[1], /--run-1\)/, "though it came last");

  await page.getByRole("button", { name: "Sort by model.hidden" }).click();
  await page.getByRole("button", { name: "Sort by model.hidden" }).click();
  assert.equal((await names(page))[0], "run3");
  await page.getByLabel("Filter runs").fill("hidden=12");
  await page.waitForFunction(() => document.querySelectorAll(".runs tbody tr").length === 1);
  assert.deepEqual(await names(page), ["run3"]);
  await page.getByLabel("Filter runs").fill("run1 epoch>1");
  assert.deepEqual((await names(page)).sort(), ["run1", "run10", "run11", "run12"]);
  await page.getByLabel("Filter runs").fill("no such run");
  assert.deepEqual(await names(page), []);
  assert.deepEqual(complaints, []);
  assert.ok((await overflow(page)) <= 0);
  await page.close();
});

test("a run that cannot be read is named, with the reason, and does not hide the others", async () => {
  const damaged = at("damaged");
  for (const name of ["first", "second", "broken"]) execFileSync("cp", ["-r", at("runs", "one"), mkFolder(damaged, name)]);
  const manifest = join(damaged, "broken", "manifest.json");
  const whole = readFileSync(manifest);
  writeFileSync(manifest, "{");
  const { page } = await open(await serve(damaged));
  await page.waitForFunction(() => document.querySelectorAll(".runs tbody tr").length === 2);
  await page.waitForFunction(() => /^broken cannot be read: .*JSON/.test(document.querySelector("main > .empty").textContent));
  writeFileSync(manifest, whole);
  appendFileSync(join(damaged, "broken", "metrics.jsonl"), readFileSync(join(damaged, "broken", "metrics.jsonl"), "utf8").trimEnd().split("\n").at(-1) + "\n"); // a change
  await page.waitForFunction(() => document.querySelectorAll(".runs tbody tr").length === 3);
  assert.ok(await page.locator("main > .empty").isHidden());
  await page.close();
});

test("a live page draws fresh samples, and measures", async () => {
  const { page, complaints } = await open(address);
  const fresh = page.locator(".fresh");
  await fresh.getByRole("button", { name: "Draw samples" }).click();
  const image = fresh.locator("img");
  await image.waitFor();
  const before = await image.getAttribute("src");
  await fresh.getByLabel("Temperature").focus();
  await page.keyboard.press("End");
  assert.equal(await fresh.locator("output").nth(1).textContent(), "10");
  await fresh.getByRole("button", { name: "Draw samples" }).click();
  await page.waitForFunction((src) => document.querySelector(".fresh img").src !== src, before);
  await page.getByRole("button", { name: "Measure now" }).click();
  await page.getByText("R̂ (below 1.05: converged)").first().waitFor();
  assert.deepEqual(complaints, []);
  assert.ok(readdirSync(at("runs", "one", "samples")).length > 8);
  await page.close();
});
