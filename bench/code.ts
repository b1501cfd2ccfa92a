import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type RunningPlatform, startDistributed } from '@parley/testing/running-platform';
import { benchLatency, benchRoundTrips, type Candidate, conversationCount, noLimits } from './answers';
import { type AnswerRecordings, recordAnswers, startBareAnswers } from './bare-answers';
import { deploy, keptPool } from './deployment';
import { bundleEcho } from './code-sources';
import { openConversations } from './conversations';
import { newDatabase, productSide } from './operations';
import type { Result } from './result';
import { newLogFile, openEmbedded, productEnv, type Workbench } from './workbench';
import { onTappedPlatform } from './tapped-platform';

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

async function openSides(bench: Workbench, start: Start): Promise<Candidate[]> {
  const code = await bundleEcho();
  const bundle = join(bench.folder, 'echo.cjs');
  await writeFile(bundle, code);
  const { databaseUrl, answers } = await record(bench);
  const bare = await startBareAnswers(bench, databaseUrl, answers, { bundle });
  const { url } = await newDatabase(bench);
  const platform = await start({ DATABASE_URL: url, ...noLimits });
  const echoing = await openConversations(platform, conversationCount);
  await deploy(platform, keptPool(bench, url), echoing, { code });
  return [{ ...productSide(bench, 'runtime', platform), scene: echoing }, ...bare];
}

async function record(bench: Workbench): Promise<{ databaseUrl: string; answers: AnswerRecordings }> {
  const { url: databaseUrl } = await newDatabase(bench);
  const pool = keptPool(bench, databaseUrl);
  const answers = await onTappedPlatform(bench, databaseUrl, (tapped) => recordAnswers(tapped, pool));
  return { databaseUrl, answers };
}
