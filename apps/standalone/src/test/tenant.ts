import { randomBytes } from 'node:crypto';
import { Client } from '@botpress/client';
import { clientOf } from '@parley/testing/api';
import { type Account, newAccount } from '@parley/testing/front-door';

/** Where a platform is, and the key of who runs it. */
export interface Home {
  url: string;
  operatorToken: string;
}

/** One of everything that a workspace can own, by its id. */
interface Possessions {
  memberId: string;
  /** Account of the member. */
  memberAccountId: string;
  botId: string;
  /** Of the bot's code. */
  versionId: string;
  fileId: string;
  /** With one row, of the one column `text`. */
  tableId: string;
  interfaceId: string;
  /** Implements the interface and is installed in the bot as `mine`. */
  integrationId: string;
  /** Needs the interface and is installed in the bot as `helper`. */
  pluginId: string;
  /** Token that acts as the bot. */
  botKey: string;
  /** Token that acts as the integration. */
  integrationKey: string;
}

const version = '1.0.0';
const schema = { type: 'object', properties: { text: { type: 'string' } } };
const action = { input: { schema }, output: { schema } };

/** An account with a workspace and one of everything in it, each named with its `tag`. Nothing of it is public. */
export class Tenant {
  private constructor(
    readonly home: Home,
    readonly account: Account,
    /** Part of every name and text of this tenant, and of nobody else's. */
    readonly tag: string,
    readonly has: Possessions,
  ) {}

  static async create(home: Home): Promise<Tenant> {
    const account = await newAccount(home.url, home.operatorToken);
    const tag = `tag-${randomBytes(6).toString('hex')}`;
    const tenant = new Tenant(home, account, tag, {} as Possessions);
    const { workspaceId, client } = account;
    await client.updateAccount({ displayName: tag });
    await client.updateWorkspace({ id: workspaceId, name: tag, handle: tag, about: tag });
    await client.setAccountPreference({ key: 'theme', value: tag });
    await client.setWorkspacePreference({ key: 'theme', value: tag });
    await client.createPersonalAccessToken({ note: tag });
    const member = await tenant.newMember();
    const interfaceId = (
      await client.createInterface({ name: `${tag}-drawer`, version, title: tag, actions: { open: action } })
    ).interface.id;
    const integrationId = (
      await client.createIntegration({
        name: `${tag}-kettle`,
        version,
        title: tag,
        description: tag,
        configuration: { schema },
        actions: { open: action },
        interfaces: { drawer: { id: interfaceId, actions: { open: { name: 'open' } } } },
      })
    ).integration.id;
    const pluginId = (
      await client.createPlugin({
        name: `${tag}-helper`,
        version,
        title: tag,
        code: { node: tag, browser: tag },
        dependencies: { interfaces: { drawer: { id: interfaceId } } },
      })
    ).plugin.id;
    const { bot } = await client.createBot({
      name: tag,
      description: tag,
      code: tag,
      tags: { kind: tag },
      secrets: { KEY: tag },
      configuration: { data: { text: tag }, schema },
    });
    await tenant.withAliases.updateBot({
      id: bot.id,
      integrations: { mine: { integrationId, enabled: true, configuration: { text: tag } } },
      plugins: { helper: { id: pluginId, interfaces: { drawer: { integrationId, integrationAlias: 'mine' } } } },
    });
    await client.createIntegrationShareableId({ botId: bot.id, integrationId });
    Object.assign(tenant.has, {
      memberId: member.id,
      memberAccountId: member.userId!,
      versionId: (await client.listBotVersions({ id: bot.id })).versions[0]!.id,
      interfaceId,
      integrationId,
      pluginId,
      botId: bot.id,
      botKey: (await client.createBotApiKey({ botId: bot.id, note: tag })).value,
      integrationKey: (await client.createIntegrationApiKey({ integrationId, note: tag })).value,
    });
    tenant.has.fileId = await tenant.newFile(`${tag}.txt`);
    tenant.has.tableId = await tenant.newTable(tag.replaceAll('-', '_'));
    return tenant;
  }

  get client(): Client {
    return this.account.client;
  }

  /** Names the installations of a bot by their aliases. */
  get withAliases(): Client {
    const { token, workspaceId } = this.account;
    const headers = { 'x-multiple-integrations': 'true' };
    return new Client({ apiUrl: this.home.url, token, workspaceId, headers });
  }

  /** What somebody else may know of it only by being told. */
  get names(): string[] {
    const { email, accountId, workspaceId, token } = this.account;
    return [this.tag, email, accountId, workspaceId, token, ...Object.values<string>({ ...this.has })];
  }

  /** Whether its account, workspace and bot are still there. */
  isWhole(): Promise<boolean> {
    return this.client.getBot({ id: this.has.botId }).then(
      () => true,
      () => false,
    );
  }

  async newMember() {
    const { email } = await newAccount(this.home.url, this.home.operatorToken);
    return this.client.createWorkspaceMember({ email, role: 'viewer' });
  }

  async newBot(): Promise<string> {
    return (await this.client.createBot({ name: this.tag })).bot.id;
  }

  async newInterface(): Promise<string> {
    return (await this.client.createInterface({ name: newName(), version })).interface.id;
  }

  async newIntegration(): Promise<string> {
    return (await this.client.createIntegration({ name: newName(), version })).integration.id;
  }

  async newPlugin(): Promise<string> {
    return (await this.client.createPlugin({ name: newName(), version, code: { node: 'x', browser: 'x' } })).plugin.id;
  }

  async newFile(key = newName()): Promise<string> {
    return (await this.asBot.upsertFile({ key, size: 3, tags: { kind: this.tag } })).file.id;
  }

  async newUploadedFile(content: string): Promise<string> {
    return (await this.asBot.uploadFile({ key: newName(), content })).file.id;
  }

  async newTable(name = newName()): Promise<string> {
    const { table } = await this.asBot.createTable({ name, schema, tags: { kind: this.tag } });
    await this.asBot.createTableRows({ table: table.id, rows: [{ text: this.tag }] });
    return table.id;
  }

  private get asBot(): Client {
    return clientOf({ ...this.account, url: this.home.url }, this.has.botId);
  }
}

/** A name that nothing has. */
export function newName(): string {
  return randomBytes(6).toString('hex');
}
