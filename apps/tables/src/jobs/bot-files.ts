import { Injectable } from '@nestjs/common';
import { Bus } from '@parley/bus/bus';
import { ApiError, unavailable } from '@parley/contracts/errors';
import { type File, files } from '@parley/contracts/files';
import { TablesConfig } from '../config';
import type { JobCaller } from './job.entity';

/** Content on its way in: read it, or cancel it. */
export interface OpenFile {
  content: ReadableStream<Uint8Array>;
  contentType: string;
  sizeBytes: number;
  /** Another one for every upload to the file. */
  version: string;
}

export interface NewFile {
  key: string;
  contentType: string;
  sizeBytes: number;
}

/** Files of the bot that asks: what they are over the bus, and their content over HTTP. */
@Injectable()
export class BotFiles {
  constructor(
    private readonly bus: Bus,
    private readonly config: TablesConfig,
  ) {}

  /** Throws ReferenceNotFound for what is not the bot's, and for a file without content. */
  async get(caller: JobCaller, id: string): Promise<File> {
    const { file } = await this.bus.call(files.get, caller, { id }).catch((error: unknown) => {
      if (!(error instanceof ApiError) || error.type !== 'ResourceNotFound') throw error;
      throw new ApiError('ReferenceNotFound', `fileId: ${error.message}`);
    });
    if (file.status === 'upload_pending' || file.status === 'upload_failed') {
      throw new ApiError('ReferenceNotFound', `fileId: the file "${id}" has no content yet: upload it first.`);
    }
    return file;
  }

  /** The signal ends the content too. Who reads it then is told; nobody else is. */
  async open(caller: JobCaller, id: string, signal: AbortSignal): Promise<OpenFile> {
    const file = await this.get(caller, id);
    const response = await this.request(file.url, { signal });
    return {
      content: response.body ?? new Blob([]).stream(),
      contentType: file.contentType,
      sizeBytes: file.size ?? 0,
      version: response.headers.get('etag') ?? '',
    };
  }

  /** Makes the file or replaces its content; its id. */
  async write(
    caller: JobCaller,
    { key, contentType, sizeBytes }: NewFile,
    content: AsyncIterable<Uint8Array>,
    signal: AbortSignal,
  ): Promise<string> {
    const { file } = await this.bus.call(files.upsert, caller, { key, contentType, size: sizeBytes });
    await this.request(file.uploadUrl, {
      method: 'PUT',
      body: content,
      duplex: 'half',
      headers: { 'content-type': contentType, 'content-length': String(sizeBytes) },
      signal,
    });
    return file.id;
  }

  /** What is not answered as asked may be so later: the file was replaced meanwhile, or its service is away. */
  private async request(url: string, init: RequestInit): Promise<Response> {
    const response = await fetch(reachable(url, this.config.filesUrl), init).catch((error: unknown) => {
      init.signal?.throwIfAborted();
      throw unavailable('The files service does not answer at its content address.', error);
    });
    if (response.ok) return response;
    await response.body?.cancel();
    throw unavailable(`The files service answered ${response.status} at its content address.`);
  }
}

/** The signature covers path and query alone: the same content at an address that can be reached from here. */
function reachable(url: string, base: string | undefined): string {
  return base === undefined ? url : base + url.slice(url.lastIndexOf('/content/'));
}
