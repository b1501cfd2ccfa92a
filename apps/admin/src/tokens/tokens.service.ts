import { Injectable } from '@nestjs/common';
import { Bus } from '@parley/bus/bus';
import { credentialsChanged } from '@parley/contracts/admin/identity';
import type {
  CreateBotApiKey,
  CreatePersonalAccessToken,
  ListBotApiKeys,
  NewToken,
  TokenId,
} from '@parley/contracts/admin/tokens';
import type { AccountCaller, WorkspaceCaller } from '@parley/contracts/access';
import { ApiError, notFound } from '@parley/contracts/errors';
import { Database } from '@parley/database/database';
import { newToken } from '@parley/secrets/token';
import { BotsRepository } from '../bots/bots.repository';
import { toTokenEntry } from './token.entity';
import { TokensRepository } from './tokens.repository';

@Injectable()
export class TokensService {
  constructor(
    private readonly database: Database,
    private readonly tokens: TokensRepository,
    private readonly bots: BotsRepository,
    private readonly bus: Bus,
  ) {}

  /** A new token of this account, with its value for the only time. */
  async issue(accountId: string, note: string): Promise<NewToken> {
    const value = newToken('pat');
    return { ...toTokenEntry(await this.tokens.createOfAccount(this.database, accountId, note, value)), value };
  }

  async createPersonal({ account }: AccountCaller, { note }: CreatePersonalAccessToken) {
    return { pat: await this.issue(account.id, note) };
  }

  async listPersonal({ account }: AccountCaller) {
    return { pats: (await this.tokens.listOfAccount(account.id)).map(toTokenEntry) };
  }

  async deletePersonal({ account }: AccountCaller, { id }: TokenId) {
    if (!(await this.tokens.deleteOfAccount(account.id, id))) throw notFound('personal access token', id);
    return this.revoked(id);
  }

  async createBotKey({ workspace }: WorkspaceCaller, { botId, note }: CreateBotApiKey): Promise<NewToken> {
    const value = newToken('bak');
    const row = await this.tokens.createOfBot(workspace.id, botId, note ?? '', value);
    if (!row) throw noSuchBot(botId);
    return { ...toTokenEntry(row), value };
  }

  async listBotKeys({ workspace }: WorkspaceCaller, { botId }: ListBotApiKeys) {
    if (!(await this.bots.find(workspace.id, botId))) throw noSuchBot(botId);
    return { baks: (await this.tokens.listOfBot(botId)).map(toTokenEntry) };
  }

  async deleteBotKey({ workspace }: WorkspaceCaller, { id }: TokenId) {
    if (!(await this.tokens.deleteOfWorkspaceBots(workspace.id, id))) throw notFound('bot API key', id);
    return this.revoked(id);
  }

  private revoked(id: string) {
    this.bus.broadcast(credentialsChanged, { reason: `${id} was revoked` });
    return {};
  }
}

function noSuchBot(botId: string): ApiError {
  return new ApiError('ReferenceNotFound', `botId "${botId}" is no bot of this workspace.`);
}
