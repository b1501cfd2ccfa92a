/** Figures of one side, by name and unit, such as "p50 ms". */
export interface Row {
  name: string;
  figures: Record<string, number>;
  cpu?: CpuShare;
}

/** CPU time per counted unit, such as a request: microseconds by layer. */
export interface CpuShare {
  per: string;
  us: Record<string, number>;
}

/** Figure with an aim of the project. Aims are only printed; they do not fail the run. */
export interface Aim {
  name: string;
  value: number;
  /** Lowest and highest round. */
  spread?: [number, number];
  unit?: string;
  atLeast?: number;
  below?: number;
  ambition?: number;
}

export interface Result {
  title: string;
  rows: Row[];
  aims: Aim[];
  notes: string[];
  /** Errors during the measurement, which make the figures invalid. */
  errors: string[];
  rounds: Record<string, object[]>;
}

export function isMet({ value, atLeast = -Infinity, below = Infinity }: Aim): boolean {
  return value >= atLeast && value < below;
}
