import { setTimeout as sleep } from 'node:timers/promises';
import { createLogger } from '@parley/logging/logger';
import { WorkRepository } from '../work.repository';
import { WorkRunner } from '../work-runner';
import { openWorkDatabase } from './work-database';
import { type Step, steps } from './steps';

/** Worker process of the fault tests: records the start and the end of each attempt. */
async function main(): Promise<void> {
  const { DATABASE_URL: url, WORKER: worker, CLOCK_AHEAD_MS: aheadMs = '0', LEASE_MS } = process.env;
  const now = Date.now;
  Date.now = () => now() + Number(aheadMs);
  const database = await openWorkDatabase(url!);
  const logger = createLogger('worker', 'silent');
  const runner = new WorkRunner(new WorkRepository(database), { worker: worker!, isOnlyWorker: false, logger });
  runner.register<Step>(steps, { concurrency: 4, leaseMs: Number(LEASE_MS ?? 600), attempts: 100 }, async (work) => {
    const { key, payload } = work;
    await database.query(`INSERT INTO effect (key, kind, worker) VALUES ($1, 'started', $2)`, [key, worker]);
    await sleep(payload.takesMs);
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

void main();
