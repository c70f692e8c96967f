// The page: one run or several, from a report or live.
import { redrawCharts, type Chart } from "./chart";
import { Curves, hasTimes, type XAxis } from "./curves";
import { byName, format, h, last } from "./dom";
import { Fresh } from "./fresh";
import { fetchMetrics, fetchModel, fetchPictures, fetchRun, follow, measure, type Tokens } from "./live";
import { filterFigures, MixingView, redrawPlanes, varianceChart, varianceLines, varianceTable } from "./model";
import { isFinished, Overview } from "./overview";
import { Player, type Still } from "./player";
import "./style.css";
import { factsTable, scoresTable, settingsList, settingsTable } from "./tables";
import type { PageData, Run, RunData } from "./types";

const STOPPED_SECONDS = 90; // without a line of metrics
const MODEL_SECONDS = 20; // between two looks at a model that changes
const AT_ONCE = 4; // requests: browsers have six connections, of which events keep one

const data = JSON.parse(document.getElementById("data")!.textContent!) as PageData;
const adopt = (run: RunData): Run => ({ ...run, color: -1, picked: undefined, gone: false });
let runs: Run[] = data.runs.map(adopt);
const newest = new Map<string, Tokens>();
/** Runs that there are; unknown until the program has said so. */
let expected = data.live ? -1 : runs.length;
/** Why a run that is there could not be read. */
const unread = new Map<string, string>();
/** Whether all runs that there were at first are here. */
let settled = false;

const curves = new Curves();
const overview = new Overview(stateText, () => {
  showAll();
  loadModels();
});
const pictures = new Player("Samples over training", "The same chains, from noise to samples, drawn by the model as it was after each update; beside them, data.", "Samples", 350);
const chain = new Player("The chain from noise", "The same noise, step by step, under the model as it is now.", "Chains", 160);
const fresh = new Fresh();
const gallery = h("div", { class: "pictures" }, pictures.root, chain.root, data.live ? fresh.root : null);
const variances: Chart = varianceChart();
const fewVariances = h("div");
const fewCard = h("section", { class: "card" }, h("header", {}, h("h3", {}, "Variances σ² of the visible units")), fewVariances);
const filters = h("div", { class: "screens" });
const filterCard = h("section", { class: "card player" }, h("header", {}, h("h3", {}, "Filters")),
  h("p", { class: "help" }, "Weights of hidden units: what each adds to the picture when it is on."), filters);
const mixing = new MixingView([filterCard, variances.root, fewCard]);
const scores = h("div");
const settings = h("div");
const state = h("span", { class: "state", role: "status" });
const notice = h("p", { class: "empty", hidden: true, role: "status" });
const measureButton = h("button", { onclick: () => void measureAll() }, "Measure now");
const differences = h("input", { type: "checkbox" });
const axis = h("select", { "aria-label": "Horizontal axis" });

const selected = (): Run[] => overview.shown();

function stateText(run: Run): string {
  if (run.gone) return "gone";
  if (isFinished(run)) return "finished";
  if (!data.live) return "not finished";
  // A token ends with the time of the last change, in nanoseconds.
  const changed = Number(newest.get(run.name)?.metrics.split("-").pop() ?? 0) / 1e6;
  return Date.now() - changed < 1000 * STOPPED_SECONDS ? "training" : "stopped";
}

function showCurves(): void {
  const shown = selected();
  const axes: XAxis[] = hasTimes(shown) ? ["update", "epoch", "time"] : ["update", "epoch"];
  if (axes.length !== axis.options.length) {
    axis.replaceChildren(...axes.map((name) => h("option", { value: name, selected: name === curves.axis }, name === "time" ? "by time of training" : `by ${name}`)));
    curves.axis = axis.value as XAxis;
  }
  curves.set(shown);
}

/** The data of the runs that are shown, each once. */
function dataBeside(shown: Run[]): Still[] {
  const seen = new Map<string, Still>();
  for (const run of shown) {
    const source = run.manifest.data;
    if (!run.data || !source) continue;
    const key = source.fingerprint ?? source.source;
    const name = String(run.settings["data"]?.["source"] ?? source.source).split("/").slice(-1)[0]!;
    if (!seen.has(key)) seen.set(key, { name: "data", color: -1, label: name, picture: run.data });
  }
  return [...seen.values()];
}

function showPictures(): void {
  const shown = selected();
  const beside = dataBeside(shown);
  gallery.classList.toggle("many", shown.length + beside.length > 1);
  pictures.set(shown.map((run) => ({
    name: run.name, color: run.color,
    frames: run.pictures.map((picture) => ({ ...picture, label: `update ${format(picture.update)}` })),
  })), beside);
}

function showModels(): void {
  const shown = selected();
  chain.set(shown.map((run) => ({
    name: run.name, color: run.color,
    note: run.model?.chain_note,
    frames: (run.model?.chain ?? []).map((frame) => ({ ...frame, label: frame.step === 0 ? "noise" : `step ${format(frame.step)}` })),
  })));
  const figures = filterFigures(shown);
  filters.replaceChildren(...figures);
  filterCard.hidden = figures.length === 0;
  const lines = varianceLines(shown);
  variances.root.hidden = lines.length === 0;
  variances.set(lines);
  const few = varianceTable(shown);
  fewCard.hidden = !few;
  fewVariances.replaceChildren(few ?? "");
  if (data.live) fresh.set(shown);
}

function showMeasured(): void {
  const shown = selected();
  mixing.set(shown);
  const table = scoresTable(shown, (run) => ({ ...run.measured?.scores, ...run.evaluation }));
  scores.replaceChildren(table ? h("section", { class: "card" }, table) : h("p", { class: "empty" }, "Nothing was evaluated yet: grbm evaluate MODEL --data D --json > RUN/evaluation.json"));
}

function showSettings(): void {
  const shown = selected();
  const table = shown.length > 1 ? settingsTable(shown, differences.checked) : shown[0] ? settingsList(shown[0]) : "";
  settings.replaceChildren(shown.length > 0 ? factsTable(shown) : "", table);
  differences.parentElement!.hidden = shown.length < 2;
}

function noticeText(): string {
  if (!data.live) return runs.length > 0 ? "" : "No runs.";
  if (expected < 0) return `Looking for runs in ${data.folder} …`;
  if (expected === 0) return runs.length > 0 ? "" : `No run in ${data.folder} yet: they appear here as soon as they start.`;
  const here = runs.filter((run) => !run.gone).length;
  const reading = here + unread.size < expected ? [`Reading runs: ${here} of ${expected} …`] : [];
  return [...reading, ...[...unread].map(([name, why]) => `${name} cannot be read: ${why}`)].join(" · ");
}

function showAll(): void {
  showList();
  showCurves();
  showPictures();
  showModels();
  showMeasured();
  showSettings();
}

function showList(): void {
  overview.set(runs);
  overview.draw();
  notice.textContent = noticeText();
  notice.hidden = notice.textContent === "";
  const names = runs.length <= 3 ? runs.map((run) => run.name).join(", ") : `${runs.length} runs`;
  document.title = names ? `${names} – grbm` : "grbm";
}

/** Whatever has changed is shown together, a moment later; the longer that takes, the less often, so that there is time for
 * what comes in. */
const changes = new Set<() => void>();
let pause = 50; // milliseconds
function soon(show: () => void): void {
  if (changes.size === 0) {
    window.setTimeout(() => {
      const start = performance.now();
      const due = changes.has(showAll) ? [showAll] : [...changes];
      changes.clear();
      for (const each of due) each();
      pause = Math.max(50, 3 * (performance.now() - start));
    }, pause);
  }
  changes.add(show);
}

async function measureAll(): Promise<void> {
  measureButton.disabled = true;
  for (const run of selected()) {
    try {
      run.measured = await measure(run.name);
    } catch (error) {
      run.measured = { note: (error as Error).message };
    }
    showMeasured();
  }
  measureButton.disabled = false;
}

const loadedModels = new Map<string, { token: string; time: number }>();

/** Models one after the other, as the program draws them: nothing else has to wait for them. */
let drawing: Promise<void> = Promise.resolve();
function loadModels(): void {
  if (!data.live) return;
  for (const run of selected()) if (!run.gone) drawing = drawing.then(() => loadModel(run));
}

async function loadModel(run: Run): Promise<void> {
  const token = newest.get(run.name)?.model ?? "";
  const known = loadedModels.get(run.name);
  if (token === "" || token === known?.token || !selected().includes(run)) return;
  const wait = known ? known.time + 1000 * MODEL_SECONDS - Date.now() : 0;
  if (wait > 0) {
    window.setTimeout(loadModels, wait);
    return;
  }
  loadedModels.set(run.name, { token, time: Date.now() });
  try {
    run.model = await fetchModel(run.name);
  } catch {
    loadedModels.delete(run.name); // it is being written, or has gone: the next change asks again
    return;
  }
  soon(showModels);
}

/** One change after the other: an answer never overtakes an earlier one. */
let queue: Promise<void> = Promise.resolve();

async function takeRun(name: string, token: Tokens): Promise<void> {
  const before = newest.get(name);
  const run = runs.find((each) => each.name === name);
  try {
    if (!run) {
      const found = adopt(await fetchRun(name));
      runs = [...runs, found];
      if (!settled) runs.forEach((each) => (each.color = -1)); // the first runs by name have the first colours, whichever came first
      overview.set(runs);
      soon(selected().includes(found) ? showAll : showList); // of those beyond the first few only the list tells
    } else {
      if (token.metrics !== before?.metrics) {
        await fetchMetrics(run);
        soon(showList);
        soon(showCurves);
      }
      if (token.pictures !== before?.pictures) {
        run.pictures = await fetchPictures(name);
        soon(showPictures);
      }
    }
    newest.set(name, token);
    unread.delete(name);
  } catch (error) {
    // A run that has just gone, or is not whole yet: asked for again with the next change.
    unread.set(name, (error as Error).message);
    soon(showList);
  }
}

/** Side by side; each run is shown as soon as it is here. */
async function takeTokens(tokens: Record<string, Tokens>): Promise<void> {
  const names = Object.keys(tokens).sort(byName);
  expected = names.length;
  for (const name of unread.keys()) if (!(name in tokens)) unread.delete(name);
  showList();
  for (const run of runs) {
    const gone = !(run.name in tokens);
    if (gone !== run.gone) soon(showAll);
    run.gone = gone;
  }
  const take = async (): Promise<void> => {
    for (let name = names.shift(); name !== undefined; name = names.shift()) await takeRun(name, tokens[name]!);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, take));
  settled = true;
  loadModels();
}

function goLive(): void {
  window.setInterval(() => overview.draw(), 1000 * STOPPED_SECONDS / 3);
  follow((tokens) => (queue = queue.then(() => takeTokens(tokens))), (connected) => {
    state.className = connected ? "state on" : "state off";
    state.textContent = connected ? "live" : "not connected";
  });
}

function build(): void {
  axis.addEventListener("change", () => {
    curves.axis = axis.value as XAxis;
    curves.set(selected());
  });
  const smooth = h("input", { type: "range", min: 0, max: 1, step: 0.05, value: curves.smooth, "aria-label": "Smoothing" });
  smooth.addEventListener("input", () => {
    curves.smooth = Number(smooth.value);
    curves.set(selected());
  });
  differences.checked = true;
  differences.addEventListener("change", showSettings);
  const heading = (title: string, ...tools: Node[]) => h("div", { class: "heading" }, h("h2", {}, title), h("div", { class: "tools" }, ...tools));
  const names = [...runs].sort((a, b) => byName(a.name, b.name)).map((run) => run.name);
  document.body.append(
    h("header", { class: "top" }, h("h1", {}, h("span", { class: "mark", "aria-hidden": "true" }), "grbm"),
      h("span", { class: "what" }, data.live ? data.folder : names.length > 8 ? `${names.length} runs` : names.join(" · ")), state),
    h("main", {},
      notice, overview.root,
      gallery,
      heading("Curves", h("label", {}, "smooth", smooth), axis),
      h("p", { class: "help hint" }, "Point at a curve to read it; drag to zoom, double-click to see all. By keyboard: Tab, arrows, + and −, 0."),
      curves.root,
      heading("Model and mixing", ...(data.live ? [measureButton] : [])),
      mixing.root,
      heading("Evaluation"), scores,
      heading("Settings", h("label", {}, differences, "differences only")), h("section", { class: "card" }, settings)),
    h("footer", {}, `grbm ${data.version}`, last(runs)?.manifest.cpu_target ? ` · ${last(runs)!.manifest.cpu_target}` : ""));
  showAll();
  if (data.live) goLive();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    redrawCharts();
    pictures.redraw();
    chain.redraw();
    fresh.redraw();
    redrawPlanes();
  });
}

build();
