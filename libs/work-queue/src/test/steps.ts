import { queue } from '../queue';

export interface Step {
  takesMs: number;
  /** Ends its process by SIGKILL. */
  isPoisoned?: boolean;
}

export const steps = queue<Step>('probe.steps', { isOrdered: true });

/** Starts and ends of attempts, in their order. */
export const effectTable = `
  CREATE TABLE effect (id bigserial PRIMARY KEY, key text NOT NULL, kind text NOT NULL, worker text NOT NULL)`;
