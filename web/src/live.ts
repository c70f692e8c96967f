// The program behind the page, while it runs.
import type { Measured, Metrics, Model, Picture, Run, RunData } from "./types";

export interface Tokens {
  metrics: string;
  pictures: string;
  model: string;
}

async function ask<T>(path: string, body?: unknown): Promise<T> {
  const answer = await fetch(path, body === undefined ? {} : {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
  });
  const value = (await answer.json()) as T & { error?: string };
  if (!answer.ok) throw new Error(value.error ?? `${answer.status}`);
  return value;
}

const at = (name: string, rest = ""): string => `api/runs/${encodeURIComponent(name)}${rest}`;

type Pictures = RunData["pictures"];
const withAddresses = (name: string, pictures: Pictures): Pictures =>
  pictures.map((picture) => (picture.image ? { ...picture, image: at(name, `/${picture.image}`) } : picture));

export async function fetchRun(name: string): Promise<RunData> {
  const run = await ask<RunData>(at(name));
  const data = run.data?.image ? { ...run.data, image: at(name, `/${run.data.image}`) } : run.data;
  return { ...run, data, pictures: withAddresses(name, run.pictures) };
}

export const fetchModel = (name: string): Promise<Model> => ask(at(name, "/model"));
export const fetchPictures = async (name: string): Promise<Pictures> =>
  withAddresses(name, await ask<Pictures>(at(name, "/pictures")));
export const measure = (name: string): Promise<Measured> => ask(at(name, "/measure"), {});
export const drawSamples = (name: string, steps: number, temperature: number, seed: number): Promise<Picture & { seconds: number }> =>
  ask(at(name, "/samples"), { steps, temperature, seed });

/** The columns that are known with what has been written since; all anew where the file is another one, or goes back. */
async function more<T extends Metrics>(known: T, path: string, goesBack: (first: number, last: number) => boolean): Promise<T> {
  const added = await ask<T>(`${path}?token=${encodeURIComponent(known.token)}`);
  if (added.from_start) return added;
  const updates = known.columns["update"] ?? [];
  const first = added.columns["update"]?.[0] ?? Infinity;
  if (goesBack(first, updates[updates.length - 1] ?? -Infinity)) return more({ ...known, token: "" }, path, goesBack);
  const length = updates.length;
  const count = added.columns["update"]?.length ?? 0;
  for (const name of new Set([...Object.keys(known.columns), ...Object.keys(added.columns)])) {
    const column = (known.columns[name] ??= new Array<null>(length).fill(null));
    column.push(...(added.columns[name] ?? new Array<null>(count).fill(null)));
  }
  return { ...added, columns: known.columns };
}

export async function fetchMetrics(run: Run): Promise<void> {
  const [metrics, times] = await Promise.all([
    more(run.metrics, at(run.name, "/metrics"), (first, last) => first <= last),
    more(run.times, at(run.name, "/times"), (first, last) => first < last), // a start has the update of the line before it
  ]);
  run.metrics = metrics;
  run.times = times.from_start ? times : { ...times, starts: [...run.times.starts, ...times.starts] };
}

/** Calls back with the state of all runs, at once and whenever something has changed. */
export function follow(onTokens: (tokens: Record<string, Tokens>) => void, onState: (connected: boolean) => void): void {
  const source = new EventSource("api/events");
  source.onopen = () => onState(true);
  source.onerror = () => onState(false);
  source.onmessage = (event) => onTokens(JSON.parse(event.data as string) as Record<string, Tokens>);
}
