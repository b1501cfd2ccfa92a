import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type RunningPlatform, startDistributed } from '@parley/testing/running-platform';
import {
  benchLatency,
  benchRoundTrips,
  type Candidate,
  conversationCount,
  messageOperations,
  noLimits,
} from './answers';
import { deploy, keptPool } from './bots';
import { bundleEcho } from './code-sources';
import { type Conversations, openConversations } from './conversations';
import { newDatabase, productSide, type Recordings, recordOperations, startBare } from './operations';
import { PostgresTap } from './postgres-tap';
import type { Result } from './result';
import { newLogFile, openEmbedded, productEnv, type Workbench } from './workbench';

type Start = (env: Record<string, string>) => Promise<RunningPlatform & { nats?: { pid: number } }>;

/** Bots that are code: round trips and their time, beside a bare process with the same bundle in a forked child. */
export async function benchCodeEmbedded(bench: Workbench): Promise<Result[]> {
  const sides = await openSides(bench, (env) => openEmbedded(bench, env));
  return [
    await benchRoundTrips(bench, sides, { mode: 'Embedded', kind: 'code', atLeast: 0.5 }),
    await benchLatency(bench, sides, 'code'),
  ];
}

export async function benchCodeDistributed(bench: Workbench): Promise<Result[]> {
  const sides = await openSides(bench, async (env) =>
    bench.session.keep(await startDistributed({ env: { ...productEnv(bench), ...env }, logFile: newLogFile(bench) })),
  );
  return [await benchRoundTrips(bench, sides, { mode: 'Distributed', kind: 'code', atLeast: 0.4 })];
}

async function openSides(bench: Workbench, start: Start): Promise<[Candidate, Candidate]> {
  const code = await bundleEcho();
  const bundle = join(bench.folder, 'echo.cjs');
  await writeFile(bundle, code);
  const { databaseUrl, scene, recordings } = await record(bench);
  const bare = await startBare(bench, 'bare-bots', {
    ...{ databaseUrl, schema: 'chat', recordings },
    bot: { id: scene.botId, bundle },
  });
  const { url } = await newDatabase(bench);
  const platform = await start({ DATABASE_URL: url, ...noLimits });
  const echoing = await openConversations(platform, conversationCount);
  await deploy(platform, keptPool(bench, url), echoing, { code });
  return [
    { ...productSide(bench, 'runtime', platform), scene: echoing },
    { ...bare, scene: { ...scene, path: '', userHeaders: {} } },
  ];
}

async function record(
  bench: Workbench,
): Promise<{ databaseUrl: string; scene: Conversations; recordings: Recordings }> {
  const database = await newDatabase(bench);
  const tap = bench.session.keep(await PostgresTap.start(database.url));
  const platform = await openEmbedded(bench, { DATABASE_URL: tap.url });
  try {
    const scene = await openConversations(platform, conversationCount);
    const recordings = await recordOperations(tap, platform.url, messageOperations(scene));
    return { databaseUrl: database.url, scene, recordings };
  } finally {
    await platform.stop();
  }
}
