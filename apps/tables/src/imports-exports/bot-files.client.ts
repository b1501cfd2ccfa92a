import { Injectable } from '@nestjs/common';
import { ParleyClient } from '@parley/transport/parley-client';
import { ApiError, unavailable } from '@parley/contracts/errors';
import { type File, files } from '@parley/contracts/files';
import { TablesConfig } from '../config';
import type { JobCaller } from '../jobs/job.entity';

/** Open download. The caller reads or cancels the body of `response`. */
export interface OpenFile {
  /** Whole, not its body alone: fetch cancels the unread body of a response that is garbage collected, and it looks empty. */
  response: Response;
  contentType: string;
  sizeBytes: number;
  /** ETag: changes with every upload. */
  version: string;
}

export interface NewFile {
  key: string;
  contentType: string;
  sizeBytes: number;
}

/** Client of the files service on behalf of a bot: metadata over the bus, content over HTTP. */
@Injectable()
export class BotFilesClient {
  constructor(
    private readonly client: ParleyClient,
    private readonly config: TablesConfig,
  ) {}

  /** Throws ReferenceNotFound for a file of another bot and for a file without content. */
  async get(caller: JobCaller, id: string): Promise<File> {
    const { file } = await this.client.call(files.get, caller, { id }).catch((error: unknown) => {
      if (!(error instanceof ApiError) || error.type !== 'ResourceNotFound') throw error;
      throw new ApiError('ReferenceNotFound', `fileId: ${error.message}`);
    });
    if (file.status === 'upload_pending' || file.status === 'upload_failed') {
      throw new ApiError('ReferenceNotFound', `fileId: the file "${id}" has no content yet: upload it first.`);
    }
    return file;
  }

  /** Opens the content. The signal also aborts the content, which only its reader sees as an error. */
  async open(caller: JobCaller, id: string, signal: AbortSignal): Promise<OpenFile> {
    const file = await this.get(caller, id);
    const response = await this.request(file.url, { signal });
    return {
      response,
      contentType: file.contentType,
      sizeBytes: file.size ?? 0,
      version: response.headers.get('etag') ?? '',
    };
  }

  /** Creates the file or replaces its content. Returns its id. */
  async write(
    caller: JobCaller,
    { key, contentType, sizeBytes }: NewFile,
    content: AsyncIterable<Uint8Array>,
    signal: AbortSignal,
  ): Promise<string> {
    const { file } = await this.client.call(files.upsert, caller, { key, contentType, size: sizeBytes });
    await this.request(file.uploadUrl, {
      method: 'PUT',
      body: content,
      duplex: 'half',
      headers: { 'content-type': contentType, 'content-length': String(sizeBytes) },
      signal,
    });
    return file.id;
  }

  /** Failures are retryable: the file may have been replaced meanwhile, or the files service may be down. */
  private async request(url: string, init: RequestInit): Promise<Response> {
    const response = await fetch(reachable(url, this.config.filesUrl), init).catch((error: unknown) => {
      init.signal?.throwIfAborted();
      throw unavailable('The files service did not answer at its content URL.', error);
    });
    if (response.ok) return response;
    await response.body?.cancel();
    throw unavailable(`The files service answered ${response.status} at its content URL.`);
  }
}

/** Moves a signed URL to the internal address. The signature covers path and query only. */
function reachable(url: string, base: string | undefined): string {
  return base === undefined ? url : base + url.slice(url.lastIndexOf('/content/'));
}
