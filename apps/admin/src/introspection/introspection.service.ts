import { Injectable } from '@nestjs/common';
import { hasPermission } from '@parley/contracts/access';
import type { Introspect, Introspection } from '@parley/contracts/admin/introspection';
import type { Caller } from '@parley/contracts/caller';
import { notFound } from '@parley/contracts/errors';
import { IntrospectionRepository } from './introspection.repository';

@Injectable()
export class IntrospectionService {
  constructor(private readonly bots: IntrospectionRepository) {}

  async introspect({ account, bot }: Caller, { botId }: Introspect): Promise<Introspection> {
    const row = await this.bots.find(botId, account?.id);
    const mayRead = bot ? bot.id === botId : row?.role && hasPermission(row.role, 'read');
    if (!row || !mayRead) throw notFound('bot', botId);
    return { workspaceId: row.workspace_id, botId, userId: account?.id ?? row.creator_id ?? '' };
  }
}
