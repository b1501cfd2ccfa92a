import { queue } from '../queue';

export interface Step {
  takesMs: number;
  /** Ends its process by SIGKILL. */
  isPoisoned?: boolean;
  /** Worker in which it never ends. */
  hangsIn?: string;
  /** End of its first attempt. */
  first?: 'fails' | 'is parked' | 'gives up';
}

/** Name under which parked steps wait. */
export const gate = 'gate';

export const steps = queue<Step>('probe.steps', { isOrdered: true });

/** Starts and ends of attempts, in their order. */
export const effectTable = `
  CREATE TABLE effect (id bigserial PRIMARY KEY, key text NOT NULL, kind text NOT NULL, worker text NOT NULL)`;
