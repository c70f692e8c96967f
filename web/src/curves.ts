// What is followed over training: one chart per number, all runs in each.
import { Chart, type Line } from "./chart";
import { format, h, runColor, runDash, words } from "./dom";
import { durationText, secondsAt, TIME_STEPS } from "./times";
import type { Run } from "./types";

interface Known {
  title: string;
  help: string;
  log?: boolean;
  /** Set, not measured: it has no noise to be smoothed. */
  exact?: boolean;
}

const KNOWN: Record<string, Known> = {
  quick_distance: { title: "Quick distance", help: "Fréchet distance of samples from noise to the data, on features made from the data; lower is better. Of few samples it comes out larger: grbm evaluate takes 2,000", log: true },
  free_energy_gap: { title: "Free-energy gap, nats", help: "Held-out data less training data; growth is overfitting" },
  pseudo_likelihood: { title: "Pseudo-likelihood, nats", help: "Sum over visible units of log p(unit | all others); higher is better" },
  kl_data_model: { title: "KL(data ‖ model), nats", help: "By quadrature; lower is better", log: true },
  reconstruction: { title: "Reconstruction error", help: "Mean squared difference of data and E[v | h], per visible unit" },
  mean_variance: { title: "Variance σ²", help: "Mean over visible units; the band reaches from the smallest to the largest", log: true },
  gradient_norm: { title: "Gradient norm", help: "Before clipping", log: true },
  acceptance: { title: "Acceptance", help: "Share of the chains' moves that were accepted" },
  hidden_activity: { title: "Hidden activity", help: "Mean of the hidden units on the data" },
  variety: { title: "Variety of chains", help: "How much their hidden units differ, as a share of the data's: near 0 all samples are alike" },
  unstable_units: { title: "Unstable units", help: "Visible units for which a step overshoots", exact: true },
  learning_rate: { title: "Learning rate", help: "Step of the parameters per unit of gradient", exact: true },
  step_size: { title: "Step size", help: "Of the sampler", exact: true },
};
const BASE = new Set(["update", "epoch", "min_log_var", "max_log_var"]);

export type XAxis = "update" | "epoch" | "time";

/** Whether there is a time to draw curves by. */
export const hasTimes = (runs: Run[]): boolean => runs.some((run) => (run.times.columns["update"]?.length ?? 0) > 1);

/** "Quick distance, 500 samples": those of other numbers of samples are not the same. */
export function quickDistanceTitle(runs: Run[]): string {
  const counts = [...new Set(runs.map((run) => Number(run.settings["evaluate"]?.["samples"])))].filter((count) => count > 0);
  return counts.length === 1 ? `Quick distance, ${format(counts[0])} samples` : "Quick distance";
}

export class Curves {
  readonly root = h("div", { class: "charts" });
  private readonly charts = new Map<string, Chart>();
  axis: XAxis = "update";
  /** 0: not at all. */
  smooth = 0.3;
  private shape = "";

  set(runs: Run[]): void {
    const names = this.names(runs);
    const quickTitle = quickDistanceTitle(runs);
    const shape = JSON.stringify([names, quickTitle, this.axis, this.smooth]);
    if (shape !== this.shape) {
      this.shape = shape;
      for (const chart of this.charts.values()) chart.destroy();
      this.charts.clear();
      for (const name of names) this.charts.set(name, this.make(name, quickTitle));
      this.root.replaceChildren(...[...this.charts.values()].map((chart) => chart.root));
    }
    for (const [name, chart] of this.charts) {
      chart.set(runs.map((run) => this.line(run, name)).filter((line): line is Line => line !== null));
    }
    if (names.length === 0) this.root.replaceChildren(h("p", { class: "empty" }, "No line of metrics yet."));
  }

  /** Known ones first; those that never change are left out. */
  private names(runs: Run[]): string[] {
    const all = new Set(runs.flatMap((run) => Object.keys(run.metrics.columns)));
    const moves = (name: string) => {
      const values = runs.flatMap((run) => (run.metrics.columns[name] ?? []).filter((v) => v !== null));
      return values.some((v) => v !== values[0]) || (values.length > 0 && (all.has(`${name}_error`) || name === "reconstruction"));
    };
    const shown = [...all].filter((name) => !BASE.has(name) && !name.endsWith("_error") && moves(name));
    const order = Object.keys(KNOWN);
    const rank = (name: string) => (order.includes(name) ? order.indexOf(name) : order.length);
    return shown.sort((a, b) => rank(a) - rank(b));
  }

  private make(name: string, quickTitle: string): Chart {
    const known = KNOWN[name] ?? { title: words(name), help: "" };
    return new Chart({
      title: name === "quick_distance" ? quickTitle : known.title, help: known.help, xLabel: this.axis, log: known.log ?? false, canLog: true,
      smooth: known.exact ? 0 : this.smooth, latest: true, group: "curves",
      ...(this.axis === "time" ? { ticks: (xs: number[]) => xs.map(durationText), xText: durationText, steps: TIME_STEPS } : { xText: (x: number) => `${this.axis} ${format(x)}` }),
    });
  }

  private places(run: Run): (number | null)[] | undefined {
    if (this.axis !== "time") return run.metrics.columns[this.axis];
    const seconds = secondsAt(run.times);
    return run.metrics.columns["update"]?.map((update) => (update === null ? null : seconds(update)));
  }

  private line(run: Run, name: string): Line | null {
    const columns = run.metrics.columns;
    const y = columns[name];
    const x = this.places(run);
    if (!y || !x) return null;
    const rows = y.map((_, k) => k).filter((k) => y[k] !== null && x[k] !== null);
    const pick = (column: (number | null)[]) => rows.map((k) => column[k] ?? null);
    const line: Line = { name: run.name, color: runColor(run.color), dash: runDash(run.color), x: pick(x) as number[], y: pick(y) };
    const error = columns[`${name}_error`];
    if (error) {
      line.low = rows.map((k) => y[k]! - (error[k] ?? 0));
      line.high = rows.map((k) => y[k]! + (error[k] ?? 0));
    } else if (name === "mean_variance" && columns["min_log_var"] && columns["max_log_var"]) {
      line.low = pick(columns["min_log_var"]).map((v) => (v === null ? null : Math.exp(v)));
      line.high = pick(columns["max_log_var"]).map((v) => (v === null ? null : Math.exp(v)));
    }
    return line;
  }
}
