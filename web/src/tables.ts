// Numbers and settings in tables: one column per run.
import { format, h, last, swatch, words } from "./dom";
import { dateText, duration, durationText, started } from "./times";
import type { Diagnostics, Run, Score, Scores } from "./types";

function headings(first: string, runs: Run[]): HTMLElement {
  return h("thead", {}, h("tr", {}, h("th", { scope: "col" }, first),
    ...runs.map((run) => h("th", { scope: "col" }, swatch(run.color), run.name))));
}

function wrap(table: HTMLElement): HTMLElement {
  return h("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": "Table" }, table);
}

const settingText = (value: string): Node | string => (value === "" ? h("span", { class: "muted" }, "empty") : value);

/** Rows of numbers, a column for each run. */
export function numbersTable(first: string, runs: Run[], rows: [string, string[]][]): HTMLElement {
  return wrap(h("table", {}, headings(first, runs), h("tbody", {}, ...rows.map(([label, cells]) =>
    h("tr", {}, h("th", { scope: "row" }, label), ...cells.map((cell) => h("td", {}, cell)))))));
}

/** What a run was: when, how long, by which command. */
export function runFacts(run: Run): [string, Node | string][] {
  const { manifest, times } = run;
  const command = last(times.starts)?.command;
  const resumed = times.starts.length - 1;
  const facts: [string, Node | string | undefined | false][] = [
    ["started", started(run) && dateText(started(run))],
    ["resumed", resumed > 0 && `${resumed === 1 ? "once" : `${resumed} times`}, last ${dateText(last(times.starts)!.started)}`],
    ["time of training", duration(run) !== null && durationText(duration(run))],
    ["command", command && h("code", {}, command)],
    ["data", manifest.data && `${manifest.data.source}: ${format(manifest.data.rows)} rows of ${format(manifest.data.visible)}`],
    ["seed", String(run.seed)],
    ["threads", String(last(times.starts)?.threads ?? manifest.threads ?? "–")],
    ["program", `grbm ${manifest.grbm_version ?? "–"}${manifest.cpu_target ? `, ${manifest.cpu_target}` : ""}`],
  ];
  return facts.filter((fact): fact is [string, Node | string] => Boolean(fact[1]));
}

/** The same of several, side by side. */
export function factsTable(runs: Run[]): HTMLElement {
  const facts = runs.map((run) => new Map(runFacts(run)));
  const names = [...new Set(facts.flatMap((each) => [...each.keys()]))];
  return wrap(h("table", { class: "facts" }, headings("Run", runs), h("tbody", {}, ...names.map((name) =>
    h("tr", {}, h("th", { scope: "row" }, name), ...facts.map((each) => h("td", {}, each.get(name) ?? "–")))))));
}

/** The settings in which runs differ, as "section.key". */
export function differingSettings(runs: Run[]): string[] {
  const all = new Set(runs.flatMap((run) => Object.entries(run.settings).flatMap(([section, values]) => Object.keys(values).map((key) => `${section}.${key}`))));
  return [...all].filter((name) => runs.some((run) => settingOf(run, name) !== settingOf(runs[0]!, name)));
}

export function settingOf(run: Run, name: string): string | number | boolean | undefined {
  const dot = name.indexOf(".");
  return run.settings[name.slice(0, dot)]?.[name.slice(dot + 1)];
}

/** The settings of one run, section by section. */
export function settingsList(run: Run): HTMLElement {
  const sections = Object.entries(run.settings).map(([section, values]) => h("table", {},
    h("caption", {}, `[${section}]`),
    h("tbody", {}, ...Object.entries(values).map(([key, value]) =>
      h("tr", {}, h("th", { scope: "row" }, key), h("td", {}, settingText(String(value))))))));
  return h("div", { class: "settings" }, ...sections);
}

/** The settings of several; rows in which they differ are marked. */
export function settingsTable(runs: Run[], onlyDifferences: boolean): HTMLElement {
  const body = h("tbody");
  for (const section of Object.keys(runs[0]?.settings ?? {})) {
    const keys = [...new Set(runs.flatMap((run) => Object.keys(run.settings[section] ?? {})))];
    const rows = keys.flatMap((key) => {
      const values = runs.map((run) => String(run.settings[section]?.[key] ?? "–"));
      const differs = values.some((value) => value !== values[0]);
      if (onlyDifferences && !differs) return [];
      return [h("tr", { class: differs ? "differs" : undefined }, h("th", { scope: "row" }, key),
        ...values.map((value) => h("td", {}, settingText(value))))];
    });
    if (rows.length === 0) continue;
    body.append(h("tr", { class: "section" }, h("th", { colspan: runs.length + 1, scope: "rowgroup" }, `[${section}]`)), ...rows);
  }
  if (!body.hasChildNodes()) return h("p", { class: "empty" }, "The settings are all the same.");
  return wrap(h("table", {}, headings("Setting", runs), body));
}

/** "12.34 ± 0.05": two digits of the error decide. */
export function scoreText(score: Score): string {
  const places = (error: number) => Math.min(12, Math.max(0, 1 - Math.floor(Math.log10(error))));
  if (score.low !== undefined && score.high !== undefined) {
    const digits = places(Math.max(1e-6, (score.high - score.low) / 10));
    return `${score.low.toFixed(digits)} to ${score.high.toFixed(digits)}`;
  }
  if (score.value === undefined) return "–";
  if (!score.error) return format(score.value);
  const digits = places(score.error);
  return `${score.value.toFixed(digits)} ± ${score.error.toFixed(digits)}`;
}

/** "KL(data ‖ model), nats" of kl_data_model; nats_held_out stays as it is. */
function scoreName(name: string): string {
  const kl = /^kl_([a-z]+)_([a-z]+)$/.exec(name);
  if (kl) return `KL(${kl[1]} ‖ ${kl[2]}), nats`;
  return words(name.replace(/^frechet/, "Fréchet_distance").replace(/^kernel/, "kernel_distance"));
}

export function scoresTable(runs: Run[], scoresOf: (run: Run) => Scores): HTMLElement | null {
  const body = h("tbody");
  for (const metric of new Set(runs.flatMap((run) => Object.keys(scoresOf(run))))) {
    body.append(h("tr", { class: "section" }, h("th", { colspan: runs.length + 1, scope: "rowgroup" }, words(metric))));
    for (const name of new Set(runs.flatMap((run) => Object.keys(scoresOf(run)[metric] ?? {})))) {
      const scores = runs.map((run) => scoresOf(run)[metric]?.[name]);
      body.append(h("tr", {}, h("th", { scope: "row" }, scoreName(name)), ...scores.map((score) =>
        h("td", {}, score ? scoreText(score) : "–", score?.note ? h("span", { class: "note" }, score.note) : null))));
    }
  }
  return body.hasChildNodes() ? wrap(h("table", {}, headings("Score", runs), body)) : null;
}

export function mixingTable(runs: Run[]): HTMLElement {
  const body = h("tbody");
  const add = (label: string, cells: (HTMLElement | string)[]) =>
    body.append(h("tr", {}, h("th", { scope: "row" }, label), ...cells.map((cell) => h("td", {}, cell))));
  for (const [quantity, title] of [["energy", "Energy"], ["activity", "Hidden activity"]] as const) {
    body.append(h("tr", { class: "section" }, h("th", { colspan: runs.length + 1, scope: "rowgroup" }, title)));
    const of = (run: Run): Diagnostics | undefined => run.measured?.mixing?.[quantity];
    add("R̂ (below 1.05: converged)", runs.map((run) => {
      const rhat = of(run)?.rhat;
      if (rhat === null || rhat === undefined) return "–";
      return h("span", { class: rhat < 1.05 ? "good" : "bad" }, rhat.toFixed(3));
    }));
    add("Effective draws, bulk", runs.map((run) => format(Math.round(of(run)?.ess_bulk ?? NaN))));
    add("Effective draws, tails", runs.map((run) => format(Math.round(of(run)?.ess_tail ?? NaN))));
    add("Autocorrelation time, steps", runs.map((run) => format(of(run)?.autocorrelation_time)));
  }
  add("Acceptance", runs.map((run) => format(run.measured?.mixing?.acceptance)));
  return wrap(h("table", {}, headings("Mixing", runs), body));
}
