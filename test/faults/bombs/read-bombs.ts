import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@botpress/client';
import { clientOf } from '@parley/testing/api';
import { put } from '@parley/testing/bot-files';
import type { BombTarget } from './bomb-target';
import type { Bomb } from './corpus';

export interface Outcome {
  bomb: Bomb;
  sizeBytes: number;
  status: string;
  reason?: string;
  seconds: number;
}

const pollMs = 100;
/** A reader has 60 s of processor time for a document, which a busy machine gives slowly. */
const terminalWithinSeconds = 600;
/** Concurrent documents: equal to the limit per bot, so that none waits for a reader. */
const atOnce = 2;
/** Reason of a file whose reader met an exception that it does not expect. */
const isDefect = /reader failed|Internal error/;

/** Indexes each document and waits for its final status. Returns findings; none when the platform survived. */
export async function readBombs(
  target: BombTarget,
  bombs: Bomb[],
  tell: (outcome: Outcome) => void,
): Promise<string[]> {
  const { bot } = await clientOf(target).createBot({});
  const client = clientOf(target, bot.id);
  const findings: string[] = [];
  const waiting = bombs[Symbol.iterator]();
  const lane = async () => {
    for (const bomb of waiting) {
      const outcome = await readBomb(client, bomb, target);
      tell(outcome);
      if (outcome.seconds > terminalWithinSeconds)
        findings.push(`${bomb.name}: no final status after ${outcome.seconds} s.`);
      if (isDefect.test(outcome.reason ?? '')) findings.push(`${bomb.name}: ${outcome.reason}`);
      if (!target.isAlive()) throw new Error(`${bomb.name}: the process ended.\n${target.output().slice(-5_000)}`);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, lane));

  const kills = (await target.cgroup?.kernelKills()) ?? 0;
  if (kills > 0) findings.push(`The kernel killed ${kills} processes because of the memory limit.`);
  const plain: Bomb = { name: 'a plain text', contentType: 'text/plain', make: () => Buffer.from('Still there.') };
  const after = await readBomb(client, plain, target);
  if (after.status !== 'indexing_completed')
    findings.push(`A plain text uploaded afterwards has the status ${after.status}.`);
  return findings;
}

async function readBomb(client: Client, bomb: Bomb, target: BombTarget): Promise<Outcome> {
  const bytes = bomb.make();
  const { file } = await client.upsertFile({
    key: bomb.name,
    size: bytes.length,
    contentType: bomb.contentType,
    index: true,
  });
  const { ok, status } = await put(file.uploadUrl, bytes, { 'content-type': bomb.contentType });
  if (!ok) throw new Error(`${bomb.name}: the upload failed with ${status}.`);
  const started = performance.now();
  const seconds = () => Math.round((performance.now() - started) / 100) / 10;
  for (;;) {
    const { file: now } = await client.getFile({ id: file.id });
    const isFinal = now.status === 'indexing_completed' || now.status === 'indexing_failed';
    if (isFinal || seconds() > terminalWithinSeconds || !target.isAlive()) {
      const reason = now.failedStatusReason;
      return { bomb, sizeBytes: bytes.length, status: now.status, reason, seconds: seconds() };
    }
    await sleep(pollMs);
  }
}
