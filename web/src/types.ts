// What the program writes into the page, or answers when it is asked.

export type Point = [number, number];
export type Columns = Record<string, (number | null)[]>;

/** A picture: an address, or points of the plane. */
export interface Picture {
  image?: string;
  points?: Point[];
}

export interface Metrics {
  token: string;
  from_start: boolean;
  columns: Columns;
}

/** When a run was started, and resumed. */
export interface Start {
  update: number;
  seconds: number;
  started: string;
  command?: string;
  threads?: number;
}

/** Columns: update, and the seconds of training up to it. */
export interface Times extends Metrics {
  starts: Start[];
}

export interface Score {
  value?: number;
  error?: number;
  low?: number;
  high?: number;
  note?: string;
}
export type Scores = Record<string, Record<string, Score>>;

export interface Diagnostics {
  rhat: number | null;
  ess_bulk: number | null;
  ess_tail: number | null;
  autocorrelation_time: number | null;
}

export interface Mixing {
  chains: number;
  steps: number;
  acceptance: number;
  energy: Diagnostics;
  activity: Diagnostics;
  /** One row per chain; even ones began at data, odd ones at noise. */
  energies: number[][];
}

export interface Measured {
  note?: string;
  mixing?: Mixing;
  scores?: Scores;
}

export interface Model {
  updates?: string;
  visible: number;
  hidden: number;
  shown: boolean;
  sampler: Record<string, string | number | boolean>;
  mean_variance: number;
  variances: { first: number; per_decade: number; counts: number[] };
  /** Of a model with few visible units: each of them. */
  few_variances: number[] | null;
  filters: Picture | null;
  chain: (Picture & { step: number })[];
  /** Where it has fewer steps than the sampler. */
  chain_note?: string;
}

export interface RunData {
  name: string;
  seed: number;
  manifest: { grbm_version?: string; cpu_target?: string; threads?: number; data?: { source: string; rows: number; visible: number; fingerprint?: string } };
  total: number;
  settings: Record<string, Record<string, string | number | boolean>>;
  metrics: Metrics;
  times: Times;
  /** Rows of the data, drawn as samples are. */
  data: Picture | null;
  pictures: (Picture & { update: number })[];
  evaluation: Scores;
  model?: Model;
  measured?: Measured;
}

export interface PageData {
  live: boolean;
  version: string;
  folder?: string;
  runs: RunData[];
}

/** A run as the page knows it. */
export interface Run extends RunData {
  /** How it looks: a colour and a dash that no other run has that is shown; -1 where it was never shown. */
  color: number;
  /** Ticked or not; undefined: nobody has said. */
  picked: boolean | undefined;
  gone: boolean;
}
