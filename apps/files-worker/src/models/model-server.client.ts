import { Injectable } from '@nestjs/common';
import type { SummarizationOptions } from '@parley/contracts/indexing-options';
import { storable } from '@parley/documents/storable';
import { ModelsClient, type TextQuestion } from '@parley/service/models.client';
import { StorageUseRepository } from '../../../files/src/store/storage-use.repository';

export type ModelRequest = Omit<TextQuestion, 'botId' | 'workspaceId'>;

/** Lease of the work that a request belongs to. Its signal ends the request. */
export interface RequestLease {
  readonly signal: AbortSignal;
  readonly botId: string;
  /** Repeats the request while the models ask to slow down, or are away for a short time. */
  whenFree<T>(ask: () => Promise<T>): Promise<T>;
}

const maxAttempts = 2;

/** Models by the names that options of files have for them. */
export const modelOf: Record<NonNullable<SummarizationOptions['modelType']>, string> = {
  inexpensive: 'fast',
  balanced: 'auto',
  accurate: 'best',
};

@Injectable()
export class ModelServerClient {
  constructor(
    private readonly models: ModelsClient,
    private readonly use: StorageUseRepository,
  ) {}

  /**
   * Passes the answer, made storable in Postgres, to `read`. Asks once more when `read` returns undefined.
   * Backpressure: waits while the models ask to slow down. Throws ModelsRefused, ModelsUnavailable, BudgetUsedUp or ModelsAway.
   */
  async ask<Result>(
    request: ModelRequest,
    read: (answer: string) => Result | undefined,
    lease: RequestLease,
  ): Promise<Result | undefined> {
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      const result = read(storable(await this.generate(request, lease)));
      if (result !== undefined) return result;
    }
    return undefined;
  }

  private async generate(request: ModelRequest, lease: RequestLease): Promise<string> {
    const { botId, signal } = lease;
    const workspaceId = await this.use.findWorkspaceId(botId);
    return lease.whenFree(() => this.models.generate({ ...request, botId, workspaceId }, signal));
  }
}
