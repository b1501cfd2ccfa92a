import { setTimeout as sleep } from 'node:timers/promises';
import { createLogger } from '@parley/logging/logger';
import type { Database } from '@parley/persistence/database';
import { GiveUp, Park, RetryAfter } from '../queue';
import { WorkRepository } from '../work.repository';
import { WorkRunner } from '../work-runner';
import { openWorkDatabase } from './work-database';
import { gate, type Step, steps } from './steps';

const endlessMs = 600_000;

/** Worker process of the fault tests: records the start and the end of each attempt. */
async function main(): Promise<void> {
  const { DATABASE_URL: url, WORKER: worker, CLOCK_AHEAD_MS: aheadMs = '0', LEASE_MS, KILL_AT } = process.env;
  const now = Date.now;
  Date.now = () => now() + Number(aheadMs);
  const database = await openWorkDatabase(url!);
  if (KILL_AT) killAt(KILL_AT, database);
  const logger = createLogger('worker', 'silent');
  const runner = new WorkRunner(new WorkRepository(database), { worker: worker!, isOnlyWorker: false, logger });
  runner.register<Step>(steps, { concurrency: 4, leaseMs: Number(LEASE_MS ?? 600), attempts: 100 }, async (work) => {
    const { key, payload, lastError } = work;
    if (payload.first && lastError === null) throw endOf(payload.first);
    await database.query(`INSERT INTO effect (key, kind, worker) VALUES ($1, 'started', $2)`, [key, worker]);
    await sleep(payload.hangsIn === worker ? endlessMs : payload.takesMs);
    if (payload.isPoisoned) process.kill(process.pid, 'SIGKILL');
    await database.transaction(async (tx) => {
      await work.confirm(tx);
      await tx.query(`INSERT INTO effect (key, kind, worker) VALUES ($1, 'done', $2)`, [key, worker]);
    });
  });
  await runner.start();
  process.stdout.write('Working.\n');
  process.on('SIGTERM', () => void runner.stop().then(() => process.exit(0)));
}

/** Ends this process by SIGKILL before it sends the statement of this name. */
function killAt(statement: string, database: Database): void {
  const query: Database['query'] = database.query.bind(database);
  database.query = (text, values, name) => {
    if (name === statement) process.kill(process.pid, 'SIGKILL');
    return query(text, values, name);
  };
}

function endOf(first: NonNullable<Step['first']>): Error {
  if (first === 'gives up') return new GiveUp(first);
  if (first === 'fails') return new RetryAfter(first, endlessMs);
  return new Park(first, gate, new Date(Date.now() + endlessMs));
}

void main();
