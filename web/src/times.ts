// When a run was at work, how fast it is, and how long it will take.
import { last, lastNumber } from "./dom";
import type { Run, Times } from "./types";

/** Steps of an axis of seconds. */
export const TIME_STEPS = [1, 2, 5, 10, 15, 30, ...[1, 2, 5, 10, 15, 30].map((m) => 60 * m), ...[1, 2, 3, 6, 12].map((h) => 3600 * h),
  ...[1, 2, 5, 10, 20, 50, 100].map((d) => 86400 * d)];

/** "8.4 s", "12 min 05 s", "3 h 20 min", "2 d 4 h" */
export function durationText(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return "–";
  if (seconds < 60) return `${Number(seconds.toPrecision(2))} s`;
  const s = Math.round(seconds);
  const two = (n: number) => String(n).padStart(2, "0");
  if (s < 3600) return `${Math.floor(s / 60)} min${s % 60 ? ` ${two(s % 60)} s` : ""}`;
  const m = Math.round(s / 60);
  if (m < 48 * 60) return `${Math.floor(m / 60)} h${m % 60 ? ` ${two(m % 60)} min` : ""}`;
  return `${Math.floor(m / 1440)} d ${Math.floor((m % 1440) / 60)} h`;
}

/** The date and the time of day, here. */
export function dateText(iso: string | undefined): string {
  const date = new Date(iso ?? "");
  if (Number.isNaN(date.getTime())) return "–";
  const two = (n: number) => String(n).padStart(2, "0");
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${two(date.getHours())}:${two(date.getMinutes())}`;
}

const column = (times: Times, name: string): number[] => (times.columns[name] ?? []) as number[];

export const started = (run: Run): string | undefined => run.times.starts[0]?.started;
export const duration = (run: Run): number | null => last(column(run.times, "seconds")) ?? null;

/** Seconds of training up to an update, between those that are known; null where none are. */
export function secondsAt(times: Times): (update: number) => number | null {
  const updates = column(times, "update");
  const seconds = column(times, "seconds");
  return (update) => {
    if (updates.length < 2 || update > last(updates)!) return null;
    let low = 0;
    let high = updates.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (updates[middle]! < update) low = middle + 1;
      else high = middle;
    }
    const before = Math.max(0, high - 1);
    const gap = updates[high]! - updates[before]!;
    return gap > 0 ? seconds[before]! + ((update - updates[before]!) / gap) * (seconds[high]! - seconds[before]!) : seconds[high]!;
  };
}

/** Updates per second: of the last tenth of the time and ten lines at least, within the part of the run that is at work. */
export function speed(run: Run): number | null {
  const updates = column(run.times, "update");
  const seconds = column(run.times, "seconds");
  const end = updates.length - 1;
  if (end < 1) return null;
  const part = last(run.times.starts)?.update ?? 0;
  let k = end;
  while (k > 0 && updates[k - 1]! >= part && (end - k < 10 || seconds[k]! > 0.9 * seconds[end]!)) --k;
  const time = seconds[end]! - seconds[k]!;
  return time > 0 ? (updates[end]! - updates[k]!) / time : null;
}

export function secondsLeft(run: Run): number | null {
  const rate = speed(run);
  const done = lastNumber(run.metrics.columns["update"]) ?? 0;
  return rate && run.total > done ? (run.total - done) / rate : null;
}
