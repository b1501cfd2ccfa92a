import { randomBytes } from 'node:crypto';
import { Client as ChatClient } from '@botpress/chat';
import { Client } from '@botpress/client';
import { clientOf } from '@parley/testing/api';
import { json, type LoopbackRequest, LoopbackServer } from '@parley/testing/loopback-server';
import { type Account, newAccount, sendTo } from '@parley/testing/public-api';
import { waitFor } from '@parley/testing/wait-for';

export interface Home {
  url: string;
  operatorToken: string;
}

/** One resource of each kind that a workspace can own, by id. */
export interface Possessions {
  memberId: string;
  memberAccountId: string;
  botId: string;
  versionId: string;
  fileId: string;
  knowledgeBaseId: string;
  /** Has one row, and one column `text`. */
  tableId: string;
  userId: string;
  /** On the channel of the chat, with the user as a participant. */
  conversationId: string;
  /** Scheduled, of the user in the conversation. */
  eventId: string;
  workflowId: string;
  /** Written by the user in the conversation. */
  messageId: string;
  webhookId: string;
  /** Key of a chat user, who owns the chat resources below. */
  userKey: string;
  chatUserId: string;
  chatConversationId: string;
  chatMessageId: string;
  chatEventId: string;
  /** Bot whose server refused an event, which is its issue. */
  refusingBotId: string;
  issueId: string;
  interfaceId: string;
  /** Implements the interface; installed in the bot under the alias `mine`. */
  integrationId: string;
  /** Requires the interface; installed in the bot under the alias `helper`. */
  pluginId: string;
  botKey: string;
  integrationKey: string;
}

type RecordedRequestPath = Record<'botId' | 'alias' | 'requestId', string>;

const version = '1.0.0';
const schema = { type: 'object', properties: { text: { type: 'string' } } };
const action = { input: { schema }, output: { schema } };

/** Tenant: an account with a workspace and one resource of each kind in it, all private and named with `tag`. */
export class Tenant {
  private spare?: { id: string; issueId: string };
  private recorded?: RecordedRequestPath;
  private live?: string;

  private constructor(
    readonly home: Home,
    readonly account: Account,
    /** Part of every name and text of this tenant, and of no other tenant. */
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
      code: `exports.handler = async () => ({ status: 200 }) // ${tag}`,
      tags: { kind: tag },
      secrets: { KEY: tag },
      configuration: { data: { text: tag }, schema },
      states: { mood: { type: 'conversation', schema } },
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
    tenant.has.knowledgeBaseId = await tenant.newKnowledgeBase();
    tenant.has.tableId = await tenant.newTable(tag.replaceAll('-', '_'));
    tenant.has.userId = await tenant.newUser();
    tenant.has.conversationId = await tenant.newConversation();
    tenant.has.eventId = await tenant.newScheduledEvent();
    tenant.has.workflowId = await tenant.newWorkflow();
    tenant.has.messageId = await tenant.newMessage();
    await tenant.startChat();
    const { id: refusingBotId, issueId } = await tenant.newIssue();
    Object.assign(tenant.has, { refusingBotId, issueId });
    return tenant;
  }

  get client(): Client {
    return this.account.client;
  }

  /** Client that identifies installations of a bot by alias. */
  get withAliases(): Client {
    const { token, workspaceId } = this.account;
    const headers = { 'x-multiple-integrations': 'true' };
    return new Client({ apiUrl: this.home.url, token, workspaceId, headers });
  }

  /** Values that another tenant can only know from this one. */
  get names(): string[] {
    const { email, accountId, workspaceId, token } = this.account;
    return [this.tag, email, accountId, workspaceId, token, ...Object.values<string>({ ...this.has })];
  }

  isWhole(): Promise<boolean> {
    return this.client.getBot({ id: this.has.botId }).then(
      () => true,
      () => false,
    );
  }

  /** Lets visitors of the bot's web chat send files. */
  async allowUploads(): Promise<void> {
    const { token, workspaceId } = this.account;
    await sendTo(this.home.url, `PUT /v1/admin/bots/${this.has.botId}/webchat/settings`, {
      headers: { authorization: `Bearer ${token}`, 'x-workspace-id': workspaceId },
      json: { allowsUploads: true },
    });
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

  /** Bot with the integration that is code, under the alias `live`. */
  async newBotWithIntegration(): Promise<string> {
    const integrationId = (this.live ??= await this.newLiveIntegration());
    const id = await this.newBot();
    await this.withAliases.updateBot({ id, integrations: { live: { integrationId } } });
    return id;
  }

  /** One for each tenant: code of its own would start processes of its own. */
  private async newLiveIntegration(): Promise<string> {
    const code = 'exports.handler = () => ({ status: 200 });';
    return (await this.client.createIntegration({ name: newName(), version, code })).integration.id;
  }

  /** Request to the webhook of an installation, recorded. */
  async recordedRequest(): Promise<RecordedRequestPath> {
    return (this.recorded ??= await this.newRecordedRequest());
  }

  private async newRecordedRequest(): Promise<RecordedRequestPath> {
    const botId = await this.newBotWithIntegration();
    const { token, workspaceId } = this.account;
    const installation = `/v1/admin/bots/${botId}/integrations/live`;
    const headers = { authorization: `Bearer ${token}`, 'x-workspace-id': workspaceId };
    await sendTo(this.home.url, `PUT ${installation}/webhook-recording`, { headers, json: { enabled: true } });
    const { webhookId } = (await this.withAliases.getBot({ id: botId })).bot.integrations['live']!;
    await sendTo(this.home.url, `POST /webhooks/${webhookId}`, { body: this.tag });
    const list = () => sendTo(this.home.url, `GET ${installation}/webhook-requests`, { headers });
    const { json: page } = await waitFor(list, (response) => response.json.requests.length > 0);
    return { botId, alias: 'live', requestId: page.requests[0].id };
  }

  async newPlugin(): Promise<string> {
    return (await this.client.createPlugin({ name: newName(), version, code: { node: 'x', browser: 'x' } })).plugin.id;
  }

  async newFile(key = newName()): Promise<string> {
    return (await this.asBot.upsertFile({ key, size: 3, tags: { kind: this.tag } })).file.id;
  }

  async newUploadedFile(content: string): Promise<string> {
    return (await this.asBot.uploadFile({ key: newName(), content, index: true })).file.id;
  }

  async newKnowledgeBase(): Promise<string> {
    return (await this.asBot.createKnowledgeBase({ name: newName(), tags: { kind: this.tag } })).knowledgeBase.id;
  }

  async newTable(name = newName()): Promise<string> {
    const { table } = await this.asBot.createTable({ name, schema, tags: { kind: this.tag } });
    await this.asBot.createTableRows({ table: table.id, rows: [{ text: this.tag }] });
    return table.id;
  }

  async newUser(): Promise<string> {
    return (await this.asBot.createUser({ name: this.tag, tags: { kind: this.tag } })).user.id;
  }

  async newScheduledEvent(): Promise<string> {
    const { event } = await this.asBot.createEvent({
      type: this.tag,
      payload: { text: this.tag },
      schedule: { delay: 3_600_000 },
      conversationId: this.has.conversationId,
      userId: this.has.userId,
    });
    return event.id;
  }

  async newConversation(): Promise<string> {
    const { conversation } = await this.asBot.createConversation({ channel: 'channel', tags: { kind: this.tag } });
    await this.asBot.addParticipant({ id: conversation.id, userId: this.has.userId });
    await this.asBot.setState({ type: 'conversation', id: conversation.id, name: 'mood', payload: { text: this.tag } });
    return conversation.id;
  }

  async newWorkflow(): Promise<string> {
    const { conversationId, userId } = this.has;
    const workflow = { name: this.tag, status: 'listening' as const, tags: { kind: this.tag }, conversationId, userId };
    return (await this.asBot.createWorkflow(workflow)).workflow.id;
  }

  async newMessage(): Promise<string> {
    const { userId, conversationId } = this.has;
    const { message } = await this.asBot.createMessage({
      userId,
      conversationId,
      type: 'text',
      payload: { text: this.tag },
      tags: { kind: this.tag },
    });
    return message.id;
  }

  /** Issue that a request may delete: the former one, unless it was deleted. */
  async spareIssue(): Promise<{ id: string; issueId: string }> {
    const { issues } = this.spare ? await this.client.listBotIssues({ id: this.spare.id }) : { issues: [] };
    if (!this.spare || issues.length === 0) this.spare = await this.newIssue();
    return this.spare;
  }

  /** Issue of a new bot, whose server refuses an event. */
  async newIssue(): Promise<{ id: string; issueId: string }> {
    const { server, ...issue } = await this.newRefusingBot();
    await server.close();
    return issue;
  }

  /**
   * Bot whose server has refused an event, and accepts it the next time: another issue would be written in the middle of
   * another test. The server stays open until the end of the process.
   */
  private async newRefusingBot(): Promise<{ server: LoopbackServer; id: string; issueId: string }> {
    let isRefusing = true;
    const isRegistration = ({ headers }: LoopbackRequest) => headers['x-bp-operation'] === 'register';
    const server = await LoopbackServer.start((request, response) =>
      json({ message: this.tag }, isRegistration(request) || !isRefusing ? 200 : 400)(request, response),
    );
    server.unref();
    const { id } = (await this.client.createBot({ name: this.tag, url: server.url })).bot;
    await clientOf({ ...this.account, url: this.home.url }, id).createEvent({ type: 'refused', payload: {} });
    const issues = () => this.client.listBotIssues({ id }).then((reply) => reply.issues);
    const [issue] = await waitFor(issues, ({ length }) => length > 0);
    // A registration that fails would be repeated later, and leave another issue.
    await waitFor(() => server.requests.some(isRegistration));
    isRefusing = false;
    return { server, id, issueId: issue!.id };
  }

  /** Event that a bot of its own refused. */
  async newFailedEvent(): Promise<{ botId: string; id: string }> {
    const { id: botId } = await this.newRefusingBot();
    const ofBot = clientOf({ ...this.account, url: this.home.url }, botId);
    const failed = () => ofBot.listEvents({ status: 'failed' }).then(({ events }) => events);
    const [event] = await waitFor(failed, ({ length }) => length > 0);
    return { botId, id: event!.id };
  }

  async newChatUser(): Promise<{ id: string; key: string }> {
    const { user, key } = await this.chat.createUser({ id: `${this.tag}-${newName()}`, name: this.tag });
    return { id: user.id, key };
  }

  async newChatConversation(): Promise<string> {
    const id = `${this.tag}-${newName()}`;
    return (await this.chat.createConversation({ 'x-user-key': this.has.userKey, id })).conversation.id;
  }

  async newChatMessage(): Promise<string> {
    const { message } = await this.chat.createMessage({
      'x-user-key': this.has.userKey,
      conversationId: this.has.chatConversationId,
      payload: { type: 'text', text: this.tag },
      metadata: { kind: this.tag },
    });
    return message.id;
  }

  async newChatParticipant(): Promise<string> {
    const { id: userId } = await this.newChatUser();
    const { userKey, chatConversationId: conversationId } = this.has;
    await this.chat.addParticipant({ 'x-user-key': userKey, conversationId, userId });
    return userId;
  }

  private async startChat(): Promise<void> {
    const { bot } = await this.client.getBot({ id: this.has.botId });
    this.has.webhookId = Object.values(bot.integrations).find(({ name }) => name === 'chat')!.webhookId;
    const { id, key } = await this.newChatUser();
    Object.assign(this.has, { userKey: key, chatUserId: id });
    this.has.chatConversationId = await this.newChatConversation();
    this.has.chatMessageId = await this.newChatMessage();
    const { event } = await this.chat.createEvent({
      'x-user-key': key,
      conversationId: this.has.chatConversationId,
      payload: { kind: this.tag },
    });
    this.has.chatEventId = event.id;
  }

  private get chat(): ChatClient {
    return new ChatClient({ apiUrl: `${this.home.url}/chat/${this.has.webhookId}` });
  }

  get asBot(): Client {
    return clientOf({ ...this.account, url: this.home.url }, this.has.botId);
  }
}

export function newName(): string {
  return randomBytes(6).toString('hex');
}
