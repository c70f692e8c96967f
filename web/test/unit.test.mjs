// What the page computes, without a browser: node unit.test.mjs.
import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");

/** A module of the page. */
async function load(name) {
  const bundle = await build({ entryPoints: [join(root, "src", `${name}.ts`)], bundle: true, format: "esm", write: false });
  return import(`data:text/javascript;base64,${Buffer.from(bundle.outputFiles[0].contents).toString("base64")}`);
}
const { smoothed } = await load("smooth");
const { logRange, logTicks, tickTexts } = await load("ticks");
const { byName, format, runColor, runDash } = await load("dom");
const { durationText, secondsAt, secondsLeft, speed } = await load("times");

const close = (a, b, tolerance = 1e-9) => assert.ok(Math.abs(a - b) <= tolerance, `${a} is not ${b}`);

test("smoothing keeps a line what it is, up to its ends", () => {
  const line = Array.from({ length: 200 }, (_, k) => 3 - 0.5 * k);
  smoothed(line, 0.5).forEach((value, k) => close(value, line[k]));
});

test("smoothing is centred: a step stays where it is", () => {
  const step = Array.from({ length: 401 }, (_, k) => (k < 200 ? 0 : k > 200 ? 1 : 0.5));
  const smooth = smoothed(step, 0.4);
  close(smooth[200], 0.5);
  for (let k = 0; k < 150; ++k) close(smooth[200 - k] + smooth[200 + k], 1);
});

test("smoothing takes noise away, the more the stronger it is, and none at 0", () => {
  let seed = 1;
  const noise = Array.from({ length: 1000 }, () => (seed = (seed * 16807) % 2147483647) / 2147483647 - 0.5);
  const spread = (y) => Math.sqrt(y.reduce((sum, v) => sum + v * v, 0) / y.length);
  const spreads = [0, 0.2, 0.5, 1].map((strength) => spread(smoothed(noise, strength)));
  assert.equal(spreads[0], spread(noise));
  for (let k = 1; k < 4; ++k) assert.ok(spreads[k] < 0.7 * spreads[k - 1], String(spreads));
});

test("smoothing leaves gaps as they are", () => {
  const gaps = smoothed([1, null, 3, null, null, 6, ...Array.from({ length: 30 }, (_, k) => 7 + k)], 0.8);
  assert.deepEqual(gaps.slice(0, 6).map((v) => v === null), [false, true, false, true, true, false]);
  close(gaps[2], 3);
});

test("a logarithmic axis is as long as its values, and marked at round numbers", () => {
  const [low, high] = logRange(0.67, 1.05);
  assert.ok(low > 0.6 && low < 0.67 && high > 1.05 && high < 1.2, `${low} ${high}`);
  assert.deepEqual(logTicks(low, high, 6), [0.7, 0.8, 0.9, 1]);
  assert.deepEqual(logTicks(8, 120, 6), [10, 20, 50, 100]);
  assert.deepEqual(logTicks(0.5, 2e4, 6), [1, 10, 100, 1000, 10000]);
  assert.ok(logTicks(1e-12, 1e8, 6).length <= 7);
  const [one, same] = logRange(5, 5);
  assert.ok(one < 5 && same > 5);
});

test("marks have as many digits as tell each from the next", () => {
  assert.deepEqual(tickTexts([0.25, 0.5, 0.75]), ["0.25", "0.5", "0.75"]);
  assert.deepEqual(tickTexts([0.0099996, 0.0099998, 0.01]), ["0.0099996", "0.0099998", "0.01"]);
  assert.deepEqual(tickTexts([0.99985, 0.9999, 0.99995]), ["0.99985", "0.9999", "0.99995"]);
  assert.deepEqual(tickTexts([7041.5, 7042, 7042.5]), ["7,041.5", "7,042", "7,042.5"]);
  assert.deepEqual(tickTexts([1e-6, 1.0001e-6]), ["1e-6", "1.0001e-6"]);
  assert.deepEqual(tickTexts([1, null, 100]), ["1", "", "100"]);
  assert.deepEqual(tickTexts([0.1 + 0.2]), ["0.3"]);
});

test("numbers have four digits, or are whole", () => {
  assert.deepEqual([0, 12345, 12345.6, 1234.56, 0.123456, 1.5e7 + 0.5, 1.234567e-5].map((v) => format(v)),
                   ["0", "12,345", "12,346", "1,235", "0.1235", "1.5e7", "1.235e-5"]);
  assert.deepEqual([null, undefined, NaN].map((v) => format(v)), ["–", "–", "–"]);
});

test("names are in the order in which people count, and 32 runs look different", () => {
  assert.deepEqual(["run10", "run2", "Run1", "a"].sort(byName), ["a", "Run1", "run2", "run10"]);
  const looks = new Set(Array.from({ length: 32 }, (_, k) => `${runColor(k)} ${runDash(k)}`));
  assert.equal(looks.size, 32);
  assert.equal(new Set(Array.from({ length: 16 }, (_, k) => runColor(k))).size, 16);
});

const run = (total, updates, seconds, starts = [{ update: 0, seconds: 0, started: "2026-01-01T00:00:00Z" }]) =>
  ({ total, metrics: { columns: { update: updates } }, times: { columns: { update: updates, seconds }, starts } });

test("times lie between those that are known, and tell speed and time left", () => {
  const at = secondsAt(run(40, [0, 10, 20, 20, 30], [0, 5, 10, 10, 20]).times);
  assert.deepEqual([0, 5, 10, 20, 25, 30, 31].map(at), [0, 2.5, 5, 10, 15, 20, null]);
  assert.equal(secondsAt({ columns: {}, starts: [] })(3), null);
  close(speed(run(100, [0, 10, 20], [0, 5, 10])), 2);
  close(secondsLeft(run(100, [0, 10, 20], [0, 5, 10])), 40);
  assert.equal(secondsLeft(run(20, [0, 10, 20], [0, 5, 10])), null);
  // Resumed on a faster machine: what came before says nothing of now.
  const resumed = [{ update: 0, seconds: 0, started: "" }, { update: 20, seconds: 10, started: "" }];
  close(speed(run(100, [0, 10, 20, 20, 40], [0, 5, 10, 10, 12], resumed)), 10);
  assert.equal(speed(run(100, [], [])), null);
});

test("durations are read at a glance", () => {
  assert.deepEqual([0.04, 8.44, 59, 60, 725, 3599.7, 12000, 200000, null].map(durationText),
    ["0.04 s", "8.4 s", "59 s", "1 min", "12 min 05 s", "1 h", "3 h 20 min", "2 d 7 h", "–"]);
});
