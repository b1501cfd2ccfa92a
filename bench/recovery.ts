import type { Client } from '@botpress/client';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { clientOf } from '@parley/testing/api';
import { put } from '@parley/testing/bot-files';
import { EmbeddingServer } from '@parley/testing/embedding-server';
import { waitFor } from '@parley/testing/wait-for';
import { type AppName, appNames, Fleet } from '../test/faults/fleet';
import { KeepAliveClient } from '../test/faults/keep-alive-client';
import type { Result, Row } from './result';
import { percentile } from './statistics';
import type { Workbench } from './workbench';

const killsPerRound = 4;
const betweenProbesMs = 10;
/** Consecutive successful probes required before the next kill. */
const calmProbes = 50;

interface Probe {
  begunAt: number;
  endedAt: number;
  isGood: boolean;
}

/**
 * Recovery time after `kill -9` of one of two replicas, per app: until the other one serves, and until no request
 * fails.
 */
export async function benchRecovery(bench: Workbench): Promise<Result[]> {
  const { session, options } = bench;
  const embeddings = session.keep(await EmbeddingServer.start());
  const fleet = session.keep(
    await Fleet.start({ replicas: 2, env: { EMBEDDINGS_URL: embeddings.url, LOG_LEVEL: 'error' } }),
  );
  const probes = await probesOf(fleet);
  const kills = killsPerRound * options.rounds;
  const rows: Row[] = [];
  for (const name of appNames) {
    const times: Recovery[] = [];
    for (let kill = 0; kill < kills; kill += 1) {
      session.checkpoint();
      times.push(await killOnce(fleet, name, kill % 2, probes[name]));
    }
    const first = times.map(({ firstMs }) => firstMs);
    const last = times.map(({ lastFailureMs }) => lastFailureMs);
    rows.push({
      name,
      figures: {
        'p50 ms': percentile(first, 0.5),
        'p99 ms': percentile(first, 0.99),
        'last failure p50 ms': percentile(last, 0.5),
        'last failure p99 ms': percentile(last, 0.99),
        'failures a kill': times.reduce((sum, { failures }) => sum + failures, 0) / kills,
      },
    });
  }
  const worst = Math.max(...rows.map(({ figures }) => figures['p99 ms']!));
  return [
    {
      title: `Distributed mode, two of each process: time from kill -9 to the first success; ${kills} kills of each`,
      rows,
      aims: [{ name: 'slowest p99', value: worst, unit: ' ms', below: 2_000 }],
      notes: [
        'Requests started after the kill. Last failure: start time of the last request that failed, 0 if none did.',
        'A request that the killed process had accepted is answered with OperationTimeout at its deadline.',
      ],
      errors: [],
      rounds: {},
    },
  ];
}

interface Recovery {
  firstMs: number;
  lastFailureMs: number;
  failures: number;
}

async function killOnce(fleet: Fleet, name: AppName, index: number, ask: () => Promise<boolean>): Promise<Recovery> {
  const replica = fleet.replicas(name)[index]!;
  const probes: Probe[] = [];
  const underWay = new Set<Promise<void>>();
  let isOver = false;
  replica.signal('SIGKILL');
  const killedAt = performance.now();
  while (!isOver) {
    const begunAt = performance.now();
    const probe = ask()
      .catch(() => false)
      .then((isGood) => void probes.push({ begunAt, endedAt: performance.now(), isGood }))
      .finally(() => underWay.delete(probe));
    underWay.add(probe);
    await sleep(betweenProbesMs);
    isOver = probes.length > calmProbes && probes.slice(-calmProbes).every(({ isGood }) => isGood);
  }
  await Promise.all(underWay);
  await replica.ended();
  await replica.start();
  await Promise.all(fleet.balancers.map((balancer) => balancer.allReady()));
  const failed = probes.filter(({ isGood }) => !isGood);
  return {
    firstMs: Math.min(...probes.filter(({ isGood }) => isGood).map(({ endedAt }) => endedAt)) - killedAt,
    lastFailureMs: Math.max(killedAt, ...failed.map(({ begunAt }) => begunAt)) - killedAt,
    failures: failed.length,
  };
}

async function probesOf(fleet: Fleet): Promise<Record<AppName, () => Promise<boolean>>> {
  const server = createServer((_request, response) => void response.end('{}')).listen(0, '127.0.0.1');
  await once(server, 'listening');
  server.unref();
  const { bot } = await clientOf(fleet).createBot({
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  });
  const client = clientOf(fleet, bot.id);
  const code = 'exports.handler = () => ({ status: 200 })';
  const clientOfCode = clientOf(fleet, (await clientOf(fleet).createBot({ code })).bot.id);
  const { user } = await client.createUser({ tags: {} });
  const { file } = await client.upsertFile({ key: 'probe', size: 1 });
  const one = new KeepAliveClient();
  const get = (path: string) => async () =>
    (await one.send({ method: 'GET', url: `${fleet.url}${path}`, headers: fleet.headers(bot.id) })).status === 200;
  let count = 0;
  const index = async () => {
    count += 1;
    const text = `The paragraph ${count} tells of ships.`;
    const declared = { key: `${count}.txt`, size: text.length, index: true, contentType: 'text/plain' };
    const { file: made } = await client.upsertFile(declared);
    await put(made.uploadUrl, text, { 'content-type': 'text/plain' });
    const { status } = await waitFor(
      async () => (await client.getFile({ id: made.id })).file,
      (found) => found.status.startsWith('indexing_') && found.status !== 'indexing_pending',
      60_000,
    );
    return status === 'indexing_completed';
  };
  const deliverTo = (of: Client) => async () => {
    const { event } = await of.createEvent({ type: 'probe', payload: {} });
    const { status } = await waitFor(
      async () => (await of.getEvent({ id: event.id })).event,
      (found) => found.status !== 'pending',
      60_000,
    );
    return status === 'processed';
  };
  return {
    gateway: get(`/v1/admin/bots/${bot.id}`),
    admin: get(`/v1/admin/bots/${bot.id}`),
    hub: get('/v1/admin/hub/integrations'),
    models: get('/v2/cognitive/models'),
    files: get(`/v1/files/${file.id}`),
    tables: get('/v1/tables'),
    chat: get(`/v1/chat/users/${user.id}`),
    runtime: shareRunningCall(deliverTo(client)),
    runner: shareRunningCall(deliverTo(clientOfCode)),
    'files-worker': shareRunningCall(index),
  };
}

/** Serialises calls: concurrent indexing would measure throughput instead of recovery. */
function shareRunningCall(work: () => Promise<boolean>): () => Promise<boolean> {
  let last: Promise<boolean> = Promise.resolve(true);
  let waiting = 0;
  return () => {
    if (waiting > 0) return last;
    waiting += 1;
    last = work().finally(() => (waiting -= 1));
    return last;
  };
}
