// The page: one run or several, from a report or live.
import { redrawCharts, type Chart } from "./chart";
import { Curves, type XAxis } from "./curves";
import { format, h, last, lastNumber, swatch } from "./dom";
import { Fresh } from "./fresh";
import { fetchMetrics, fetchModel, fetchPictures, fetchRun, follow, measure, type Tokens } from "./live";
import { filterFigures, MixingView, redrawPlanes, varianceChart, varianceLines } from "./model";
import { Player } from "./player";
import "./style.css";
import { scoresTable, settingsList, settingsTable } from "./tables";
import type { PageData, Run, RunData } from "./types";

const MOST_SELECTED = 6;
const STOPPED_SECONDS = 90; // without a line of metrics
const MODEL_SECONDS = 20; // between two looks at a model that changes

const data = JSON.parse(document.getElementById("data")!.textContent!) as PageData;
let runs: Run[] = [];
const adopt = (run: RunData): Run => ({ ...run, color: runs.length, selected: runs.filter((r) => r.selected).length < MOST_SELECTED, gone: false });
for (const run of data.runs) runs.push(adopt(run));

const curves = new Curves();
const pictures = new Player("Samples over training", "The same chains, from noise to samples, drawn by the model as it was after each update.", "Samples", 350);
const chain = new Player("The chain from noise", "The same noise, step by step, under the model as it is now.", "Chains", 160);
const fresh = new Fresh();
const gallery = h("div", { class: "pictures" }, pictures.root, chain.root, data.live ? fresh.root : null);
const variances: Chart = varianceChart();
const overview = h("div", { class: "overview" });
const filters = h("div", { class: "screens" });
const filterCard = h("section", { class: "card player" }, h("header", {}, h("h3", {}, "Filters")),
  h("p", { class: "help" }, "Weights of hidden units: what each adds to the picture when it is on."), filters);
const mixing = new MixingView([filterCard, variances.root]);
const scores = h("div");
const settings = h("div");
const state = h("span", { class: "state", role: "status" });
const notice = h("p", { class: "empty", hidden: true, role: "status" });
const measureButton = h("button", { onclick: () => void measureAll() }, "Measure now");
const differences = h("input", { type: "checkbox" });
const newest = new Map<string, Tokens>();
const selected = (): Run[] => runs.filter((run) => run.selected);

function isFinished(run: Run): boolean {
  return run.total > 0 && (lastNumber(run.metrics.columns["update"]) ?? 0) >= run.total;
}

function stateText(run: Run): string {
  if (run.gone) return "gone";
  if (isFinished(run)) return "finished";
  if (!data.live) return "not finished";
  // A token ends with the time of the last change, in nanoseconds.
  const changed = Number(newest.get(run.name)?.metrics.split("-").pop() ?? 0) / 1e6;
  return Date.now() - changed < 1000 * STOPPED_SECONDS ? "training" : "stopped";
}

const COLUMNS: [string, string][] = [
  ["epoch", "Epoch"], ["reconstruction", "Reconstruction error"], ["mean_variance", "Mean σ²"],
  ["acceptance", "Acceptance"], ["quick_distance", "Quick distance"], ["pseudo_likelihood", "Pseudo-likelihood"],
];

function progress(run: Run): HTMLElement {
  const update = lastNumber(run.metrics.columns["update"]) ?? 0;
  const bar = h("span", { class: "bar", role: "progressbar", "aria-valuenow": update, "aria-valuemin": 0, "aria-valuemax": run.total, "aria-label": "Updates" }, h("i"));
  (bar.firstChild as HTMLElement).style.width = `${run.total > 0 ? Math.min(100, (100 * update) / run.total) : 0}%`;
  return h("span", { class: "progress" }, h("b", {}, format(update)), ` of ${format(run.total)} updates`, bar);
}

/** The overview anew, with the box in focus that was. */
function showOverview(): void {
  const focused = overview.contains(document.activeElement) ? document.activeElement!.getAttribute("aria-label") : null;
  fillOverview();
  if (focused) overview.querySelector<HTMLElement>(`[aria-label="${CSS.escape(focused)}"]`)?.focus();
}

/** One run: large numbers. Several: a table with a box to tick for each. */
function fillOverview(): void {
  const columns = COLUMNS.filter(([name]) => runs.some((run) => lastNumber(run.metrics.columns[name]) !== null));
  if (runs.length === 1) {
    const run = runs[0]!;
    const source = run.manifest.data;
    const tile = (label: string, ...value: (Node | string)[]) => h("div", { class: "tile" }, h("span", {}, label), h("strong", {}, ...value));
    overview.replaceChildren(
      h("div", { class: "tile wide" }, h("span", {}, stateText(run)), progress(run)),
      ...columns.map(([name, label]) => tile(label, format(lastNumber(run.metrics.columns[name])))),
      tile("Hidden units", format(run.settings["model"]?.["hidden"] as number)),
      source ? tile("Data", `${format(source.rows)} × ${format(source.visible)}`) : "");
    return;
  }
  const row = (run: Run): HTMLElement => {
    const box = h("input", { type: "checkbox", "aria-label": `Show ${run.name}` });
    box.checked = run.selected;
    box.addEventListener("change", () => {
      run.selected = box.checked;
      showAll();
      if (data.live && run.selected) void loadModel(run);
    });
    return h("tr", { class: run.gone ? "gone" : undefined }, h("td", {}, h("label", {}, box, swatch(run.color), run.name)), h("td", {}, progress(run)),
      h("td", {}, stateText(run)), ...columns.map(([name]) => h("td", {}, format(lastNumber(run.metrics.columns[name])))));
  };
  overview.replaceChildren(h("div", { class: "scroll card", tabindex: 0, role: "group", "aria-label": "Runs" }, h("table", { class: "runs" },
    h("thead", {}, h("tr", {}, ...["Run", "Progress", "State", ...columns.map(([, label]) => label)].map((text) => h("th", { scope: "col" }, text)))),
    h("tbody", {}, ...runs.map(row)))));
}

function showCurves(): void {
  showOverview();
  curves.set(selected());
}

function showPictures(): void {
  gallery.classList.toggle("many", selected().length > 1);
  pictures.set(selected().map((run) => ({
    name: run.name, color: run.color,
    frames: run.pictures.map((picture) => ({ ...picture, label: `update ${format(picture.update)}` })),
  })));
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
  settings.replaceChildren(shown.length > 1 ? settingsTable(shown, differences.checked) : shown[0] ? settingsList(shown[0]) : "");
  differences.parentElement!.hidden = shown.length < 2;
}

function showAll(): void {
  showCurves();
  showPictures();
  showModels();
  showMeasured();
  showSettings();
  notice.hidden = runs.length > 0;
  notice.textContent = data.live ? `No run in ${data.folder} yet: they appear here as soon as they start.` : "No runs.";
  const names = runs.length <= 3 ? runs.map((run) => run.name).join(", ") : `${runs.length} runs`;
  document.title = names ? `${names} – grbm` : "grbm";
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

async function loadModel(run: Run): Promise<void> {
  const token = newest.get(run.name)?.model ?? "";
  const known = loadedModels.get(run.name);
  if (token === "" || token === known?.token) return;
  const wait = known ? known.time + 1000 * MODEL_SECONDS - Date.now() : 0;
  if (wait > 0) {
    window.setTimeout(() => void loadModel(run), wait);
    return;
  }
  loadedModels.set(run.name, { token, time: Date.now() });
  try {
    run.model = await fetchModel(run.name);
  } catch {
    loadedModels.delete(run.name); // it is being written, or has gone: the next change asks again
    return;
  }
  showModels();
}

/** One change after the other: an answer never overtakes an earlier one. */
let queue: Promise<void> = Promise.resolve();

async function takeTokens(tokens: Record<string, Tokens>): Promise<void> {
  let structure = false;
  for (const run of runs) {
    const gone = !(run.name in tokens);
    structure ||= gone !== run.gone;
    run.gone = gone;
  }
  for (const [name, token] of Object.entries(tokens)) {
    const before = newest.get(name);
    const run = runs.find((each) => each.name === name);
    try {
      if (!run) {
        runs = [...runs, adopt(await fetchRun(name))];
        structure = true;
      } else {
        if (token.metrics !== before?.metrics) {
          await fetchMetrics(run);
          showCurves();
        }
        if (token.pictures !== before?.pictures) {
          run.pictures = await fetchPictures(name);
          showPictures();
        }
      }
      newest.set(name, token);
    } catch {
      // A run that has just gone, or is not whole yet: asked for again with the next change.
    }
  }
  if (structure) showAll();
  for (const run of runs) if (run.selected && !run.gone) void loadModel(run);
}

function goLive(): void {
  window.setInterval(showOverview, 1000 * STOPPED_SECONDS / 3);
  follow((tokens) => (queue = queue.then(() => takeTokens(tokens))), (connected) => {
    state.className = connected ? "state on" : "state off";
    state.textContent = connected ? "live" : "not connected";
  });
}

function build(): void {
  const axis = h("select", { "aria-label": "Horizontal axis" }, h("option", { value: "update" }, "by update"), h("option", { value: "epoch" }, "by epoch"));
  axis.addEventListener("change", () => {
    curves.axis = axis.value as XAxis;
    curves.set(selected());
  });
  const smooth = h("input", { type: "checkbox" });
  smooth.checked = true;
  smooth.addEventListener("change", () => {
    curves.smooth = smooth.checked;
    curves.set(selected());
  });
  differences.addEventListener("change", showSettings);
  const heading = (title: string, ...tools: Node[]) => h("div", { class: "heading" }, h("h2", {}, title), h("div", { class: "tools" }, ...tools));
  document.body.append(
    h("header", { class: "top" }, h("h1", {}, h("span", { class: "mark", "aria-hidden": "true" }), "grbm"),
      h("span", { class: "what" }, data.live ? data.folder : runs.map((run) => run.name).join(" · ")), state),
    h("main", {},
      notice, overview,
      gallery,
      heading("Curves", h("label", {}, smooth, "smooth"), axis),
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
