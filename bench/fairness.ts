import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { clientOf } from '@parley/testing/api';
import { run, type RunningPlatform, startDistributed } from '@parley/testing/running-platform';
import type { Disturbance } from './disturber';
import { httpRequest, type LoadResult, runLoad } from './load';
import type { Result } from './result';
import { median, pairedRatio } from './statistics';
import { newLogFile, openBot, openEmbedded, productEnv, type Workbench } from './workbench';

type Probe = 'read' | 'write';

/** Noisy neighbour scenario: one client that causes much work or holds a scarce resource while others are measured. */
interface Scene {
  name: string;
  disturbance: Disturbance;
  probe: Probe;
}

/** Few connections, to measure waiting time instead of throughput. */
const probeConnections = 2;
/** Aim: maximum ratio of p99 with and without the disturbance. */
const ambition = 3;
/** Time for the disturbance to start, and for its effects to end. */
const settleMs = 1_000;

const mega = 1_000_000;

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
  for (const scene of await scenesOf(bench, platform)) {
    const alone: LoadResult[] = [];
    const beside: LoadResult[] = [];
    const answers: string[] = [];
    await measure(scene.probe, 1);
    for (let round = 0; round < options.rounds; round++) {
      session.checkpoint();
      alone.push(await measure(scene.probe, options.seconds));
      const disturber = session.keep(
        run('dist/bench/disturber.js', { DISTURBANCE: JSON.stringify(scene.disturbance) }),
      );
      await disturber.said(/Disturbing/);
      await sleep(settleMs);
      beside.push(await measure(scene.probe, options.seconds));
      await disturber.stop();
      answers.push(disturber.output().trim().split('\n').at(-1)!);
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

async function scenesOf(bench: Workbench, platform: RunningPlatform): Promise<Scene[]> {
  const { url, token } = platform;
  const { id: workspaceId } = await clientOf(platform).createWorkspace({ name: 'One of many' });
  const { bot, client } = await openBotIn({ ...platform, workspaceId });
  const { integrations } = (await client.getBot({ id: bot.id })).bot;
  const { webhookId } = Object.values(integrations).find(({ name }) => name === 'chat')!;
  const { table } = await client.createTable({ name: 'AllTable', schema: { a: { type: 'string' } } });

  const account = { authorization: `Bearer ${token}`, 'x-workspace-id': workspaceId };
  const ofBot = { ...account, 'x-bot-id': bot.id };
  const bodies = async (name: string, line: string, headers: Record<string, string>, body: string): Promise<Scene> => {
    const bodyFile = join(bench.folder, `${name.replaceAll(/\W+/g, '-')}.json`);
    await writeFile(bodyFile, body);
    return { name, probe: 'read', disturbance: { kind: 'bodies', url, line, headers, bodyFile, connections: 2 } };
  };
  const silent = (sockets: number): Scene => ({
    name: `${sockets} silent sockets without a credential`,
    probe: 'write',
    disturbance: { kind: 'silent sockets', url, line: `POST /chat/${webhookId}/users`, headers: {}, sockets },
  });
  const update = `PUT /v1/admin/bots/${bot.id}`;
  return [
    await bodies('the code of a bot, 25 MB', update, account, JSON.stringify({ code: codeOf(25 * mega - 100_000) })),
    await bodies('bodies of 60 MB', update, account, JSON.stringify({ code: codeOf(55 * mega) })),
    await bodies('1000 rows of 4 kB', `POST /v1/tables/${table.id}/rows`, ofBot, rowsOf(1000, 3_900)),
    await bodies('12 MB of small values', `POST /v1/tables/${table.id}/rows`, ofBot, valuesOf(12 * mega)),
    await bodies('1.9 MB of {} without a credential', `POST /chat/${webhookId}/users`, {}, valuesOf(1.9 * mega)),
    await bodies('0.9 MB of {} with a credential', 'PUT /v1/files', ofBot, valuesOf(0.9 * mega)),
    silent(130),
    silent(1000),
  ];
}

async function openBotIn(platform: RunningPlatform) {
  const { bot } = await clientOf(platform).createBot({});
  return { bot, client: clientOf(platform, bot.id) };
}

/** JavaScript as bundlers write it, with characters that JSON escapes. */
function codeOf(bytes: number): string {
  const line = 'var a=function(b,c){return b.d("e",c)};\n';
  return line.repeat(Math.ceil(bytes / line.length)).slice(0, bytes);
}

function rowsOf(count: number, bytes: number): string {
  return JSON.stringify({ rows: Array.from({ length: count }, () => ({ a: 'x'.repeat(bytes) })) });
}

function valuesOf(bytes: number): string {
  return `{"rows":[${'{},'.repeat(Math.floor(bytes / 3))}{}]}`;
}
