// What a run's model looks like: filters, variances, and how its chains mix.
import { Chart, type Line } from "./chart";
import { format, h, runColor, runDash, swatch } from "./dom";
import { boxOf, Plane } from "./plane";
import { mixingTable, numbersTable } from "./tables";
import { logTicks, tickTexts } from "./ticks";
import type { Run } from "./types";

const planes: Plane[] = [];

export function redrawPlanes(): void {
  for (const plane of planes) plane.draw();
}

export function filterFigures(runs: Run[]): HTMLElement[] {
  planes.length = 0;
  const box = boxOf(runs.map((run) => run.model?.filters?.points ?? []));
  return runs.flatMap((run) => {
    const filters = run.model?.filters;
    if (!filters) return [];
    const label = `Weights of hidden units of ${run.name}`;
    const holder = h("div", { class: "screen" });
    if (filters.points) {
      const plane = new Plane(runColor(run.color), true);
      plane.box = box;
      plane.show(filters.points, label);
      planes.push(plane);
      holder.append(plane.root);
    } else if (filters.image) {
      holder.append(h("img", { src: filters.image, alt: label }));
    }
    return [h("figure", {}, holder, h("figcaption", {}, swatch(run.color), h("span", { class: "name" }, run.name),
      h("b", {}, `${format(run.model!.hidden)} hidden units`)))];
  });
}

export function varianceLines(runs: Run[]): Line[] {
  return runs.flatMap((run) => {
    const bins = run.model?.variances;
    if (!bins || run.model!.few_variances) return [];
    // An empty bin on either side, so that the steps start and end at zero.
    const y = [0, ...bins.counts, 0, 0];
    return [{ name: run.name, color: runColor(run.color), dash: runDash(run.color), x: y.map((_, k) => (bins.first + k - 1) / bins.per_decade), y, steps: true }];
  });
}

/** Of models with so few units that a histogram of them says less than their numbers. */
export function varianceTable(runs: Run[]): HTMLElement | null {
  const few = runs.filter((run) => run.model?.few_variances);
  if (few.length === 0) return null;
  const units = Math.max(...few.map((run) => run.model!.few_variances!.length));
  return numbersTable("Visible unit", few, Array.from({ length: units }, (_, k) =>
    [`v${[...String(k + 1)].map((digit) => "₀₁₂₃₄₅₆₇₈₉"[Number(digit)]).join("")}`, few.map((run) => format(run.model!.few_variances![k]))]));
}

export const varianceChart = (): Chart =>
  new Chart({
    title: "Variances of the visible units", help: "How many units have each variance σ²", xLabel: "variance σ²",
    xText: (x) => `σ² ≈ ${format(10 ** x)}`, ticks: (xs) => tickTexts(xs.map((x) => Number((10 ** x).toPrecision(12)))),
    places: (low, high) => logTicks(10 ** low, 10 ** high, 6).map(Math.log10),
  });

/** The mean over chains of the autocorrelation of the energy, about the mean of all. */
export function autocorrelation(traces: number[][]): number[] {
  const all = traces.flat();
  const mean = all.reduce((sum, v) => sum + v, 0) / all.length;
  const steps = traces[0]?.length ?? 0;
  const lags = Math.min(100, Math.floor(steps / 2));
  const rho = Array.from({ length: lags }, (_, lag) => {
    let sum = 0;
    let count = 0;
    for (const trace of traces) {
      for (let t = 0; t + lag < steps; ++t, ++count) sum += (trace[t]! - mean) * (trace[t + lag]! - mean);
    }
    return sum / count;
  });
  return rho.map((value) => value / rho[0]!);
}

export class MixingView {
  readonly root = h("div", { class: "charts" });
  private charts: Chart[] = [];

  /** `cards` stand before what was measured. */
  constructor(private readonly cards: HTMLElement[]) {}

  set(runs: Run[]): void {
    for (const chart of this.charts) chart.destroy();
    const measured = runs.filter((run) => run.measured?.mixing);
    const notes = runs.flatMap((run) => (run.measured?.note ? [h("p", { class: "empty" }, `${run.name}: ${run.measured.note}`)] : []));
    const acf = new Chart({ title: "Autocorrelation of the energy", xLabel: "lag in steps" });
    acf.set(measured.map((run) => {
      const rho = autocorrelation(run.measured!.mixing!.energies);
      return { name: run.name, color: runColor(run.color), dash: runDash(run.color), x: rho.map((_, k) => k), y: rho };
    }));
    this.charts = [acf, ...measured.map((run) => this.traces(run, measured.length > 1))];
    if (measured.length === 0) {
      this.root.replaceChildren(...this.cards, ...notes);
      return;
    }
    this.root.replaceChildren(...this.cards, h("section", { class: "card" }, mixingTable(measured)), ...this.charts.map((c) => c.root), ...notes);
  }

  /** A few chains of each start: where the two colours lie apart, the chains remember it. */
  private traces(run: Run, several: boolean): Chart {
    const mixing = run.measured!.mixing!;
    const chart = new Chart({ title: several ? `Energy of chains: ${run.name}` : "Energy of chains", xLabel: "step", legend: true });
    const first = mixing.steps - (mixing.energies[0]?.length ?? 0) + 1;
    chart.set(mixing.energies.slice(0, 8).map((trace, k) => ({
      name: k % 2 === 0 ? "from data" : "from noise", color: k % 2 === 0 ? "--run-0" : "--run-1",
      x: trace.map((_, t) => first + t), y: trace, faint: k > 1,
    })));
    return chart;
  }
}
