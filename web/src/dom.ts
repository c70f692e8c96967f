// Elements and numbers, in few words.

type Child = Node | string | null | undefined | false;
type Attributes = Record<string, string | number | boolean | EventListener | undefined>;

/** An element. Text is always text: nothing that a run contains is read as HTML. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K, attributes: Attributes = {}, ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.filter((child): child is Node | string => child !== null && child !== undefined && child !== false));
  return element;
}

export function words(name: string): string {
  const text = name.replaceAll("_", " ");
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** A number as a person reads it: with so many digits, or a whole number in groups of three. */
export function format(value: number | null | undefined, digits = 4): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e15) return value.toLocaleString("en-US");
  if (size >= 1e6 || size < 1e-4) return Number(value.toPrecision(digits)).toExponential().replace("e+", "e");
  const whole = Math.floor(Math.log10(size)) + 1;
  if (whole > 3) return Number(value.toPrecision(Math.max(digits, whole))).toLocaleString("en-US", { maximumFractionDigits: 12 });
  return String(Number(value.toPrecision(digits)));
}

/** The colour of a custom property, for a canvas. */
export function cssColor(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** Sixteen colours; from the ninth run on with a dash that changes with every eight. */
export const runColor = (index: number): string => `--run-${index % 16}`;
const DASHES: (number[] | undefined)[] = [undefined, [7, 3], [2, 2], [9, 2, 2, 2]];
const round = (index: number): number => Math.floor(index / 8) % DASHES.length;
export const runDash = (index: number): number[] | undefined => DASHES[round(index)];

/** Names as people count: run2 before run10. */
export const byName = new Intl.Collator("en", { numeric: true }).compare;

export function last<T>(list: readonly T[]): T | undefined {
  return list[list.length - 1];
}

export function lastNumber(column: (number | null)[] | undefined): number | null {
  for (let k = (column?.length ?? 0) - 1; k >= 0; --k) {
    const value = column![k];
    if (typeof value === "number") return value;
  }
  return null;
}

/** color: -1 for a run that is not shown. */
export function swatch(color: number): HTMLElement {
  const dot = h("span", { class: color < 0 ? "swatch none" : `swatch dash-${round(color)}`, "aria-hidden": "true" });
  if (color >= 0) dot.style.background = `var(${runColor(color)})`;
  return dot;
}
