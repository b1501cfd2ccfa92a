import { setTimeout as sleep } from 'node:timers/promises';
import { run, type RunningPlatform, startDistributed } from '@parley/testing/running-platform';
import { type Probe, type Scene, scenesOf } from './fairness-scenes';
import { httpRequest, type LoadResult, runLoad } from './load';
import type { Result } from './result';
import { median, pairedRatio } from './statistics';
import { newLogFile, openBot, openEmbedded, productEnv, type Workbench } from './workbench';

/** Few connections, to measure waiting time instead of throughput. */
const probeConnections = 2;
/** Aim: maximum ratio of p99 with and without the disturbance. */
const ambition = 3;
/** Time for the disturbance to start, and for its effects to end. */
const settleMs = 1_000;

export function benchFairnessEmbedded(bench: Workbench): Promise<Result[]> {
  return benchFairness(bench, 'Embedded mode', () => openEmbedded(bench, { RATE_LIMIT_PER_SECOND: '0' }));
}

export function benchFairnessDistributed(bench: Workbench): Promise<Result[]> {
  const options = { env: { ...productEnv(bench), RATE_LIMIT_PER_SECOND: '0' }, logFile: newLogFile(bench) };
  return benchFairness(bench, 'Distributed mode', async () => bench.session.keep(await startDistributed(options)));
}

/** Alternates rounds with and without the disturbance, so that noise of the machine affects both. */
async function benchFairness(bench: Workbench, mode: string, open: () => Promise<RunningPlatform>): Promise<Result[]> {
  const { options, session } = bench;
  const platform = await open();
  const requests = await probesOf(platform);
  const measure = (probe: Probe, seconds: number) =>
    runLoad({ url: platform.url, next: requests[probe], connections: probeConnections, seconds });

  const results: Result[] = [];
  const scenes = await scenesOf(bench, platform);
  for (const scene of scenes.filter(({ name }) => options.scene?.test(name) ?? true)) {
    const alone: LoadResult[] = [];
    const beside: LoadResult[] = [];
    const answers: string[] = [];
    await measure(scene.probe, 1);
    for (let round = 0; round < options.rounds; round++) {
      session.checkpoint();
      alone.push(await measure(scene.probe, options.seconds));
      await scene.begin?.();
      const disturber = session.keep(
        run('dist/bench/disturber.js', { DISTURBANCE: JSON.stringify(scene.disturbance) }),
      );
      await disturber.said(/Disturbing/);
      await sleep(settleMs);
      beside.push(await measure(scene.probe, options.seconds));
      await disturber.stop();
      answers.push(disturber.output().trim().split('\n').at(-1)!);
      await scene.end?.();
      await sleep(settleMs);
    }
    results.push(report(`${mode}: ${scene.name}`, scene, { alone, beside, answers }, options.seconds));
  }
  return results;
}

function report(
  title: string,
  { probe }: Scene,
  { alone, beside, answers }: { alone: LoadResult[]; beside: LoadResult[]; answers: string[] },
  seconds: number,
): Result {
  const row = (name: string, rounds: LoadResult[]) => ({
    name,
    figures: {
      'request/s': median(rounds.map(({ perSecond }) => perSecond)),
      'p50 ms': median(rounds.map(({ p50Ms }) => p50Ms)),
      'p99 ms': median(rounds.map(({ p99Ms }) => p99Ms)),
      refused: rounds.reduce((sum, { errors }) => sum + errors, 0),
    },
  });
  const p99 = (rounds: LoadResult[]) => rounds.map(({ p99Ms }) => p99Ms);
  const ratio = pairedRatio(p99(beside), p99(alone));
  const request = probe === 'read' ? 'GET /v1/files/{id}' : 'PUT /v1/files';
  return {
    title: `${title}; others send ${request} by ${probeConnections} connections, ${alone.length} rounds of ${seconds} s`,
    rows: [row('alone', alone), row('beside it', beside)],
    aims: [
      { name: 'p99 beside it / alone', value: ratio.median, spread: [ratio.lowest, ratio.highest], below: ambition },
    ],
    notes: [`Answers to the disturbing client: ${answers.join(' ')}`],
    errors: [...alone, ...beside].flatMap(({ firstError }) => (firstError ? [firstError] : [])),
    rounds: { alone, 'beside it': beside },
  };
}

async function probesOf(platform: RunningPlatform): Promise<Record<Probe, () => string>> {
  const { headers, client } = await openBot(platform);
  const { file } = await client.upsertFile({ key: 'probe', size: 1 });
  const read = httpRequest(`GET /v1/files/${file.id}`, headers);
  let count = 0;
  return {
    read: () => read,
    write: () => httpRequest('PUT /v1/files', headers, JSON.stringify({ key: `probe-${(count += 1)}`, size: 1 })),
  };
}
