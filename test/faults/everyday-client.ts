import type { Client } from '@botpress/client';
import { clientOf } from '@parley/testing/api';
import { put } from '@parley/testing/bot-files';
import type { LoadTarget } from './recorded-requests';

/** Client with its own bot that does everyday work, to show that others are served during a fault. */
export class EverydayClient {
  private constructor(
    private readonly target: LoadTarget,
    readonly client: Client,
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

  /** Repeated once, as HTTP clients do: the gateway may close an idle connection, after 75 s, just when it is used again. */
  async declare(key: string, size: number) {
    const upsert = () => this.client.upsertFile({ key, size });
    const { file } = await upsert().catch((error: unknown) => {
      if (String(error).includes('socket hang up')) return upsert();
      throw error;
    });
    return file;
  }

  declareMany(count: number, size: number) {
    return Promise.all(Array.from({ length: count }, (_, n) => this.declare(`file${n}`, size)));
  }

  async get(id: string) {
    return (await this.client.getFile({ id })).file;
  }

  /** Sends one request to the gateway and returns any answer. */
  async send(method: string, path: string, body?: object): Promise<{ status: number; body: unknown }> {
    const headers = body ? { ...this.headers, 'content-type': 'application/json' } : this.headers;
    const response = await fetch(`${this.target.url}${path}`, { method, headers, body: JSON.stringify(body) });
    return { status: response.status, body: await response.json() };
  }

  /** Declares, uploads, reads and downloads files. Throws when any step fails. */
  async works(): Promise<void> {
    const content = 'e'.repeat(10_000);
    for (let round = 0; round < 5; round += 1) {
      const { id, uploadUrl } = await this.declare('everyday', content.length);
      const stored = await put(uploadUrl, content);
      const { url } = await this.get(id);
      const found = await (await fetch(url)).text();
      if (!stored.ok || found !== content)
        throw new Error(`The upload was answered with ${stored.status}, then the content was: ${found}`);
    }
  }
}
