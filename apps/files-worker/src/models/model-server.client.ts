import { Injectable } from '@nestjs/common';
import type { SummarizationOptions } from '@parley/contracts/indexing-options';
import { type CompletionRequest, Completions } from '@parley/openai/completions';
import { FilesWorkerConfig } from '../config';
import { storable } from '@parley/documents/storable';

export type ModelKind = NonNullable<SummarizationOptions['modelType']> | 'vision';

export type ModelRequest = Omit<CompletionRequest, 'model'> & { model: ModelKind };

/** Lease of the work that a request belongs to. Its signal ends the request. */
export interface RequestLease {
  readonly signal: AbortSignal;
  /** Repeats the request while the server asks to slow down. */
  whenFree<T>(ask: () => Promise<T>): Promise<T>;
}

const maxAttempts = 2;

@Injectable()
export class ModelServerClient {
  constructor(
    private readonly completions: Completions,
    private readonly config: FilesWorkerConfig,
  ) {}

  /**
   * Passes the answer, made storable in Postgres, to `read`. Asks once more when `read` returns undefined.
   * Backpressure: waits while the server asks to slow down. Throws CompletionsRefused or CompletionsUnavailable.
   */
  async ask<Result>(
    request: ModelRequest,
    read: (answer: string) => Result | undefined,
    lease: RequestLease,
  ): Promise<Result | undefined> {
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      const result = read(storable(await this.complete(request, lease)));
      if (result !== undefined) return result;
    }
    return undefined;
  }

  private complete(request: ModelRequest, lease: RequestLease): Promise<string> {
    const completion = { ...request, model: this.nameOf(request.model) };
    return lease.whenFree(() => this.completions.complete(completion, lease.signal));
  }

  private nameOf(kind: ModelKind): string {
    const { config } = this;
    const names: Record<ModelKind, string> = {
      inexpensive: config.completionsModelInexpensive,
      balanced: config.completionsModelBalanced,
      accurate: config.completionsModelAccurate,
      vision: config.completionsModelVision,
    };
    return names[kind];
  }
}
