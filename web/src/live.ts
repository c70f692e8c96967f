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
  return { ...run, pictures: withAddresses(name, run.pictures) };
}

export const fetchModel = (name: string): Promise<Model> => ask(at(name, "/model"));
export const fetchPictures = async (name: string): Promise<Pictures> =>
  withAddresses(name, await ask<Pictures>(at(name, "/pictures")));
export const measure = (name: string): Promise<Measured> => ask(at(name, "/measure"), {});
export const drawSamples = (name: string, steps: number, temperature: number, seed: number): Promise<Picture & { seconds: number }> =>
  ask(at(name, "/samples"), { steps, temperature, seed });

/** Appends what has been written since; starts anew where the file is another one, or goes back. */
export async function fetchMetrics(run: Run): Promise<void> {
  const more = await ask<Metrics>(at(run.name, `/metrics?token=${encodeURIComponent(run.metrics.token)}`));
  const known = run.metrics.columns;
  const updates = known["update"] ?? [];
  const first = more.columns["update"]?.[0] ?? Infinity;
  if (!more.from_start && first <= (updates[updates.length - 1] ?? -Infinity)) {
    run.metrics = { token: "", from_start: true, columns: {} };
    return fetchMetrics(run);
  }
  if (more.from_start) {
    run.metrics = more;
    return;
  }
  const length = updates.length;
  const added = more.columns["update"]?.length ?? 0;
  for (const name of new Set([...Object.keys(known), ...Object.keys(more.columns)])) {
    const column = (known[name] ??= new Array<null>(length).fill(null));
    column.push(...(more.columns[name] ?? new Array<null>(added).fill(null)));
  }
  run.metrics.token = more.token;
}

/** Calls back with the state of all runs, at once and whenever something has changed. */
export function follow(onTokens: (tokens: Record<string, Tokens>) => void, onState: (connected: boolean) => void): void {
  const source = new EventSource("api/events");
  source.onopen = () => onState(true);
  source.onerror = () => onState(false);
  source.onmessage = (event) => onTokens(JSON.parse(event.data as string) as Record<string, Tokens>);
}
