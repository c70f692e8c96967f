// Samples drawn on demand, by sliders for steps and temperature.
import { format, h, runColor } from "./dom";
import { drawSamples } from "./live";
import { boxOf, Plane } from "./plane";
import type { Run } from "./types";

const MOST_STEPS = 2000;

export class Fresh {
  readonly root: HTMLElement;
  private readonly choice = h("select", { "aria-label": "Run" });
  private readonly steps = h("input", { type: "range", min: 0, max: 1, step: "any", id: "fresh-steps" });
  private readonly heat = h("input", { type: "range", min: -1, max: 1, step: 0.02, value: 0, id: "fresh-temperature" });
  private readonly stepsText = h("output", { for: "fresh-steps" });
  private readonly heatText = h("output", { for: "fresh-temperature" });
  private readonly button = h("button", { class: "primary" }, "Draw samples");
  private readonly screen = h("div", { class: "screen" });
  private readonly status = h("p", { class: "help", role: "status" });
  private runs: Run[] = [];
  private chosen = "";
  private seed = 1;
  private plane: Plane | undefined;
  private touched = false;

  constructor() {
    const control = (label: string, input: HTMLElement, output: HTMLElement) =>
      h("label", { class: "control", for: input.id }, h("span", {}, label, output), input);
    this.root = h("section", { class: "card player fresh" }, h("header", {}, h("h3", {}, "Fresh samples"), this.choice),
      h("p", { class: "help" }, "Drawn from noise by the model of the last checkpoint."),
      h("div", { class: "body" }, h("figure", {}, this.screen),
        h("div", { class: "knobs" }, control("Steps", this.steps, this.stepsText), control("Temperature", this.heat, this.heatText),
          this.button, this.status)));
    this.button.addEventListener("click", () => void this.draw());
    this.choice.addEventListener("change", () => (this.chosen = this.choice.value));
    for (const input of [this.steps, this.heat]) {
      input.addEventListener("input", () => {
        this.touched = true;
        this.label();
      });
    }
  }

  set(runs: Run[]): void {
    this.runs = runs.filter((run) => run.model?.shown);
    this.root.hidden = this.runs.length === 0;
    this.choice.replaceChildren(...this.runs.map((run) => h("option", { value: run.name, selected: run.name === this.chosen }, run.name)));
    this.choice.hidden = this.runs.length < 2;
    const steps = Number(this.runs[0]?.model?.sampler["steps"] ?? 100);
    const temperature = Number(this.runs[0]?.model?.sampler["temperature"] ?? 1);
    if (!this.touched) {
      this.steps.value = String(Math.log(Math.min(steps, MOST_STEPS)) / Math.log(MOST_STEPS));
      this.heat.value = String(Math.min(1, Math.max(-1, Math.log10(temperature))));
    }
    this.label();
  }

  redraw(): void {
    this.plane?.draw();
  }

  private get values(): { steps: number; temperature: number } {
    return {
      steps: Math.max(1, Math.round(MOST_STEPS ** Number(this.steps.value))),
      temperature: Number((10 ** Number(this.heat.value)).toPrecision(2)),
    };
  }

  private label(): void {
    const { steps, temperature } = this.values;
    this.stepsText.textContent = format(steps);
    this.heatText.textContent = format(temperature);
    this.steps.setAttribute("aria-valuetext", `${steps} steps`);
    this.heat.setAttribute("aria-valuetext", `temperature ${temperature}`);
  }

  private async draw(): Promise<void> {
    const run = this.runs.find((each) => each.name === this.choice.value) ?? this.runs[0];
    if (!run) return;
    const { steps, temperature } = this.values;
    this.button.disabled = true;
    this.status.textContent = "Drawing …";
    try {
      const drawn = await drawSamples(run.name, steps, temperature, this.seed++);
      const label = `Samples of ${run.name} after ${steps} steps at temperature ${temperature}`;
      if (drawn.points) {
        this.plane = new Plane(runColor(run.color));
        this.plane.box = boxOf([drawn.points, run.data?.points ?? []]);
        this.plane.show(drawn.points, label);
        this.screen.replaceChildren(this.plane.root);
      } else if (drawn.image) {
        this.screen.replaceChildren(h("img", { src: drawn.image, alt: label }));
      }
      this.status.textContent = `${format(steps)} steps in ${drawn.seconds.toFixed(2)} s`;
    } catch (error) {
      this.status.textContent = `Not drawn: ${(error as Error).message}`;
    }
    this.button.disabled = false;
  }
}
