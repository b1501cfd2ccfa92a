import type { Client } from '@botpress/client';
import { clientOf } from '@parley/testing/api';
import { put } from '@parley/testing/bot-files';
import { until } from '@parley/testing/until';
import type { LoadTarget } from './noted-requests';

/** What a fault may cost those whom it does not concern, at most: waits so many times as long, on a machine of any speed. */
const bearableRatio = 4;

/** A client with a bot of its own that does what clients do all day, and tells how long it waits for it. */
export class EverydayClient {
  private constructor(
    private readonly target: LoadTarget,
    readonly client: Client,
    /** What each of its requests to the gateway carries. */
    readonly headers: Record<string, string>,
  ) {}

  static async create(target: LoadTarget): Promise<EverydayClient> {
    const { bot } = await clientOf(target).createBot({});
    return new EverydayClient(target, clientOf(target, bot.id), {
      authorization: `Bearer ${target.token}`,
      'x-workspace-id': target.workspaceId,
      'x-bot-id': bot.id,
    });
  }

  async declare(key: string, size: number) {
    return (await this.client.upsertFile({ key, size })).file;
  }

  declareMany(count: number, size: number) {
    return Promise.all(Array.from({ length: count }, (_, n) => this.declare(`file${n}`, size)));
  }

  async get(id: string) {
    return (await this.client.getFile({ id })).file;
  }

  /** Asks the gateway once, and takes any answer. */
  async send(method: string, path: string, body?: object): Promise<{ status: number; body: unknown }> {
    const headers = body ? { ...this.headers, 'content-type': 'application/json' } : this.headers;
    const response = await fetch(`${this.target.url}${path}`, { method, headers, body: JSON.stringify(body) });
    return { status: response.status, body: await response.json() };
  }

  /** Declares, uploads, looks and downloads, time and again, and says the median time that one round takes, in ms. */
  medianWaitMs(): Promise<number> {
    const content = 'e'.repeat(10_000);
    return medianMs(async () => {
      const { id, uploadUrl } = await this.declare('everyday', content.length);
      const stored = await put(uploadUrl, content);
      const { url } = await this.get(id);
      const found = await (await fetch(url)).text();
      if (!stored.ok || found !== content) throw new Error(`An upload was answered ${stored.status}, then: ${found}`);
    });
  }
}

/** The median time that the work takes, in ms. */
export async function medianMs(work: () => Promise<void>, rounds = 25): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const started = performance.now();
    await work();
    times.push(performance.now() - started);
  }
  return Math.ceil(times.sort((a, b) => a - b)[Math.floor(rounds / 2)]!);
}

/**
 * What `measure` gives, in ms, once that is bearable beside what it was before. Throws when it stays longer: something
 * else that keeps the machine busy passes, and the fault does not.
 */
export function bearable(measure: () => Promise<number>, beforeMs: number): Promise<number> {
  return until(measure, (ms) => ms < bearableRatio * beforeMs);
}
