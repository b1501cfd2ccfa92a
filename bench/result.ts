/** What was measured of one program or of its baseline: each figure by its name and unit, such as "p50 ms". */
export interface Row {
  name: string;
  figures: Record<string, number>;
  cpu?: CpuShare;
}

/** Where the processor time went: microseconds of each layer for one of what is counted, such as a request. */
export interface CpuShare {
  per: string;
  us: Record<string, number>;
}

/** A figure that the project has set itself an aim for. The aim decides nothing; it is only printed. */
export interface Aim {
  name: string;
  value: number;
  /** Lowest and highest of the rounds. */
  spread?: [number, number];
  unit?: string;
  atLeast?: number;
  below?: number;
  ambition?: number;
}

/** One part of the run. */
export interface Result {
  title: string;
  rows: Row[];
  aims: Aim[];
  notes: string[];
  /** Whatever went wrong while it was measured: then the figures are worth nothing. */
  errors: string[];
  /** The figures of every single round, by the name of their row. */
  rounds: Record<string, object[]>;
}

export function isMet({ value, atLeast = -Infinity, below = Infinity }: Aim): boolean {
  return value >= atLeast && value < below;
}
