import type { Client } from '@botpress/client';
import { clientOf } from '@parley/testing/api';
import { put } from '@parley/testing/bot-files';
import type { LoadTarget } from './noted-requests';

/** A client with a bot of its own that does what clients do all day, to show that others are served while something is wrong. */
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

  /** Declares, uploads, looks and downloads a few times. Throws when anything of it fails. */
  async works(): Promise<void> {
    const content = 'e'.repeat(10_000);
    for (let round = 0; round < 5; round += 1) {
      const { id, uploadUrl } = await this.declare('everyday', content.length);
      const stored = await put(uploadUrl, content);
      const { url } = await this.get(id);
      const found = await (await fetch(url)).text();
      if (!stored.ok || found !== content) throw new Error(`An upload was answered ${stored.status}, then: ${found}`);
    }
  }
}
