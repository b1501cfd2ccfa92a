import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { ApiError } from '@parley/contracts/errors';
import { EgressClient } from '@parley/egress/egress.client';

const timeoutMs = 15_000;

export interface PublicFile {
  /** Media type without parameters, in lower case. */
  type: string;
  body: Buffer;
}

/** Pictures and audio of customers by URL, from addresses that are open to the public. */
@Injectable()
export class PublicFilesService implements OnApplicationShutdown {
  constructor(private readonly egress: EgressClient) {}

  onApplicationShutdown(): Promise<void> {
    return this.egress.close();
  }

  /** Throws InvalidPayload, which names the field, or the reason of the signal. */
  async get(
    url: string,
    field: string,
    { types, maxBytes, signal }: { types: string[]; maxBytes: number; signal: AbortSignal },
  ): Promise<PublicFile> {
    const limits = { timeoutMs, maxResponseBytes: maxBytes, signal };
    const response = await this.egress
      .get(url, { headers: { accept: types.join(', ') }, ...limits })
      .catch((error: Error) => {
        signal.throwIfAborted();
        throw new ApiError('InvalidPayload', `${field} cannot be fetched. ${error.message}`, { cause: error });
      });
    const { status, headers, body } = response;
    if (status !== 200)
      throw new ApiError(
        'InvalidPayload',
        `${field} cannot be fetched: its server answered ${status} in place of 200.`,
      );
    return { type: headers['content-type']?.split(';')[0]?.trim().toLowerCase() ?? '', body };
  }
}
