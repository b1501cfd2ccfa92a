import type { QueueDepth } from '@parley/work-queue/work.repository';
import type { Metrics } from './metrics';
import { readOncePerScrape } from './read-once-per-scrape';

const waiting = ['ready', 'waiting', 'queued', 'parked'];

/** Gauges of the queues of one service, read on each scrape. */
export function measureWork(metrics: Metrics, service: string, read: () => Promise<QueueDepth[]>): void {
  const depth = readOncePerScrape(read);
  const perQueue = (name: string, help: string, states: string[], figure: (rows: QueueDepth[]) => number) =>
    metrics.gaugeOfQueues(name, help, service, async () => {
      const rows = (await depth()).filter(({ state }) => states.includes(state));
      return new Map(rows.map(({ queue }) => [queue, figure(rows.filter((row) => row.queue === queue))]));
    });
  const total = (rows: QueueDepth[]) => rows.reduce((sum, { count }) => sum + count, 0);
  const oldest = (rows: QueueDepth[]) => Math.max(...rows.map(({ oldestSeconds }) => oldestSeconds));
  perQueue('parley_work_waiting', 'Background work that waits, by queue.', waiting, total);
  perQueue('parley_work_running', 'Background work that a process has claimed, by queue.', ['running'], total);
  perQueue('parley_work_failed', 'Background work that was given up, by queue.', ['failed'], total);
  perQueue(
    'parley_work_parked',
    'Background work that waits for something else than time, by queue.',
    ['parked'],
    total,
  );
  perQueue(
    'parley_work_oldest_ready_seconds',
    'Age of the oldest work that is ready and not claimed, in seconds, by queue.',
    ['ready'],
    oldest,
  );
}
