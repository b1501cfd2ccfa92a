import { Injectable } from '@nestjs/common';
import { botTargetChanged } from '@parley/contracts/admin/targets';
import { recomputeAction } from '@parley/contracts/tables/computations';
import { ApiError } from '@parley/contracts/errors';
import { Outbox } from '@parley/events/outbox';
import type { Transaction } from '@parley/persistence/database';
import type { BotEntity } from './bot.entity';

type Target = Pick<BotEntity, 'id' | 'url' | 'version_id' | 'blocked' | 'updated_at' | 'definition'>;

/** The configuration travels in a header, in base64. HTTP servers in Node.js accept 16 kB of headers. */
const maxConfigurationBytes = 10_000;

/** Announces changes of the properties with which a bot is called. */
@Injectable()
export class TargetChangesService {
  constructor(private readonly outbox: Outbox) {}

  async announce(
    tx: Transaction,
    { id, url, version_id, blocked, updated_at, definition }: Target,
    isDeployed: boolean,
  ): Promise<void> {
    const isCalled = (url !== null || version_id !== null) && !blocked;
    await this.outbox.add(tx, botTargetChanged, {
      ...{ botId: id, isDeployed, isCalled, revision: updated_at.getTime() },
      computesRows: Object.hasOwn(definition.actions, recomputeAction),
    });
  }

  /** Throws LimitExceeded if the server of the bot could not receive its configuration. */
  checkConfiguration({ url, definition }: Pick<BotEntity, 'url' | 'definition'>): void {
    const bytes = Buffer.byteLength(JSON.stringify(definition.configuration.data));
    if (url === null || bytes <= maxConfigurationBytes) return;
    throw new ApiError(
      'LimitExceeded',
      `configuration.data has ${bytes} bytes. A bot with a url can have ${maxConfigurationBytes}, because it gets them in a header.`,
    );
  }
}
