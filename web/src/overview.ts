// Which runs there are, how far each is, and which of them are shown.
import { quickDistanceTitle } from "./curves";
import { byName, format, h, lastNumber, swatch } from "./dom";
import { differingSettings, settingOf } from "./tables";
import { dateText, duration, durationText, secondsLeft, speed, started } from "./times";
import type { Run } from "./types";

const MOST_SHOWN = 6; // of those that nobody has ticked
const MOST_SETTINGS = 12;

type Value = string | number | null;

interface Column {
  label: string;
  value: (run: Run) => Value;
  cell: (run: Run) => Node | string;
}

const METRICS: [string, string][] = [
  ["epoch", "Epoch"], ["reconstruction", "Reconstruction error"], ["mean_variance", "Mean σ²"], ["acceptance", "Acceptance"],
  ["quick_distance", "Quick distance"], ["pseudo_likelihood", "Pseudo-likelihood, nats"], ["kl_data_model", "KL(data ‖ model), nats"],
];

export const updatesDone = (run: Run): number => lastNumber(run.metrics.columns["update"]) ?? 0;
export const isFinished = (run: Run): boolean => run.total > 0 && updatesDone(run) >= run.total;

/** "hidden=64", "quick_distance<20": a setting or a last number of a run; other words are parts of its name. */
function matches(run: Run, word: string): boolean {
  const asked = /^([\w.]+)(<=|>=|=|<|>)(.+)$/.exec(word);
  if (!asked) return run.name.toLowerCase().includes(word.toLowerCase());
  const [, name, sign, text] = asked as unknown as [string, string, string, string];
  const settings = Object.entries(run.settings).flatMap(([section, values]) => Object.entries(values).map(([key, value]) => [`${section}.${key}`, value] as const));
  const value = settings.find(([full]) => full === name || full.endsWith(`.${name}`))?.[1] ?? lastNumber(run.metrics.columns[name]);
  if (value === null || value === undefined) return false;
  const [a, b] = [Number(value), Number(text)];
  if (sign === "=") return String(value) === text || a === b;
  return sign === "<" ? a < b : sign === ">" ? a > b : sign === "<=" ? a <= b : a >= b;
}

function compare(a: Value, b: Value): number {
  return typeof a === "number" && typeof b === "number" ? a - b : byName(String(a), String(b));
}

function progress(run: Run): HTMLElement {
  const update = updatesDone(run);
  const bar = h("span", { class: "bar", role: "progressbar", "aria-valuenow": update, "aria-valuemin": 0, "aria-valuemax": run.total, "aria-label": "Updates" }, h("i"));
  (bar.firstChild as HTMLElement).style.width = `${run.total > 0 ? Math.min(100, (100 * update) / run.total) : 0}%`;
  return h("span", { class: "progress" }, h("b", {}, format(update)), ` of ${format(run.total)} updates`, bar);
}

const speedText = (run: Run): string => (speed(run) === null ? "–" : `${format(Number(speed(run)!.toPrecision(3)))}/s`);

export class Overview {
  private readonly body = h("div", { class: "overview" });
  private readonly filter = h("input", { type: "search", placeholder: "name, hidden=64, quick_distance<20", "aria-label": "Filter runs", spellcheck: "false" });
  private readonly count = h("span", { class: "muted" });
  private readonly tools = h("div", { class: "runtools", hidden: true }, this.filter, this.count);
  readonly root = h("div", {}, this.tools, this.body);
  private runs: Run[] = [];
  private order: { label: string; down: boolean } = { label: "Run", down: false };

  /** changed: other runs are shown. */
  constructor(private readonly stateOf: (run: Run) => string, private readonly changed: () => void) {
    this.filter.addEventListener("input", () => this.changed());
  }

  set(runs: Run[]): void {
    this.runs = [...runs].sort((a, b) => byName(a.name, b.name));
  }

  /** Those that pass the filter, by name. */
  private passing(): Run[] {
    const asked = this.filter.value.split(/\s+/).filter(Boolean);
    return this.runs.filter((run) => asked.every((word) => matches(run, word)));
  }

  /** Those that are ticked, and of those that nobody ticked or cleared the first few. Each has a look of its own. */
  shown(): Run[] {
    const passing = this.passing();
    let room = MOST_SHOWN - passing.filter((run) => run.picked).length;
    const shown = passing.filter((run) => run.picked ?? room-- > 0);
    const taken = new Set<number>();
    for (const run of shown) {
      if (run.color < 0 || taken.has(run.color)) run.color = -1;
      else taken.add(run.color);
    }
    for (const run of shown) {
      if (run.color >= 0) continue;
      run.color = 0;
      while (taken.has(run.color)) ++run.color;
      taken.add(run.color);
    }
    return shown;
  }

  /** Anew, with that in focus that was. */
  draw(): void {
    const focused = this.body.contains(document.activeElement) ? document.activeElement!.getAttribute("aria-label") : null;
    const several = this.runs.length > 1;
    this.tools.hidden = !several;
    if (several) this.drawTable();
    else this.body.replaceChildren(...this.runs.flatMap((run) => this.tiles(run)));
    if (focused) this.body.querySelector<HTMLElement>(`[aria-label="${CSS.escape(focused)}"]`)?.focus();
  }

  /** The numbers that there are, with what they are called. */
  private metrics(): [string, string][] {
    const known = METRICS.filter(([name]) => this.runs.some((run) => lastNumber(run.metrics.columns[name]) !== null));
    return known.map(([name, label]) => [name, name === "quick_distance" ? quickDistanceTitle(this.runs) : label]);
  }

  /** Seconds, of a run that is at work. */
  private left(run: Run): number | null {
    return this.stateOf(run) === "training" ? secondsLeft(run) : null;
  }

  /** One run: large numbers. */
  private tiles(run: Run): HTMLElement[] {
    const source = run.manifest.data;
    const tile = (label: string, value: string) => h("div", { class: "tile" }, h("span", {}, label), h("strong", {}, value));
    const left = this.left(run);
    return [
      h("div", { class: "tile wide" }, h("span", {}, this.stateOf(run)), progress(run)),
      ...(started(run) ? [tile("Started", dateText(started(run))), tile("Time of training", durationText(duration(run))), tile("Updates per second", speedText(run))] : []),
      ...(left === null ? [] : [tile("Time left", durationText(left))]),
      ...this.metrics().map(([name, label]) => tile(label, format(lastNumber(run.metrics.columns[name])))),
      tile("Hidden units", format(run.settings["model"]?.["hidden"] as number)),
      ...(source ? [tile("Data", `${format(source.rows)} × ${format(source.visible)}`)] : []),
    ];
  }

  private columns(): Column[] {
    const text = (label: string, value: (run: Run) => Value, shown: (run: Run) => string): Column => ({ label, value, cell: shown });
    const timed = this.runs.some((run) => started(run));
    return [
      { label: "Progress", value: (run) => (run.total > 0 ? updatesDone(run) / run.total : 0), cell: progress },
      text("State", this.stateOf, this.stateOf),
      ...(timed ? [
        text("Started", (run) => started(run) ?? null, (run) => dateText(started(run))),
        text("Time", duration, (run) => durationText(duration(run))),
        text("Speed", speed, speedText),
      ] : []),
      ...(this.runs.some((run) => this.left(run) !== null) ? [text("Time left", (run) => this.left(run), (run) => durationText(this.left(run)))] : []),
      ...this.metrics().map(([name, label]) =>
        text(label, (run) => lastNumber(run.metrics.columns[name]), (run) => format(lastNumber(run.metrics.columns[name])))),
      ...differingSettings(this.runs).slice(0, MOST_SETTINGS).map((name) =>
        text(name, (run) => { const value = settingOf(run, name); return typeof value === "number" ? value : String(value ?? "–"); },
          (run) => { const value = settingOf(run, name); return typeof value === "number" ? format(value) : String(value ?? "–"); })),
    ];
  }

  private sorted(runs: Run[], columns: Column[]): Run[] {
    const column = columns.find(({ label }) => label === this.order.label);
    const value = (run: Run): Value => (column ? column.value(run) : run.name);
    return [...runs].sort((a, b) => {
      const [x, y] = [value(a), value(b)];
      if (x === null || y === null) return Number(x === null) - Number(y === null); // those that have none come last
      return compare(x, y) * (this.order.down ? -1 : 1);
    });
  }

  private heading(label: string): HTMLElement {
    const active = label === this.order.label;
    const button = h("button", { class: "sort", "aria-label": `Sort by ${label}` }, label, h("span", { "aria-hidden": "true" }, active ? (this.order.down ? " ▾" : " ▴") : ""));
    button.addEventListener("click", () => {
      this.order = { label, down: active && !this.order.down };
      this.draw();
    });
    return h("th", { scope: "col", "aria-sort": active ? (this.order.down ? "descending" : "ascending") : undefined }, button);
  }

  /** A box for each, and one for all that are listed. */
  private drawTable(): void {
    const passing = this.passing();
    const shown = new Set(this.shown());
    const columns = this.columns();
    const box = (label: string, on: boolean, set: (on: boolean) => void) => {
      const input = h("input", { type: "checkbox", "aria-label": label });
      input.checked = on;
      input.addEventListener("change", () => {
        set(input.checked);
        this.changed();
      });
      return input;
    };
    const all = box("Show all", passing.length > 0 && shown.size === passing.length, (on) => passing.forEach((run) => (run.picked = on)));
    all.indeterminate = shown.size > 0 && shown.size < passing.length;
    const name = this.heading("Run");
    name.prepend(all);
    const row = (run: Run): HTMLElement => h("tr", { class: run.gone ? "gone" : undefined },
      h("td", {}, h("label", {}, box(`Show ${run.name}`, shown.has(run), (on) => (run.picked = on)), swatch(shown.has(run) ? run.color : -1), run.name)),
      ...columns.map((column) => h("td", {}, column.cell(run))));
    this.count.textContent = passing.length < this.runs.length ? `${passing.length} of ${this.runs.length} runs` : `${this.runs.length} runs`;
    this.body.replaceChildren(h("div", { class: "scroll card", tabindex: 0, role: "group", "aria-label": "Runs" }, h("table", { class: "runs" },
      h("thead", {}, h("tr", {}, name, ...columns.map(({ label }) => this.heading(label)))),
      h("tbody", {}, ...this.sorted(passing, columns).map(row)))));
  }
}
