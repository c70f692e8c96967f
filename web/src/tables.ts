// Numbers and settings in tables: one column per run.
import { format, h, swatch, words } from "./dom";
import type { Diagnostics, Run, Score, Scores } from "./types";

function headings(first: string, runs: Run[]): HTMLElement {
  return h("thead", {}, h("tr", {}, h("th", { scope: "col" }, first),
    ...runs.map((run) => h("th", { scope: "col" }, swatch(run.color), run.name))));
}

function wrap(table: HTMLElement): HTMLElement {
  return h("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": "Table" }, table);
}

const settingText = (value: string): Node | string => (value === "" ? h("span", { class: "muted" }, "empty") : value);

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

export function scoresTable(runs: Run[], scoresOf: (run: Run) => Scores): HTMLElement | null {
  const body = h("tbody");
  for (const metric of new Set(runs.flatMap((run) => Object.keys(scoresOf(run))))) {
    body.append(h("tr", { class: "section" }, h("th", { colspan: runs.length + 1, scope: "rowgroup" }, words(metric))));
    for (const name of new Set(runs.flatMap((run) => Object.keys(scoresOf(run)[metric] ?? {})))) {
      const scores = runs.map((run) => scoresOf(run)[metric]?.[name]);
      body.append(h("tr", {}, h("th", { scope: "row" }, words(name)), ...scores.map((score) =>
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
