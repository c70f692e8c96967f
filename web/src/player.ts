// Pictures one after the other, of one run or of several side by side: a slider, a button, the keyboard.
import { h, runColor, swatch } from "./dom";
import { boxOf, Plane, type Box } from "./plane";
import type { Picture, Point } from "./types";

export interface Frame extends Picture {
  /** "update 1,234" */
  label: string;
}

export interface Track {
  name: string;
  color: number;
  frames: Frame[];
  note?: string | undefined;
}

/** What stays as it is beside the tracks. */
export interface Still {
  /** -1: of no run. */
  color: number;
  name: string;
  label: string;
  picture: Picture;
}

/** The tracks as they stand on the page. */
class Screen {
  readonly root: HTMLElement;
  private readonly caption = h("figcaption", {});
  private readonly holder = h("div", { class: "screen" });
  private readonly images = new Map<Frame, HTMLImageElement>();
  private readonly plane: Plane | undefined;
  private index = 0;

  constructor(private readonly track: Track, private readonly what: string, box: Box) {
    this.root = h("figure", {}, this.holder, this.caption, track.note ? h("p", { class: "help" }, track.note) : null);
    if (track.frames.some((frame) => frame.points)) {
      this.plane = new Plane(track.color < 0 ? "--muted" : runColor(track.color));
      this.plane.box = box;
      this.holder.append(this.plane.root);
    }
  }

  show(share: number): void {
    const { frames, name, color } = this.track;
    this.index = Math.round(share * (frames.length - 1));
    const frame = frames[this.index];
    if (!frame) return;
    const label = `${this.what} of ${name}, ${frame.label}`;
    if (this.plane) this.plane.show(frame.points ?? [], label);
    else this.holder.replaceChildren(this.image(frame, label));
    this.caption.replaceChildren(color < 0 ? "" : swatch(color), h("span", { class: "name" }, name), h("b", {}, frame.label));
    // The next one is on its way before it is shown.
    const next = frames[this.index + 1];
    if (next && !this.plane) this.image(next, "");
  }

  redraw(): void {
    this.plane?.draw();
  }

  private image(frame: Frame, label: string): HTMLImageElement {
    let image = this.images.get(frame);
    if (!image) {
      image = h("img", { src: frame.image, alt: label, draggable: "false" });
      this.images.set(frame, image);
    }
    if (label) image.alt = label;
    return image;
  }
}

/** The points of the last frames: these say where to look; noise may lie far off. */
const endPoints = (track: Track): Point[][] => track.frames.slice(-3).map((frame) => frame.points ?? []);

export class Player {
  readonly root: HTMLElement;
  private readonly screens = h("div", { class: "screens" });
  private readonly slider: HTMLInputElement;
  private readonly button: HTMLButtonElement;
  private shown: Screen[] = [];
  private stills: Screen[] = [];
  private count = 0;
  private timer: number | undefined;
  private followsEnd = true;

  constructor(title: string, help: string, private readonly what: string, private readonly milliseconds: number) {
    this.button = h("button", { class: "play", "aria-label": `Play: ${title}`, onclick: () => this.toggle() });
    this.slider = h("input", { type: "range", min: 0, step: 1, "aria-label": `${title}: place` });
    this.slider.addEventListener("input", () => {
      this.stop();
      this.show();
    });
    const controls = h("div", { class: "controls" }, this.button, this.slider);
    this.root = h("section", { class: "card player" }, h("header", {}, h("h3", {}, title)),
      h("p", { class: "help" }, help), this.screens, controls);
    this.root.addEventListener("keydown", (event) => {
      if (event.key !== " " || event.target === this.button) return;
      event.preventDefault();
      this.toggle();
    });
    this.paintButton();
  }

  set(tracks: Track[], stills: Still[] = []): void {
    const shown = tracks.filter((track) => track.frames.length > 0);
    this.root.hidden = shown.length === 0;
    const box = boxOf([...shown.flatMap(endPoints), ...stills.map((still) => still.picture.points ?? [])]);
    this.shown = shown.map((track) => new Screen(track, this.what, box));
    const beside = stills.map((still) => {
      const frames = [{ ...still.picture, label: still.label }];
      const screen = new Screen({ name: still.name, color: still.color, frames }, "Rows", box);
      screen.show(0);
      return screen;
    });
    this.stills = beside;
    this.screens.replaceChildren(...[...this.shown, ...beside].map((screen) => screen.root));
    this.count = Math.max(0, ...shown.map((track) => track.frames.length));
    this.slider.max = String(Math.max(0, this.count - 1));
    if (this.followsEnd) this.slider.value = this.slider.max;
    this.show(false);
  }

  redraw(): void {
    for (const screen of [...this.shown, ...this.stills]) screen.redraw();
  }

  private show(chosen = true): void {
    const at = Number(this.slider.value);
    if (chosen) this.followsEnd = at === this.count - 1;
    for (const screen of this.shown) screen.show(this.count > 1 ? at / (this.count - 1) : 0);
    this.slider.setAttribute("aria-valuetext", this.root.querySelector("figcaption b")?.textContent ?? "");
  }

  private toggle(): void {
    if (this.timer !== undefined) {
      this.stop();
      return;
    }
    if (Number(this.slider.value) >= this.count - 1) this.slider.value = "0";
    this.show();
    this.timer = window.setInterval(() => {
      this.slider.value = String(Number(this.slider.value) + 1);
      this.show();
      if (Number(this.slider.value) >= this.count - 1) this.stop();
    }, this.milliseconds);
    this.paintButton();
  }

  private stop(): void {
    window.clearInterval(this.timer);
    this.timer = undefined;
    this.paintButton();
  }

  private paintButton(): void {
    const playing = this.timer !== undefined;
    this.button.textContent = playing ? "❚❚" : "▶";
    this.button.setAttribute("aria-pressed", String(playing));
  }
}
