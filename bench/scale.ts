import { setTimeout as sleep } from 'node:timers/promises';
import { clientOf } from '@parley/testing/api';
import { Fleet } from '../test/faults/fleet';
import { markdown } from './corpus';
import { httpRequest, type LoadResult, runLoad } from './load';
import type { Result, Row } from './result';
import { type Decision, type Lag, type Scaling, simulateAutoscaler } from './autoscaler';
import type { Workbench } from './workbench';

/** One thread, so that a second worker has the second core. */
const threadsOfWorker = 1;
const fileBytes = 4_000;
const filesPerSecondOfRound = 6;
const pollMs = 250;
/** Values of the Helm chart, with thresholds and times scaled down to this load. */
const scaling: Scaling = { lagThreshold: 5, min: 1, max: 10, pollingSeconds: 2, scaleDownAfterSeconds: 10 };

/**
 * Scaling: indexing with one and two workers, reads with one and two gateways, and the number of workers requested for
 * the lag.
 */
export async function benchScale(bench: Workbench): Promise<Result[]> {
  const { session, options } = bench;
  const files = Math.ceil(filesPerSecondOfRound * options.seconds);
  const workers: Row[] = [];
  const gateways: Row[] = [];
  const errors: string[] = [];
  let decisions: Decision[] = [];
  const env = { EMBEDDINGS_THREADS: String(threadsOfWorker), LOG_LEVEL: 'error' };
  for (const count of [1, 2]) {
    session.checkpoint();
    const fleet = session.keep(await Fleet.start({ replicasOf: { 'files-worker': count }, env }));
    await indexAll(fleet, 2);
    const { filesPerSecond, lags } = await indexAll(fleet, files);
    await fleet.stop();
    workers.push({ name: `${count} of the worker`, figures: { 'files a second': filesPerSecond } });
    if (count === 1) decisions = simulateAutoscaler(lags, scaling);
  }
  for (const count of [1, 2]) {
    session.checkpoint();
    const fleet = session.keep(await Fleet.start({ replicasOf: { gateway: count }, env }));
    const load = await readFiles(fleet, bench);
    await fleet.stop();
    const name = `${count} of the gateway`;
    gateways.push({
      name,
      figures: {
        'requests a second': load.reduce((sum, { perSecond }) => sum + perSecond, 0),
        'p99 ms': Math.max(...load.map(({ p99Ms }) => p99Ms)),
      },
    });
    for (const { errors: failed, firstError } of load)
      if (firstError) errors.push(`${name}: ${failed} requests failed: ${firstError}`);
  }
  const ratio = (rows: Row[], figure: string) => rows[1]!.figures[figure]! / rows[0]!.figures[figure]!;
  const result = (title: string, rows: Row[], more: Partial<Result>): Result => ({
    ...{ title, rows, aims: [], notes: [], errors: [], rounds: {} },
    ...more,
  });
  return [
    result(
      `Distributed mode: ${files} files of ${fileBytes} bytes, ${threadsOfWorker} embedding thread a worker`,
      workers,
      {
        aims: [{ name: 'two workers / one', value: ratio(workers, 'files a second') }],
      },
    ),
    result(`Distributed mode: GET /v1/files, ${options.connections} connections`, gateways, {
      aims: [{ name: 'two gateways / one', value: ratio(gateways, 'requests a second') }],
      notes: [
        'The load is split evenly between the gateways without a load balancer, on the same cores as all processes.',
      ],
      errors,
    }),
    result(
      `Workers requested by the lag measured with one worker: one per ${scaling.lagThreshold} contents, fewer after ${scaling.scaleDownAfterSeconds} s`,
      decisions.map(({ atSeconds, lag, replicas }) => ({
        name: `after ${atSeconds} s`,
        figures: { lag, workers: replicas },
      })),
      {},
    ),
  ];
}

/** Uploads files concurrently and records the indexing lag until it is zero. */
async function indexAll(fleet: Fleet, count: number): Promise<{ filesPerSecond: number; lags: Lag[] }> {
  const { bot } = await clientOf(fleet).createBot({});
  const client = clientOf(fleet, bot.id);
  const content = markdown(fileBytes);
  for (let n = 0; n < count; n += 1) await client.uploadFile({ key: `${n}.md`, content, index: true });
  const started = performance.now();
  const left = (await pending()).length;
  const lags: Lag[] = [{ atSeconds: 0, lag: left }];
  while (lags.at(-1)!.lag > 0) {
    await sleep(pollMs);
    lags.push({ atSeconds: (performance.now() - started) / 1000, lag: (await pending()).length });
  }
  return { filesPerSecond: left / lags.at(-1)!.atSeconds, lags };

  async function pending() {
    const listed = await client.list.files({}).collect();
    const failed = listed.find(({ status }) => status === 'indexing_failed');
    if (failed) throw new Error(`${failed.key} was not indexed: ${failed.failedStatusReason}`);
    return listed.filter(({ status }) => status === 'indexing_pending');
  }
}

async function readFiles(fleet: Fleet, { options }: Workbench): Promise<LoadResult[]> {
  const { bot } = await clientOf(fleet).createBot({});
  const request = httpRequest('GET /v1/files', fleet.headers(bot.id));
  const gateways = fleet.replicas('gateway');
  const { seconds } = options;
  const connections = Math.ceil(options.connections / gateways.length);
  return Promise.all(gateways.map(({ url }) => runLoad({ url, seconds, connections, next: () => request })));
}
