import { Injectable } from '@nestjs/common';
import { hasPermission } from '@parley/contracts/access';
import type { Introspect, Introspection } from '@parley/contracts/admin/introspection';
import type { Caller } from '@parley/contracts/caller';
import { notFound } from '@parley/contracts/errors';
import { IdentityRepository } from '../identity/identity.repository';
import { IntrospectionRepository } from './introspection.repository';

@Injectable()
export class IntrospectionService {
  constructor(
    private readonly introspection: IntrospectionRepository,
    private readonly identities: IdentityRepository,
  ) {}

  async introspect({ account, bot }: Caller, { botId }: Introspect): Promise<Introspection> {
    const row = await this.introspection.findBotWithCreator(botId);
    const member = account && (await this.identities.findRoleInBot(account.id, botId));
    const mayRead = bot ? bot.id === botId : member && hasPermission(member.role, 'read');
    if (!row || !mayRead) throw notFound('bot', botId);
    return { workspaceId: row.workspace_id, botId, userId: account?.id ?? row.creator_id ?? '' };
  }
}
