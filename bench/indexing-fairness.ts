import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { put } from '@parley/testing/bot-files';
import { type RunningPlatform, startDistributed } from '@parley/testing/running-platform';
import { waitFor } from '@parley/testing/wait-for';
import { markdown } from './corpus';
import type { Result } from './result';
import { median } from './statistics';
import { newLogFile, openBot, openEmbedded, productEnv, type Workbench } from './workbench';

type Bot = Awaited<ReturnType<typeof openBot>>;

const smallText = 'A few words here.\n';
/** Takes minutes to embed, so both texts stay in progress during the measurement. */
const largeBytes = 5_000_000;
const largeFiles = 4;
/** Aim: seconds until a small file is indexed while another bot causes load. */
const ambitionSeconds = 5;
const timeoutMs = 300_000;
/** Time for the worker to start embedding the large texts. */
const settleMs = 5_000;

export async function benchIndexingFairnessEmbedded(bench: Workbench): Promise<Result[]> {
  return benchIndexingFairness(bench, 'Embedded mode', await openEmbedded(bench));
}

export async function benchIndexingFairnessDistributed(bench: Workbench): Promise<Result[]> {
  const platform = await startDistributed({ env: productEnv(bench), logFile: newLogFile(bench) });
  return benchIndexingFairness(bench, 'Distributed mode', bench.session.keep(platform));
}

/**
 * Fairness of indexing: time until a small file is indexed, alone and while another bot indexes large texts, with the
 * bundled model.
 */
async function benchIndexingFairness(bench: Workbench, mode: string, platform: RunningPlatform): Promise<Result[]> {
  const { session, options } = bench;
  const [busy, other] = [await openBot(platform), await openBot(platform)];
  // Warm-up: loads the model.
  await indexSmall(other);

  const measureRounds = async () => {
    const rounds: { seconds: number }[] = [];
    for (let round = 0; round < options.rounds; round++) {
      session.checkpoint();
      rounds.push({ seconds: await indexSmall(other) });
    }
    return rounds;
  };
  const alone = await measureRounds();
  await startLarge(busy);
  const beside = await measureRounds();

  const secondsOf = (rounds: { seconds: number }[]) => rounds.map(({ seconds }) => seconds);
  const row = (name: string, rounds: { seconds: number }[]) => ({
    name,
    figures: { 'median s': median(secondsOf(rounds)), 'longest s': Math.max(...secondsOf(rounds)) },
  });
  return [
    {
      title: `${mode}: a file of ${smallText.length} bytes is indexed, ${options.rounds} times`,
      rows: [row('alone', alone), row(`beside ${largeFiles} texts of ${largeBytes / 1e6} MB of one other bot`, beside)],
      aims: [{ name: 'longest, beside it', value: Math.max(...secondsOf(beside)), unit: 's', below: ambitionSeconds }],
      notes: [],
      errors: [],
      rounds: { alone, 'beside it': beside },
    },
  ];
}

async function startLarge(bot: Bot): Promise<void> {
  const text = markdown(largeBytes);
  for (let i = 0; i < largeFiles; i++) await upload(bot, text);
  await sleep(settleMs);
}

/** @returns seconds from the end of the upload. */
async function indexSmall(bot: Bot): Promise<number> {
  const id = await upload(bot, smallText);
  const started = performance.now();
  const { file } = await waitFor(
    () => bot.client.getFile({ id }),
    ({ file: { status } }) => status !== 'indexing_pending',
    timeoutMs,
  );
  if (file.status !== 'indexing_completed') throw new Error(`The small file is ${file.status}.`);
  return (performance.now() - started) / 1000;
}

async function upload({ client }: Bot, text: string): Promise<string> {
  const size = Buffer.byteLength(text);
  const { file } = await client.upsertFile({
    key: `${randomUUID()}.md`,
    size,
    contentType: 'text/markdown',
    index: true,
  });
  const { status } = await put(file.uploadUrl, text, { 'content-type': 'text/markdown' });
  if (status !== 200) throw new Error(`The upload was answered with status ${status}.`);
  return file.id;
}
