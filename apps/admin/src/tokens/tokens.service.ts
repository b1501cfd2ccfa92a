import { Injectable } from '@nestjs/common';
import { Bus } from '@parley/bus/bus';
import { credentialsChanged } from '@parley/contracts/admin/identity';
import type { CreateBotApiKey, CreatePersonalAccessToken, ListBotApiKeys, NewToken, TokenId } from '@parley/contracts/admin/tokens';
import type { AccountCaller, WorkspaceCaller } from '@parley/contracts/access';
import { ApiError, notFound } from '@parley/contracts/errors';
import { Database } from '@parley/database/database';
import { newToken } from '@parley/secrets/token';
import { BotsRepository } from '../bots/bots.repository';
import { toTokenEntry } from './token.entity';
import { type TokenOwner, TokensRepository } from './tokens.repository';

@Injectable()
export class TokensService {
  constructor(
    private readonly database: Database,
    private readonly tokens: TokensRepository,
    private readonly bots: BotsRepository,
    private readonly bus: Bus,
  ) {}

  /** A new token of this owner, with its value for the only time. */
  async issue(owner: TokenOwner, note: string): Promise<NewToken> {
    const value = newToken('accountId' in owner ? 'pat' : 'bak');
    return { ...toTokenEntry(await this.tokens.create(this.database, owner, note, value)), value };
  }

  async createPersonal({ account }: AccountCaller, { note }: CreatePersonalAccessToken) {
    return { pat: await this.issue({ accountId: account.id }, note) };
  }

  async listPersonal({ account }: AccountCaller) {
    return { pats: (await this.tokens.listOfAccount(account.id)).map(toTokenEntry) };
  }

  async deletePersonal({ account }: AccountCaller, { id }: TokenId) {
    if (!(await this.tokens.deleteOfAccount(account.id, id))) throw notFound('personal access token', id);
    return this.revoked(id);
  }

  async createBotKey({ workspace }: WorkspaceCaller, { botId, note }: CreateBotApiKey) {
    await this.checkBot(workspace.id, botId);
    return this.issue({ botId }, note ?? '');
  }

  async listBotKeys({ workspace }: WorkspaceCaller, { botId }: ListBotApiKeys) {
    await this.checkBot(workspace.id, botId);
    return { baks: (await this.tokens.listOfBot(botId)).map(toTokenEntry) };
  }

  async deleteBotKey({ workspace }: WorkspaceCaller, { id }: TokenId) {
    if (!(await this.tokens.deleteOfWorkspaceBots(workspace.id, id))) throw notFound('bot API key', id);
    return this.revoked(id);
  }

  private async checkBot(workspaceId: string, botId: string): Promise<void> {
    if (await this.bots.find(workspaceId, botId)) return;
    throw new ApiError('ReferenceNotFound', `botId "${botId}" is no bot of this workspace.`);
  }

  private revoked(id: string) {
    this.bus.broadcast(credentialsChanged, { reason: `${id} was revoked` });
    return {};
  }
}
