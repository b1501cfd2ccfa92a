import { waitFor } from './wait-for';
import { randomUUID } from 'node:crypto';
import type { BotCaller } from '@parley/contracts/access';
import { type Passage, type Passages } from '@parley/contracts/passages';
import {
  type File,
  files,
  type Leftovers,
  type ListFiles,
  type UploadableFile,
  type UpsertFile,
} from '@parley/contracts/files';
import type { Operation } from '@parley/contracts/operation';
import type { RunningService } from './running-service';

/** Files of one bot, called over the bus like the gateway does. Each instance is a new bot by default. */
export class BotFiles {
  readonly caller: BotCaller;

  constructor(
    private readonly service: Pick<RunningService, 'call'>,
    readonly id: string = randomUUID(),
    as: Partial<BotCaller> = {},
  ) {
    const workspace = { id: 'wkspace_test' };
    this.caller = { requestId: 'test', credential: 'bak', bot: { id, workspaceId: workspace.id }, workspace, ...as };
  }

  byIntegration(alias: string): BotFiles {
    return new BotFiles(this.service, this.id, { integration: { id: `intver_${alias}`, alias } });
  }

  forUser(id: string): BotFiles {
    return new BotFiles(this.service, this.id, { user: { id } });
  }

  ask<I, O>(operation: Operation<I, O>, input: I): Promise<O> {
    return this.service.call(operation, this.caller, input);
  }

  async upsert(input: UpsertFile): Promise<UploadableFile> {
    return (await this.ask(files.upsert, input)).file;
  }

  async get(id: string): Promise<File> {
    return (await this.ask(files.get, { id })).file;
  }

  list(query: ListFiles = {}) {
    return this.ask(files.list, query);
  }

  async delete(id: string): Promise<void> {
    await this.ask(files.delete, { id });
  }

  listPassages(id: string, query: { nextToken?: string; limit?: number } = {}): Promise<Passages> {
    return this.ask(files.listPassages, { id, ...query });
  }

  async passages(id: string): Promise<Passage[]> {
    return (await this.listPassages(id, { limit: 200 })).passages;
  }

  leftovers(): Promise<Leftovers> {
    return this.ask(files.countLeftovers, { botId: this.id });
  }

  async upload(key: string, content: string | Uint8Array, options: Partial<UpsertFile> = {}): Promise<UploadableFile> {
    const file = await this.upsert({ key, size: Buffer.byteLength(content), ...options });
    const response = await put(file.uploadUrl, content);
    if (response.status !== 200) throw new Error(`The upload returned ${response.status}: ${await response.text()}`);
    return file;
  }

  /** Waits until the file has no pending upload or indexing, and returns it. */
  settled(id: string, timeoutMs?: number): Promise<File> {
    return waitFor(
      () => this.get(id),
      ({ status }) => !status.endsWith('_pending'),
      timeoutMs,
    );
  }
}

export function put(
  url: string,
  content: string | Uint8Array,
  headers: Record<string, string> = {},
): Promise<Response> {
  return fetch(url, { method: 'PUT', body: Buffer.from(content as Uint8Array), headers });
}
