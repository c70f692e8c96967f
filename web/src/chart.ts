// One chart that can be pointed at, zoomed by dragging, and used by keyboard.
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { cssColor, format, h } from "./dom";
import { smoothed } from "./smooth";
import { logRange, logTicks, tickTexts } from "./ticks";

export interface Line {
  name: string;
  /** A custom property of the style. */
  color: string;
  dash?: number[] | undefined;
  x: number[];
  y: (number | null)[];
  /** The edges of a band about y. */
  low?: (number | null)[];
  high?: (number | null)[];
  steps?: boolean;
  faint?: boolean;
}

export interface ChartOptions {
  title: string;
  help?: string;
  xLabel: string;
  log?: boolean;
  canLog?: boolean;
  /** How much curves without a band are smoothed: 0 not at all, 1 most. */
  smooth?: number;
  /** The names of the lines stand above them. */
  legend?: boolean;
  /** The last value stands beside the title. */
  latest?: boolean;
  /** Charts of one group share the place that is pointed at, and the zoom. */
  group?: string;
  xText?: (x: number) => string;
  ticks?: (xs: number[]) => string[];
  /** Between ticks of x. */
  steps?: number[];
  /** Or where they are, between these ends. */
  places?: (low: number, high: number) => number[];
}

const HEIGHT = 210;
const FONT = "11px system-ui, sans-serif";
const MOST_LOG_TICKS = 6;
const charts = new Set<Chart>();

let measure: CanvasRenderingContext2D | null = null;

/** In pixels of the page. */
function textWidth(text: string): number {
  measure ??= h("canvas").getContext("2d")!;
  measure.font = FONT;
  return measure.measureText(text).width;
}

export class Chart {
  readonly root: HTMLElement;
  private readonly area: HTMLElement;
  private readonly tip: HTMLElement;
  private readonly latest: HTMLElement;
  private readonly reset: HTMLButtonElement;
  private readonly legend = h("div", { class: "legend", hidden: true });
  /** For the half of the last label of x that is beyond the plot. */
  private right = 12;
  private plot: uPlot | undefined;
  private lines: Line[] = [];
  private shape = "";
  private zoomed = false;
  private log: boolean;
  private readonly observer: ResizeObserver;

  constructor(private readonly options: ChartOptions) {
    this.log = options.log ?? false;
    this.latest = h("span", { class: "latest" });
    this.reset = h("button", { class: "small", hidden: true, onclick: () => this.unzoom() }, "Reset zoom");
    const logButton = options.canLog
      ? h("button", { class: "small", "aria-pressed": String(this.log), "aria-label": `${options.title}: logarithmic scale` }, "log")
      : null;
    logButton?.addEventListener("click", () => {
      this.log = !this.log;
      logButton.setAttribute("aria-pressed", String(this.log));
      this.rebuild();
    });
    this.tip = h("div", { class: "tip", hidden: true, "aria-live": "polite" });
    this.area = h("div", {
      class: "plot", tabindex: 0, role: "group",
      "aria-label": `Chart: ${options.title}. Arrow keys move along it, plus and minus zoom, zero shows all.`,
    }, this.tip);
    this.area.addEventListener("keydown", (event) => this.onKey(event));
    this.area.addEventListener("blur", () => this.plot?.setCursor({ left: -10, top: -10 }));
    this.root = h("section", { class: "card chart" },
      h("header", {}, h("h3", { title: options.help }, options.title), this.latest, this.reset, logButton), this.legend, this.area);
    this.observer = new ResizeObserver(() => this.resize());
    this.observer.observe(this.area);
    charts.add(this);
  }

  destroy(): void {
    this.observer.disconnect();
    this.plot?.destroy();
    charts.delete(this);
    this.root.remove();
  }

  /** New values; a zoom stays as it is. */
  set(lines: Line[]): void {
    this.lines = lines;
    const shape = lines.map((line) => `${line.name} ${line.color} ${line.dash ?? ""} ${Boolean(line.low)} ${this.usesSmooth(line)}`).join("|");
    if (!this.plot || shape !== this.shape) {
      this.shape = shape;
      this.rebuild();
    } else {
      this.plot.setData(this.data(), !this.zoomed);
      if (this.zoomed) this.plot.redraw();
    }
    if (this.options.legend) this.nameLines();
    const only = this.options.latest && lines.length === 1 ? lines[0]!.y.filter((v) => v !== null).pop() : undefined;
    this.latest.textContent = only === undefined ? "" : format(only);
  }

  /** Each name once. */
  private nameLines(): void {
    const names = new Map(this.lines.map((line) => [line.name, line.color]));
    this.legend.replaceChildren(...[...names].map(([name, color]) => h("span", {}, this.dot(color), name)));
    this.legend.hidden = names.size < 2;
  }

  private dot(color: string): HTMLElement {
    const dot = h("span", { class: "swatch", "aria-hidden": "true" });
    dot.style.background = `var(${color})`;
    return dot;
  }

  rebuild(): void {
    this.plot?.destroy();
    this.plot = undefined;
    this.zoomed = false;
    this.reset.hidden = true;
    if (this.lines.length === 0) return;
    const width = Math.max(200, this.area.clientWidth || 400);
    this.plot = new uPlot(this.plotOptions(width), this.data(), this.area);
    this.area.append(this.tip);
  }

  private resize(): void {
    const width = this.area.clientWidth;
    if (this.plot && width > 0 && width !== this.plot.width) this.plot.setSize({ width, height: HEIGHT });
  }

  private usesSmooth(line: Line): boolean {
    return (this.options.smooth ?? 0) > 0 && !line.low && line.y.length > 20;
  }

  /** Per line: its values, then its smoothed values or the edges of its band. */
  private data(): uPlot.AlignedData {
    const positive = (y: (number | null)[]) => (this.log ? y.map((v) => (v !== null && v > 0 ? v : null)) : y);
    const tables = this.lines.map((line) => {
      const columns = [line.x, positive(line.y)];
      if (line.low && line.high) columns.push(positive(line.low), positive(line.high));
      else if (this.usesSmooth(line)) columns.push(positive(smoothed(line.y, this.options.smooth!)));
      return columns as unknown as uPlot.AlignedData;
    });
    return tables.length === 1 ? tables[0]! : uPlot.join(tables);
  }

  private plotOptions(width: number): uPlot.Options {
    const text = cssColor("--muted");
    const grid = { stroke: cssColor("--grid"), width: 1 };
    const font = FONT;
    const series: uPlot.Series[] = [{}];
    const bands: uPlot.Band[] = [];
    for (const line of this.lines) {
      const color = cssColor(line.color);
      const smooth = this.usesSmooth(line);
      const paths = line.steps ? uPlot.paths.stepped!({ align: 1 }) : null;
      series.push({
        label: line.name, stroke: smooth || line.faint ? color + "55" : color, width: smooth || line.faint ? 1 : 2,
        ...(line.dash && !smooth ? { dash: line.dash } : {}),
        spanGaps: true, points: { show: line.x.length < 3, size: 5 }, ...(paths ? { paths, fill: color + "22" } : {}),
      });
      if (line.low) {
        const edge = { stroke: "transparent", spanGaps: true, points: { show: false } };
        series.push({ ...edge }, { ...edge });
        bands.push({ series: [series.length - 1, series.length - 2], fill: color + "30" });
      } else if (smooth) {
        series.push({ stroke: color, width: 2, spanGaps: true, points: { show: false }, ...(line.dash ? { dash: line.dash } : {}) });
      }
    }
    const texts = this.options.ticks ?? tickTexts;
    const places = this.options.places;
    const xLabels = (splits: number[]): string[] => {
      const labels = texts(splits);
      this.right = Math.max(12, Math.ceil(textWidth(labels[labels.length - 1] ?? "") / 2) + 3);
      return labels;
    };
    return {
      width, height: HEIGHT, series, bands, legend: { show: false },
      padding: [8, () => this.right, 0, 0],
      scales: {
        x: { time: false },
        y: this.log ? { distr: 3, range: (_, low, high) => (low > 0 ? logRange(low, high) : [low, high]) } : { distr: 1 },
      },
      axes: [
        { stroke: text, font, grid, ticks: grid, size: 44, label: this.options.xLabel, labelFont: font, labelSize: 16,
          values: (_, splits) => xLabels(splits), ...(this.options.steps ? { incrs: this.options.steps } : {}),
          ...(places ? { splits: (_, __, low, high) => places(low, high) } : {}) },
        { stroke: text, font, grid, ticks: grid,
          size: (_, labels) => Math.max(40, 16 + Math.max(...(labels ?? []).map(textWidth))),
          values: (_, splits) => tickTexts(splits),
          ...(this.log ? { splits: (_, __, low, high) => logTicks(low, high, MOST_LOG_TICKS), filter: (_, splits) => splits } : {}) },
      ],
      cursor: {
        drag: { x: true, y: false },
        ...(this.options.group ? { sync: { key: this.options.group, setSeries: false } } : {}),
      },
      hooks: {
        setCursor: [(u) => this.showTip(u)],
        setScale: [(u, key) => key === "x" && this.noteZoom(u)],
      },
    };
  }

  private noteZoom(u: uPlot): void {
    const x = u.data[0];
    const { min, max } = u.scales["x"]!;
    if (x.length < 2 || min === undefined || max === undefined) return;
    this.zoomed = min > x[0]! || max < x[x.length - 1]!;
    this.reset.hidden = !this.zoomed;
  }

  private unzoom(): void {
    const group = this.options.group;
    for (const chart of charts) {
      if (chart !== this && (!group || chart.options.group !== group)) continue;
      const x = chart.plot?.data[0];
      if (x && x.length > 1) chart.plot!.setScale("x", { min: x[0]!, max: x[x.length - 1]! });
    }
  }

  private showTip(u: uPlot): void {
    const at = u.cursor.idx;
    const left = u.cursor.left ?? -1;
    if (at === null || at === undefined || left < 0) {
      this.tip.hidden = true;
      return;
    }
    const x = u.data[0][at]!;
    const rows: HTMLElement[] = [];
    let column = 1;
    for (const line of this.lines) {
      const values = u.data[column]!;
      // Where runs were logged at other places, the last value before this one.
      let k: number = at;
      while (k > 0 && typeof values[k] !== "number") --k;
      const smooth = this.usesSmooth(line) ? ` smooth ${format(u.data[column + 1]![k])}` : "";
      if (!line.faint) rows.push(h("div", {}, this.dot(line.color), `${line.name} `, h("b", {}, format(values[k])), smooth));
      column += line.low ? 3 : this.usesSmooth(line) ? 2 : 1;
    }
    const place = this.options.xText ? this.options.xText(x) : `${this.options.xLabel} ${format(x)}`;
    this.tip.replaceChildren(h("div", { class: "place" }, place), ...rows);
    this.tip.hidden = false;
    const over = u.over.getBoundingClientRect();
    const area = this.area.getBoundingClientRect();
    const x0 = over.left - area.left + left;
    const width = this.tip.offsetWidth;
    this.tip.style.left = `${Math.max(0, x0 + 12 + width > area.width ? x0 - width - 12 : x0 + 12)}px`;
    this.tip.style.top = `${over.top - area.top + 6}px`;
  }

  private onKey(event: KeyboardEvent): void {
    const u = this.plot;
    if (!u) return;
    const x = u.data[0];
    const { min, max } = u.scales["x"]!;
    if (x.length < 2 || min === undefined || max === undefined) return;
    const inside = x.map((_, k) => k).filter((k) => x[k]! >= min! && x[k]! <= max!);
    const step = Math.max(1, Math.round(inside.length / 50));
    const moveTo = (k: number) => {
      const at = Math.min(Math.max(k, inside[0]!), inside[inside.length - 1]!);
      u.setCursor({ left: u.valToPos(x[at]!, "x"), top: u.over.clientHeight / 2 });
    };
    const now = u.cursor.left !== undefined && u.cursor.left >= 0 ? u.cursor.idx ?? inside[0]! : inside[0]! - step;
    const zoom = (factor: number) => {
      const centre = u.cursor.left !== undefined && u.cursor.left >= 0 ? u.posToVal(u.cursor.left, "x") : (min + max) / 2;
      const low = Math.max(x[0]!, centre - (centre - min) * factor);
      const high = Math.min(x[x.length - 1]!, centre + (max - centre) * factor);
      if (high > low) u.setScale("x", { min: low, max: high });
    };
    const actions: Record<string, () => void> = {
      ArrowRight: () => moveTo(now + step), ArrowLeft: () => moveTo(now - step),
      Home: () => moveTo(inside[0]!), End: () => moveTo(inside[inside.length - 1]!),
      "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), "0": () => this.unzoom(),
      Escape: () => u.setCursor({ left: -10, top: -10 }),
    };
    const action = actions[event.key];
    if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    action();
  }
}

/** After a change of colours. */
export function redrawCharts(): void {
  for (const chart of charts) chart.rebuild();
}
