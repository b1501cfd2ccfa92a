import { Injectable } from '@nestjs/common';
import { notFound } from '@parley/contracts/errors';
import type { ModelLeftovers } from '@parley/contracts/models/leftovers';
import { isUUID } from 'class-validator';
import { ErasureRepository } from './erasure.repository';

const rowsAtOnce = 5_000;

@Injectable()
export class ErasureService {
  constructor(private readonly erasure: ErasureRepository) {}

  /** Erases the calls, answers and sums of a deleted bot. Idempotent. */
  async erase(botId: string): Promise<void> {
    await this.erasure.insertTombstone(botId);
    while ((await this.erasure.deleteRows(botId, rowsAtOnce)) > 0);
    await this.erasure.deleteSums(botId);
  }

  /** Throws ResourceNotFound for something else than an id of a bot. */
  async count(botId: string): Promise<ModelLeftovers> {
    if (!isUUID(botId)) throw notFound('bot', botId);
    return this.erasure.count(botId);
  }
}
