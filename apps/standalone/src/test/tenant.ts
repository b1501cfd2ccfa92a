import { randomBytes } from 'node:crypto';
import type { Client } from '@botpress/client';
import { clientOf } from '@parley/testing/api';
import { type Account, newAccount } from '@parley/testing/front-door';

/** Where a platform is, and the key of who runs it. */
export interface Home {
  url: string;
  operatorToken: string;
}

/** An account with a workspace and one of everything that a workspace can own, each named with its `tag`. */
export class Tenant {
  private constructor(
    readonly home: Home,
    readonly account: Account,
    /** Part of every name and text of this tenant, and of nobody else's. */
    readonly tag: string,
    readonly botId: string,
    readonly fileId: string,
    /** Acts as the bot. */
    readonly botKey: string,
  ) {}

  static async create(home: Home): Promise<Tenant> {
    const account = await newAccount(home.url, home.operatorToken);
    const tag = `tag-${randomBytes(6).toString('hex')}`;
    const { workspaceId, client } = account;
    await client.updateWorkspace({ id: workspaceId, name: tag, handle: tag, about: tag });
    const { bot } = await client.createBot({ name: tag, description: tag, tags: { kind: tag } });
    const { value } = await client.createBotApiKey({ botId: bot.id, note: tag });
    await client.createPersonalAccessToken({ note: tag });
    const { file } = await clientOf({ ...account, url: home.url }, bot.id).upsertFile({
      key: `${tag}.txt`,
      size: 3,
      tags: { kind: tag },
    });
    return new Tenant(home, account, tag, bot.id, file.id, value);
  }

  get client(): Client {
    return this.account.client;
  }

  /** On the bot. */
  get asBot(): Client {
    return clientOf({ ...this.account, url: this.home.url }, this.botId);
  }

  async newBot(): Promise<string> {
    return (await this.client.createBot({ name: this.tag })).bot.id;
  }

  async newFile(): Promise<string> {
    return (await this.asBot.upsertFile({ key: `${randomBytes(6).toString('hex')}.txt`, size: 3 })).file.id;
  }
}
