import { setTimeout as sleep } from 'node:timers/promises';
import { clientOf } from '@parley/testing/api';
import type { LoadTarget } from '../recorded-requests';
import type { BodyBomb, CodeBomb } from './attacks';
import type { BombTarget } from './bomb-target';
import { Bystander } from './bystander';

export interface Thrown {
  name: string;
  outcome: string;
  seconds: number;
  /** Slowest read of another workspace meanwhile. */
  slowestMs: number;
}

/** Time in which an attack goes on: events of code that crashes are delivered again. */
export const attackMs = 10_000;
const pollMs = 100;

/** Deploys and calls hostile code, and sends hostile bodies, one after the other. Returns findings. */
export async function throwBombs(
  target: BombTarget,
  bombs: (CodeBomb | BodyBomb)[],
  forMs: number,
  tell: (thrown: Thrown) => void,
): Promise<string[]> {
  const findings: string[] = [];
  const bystander = await Bystander.start(target);
  try {
    for (const bomb of bombs) {
      const started = performance.now();
      const outcome = await ('code' in bomb ? runCode(target, bomb, forMs) : sendBodies(target, bomb));
      const problem = await bystander.problemOfEvent();
      const { failures, slowestMs } = bystander.seen();
      const seconds = Math.round((performance.now() - started) / 100) / 10;
      tell({ name: bomb.name, outcome, seconds, slowestMs });
      if (/^500|^no answer| \| (500|no answer)/.test(outcome)) findings.push(`${bomb.name}: ${outcome}`);
      if (problem) findings.push(`${bomb.name}: ${problem}`);
      if (failures.length > 0)
        findings.push(`${bomb.name}: ${failures.length} reads of another workspace failed, such as ${failures[0]}`);
      if (!target.isAlive()) throw new Error(`${bomb.name}: a process ended.\n${target.output().slice(-5_000)}`);
    }
  } finally {
    await bystander.stop();
  }
  return findings;
}

/** Outcome of an event for the code, or the reason why that was not deployed. */
async function runCode(target: LoadTarget, { code }: CodeBomb, forMs: number): Promise<string> {
  const owner = clientOf(target);
  const created = await owner.createBot({ code }).then(
    ({ bot }) => bot,
    (error: unknown) => `not deployed: ${(error as Error).message.slice(0, 100).replaceAll(/\s+/g, ' ')}`,
  );
  if (typeof created === 'string') return created;
  const client = clientOf(target, created.id);
  const { event } = await client.createEvent({ type: 'attack', payload: {} });
  let outcome = 'pending';
  for (const deadline = Date.now() + forMs; Date.now() < deadline && outcome === 'pending'; await sleep(pollMs)) {
    const { status, failureReason } = (await client.getEvent({ id: event.id })).event;
    outcome = status === 'pending' ? status : `${status} ${failureReason ?? ''}`.trim();
  }
  await owner.deleteBot({ id: created.id });
  return outcome;
}

/** Status and message of the answers to two such requests at once. */
async function sendBodies({ url, token, workspaceId }: LoadTarget, { path, make }: BodyBomb): Promise<string> {
  const headers = {
    authorization: `Bearer ${token}`,
    'x-workspace-id': workspaceId,
    'content-type': 'application/json',
  };
  const body = new Uint8Array(make());
  const send = async () => {
    try {
      const response = await fetch(`${url}${path}`, { method: 'POST', headers, body });
      return `${response.status} ${((await response.json()) as { message?: string }).message ?? ''}`;
    } catch (error) {
      return `no answer: ${String((error as Error).cause ?? error)}`;
    }
  };
  const answers = await Promise.all([send(), send()]);
  return [...new Set(answers)].join(' | ');
}
