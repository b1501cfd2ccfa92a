import { Injectable } from '@nestjs/common';
import { notFound } from '@parley/contracts/errors';
import type { CountTableLeftovers, TableLeftovers } from '@parley/contracts/tables/tables';
import { isUUID } from 'class-validator';
import { ErasureRepository } from './erasure.repository';

@Injectable()
export class ErasureService {
  constructor(private readonly erasure: ErasureRepository) {}

  async countLeftovers({ botId }: CountTableLeftovers): Promise<TableLeftovers> {
    if (!isUUID(botId)) throw notFound('bot', botId);
    return this.erasure.countLeftovers(botId);
  }
}
