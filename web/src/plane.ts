// Points of the plane, or vectors from the first of them, on a canvas.
import { cssColor, h } from "./dom";
import type { Point } from "./types";

const FONT_SIZE = 11; // pixels of the page

export interface Box {
  low: Point;
  high: Point;
}

/** A square that holds all points but the farthest few, with some room around. */
export function boxOf(sets: Point[][]): Box {
  const edges = [0, 1].map((axis) => {
    const values = sets.flat().map((p) => p[axis as 0 | 1]).sort((a, b) => a - b);
    const cut = Math.floor(values.length * 0.002);
    return [values[cut] ?? -1, values[values.length - 1 - cut] ?? 1] as Point;
  });
  const half = 0.55 * Math.max(...edges.map((e) => e[1] - e[0]), 1e-6);
  const centre = edges.map((e) => (e[0] + e[1]) / 2);
  return { low: [centre[0]! - half, centre[1]! - half], high: [centre[0]! + half, centre[1]! + half] };
}

export class Plane {
  readonly root = h("canvas", { class: "plane", width: 560, height: 560, role: "img" });
  private points: Point[] = [];

  constructor(private readonly color: string, private readonly vectors = false) {
    new ResizeObserver(() => this.draw()).observe(this.root); // numbers are as large on any screen
  }

  box: Box = { low: [-1, -1], high: [1, 1] };

  show(points: Point[], label: string): void {
    this.points = points;
    this.root.setAttribute("aria-label", label);
    this.draw();
  }

  draw(): void {
    const c = this.root.getContext("2d")!;
    const size = this.root.width;
    const place = ([x, y]: Point): Point => [
      ((x - this.box.low[0]) / (this.box.high[0] - this.box.low[0])) * size,
      (1 - (y - this.box.low[1]) / (this.box.high[1] - this.box.low[1])) * size,
    ];
    c.clearRect(0, 0, size, size);
    this.drawGrid(c, place, size);
    const color = cssColor(this.color);
    c.fillStyle = color + "99";
    c.strokeStyle = color;
    c.lineWidth = 3;
    const start = this.points[0] && place(this.points[0]);
    this.points.forEach((point, k) => {
      const [x, y] = place(point);
      c.beginPath();
      if (this.vectors && start && k > 0) {
        c.moveTo(...start);
        c.lineTo(x, y);
        c.stroke();
      }
      c.beginPath();
      c.arc(x, y, this.vectors ? 6 : 5, 0, 2 * Math.PI);
      c.fill();
    });
  }

  private drawGrid(c: CanvasRenderingContext2D, place: (p: Point) => Point, size: number): void {
    const span = this.box.high[0] - this.box.low[0];
    const raw = span / 5;
    const power = 10 ** Math.floor(Math.log10(raw));
    const step = power * ([1, 2, 5, 10].find((m) => m * power >= raw) ?? 10);
    c.strokeStyle = cssColor("--grid");
    c.fillStyle = cssColor("--muted");
    c.lineWidth = 1;
    const height = Math.round((FONT_SIZE * size) / (this.root.clientWidth || size / 2));
    c.font = `${height}px system-ui, sans-serif`;
    for (const axis of [0, 1] as const) {
      for (let v = Math.ceil(this.box.low[axis] / step) * step; v < this.box.high[axis]; v += step) {
        const at = place(axis === 0 ? [v, 0] : [0, v])[axis];
        c.beginPath();
        c.moveTo(axis === 0 ? at : 0, axis === 0 ? 0 : at);
        c.lineTo(axis === 0 ? at : size, axis === 0 ? size : at);
        c.stroke();
        const text = String(Number(v.toPrecision(6)));
        // Beside its line, on the side that has room.
        const width = c.measureText(text).width;
        if (axis === 0) c.fillText(text, at + 4 + width < size ? at + 4 : at - 4 - width, size - 6);
        else c.fillText(text, 4, at - 4 > height ? at - 4 : at + height);
      }
    }
  }
}
