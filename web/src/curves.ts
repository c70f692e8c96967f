// What is followed over training: one chart per number, all runs in each.
import { Chart, type Line } from "./chart";
import { h, runColor, words } from "./dom";
import type { Run } from "./types";

interface Known {
  title: string;
  help: string;
  log?: boolean;
}

const KNOWN: Record<string, Known> = {
  quick_distance: { title: "Quick distance", help: "Fréchet distance of samples from noise to the data, on features made from the data; lower is better", log: true },
  free_energy_gap: { title: "Free-energy gap", help: "Held-out data less training data, in nats; growth is overfitting" },
  pseudo_likelihood: { title: "Pseudo-likelihood", help: "Sum over visible units of log p(unit | all others), in nats; higher is better" },
  kl_data_model: { title: "KL(data ‖ model)", help: "In nats, by quadrature; lower is better", log: true },
  reconstruction: { title: "Reconstruction error", help: "Mean squared difference of data and E[v | h], per visible unit" },
  mean_variance: { title: "Variance σ²", help: "Mean over visible units; the band reaches from the smallest to the largest", log: true },
  gradient_norm: { title: "Gradient norm", help: "Before clipping", log: true },
  acceptance: { title: "Acceptance", help: "Share of the chains' moves that were accepted" },
  hidden_activity: { title: "Hidden activity", help: "Mean of the hidden units on the data" },
  variety: { title: "Variety of chains", help: "How much their hidden units differ, as a share of the data's: near 0 all samples are alike" },
  unstable_units: { title: "Unstable units", help: "Visible units for which a step overshoots" },
  learning_rate: { title: "Learning rate", help: "Step of the parameters per unit of gradient" },
  step_size: { title: "Step size", help: "Of the sampler" },
};
const BASE = new Set(["update", "epoch", "min_log_var", "max_log_var"]);

export type XAxis = "update" | "epoch";

export class Curves {
  readonly root = h("div", { class: "charts" });
  private readonly charts = new Map<string, Chart>();
  axis: XAxis = "update";
  smooth = true;
  private shape = "";

  set(runs: Run[]): void {
    const names = this.names(runs);
    const shape = JSON.stringify([names, this.axis, this.smooth]);
    if (shape !== this.shape) {
      this.shape = shape;
      for (const chart of this.charts.values()) chart.destroy();
      this.charts.clear();
      for (const name of names) this.charts.set(name, this.make(name));
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

  private make(name: string): Chart {
    const known = KNOWN[name] ?? { title: words(name), help: "" };
    return new Chart({
      title: known.title, help: known.help, xLabel: this.axis, log: known.log ?? false, canLog: true,
      smooth: this.smooth, latest: true, group: "curves",
    });
  }

  private line(run: Run, name: string): Line | null {
    const columns = run.metrics.columns;
    const y = columns[name];
    const x = columns[this.axis];
    if (!y || !x) return null;
    const rows = y.map((_, k) => k).filter((k) => y[k] !== null && x[k] !== null);
    const pick = (column: (number | null)[]) => rows.map((k) => column[k] ?? null);
    const line: Line = { name: run.name, color: runColor(run.color), x: pick(x) as number[], y: pick(y) };
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
