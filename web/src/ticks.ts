// Where a logarithmic axis begins and ends, and where it is marked; how marks are written.
import { format } from "./dom";

/** The range of the values with a little room, not the decades about them. */
export function logRange(low: number, high: number): [number, number] {
  const room = Math.max(1.02, (high / low) ** 0.05);
  return [low / room, high * room];
}

const niceStep = (raw: number): number => {
  const power = 10 ** Math.floor(Math.log10(raw));
  return power * ([1, 2, 5].find((factor) => factor * power >= raw * (1 - 1e-9)) ?? 10);
};

/** At most about `most`: even steps within a decade, 1, 2 and 5 times its power within three, decades beyond. */
export function logTicks(low: number, high: number, most: number): number[] {
  const decades = Math.log10(high / low);
  const ticks: number[] = [];
  if (decades < 1) {
    const step = niceStep((high - low) / most);
    for (let k = Math.ceil(low / step); k * step <= high; ++k) ticks.push(Number((k * step).toPrecision(12)));
    return ticks;
  }
  const every = Math.max(1, Math.ceil(decades / most));
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); ++power) {
    if (power % every !== 0) continue;
    for (const factor of decades < 2 ? [1, 2, 5] : [1]) {
      const tick = Number((factor * 10 ** power).toPrecision(12));
      if (tick >= low && tick <= high) ticks.push(tick);
    }
  }
  return ticks;
}

/** Marks with as many digits as tell each from the next: four, or more where they are close together. */
export function tickTexts(ticks: readonly (number | null)[]): string[] {
  const values = ticks.filter((tick) => tick !== null);
  const gap = Math.min(...values.slice(1).map((tick, k) => Math.abs(tick - values[k]!)));
  const tells = (digits: number): boolean => values.every((tick) => Math.abs(Number(tick.toPrecision(digits)) - tick) < gap / 100);
  let digits = 4;
  while (digits < 15 && !tells(digits)) ++digits;
  return ticks.map((tick) => (tick === null ? "" : format(tick, digits)));
}
