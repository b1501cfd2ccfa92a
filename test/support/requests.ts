import { allOperations } from '@parley/contracts/contracts';
import type { Operation } from '@parley/contracts/operation';
import { type Account, type TestResponse, consoleCode, newAccount, sendTo } from '@parley/testing/public-api';
import { publicThings } from './public-things';
import { newName, type Tenant } from './tenant';

/** Request of an operation, without route and credential. */
export interface Request {
  path?: Record<string, string>;
  /** Query parameters. The public client sends a record as `name.key=value`. */
  query?: Record<string, string | string[] | Record<string, string>>;
  headers?: Record<string, string>;
  body?: object;
  /** Caller, when it is not the tenant. */
  as?: Account;
}

export interface WildRequest extends Omit<Request, 'headers' | 'body'> {
  /** `null` removes a header that would be sent otherwise. */
  headers?: Record<string, string | null>;
  body?: unknown;
  /** Raw body, sent with the content type application/json even if it is malformed. */
  text?: string;
}

/** WAV without samples. */
const silence = `data:audio/wav;base64,${Buffer.from('RIFF    WAVEfmt '.padEnd(44)).toString('base64')}`;
const schema = { type: 'object', properties: { text: { type: 'string' } } };
const action = { input: { schema }, output: { schema } };

/**
 * Requests by operation. Each succeeds for the tenant, with ids of its resources and new names; resources that a
 * request consumes are created for it. `disagreements` reports an operation without a request.
 */
const requests: Record<string, (tenant: Tenant) => Request | Promise<Request>> = {
  'admin.billing.chargeUnpaidInvoices': ({ account }) => ({ path: { id: account.workspaceId } }),
  'admin.billing.getUpcomingInvoice': ({ account }) => ({ path: { id: account.workspaceId } }),
  'admin.billing.listInvoices': ({ account }) => ({ path: { id: account.workspaceId } }),
  'admin.accountPreferences.get': () => ({ path: { key: 'theme' } }),
  'admin.accountPreferences.set': () => ({ path: { key: newName() }, body: { value: { dark: true } } }),
  'admin.accounts.create': () => ({ body: { email: `${newName()}@example.com` } }),
  'admin.accounts.createToken': ({ account: { email } }) => ({ body: { email } }),
  // New account: the only owner of a workspace with bots or other members cannot be deleted.
  'admin.accounts.delete': async ({ home }) => ({ as: await newAccount(home.url, home.operatorToken), body: {} }),
  'admin.accounts.get': () => ({}),
  'admin.accounts.update': () => ({ body: { profilePicture: 'https://example.com/me.png' } }),
  'admin.auditRecords.list': ({ account }) => ({ path: { id: account.workspaceId } }),
  'admin.botApiKeys.create': ({ has }) => ({ body: { botId: has.botId } }),
  'admin.botApiKeys.delete': async ({ client, has }) => ({
    path: { id: (await client.createBotApiKey({ botId: has.botId })).id },
  }),
  'admin.botApiKeys.list': ({ has }) => ({ query: { botId: has.botId } }),
  'admin.botAllowlist.get': ({ has }) => ({ path: { botId: has.botId } }),
  'admin.botAllowlist.update': ({ has }) => ({
    path: { botId: has.botId },
    body: { users: { [has.memberAccountId]: true } },
  }),
  'admin.registrations.configure': () => ({
    headers: { 'x-integration-alias': 'mine' },
    body: { identifier: newName() },
  }),
  'admin.registrations.registerAgainByMember': async (tenant) => ({
    path: { botId: await tenant.newBotWithIntegration(), alias: 'live' },
    body: {},
  }),
  'admin.registrations.registerAgain': async (tenant) => ({
    path: { botId: await tenant.newBotWithIntegration(), alias: 'live' },
    body: {},
  }),
  'admin.botVersions.create': ({ has }) => ({ path: { id: has.botId }, body: { name: newName() } }),
  'admin.botVersions.deploy': ({ has }) => ({ path: { id: has.botId }, body: { versionId: has.versionId } }),
  'admin.botVersions.download': async ({ client, has }) => {
    const { url } = await client.getBotVersion({ id: has.botId, versionId: has.versionId });
    return {
      path: { id: has.botId, versionId: has.versionId },
      query: Object.fromEntries(new URL(url).searchParams),
    };
  },
  'admin.botVersions.get': ({ has }) => ({ path: { id: has.botId, versionId: has.versionId } }),
  'admin.botVersions.list': ({ has }) => ({ path: { id: has.botId } }),
  'admin.bots.create': () => ({ body: { name: newName() } }),
  'admin.bots.delete': async (tenant) => ({ path: { id: await tenant.newBot() } }),
  'admin.bots.get': ({ has }) => ({ path: { id: has.botId } }),
  'admin.bots.list': () => ({}),
  'admin.bots.rotateSigningSecret': ({ has }) => ({ path: { id: has.botId }, body: {} }),
  'admin.bots.transfer': async (tenant) => ({
    path: { id: await tenant.newBot() },
    body: { targetWorkspaceId: (await tenant.client.createWorkspace({ name: tenant.tag })).id },
  }),
  'admin.bots.update': ({ has }) => ({
    path: { id: has.botId },
    headers: { 'x-multiple-integrations': 'true' },
    body: {
      integrations: { mine: { integrationId: has.integrationId, enabled: true } },
      plugins: {
        helper: {
          id: has.pluginId,
          interfaces: { drawer: { integrationId: has.integrationId, integrationAlias: 'mine' } },
        },
      },
    },
  }),
  'admin.budgets.getOfBot': ({ has }) => ({ path: { botId: has.botId } }),
  'admin.budgets.getOfWorkspace': () => ({}),
  'admin.budgets.setOfBot': ({ has }) => ({ path: { botId: has.botId }, body: { dollars: 5, tokens: null } }),
  'admin.budgets.setOfWorkspace': () => ({ body: { dollars: null, tokens: 1_000_000 } }),
  'admin.consoleLinks.create': ({ account: { email } }) => ({ body: { email } }),
  'admin.consoleSessions.create': async ({ home, account }) => ({ body: { code: await consoleCode(home, account) } }),
  'admin.deadLetters.list': () => ({}),
  'admin.deadLetters.replay': () => ({}),
  'admin.installationLinks.get': ({ has }) => ({ path: { botId: has.botId, alias: 'mine' } }),
  'admin.installationLinks.getOfAnyBot': ({ has }) => ({ path: { botId: has.botId, alias: 'mine' } }),
  'admin.integrationApiKeys.create': ({ has }) => ({ body: { integrationId: has.integrationId } }),
  'admin.integrationApiKeys.delete': async ({ client, has }) => ({
    path: { id: (await client.createIntegrationApiKey({ integrationId: has.integrationId })).id },
  }),
  'admin.integrationApiKeys.list': ({ has }) => ({ query: { integrationId: has.integrationId } }),
  'admin.introspection.introspect': ({ has }) => ({ body: { botId: has.botId } }),
  'admin.members.create': async ({ home }) => {
    const { email } = await newAccount(home.url, home.operatorToken);
    return { body: { email, role: 'viewer' } };
  },
  'admin.members.delete': async (tenant) => ({ path: { id: (await tenant.newMember()).id } }),
  'admin.members.getOwn': () => ({}),
  'admin.members.list': () => ({}),
  'admin.members.update': ({ has }) => ({ path: { id: has.memberId }, body: { role: 'developer' } }),
  'admin.operatorAccess.get': () => ({}),
  'admin.personalAccessTokens.create': () => ({ body: { note: newName() } }),
  'admin.personalAccessTokens.delete': async ({ client, tag }) => ({
    path: { id: (await client.createPersonalAccessToken({ note: tag })).pat.id },
  }),
  'admin.personalAccessTokens.list': () => ({}),
  'admin.quotas.changeAiSpend': () => ({ body: { monthlySpendingLimit: 5 } }),
  'admin.quotas.get': ({ account }) => ({ path: { id: account.workspaceId }, query: { type: 'bot_count' } }),
  'admin.quotas.list': ({ account }) => ({ path: { id: account.workspaceId } }),
  'admin.quotas.listCompletion': () => ({}),
  'admin.sealedTexts.sealAnew': () => ({ body: {} }),
  'admin.shareableIds.create': ({ has }) => shareableId(has),
  'admin.shareableIds.delete': async ({ client, has }) => {
    const request = shareableId(has);
    await client.createIntegrationShareableId({ ...request.path, ...request.query });
    return request;
  },
  'admin.shareableIds.get': ({ has }) => shareableId(has),
  'admin.usage.breakDownByBot': ({ account }) => ({
    path: { id: account.workspaceId },
    query: { type: 'storage_count' },
  }),
  'admin.usage.get': ({ has }) => ({ path: { id: has.botId }, query: { type: 'storage_count' } }),
  'admin.usage.getMultiple': ({ account, has }) => ({
    query: { types: ['storage_count'], ids: [account.workspaceId, has.botId] },
  }),
  'admin.usage.listActivity': ({ has }) => ({ path: { id: has.botId }, query: { type: 'storage_count' } }),
  'admin.usage.listDailyActivity': ({ has }) => ({ path: { id: has.botId }, query: { type: 'storage_count' } }),
  'admin.usage.listHistory': ({ has }) => ({ path: { id: has.botId }, query: { type: 'storage_count' } }),
  'admin.usage.listOfWorkspace': ({ account }) => ({
    path: { id: account.workspaceId },
    query: { type: 'bot_count' },
  }),
  'admin.webchats.getSettings': ({ has }) => ({ path: { botId: has.botId } }),
  'admin.webchats.getSnippet': ({ has }) => ({ path: { id: has.botId }, query: { type: 'preconfigured' } }),
  'admin.webchats.show': ({ has }) => ({ path: { webhookId: has.webhookId } }),
  'admin.webchats.updateSettings': ({ has }) => ({ path: { botId: has.botId }, body: { greeting: 'Hello' } }),
  'admin.work.discard': () => ({ path: { queue: 'admin.none', key: newName() } }),
  'admin.work.list': () => ({}),
  'admin.work.retry': () => ({ body: { queue: 'admin.none' } }),
  'admin.workspacePreferences.get': () => ({ path: { key: 'theme' } }),
  'admin.workspacePreferences.set': () => ({ path: { key: newName() }, body: { value: [1] } }),
  'admin.workspaces.checkHandle': () => ({ body: { handle: newName() } }),
  'admin.workspaces.create': () => ({ body: { name: newName() } }),
  'admin.workspaces.delete': async ({ client, tag }) => ({
    path: { id: (await client.createWorkspace({ name: tag })).id },
  }),
  'admin.workspaces.get': ({ account }) => ({ path: { id: account.workspaceId } }),
  'admin.workspaces.getPublic': async ({ home }) => ({ path: { id: (await publicThings(home)).workspaceId } }),
  'admin.workspaces.list': () => ({}),
  'admin.workspaces.listPublic': () => ({}),
  'admin.workspaces.migrateToV4': ({ account }) => ({ path: { id: account.workspaceId } }),
  'admin.workspaces.update': ({ account }) => ({ path: { id: account.workspaceId }, body: { about: newName() } }),
  'chat.analytics.captureObservation': () => ({ body: { name: newName(), data: { text: newName() } } }),
  'chat.analytics.getOfBot': ({ has }) => ({
    path: { id: has.botId },
    query: { startDate: '2026-01-01', endDate: '2026-01-31' },
  }),
  'chat.analytics.listObservations': ({ has }) => ({ path: { botId: has.botId } }),
  'chat.analytics.track': () => ({ body: { name: newName(), count: 1 } }),
  'chat.conversations.create': () => ({ body: { channel: 'channel', tags: { kind: newName() } } }),
  'chat.conversations.delete': async (tenant) => ({ path: { id: await tenant.newConversation() } }),
  'chat.conversations.get': ({ has }) => ({ path: { id: has.conversationId } }),
  'chat.conversations.getOrCreate': () => ({ body: { channel: 'channel', tags: { kind: newName() } } }),
  'chat.conversations.list': ({ has, tag }) => ({
    query: { participantIds: has.userId, integrationName: 'chat', channel: 'channel', tags: { kind: tag } },
  }),
  'chat.conversations.update': ({ has }) => ({
    path: { id: has.conversationId },
    body: { properties: { a: newName() } },
  }),
  'chat.countLeftovers': ({ has }) => ({ path: { botId: has.botId } }),
  'chat.deadLetters.list': () => ({}),
  'chat.deadLetters.replay': () => ({}),
  'chat.deliveries.replayOfBot': async (tenant) => {
    const { botId, id } = await tenant.newFailedEvent();
    return { path: { id }, headers: { 'x-bot-id': botId }, body: {} };
  },
  'chat.deliveries.replay': ({ has }) => ({ path: { botId: has.botId }, body: { status: 'failed' } }),
  'chat.work.discard': () => ({ path: { queue: 'chat.none', key: newName() } }),
  'chat.work.list': () => ({}),
  'chat.work.retry': () => ({ body: { queue: 'chat.none' } }),
  'chat.events.cancelScheduled': async (tenant) => ({ path: { id: await tenant.newScheduledEvent() } }),
  'chat.events.create': ({ has }) => ({
    body: { type: newName(), payload: { a: 1 }, conversationId: has.conversationId, userId: has.userId },
  }),
  'chat.events.get': ({ has }) => ({ path: { id: has.eventId } }),
  'chat.events.list': ({ has, tag }) => ({
    query: { type: tag, conversationId: has.conversationId, userId: has.userId, status: 'scheduled' },
  }),
  'chat.chatFiles.create': async (tenant) => {
    await tenant.allowUploads();
    const { chatConversationId: conversationId } = tenant.has;
    return { ...chatOf(tenant.has), body: { conversationId, name: `${newName()}.txt`, size: 1 } };
  },
  'chat.endpoint.addParticipant': async (tenant) => ({
    ...chatOf(tenant.has, { conversationId: tenant.has.chatConversationId }),
    body: { userId: (await tenant.newChatUser()).id },
  }),
  'chat.endpoint.createConversation': ({ has }) => ({ ...chatOf(has), body: { id: newName() } }),
  'chat.endpoint.createEvent': ({ has }) => ({
    ...chatOf(has),
    body: { conversationId: has.chatConversationId, payload: { text: newName() } },
  }),
  'chat.endpoint.createMessage': ({ has }) => ({
    ...chatOf(has),
    body: { conversationId: has.chatConversationId, payload: { type: 'text', text: newName() } },
  }),
  'chat.endpoint.createUser': ({ has }) => ({ ...chatOf(has), body: {} }),
  'chat.endpoint.deleteConversation': async (tenant) => chatOf(tenant.has, { id: await tenant.newChatConversation() }),
  'chat.endpoint.deleteMessage': async (tenant) => chatOf(tenant.has, { id: await tenant.newChatMessage() }),
  'chat.endpoint.deleteUser': async (tenant) => ({
    ...chatOf(tenant.has),
    headers: { 'x-user-key': (await tenant.newChatUser()).key },
  }),
  'chat.endpoint.getConversation': ({ has }) => chatOf(has, { id: has.chatConversationId }),
  'chat.endpoint.getEvent': ({ has }) => chatOf(has, { id: has.chatEventId }),
  'chat.endpoint.getMessage': ({ has }) => chatOf(has, { id: has.chatMessageId }),
  'chat.endpoint.getOrCreateConversation': ({ has }) => ({ ...chatOf(has), body: { id: newName() } }),
  'chat.endpoint.getOrCreateUser': ({ has }) => ({ ...chatOf(has), body: { profile: newName() } }),
  'chat.endpoint.getParticipant': ({ has }) =>
    chatOf(has, { conversationId: has.chatConversationId, userId: has.chatUserId }),
  'chat.endpoint.getUser': ({ has }) => chatOf(has),
  'chat.endpoint.hello': ({ has }) => chatOf(has),
  'chat.endpoint.helloWithSlash': ({ has }) => chatOf(has),
  'chat.endpoint.listConversations': ({ has }) => chatOf(has),
  'chat.endpoint.listMessages': ({ has }) => chatOf(has, { conversationId: has.chatConversationId }),
  'chat.endpoint.listParticipants': ({ has }) => chatOf(has, { conversationId: has.chatConversationId }),
  'chat.endpoint.removeParticipant': async (tenant) => {
    const userId = await tenant.newChatParticipant();
    return chatOf(tenant.has, { conversationId: tenant.has.chatConversationId, userId });
  },
  'chat.endpoint.updateUser': ({ has }) => ({ ...chatOf(has), body: { profile: newName() } }),
  'chat.incomingMessages.initialize': ({ has }) => {
    const { userId, conversationId, ...message } = messageOf(has);
    return { body: { userId, conversationId, message: { ...message, discriminateByTags: [] } } };
  },
  'chat.messages.create': ({ has }) => ({ body: messageOf(has) }),
  'chat.messages.delete': async (tenant) => ({ path: { id: await tenant.newMessage() } }),
  'chat.messages.get': ({ has }) => ({ path: { id: has.messageId } }),
  'chat.messages.getOrCreate': ({ has }) => ({ body: { ...messageOf(has), tags: { kind: newName() } } }),
  'chat.messages.import': ({ has }) => ({
    body: { messages: [{ ...messageOf(has), createdAt: '2026-01-31T12:00:00.000Z', discriminateByTags: [] }] },
  }),
  'chat.messages.list': ({ has, tag }) => ({ query: { conversationId: has.conversationId, tags: { kind: tag } } }),
  'chat.messages.update': ({ has }) => ({ path: { id: has.messageId }, body: { payload: { text: newName() } } }),
  'chat.participants.add': async (tenant) => ({
    path: { id: tenant.has.conversationId },
    body: { userId: await tenant.newUser() },
  }),
  'chat.participants.get': ({ has }) => ({ path: { id: has.conversationId, userId: has.userId } }),
  'chat.participants.list': ({ has }) => ({ path: { id: has.conversationId } }),
  'chat.participants.remove': async (tenant) => {
    const userId = await tenant.newUser();
    await tenant.asBot.addParticipant({ id: tenant.has.conversationId, userId });
    return { path: { id: tenant.has.conversationId, userId } };
  },
  'chat.states.get': ({ has }) => ({ path: moodOf(has) }),
  'chat.states.getOrSet': ({ has }) => ({ path: moodOf(has), body: { payload: { text: newName() } } }),
  'chat.states.patch': ({ has }) => ({ path: moodOf(has), body: { payload: { text: newName() } } }),
  'chat.states.set': ({ has }) => ({ path: moodOf(has), body: { payload: { text: newName() }, expiry: 60_000 } }),
  'chat.states.setExpiry': ({ has }) => ({ path: moodOf(has), body: { expiry: 60_000 } }),
  'chat.tags.listValues': () => ({ path: { key: 'kind' }, query: { type: 'user' } }),
  'chat.users.create': () => ({ body: { tags: { kind: newName() }, name: newName() } }),
  'chat.users.delete': async (tenant) => ({ path: { id: await tenant.newUser() } }),
  'chat.users.get': ({ has }) => ({ path: { id: has.userId } }),
  'chat.users.getOrCreate': () => ({ body: { tags: { kind: newName() } } }),
  'chat.users.list': ({ has, tag }) => ({ query: { conversationId: has.conversationId, tags: { kind: tag } } }),
  'chat.users.update': ({ has }) => ({ path: { id: has.userId }, body: { properties: { a: newName() } } }),
  'chat.workflows.create': ({ has }) => ({
    body: { name: newName(), status: 'pending', conversationId: has.conversationId, parentWorkflowId: has.workflowId },
  }),
  'chat.workflows.delete': async (tenant) => ({ path: { id: await tenant.newWorkflow() } }),
  'chat.workflows.get': ({ has }) => ({ path: { id: has.workflowId } }),
  'chat.workflows.getOrCreate': () => ({ body: { name: newName(), status: 'pending', tags: { kind: newName() } } }),
  'chat.workflows.list': ({ has, tag }) => ({
    query: { conversationId: has.conversationId, statuses: ['listening', 'pending'], tags: { kind: tag } },
  }),
  'chat.workflows.update': ({ has }) => ({
    path: { id: has.workflowId },
    body: { status: 'paused', output: { a: newName() } },
  }),
  'files.copy': async (tenant) => ({
    path: { idOrKey: await tenant.newUploadedFile('copied'), destinationKey: newName() },
    body: { overwrite: false },
  }),
  'files.countLeftovers': ({ has }) => ({ path: { botId: has.botId } }),
  'files.deadLetters.list': () => ({}),
  'files.deadLetters.replay': () => ({}),
  'files.work.discard': () => ({ path: { queue: 'files.none', key: newName() } }),
  'files.work.list': () => ({}),
  'files.work.retry': () => ({ body: { queue: 'files.none' } }),
  'files.delete': async (tenant) => ({ path: { id: await tenant.newFile() } }),
  'files.get': ({ has }) => ({ path: { id: has.fileId } }),
  'files.indexAgain': async (tenant) => ({ path: { id: await tenant.newUploadedFile('again') }, body: {} }),
  'files.indexing.listFailed': () => ({}),
  'files.indexing.listStuck': () => ({}),
  'files.indexing.retry': ({ has }) => ({ body: { fileIds: [has.fileId] } }),
  'files.knowledgeBases.create': () => ({ body: { name: newName(), tags: { kind: newName() } } }),
  'files.knowledgeBases.delete': async (tenant) => ({ path: { id: await tenant.newKnowledgeBase() } }),
  'files.knowledgeBases.list': ({ tag }) => ({ query: { tags: { kind: tag } } }),
  'files.knowledgeBases.update': ({ has }) => ({
    path: { id: has.knowledgeBaseId },
    body: { name: newName(), tags: { changed: newName() } },
  }),
  'files.list': () => ({}),
  'files.listPassages': ({ has }) => ({ path: { id: has.fileId } }),
  'files.listTags': () => ({}),
  'files.listTagValues': () => ({ path: { tag: 'kind' } }),
  'files.reindex.advance': () => ({ body: {} }),
  'files.reindex.dropFormer': () => ({ body: {} }),
  'files.reindex.listOlder': ({ has }) => ({ query: { format: 'PDF', botId: has.botId } }),
  'files.reindex.readOlder': ({ has }) => ({ body: { format: 'PDF', botId: has.botId } }),
  'files.reindex.words': () => ({ body: {} }),
  'files.search': ({ tag }) => ({ query: { query: tag, tags: { kind: tag } } }),
  'files.setPassages': async (tenant) => ({
    path: { id: await tenant.newUploadedFile('passages') },
    body: { passages: [{ content: newName() }] },
  }),
  'files.storage.reconcile': () => ({ body: {} }),
  'files.update': ({ has }) => ({ path: { id: has.fileId }, body: { tags: { changed: newName() } } }),
  'files.upsert': () => ({ body: { key: newName(), size: 1 } }),
  'hub.deadLetters.list': () => ({}),
  'hub.deadLetters.replay': () => ({}),
  'hub.integrations.create': ({ has }) => ({
    body: {
      name: newName(),
      version: '1.0.0',
      actions: { open: action },
      interfaces: { drawer: { id: has.interfaceId, actions: { open: { name: 'open' } } } },
    },
  }),
  'hub.integrations.delete': async (tenant) => ({ path: { id: await tenant.newIntegration() } }),
  'hub.vrlScripts.run': () => ({ body: { script: '.a', data: { a: newName() } } }),
  'hub.integrations.get': ({ has }) => ({ path: { id: has.integrationId } }),
  'hub.integrations.getByName': ({ tag }) => ({ path: { name: `${tag}-kettle`, version: 'latest' } }),
  'hub.integrations.list': ({ has }) => ({ query: { installedByBotId: has.botId } }),
  'hub.integrations.requestVerification': async (tenant) => ({
    body: { integrationId: await tenant.newIntegration() },
  }),
  'hub.integrations.rotateSigningSecrets': ({ has }) => ({ path: { id: has.integrationId }, body: {} }),
  'hub.integrations.update': ({ has }) => ({
    path: { id: has.integrationId },
    body: { interfaces: { drawer: { id: has.interfaceId, actions: { open: { name: 'open' } } } } },
  }),
  'hub.integrations.validateCreation': ({ has }) => ({
    body: { name: newName(), version: '1.0.0', interfaces: { drawer: { id: has.interfaceId } } },
  }),
  'hub.integrations.validateUpdate': ({ has }) => ({
    path: { id: has.integrationId },
    body: { description: newName() },
  }),
  'hub.interfaces.create': () => ({ body: { name: newName(), version: '1.0.0' } }),
  'hub.interfaces.delete': async (tenant) => ({ path: { id: await tenant.newInterface() } }),
  'hub.interfaces.get': ({ has }) => ({ path: { id: has.interfaceId } }),
  'hub.interfaces.getByName': ({ tag }) => ({ path: { name: `${tag}-drawer`, version: 'latest' } }),
  'hub.interfaces.list': () => ({}),
  'hub.interfaces.update': ({ has }) => ({ path: { id: has.interfaceId }, body: { description: newName() } }),
  'hub.plugins.create': ({ has }) => ({
    body: {
      name: newName(),
      version: '1.0.0',
      code: { node: 'node', browser: 'browser' },
      dependencies: {
        interfaces: { drawer: { id: has.interfaceId } },
        integrations: { kettle: { id: has.integrationId } },
      },
    },
  }),
  'hub.plugins.delete': async (tenant) => ({ path: { id: await tenant.newPlugin() } }),
  'hub.plugins.get': ({ has }) => ({ path: { id: has.pluginId } }),
  'hub.plugins.getByName': ({ tag }) => ({ path: { name: `${tag}-helper`, version: 'latest' } }),
  'hub.plugins.getCode': ({ has }) => ({ path: { id: has.pluginId, platform: 'node' } }),
  'hub.plugins.getDereferenced': ({ has }) => ({
    path: { id: has.pluginId },
    query: { interfaces: { drawer: has.integrationId } },
  }),
  'hub.plugins.list': () => ({}),
  'hub.plugins.update': ({ has }) => ({ path: { id: has.pluginId }, body: { description: newName() } }),
  'hub.publicIntegrations.get': async ({ home }) => ({
    path: { name: (await publicThings(home)).integration.name, version: 'latest' },
  }),
  'hub.publicIntegrations.getById': async ({ home }) => ({ path: { id: (await publicThings(home)).integration.id } }),
  'hub.publicIntegrations.list': ({ has }) => ({ query: { installedByBotId: has.botId } }),
  'hub.publicInterfaces.get': async ({ home }) => ({ path: { id: (await publicThings(home)).interface.id } }),
  'hub.publicInterfaces.getByName': async ({ home }) => ({
    path: { name: (await publicThings(home)).interface.name, version: 'latest' },
  }),
  'hub.publicInterfaces.list': () => ({}),
  'hub.publicPlugins.get': async ({ home }) => ({ path: { id: (await publicThings(home)).plugin.id } }),
  'hub.publicPlugins.getByName': async ({ home }) => ({
    path: { name: (await publicThings(home)).plugin.name, version: 'latest' },
  }),
  'hub.publicPlugins.getCode': async ({ home }) => ({
    path: { id: (await publicThings(home)).plugin.id, platform: 'browser' },
  }),
  'hub.publicPlugins.getDereferenced': async ({ home }) => {
    const { plugin, integration } = await publicThings(home);
    return { path: { id: plugin.id }, query: { interfaces: { drawer: integration.id } } };
  },
  'hub.publicPlugins.list': () => ({}),
  'hub.sealedTexts.sealAnew': () => ({ body: {} }),
  'hub.work.discard': () => ({ path: { queue: 'hub.none', key: newName() } }),
  'hub.work.list': () => ({}),
  'hub.work.retry': () => ({ body: { queue: 'hub.none' } }),
  'runtime.actions.call': ({ has }) => ({
    body: { type: 'chat:sendEvent', input: { conversationId: has.conversationId, payload: {} } },
  }),
  'runtime.actions.listRuns': ({ has }) => ({ path: { id: has.botId } }),
  'runtime.countLeftovers': ({ has }) => ({ path: { botId: has.botId } }),
  'models.calls.list': () => ({}),
  'models.cognitive.generateText': () => ({ body: { messages: [{ role: 'user', content: 'hi' }] } }),
  'models.cognitive.generateTextStream': () => ({ body: { messages: [{ role: 'user', content: 'hi' }] } }),
  'models.cognitive.listModels': () => ({}),
  'models.contents.get': () => ({}),
  'models.contents.set': () => ({ body: { kept: true } }),
  'models.countLeftovers': ({ has }) => ({ path: { botId: has.botId } }),
  'models.deadLetters.list': () => ({}),
  'models.deadLetters.replay': () => ({}),
  'models.media.generateAudio': () => ({ body: { model: 'auto', input: 'hi', format: 'wav' } }),
  'models.media.generateAudioStream': () => ({ body: { model: 'auto', input: 'hi', format: 'wav' } }),
  'models.media.generateImage': () => ({ body: { prompt: 'a cat' } }),
  'models.media.listVoices': () => ({}),
  'models.media.transcribeAudio': () => ({ body: { url: silence } }),
  'models.openAi.createChatCompletion': () => ({
    body: { model: 'auto', messages: [{ role: 'user', content: 'hi' }] },
  }),
  'models.openAi.createEmbeddings': () => ({ body: { model: 'scripted', input: 'hi' } }),
  'models.openAi.listModels': () => ({}),
  'models.providers.delete': async ({ home }) => ({ path: { name: await newProvider(home, 'short-lived') } }),
  'models.providers.list': () => ({}),
  'models.providers.put': () => ({ path: { name: 'closed' }, body: { url: closedServer, key: 'sk-closed' } }),
  'models.providers.reorder': async ({ home }) => {
    await newProvider(home, 'closed');
    return { body: { names: await namesOfProviders(home) } };
  },
  'models.providers.test': async ({ home }) => ({ path: { name: await newProvider(home, 'closed') } }),
  'models.sealedTexts.sealAnew': () => ({ body: {} }),
  'models.work.discard': () => ({ path: { queue: 'models.none', key: newName() } }),
  'models.work.list': () => ({}),
  'models.work.retry': () => ({ body: { queue: 'models.none' } }),
  'runtime.deadLetters.list': () => ({}),
  'runtime.deadLetters.replay': () => ({}),
  'runtime.deliveries.listOfBot': () => ({}),
  'runtime.deliveries.list': ({ has }) => ({ path: { botId: has.botId } }),
  'runtime.pingBot': ({ has }) => ({ path: { botId: has.botId }, body: {} }),
  'runtime.issues.delete': async (tenant) => ({ path: { ...(await tenant.spareIssue()) } }),
  'runtime.issues.get': ({ has }) => ({ path: { id: has.refusingBotId, issueId: has.issueId } }),
  'runtime.issues.list': ({ has }) => ({ path: { id: has.refusingBotId } }),
  'runtime.issues.listEvents': ({ has }) => ({ path: { id: has.refusingBotId, issueId: has.issueId } }),
  'runtime.logs.list': ({ has }) => ({
    path: { id: has.botId },
    query: { timeStart: new Date(Date.now() - 3_600_000).toISOString() },
  }),
  'runtime.logs.listOfIntegration': ({ has }) => ({
    path: { id: has.integrationId },
    query: { timeStart: new Date(Date.now() - 3_600_000).toISOString() },
  }),
  'runtime.logs.listOfAnyBot': ({ has }) => ({
    path: { id: has.botId },
    query: { timeStart: new Date(Date.now() - 3_600_000).toISOString() },
  }),
  'runtime.sealedTexts.sealAnew': () => ({ body: {} }),
  'runtime.webhookRecordings.get': async (tenant) => ({ path: { ...(await tenant.recordedRequest()) } }),
  'runtime.webhookRecordings.getOfAnyBot': async (tenant) => ({ path: { ...(await tenant.recordedRequest()) } }),
  'runtime.webhookRecordings.list': ({ has }) => ({ path: { botId: has.botId, alias: 'mine' } }),
  'runtime.webhookRecordings.listOfAnyBot': ({ has }) => ({ path: { botId: has.botId, alias: 'mine' } }),
  'runtime.webhookRecordings.replay': async (tenant) => ({ path: { ...(await tenant.recordedRequest()) }, body: {} }),
  'runtime.webhookRecordings.replayOfAnyBot': async (tenant) => ({
    path: { ...(await tenant.recordedRequest()) },
    body: {},
  }),
  'runtime.webhookRecordings.set': ({ has }) => ({
    path: { botId: has.botId, alias: 'mine' },
    body: { enabled: true },
  }),
  'runtime.webhookRecordings.setOfAnyBot': ({ has }) => ({
    path: { botId: has.botId, alias: 'mine' },
    body: { enabled: false },
  }),
  'runtime.work.discard': () => ({ path: { queue: 'runtime.none', key: newName() } }),
  'runtime.work.list': () => ({}),
  'runtime.work.retry': () => ({ body: { queue: 'runtime.none' } }),
  'tables.countLeftovers': ({ has }) => ({ path: { botId: has.botId } }),
  'tables.create': () => ({ body: { name: newName(), schema } }),
  'tables.deadLetters.list': () => ({}),
  'tables.deadLetters.replay': () => ({}),
  'tables.work.discard': () => ({ path: { queue: 'tables.none', key: newName() } }),
  'tables.work.list': () => ({}),
  'tables.work.retry': () => ({ body: { queue: 'tables.none' } }),
  'tables.delete': async (tenant) => ({ path: { table: await tenant.newTable() } }),
  'tables.duplicate': ({ has }) => ({ path: { sourceTableId: has.tableId }, body: { tableName: newName() } }),
  'tables.get': ({ has }) => ({ path: { table: has.tableId } }),
  'tables.jobs.export': ({ has }) => ({ path: { table: has.tableId } }),
  'tables.jobs.import': async (tenant) => ({
    path: { table: tenant.has.tableId },
    body: { fileId: await tenant.newUploadedFile('text\nblue\n') },
  }),
  'tables.jobs.list': ({ has }) => ({ path: { table: has.tableId } }),
  'tables.getOrCreate': ({ has }) => ({ path: { table: has.tableId }, body: { schema, tags: { kind: newName() } } }),
  'tables.list': () => ({}),
  'tables.reindexWords': () => ({ body: {} }),
  'tables.reindex': ({ has }) => ({ body: { botId: has.botId } }),
  'tables.renameColumn': async (tenant) => ({
    path: { table: await tenant.newTable() },
    body: { name: 'text', newName: 'words' },
  }),
  'tables.rows.find': ({ has }) => ({ path: { table: has.tableId }, body: { filter: { text: { $regex: '.' } } } }),
  'tables.rows.get': ({ has }) => ({ path: { table: has.tableId }, query: { id: '1' } }),
  'tables.rows.create': ({ has }) => ({ path: { table: has.tableId }, body: { rows: [{ text: newName() }] } }),
  'tables.update': async (tenant) => ({ path: { table: await tenant.newTable() }, body: { tags: { kind: 'new' } } }),
  'tables.rows.delete': async (tenant) => ({ path: { table: await tenant.newTable() }, body: { ids: [1] } }),
  'tables.rows.update': ({ has }) => ({ path: { table: has.tableId }, body: { rows: [{ id: 1, text: newName() }] } }),
  'tables.rows.upsert': ({ has }) => ({ path: { table: has.tableId }, body: { rows: [{ text: newName() }] } }),
};

const closedServer = 'http://127.0.0.1:1';
const providersPath = '/operator/models/providers';

async function newProvider({ url, operatorToken }: Tenant['home'], name: string): Promise<string> {
  const headers = { authorization: `Bearer ${operatorToken}` };
  await sendTo(url, `PUT ${providersPath}/${name}`, { headers, json: { url: closedServer } });
  return name;
}

/** Providers that operators have set. */
async function namesOfProviders({ url, operatorToken }: Tenant['home']): Promise<string[]> {
  const { json } = await sendTo(url, `GET ${providersPath}`, { headers: { authorization: `Bearer ${operatorToken}` } });
  const { providers } = json as { providers: { name: string; source: string }[] };
  return providers.filter(({ source }) => source === 'operator').map(({ name }) => name);
}

function chatOf({ webhookId }: Tenant['has'], path: Record<string, string> = {}) {
  return { path: { webhookId, ...path } };
}

function moodOf({ conversationId }: Tenant['has']) {
  return { type: 'conversation', id: conversationId, name: 'mood' };
}

function shareableId({ botId, integrationId }: Tenant['has']) {
  return { path: { botId, integrationId }, query: { integrationInstanceAlias: 'mine' } };
}

function messageOf({ userId, conversationId }: Tenant['has']) {
  return { userId, conversationId, type: 'text', payload: { text: newName() }, tags: {} };
}

/** Operations that are reachable over HTTP. */
export const routedOperations = allOperations.filter(({ route }) => route);

export function disagreements(): string[] {
  const subjects = routedOperations.map(({ subject }) => subject);
  return [
    ...subjects.filter((subject) => !(subject in requests)).map((subject) => `${subject} has no request`),
    ...Object.keys(requests)
      .filter((subject) => !subjects.includes(subject))
      .map((subject) => `${subject} is not an operation`),
  ];
}

export async function requestOf({ subject }: Operation, tenant: Tenant): Promise<Request> {
  const make = requests[subject];
  if (!make) throw new Error(`${subject} has no request: add one to test/support/requests.ts`);
  return make(tenant);
}

/** Credential and context headers of a caller. */
export interface Sender {
  token: string;
  workspaceId?: string;
  botId?: string;
  userKey?: string;
}

/** Sender for a tenant, with the credential that the operation requires. */
export function senderOf({ access }: Operation, { account, has, home }: Tenant): Sender {
  return {
    token: access.actor === 'operator' ? home.operatorToken : account.token,
    botId: has.botId,
    workspaceId: account.workspaceId,
    userKey: has.userKey,
  };
}

const tokenless = ['anyone', 'chat-user', 'chat-visitor'];

export function ask(url: string, operation: Operation, sender: Sender, request: WildRequest): Promise<TestResponse> {
  const { token, workspaceId, botId, userKey } = sender;
  const { actor } = operation.access;
  const headers = {
    ...(tokenless.includes(actor) ? {} : { authorization: `Bearer ${token}` }),
    ...(actor === 'chat-user' && userKey ? { 'x-user-key': userKey } : {}),
    ...(['workspace', 'bot'].includes(actor) && workspaceId ? { 'x-workspace-id': workspaceId } : {}),
    ...(actor === 'bot' && botId ? { 'x-bot-id': botId } : {}),
    ...(request.text === undefined ? {} : { 'content-type': 'application/json' }),
    ...request.headers,
  };
  return sendTo(url, lineOf(operation, request), {
    headers: Object.fromEntries(
      Object.entries(headers).filter((header): header is [string, string] => header[1] !== null),
    ),
    json: request.body,
    body: request.text,
  });
}

function lineOf({ route }: Operation, { path = {}, query = {} }: WildRequest): string {
  const line = route!.replaceAll(/\{(\w+)\}/g, (_match, name: string) => encodeSegment(path[name]!));
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    typeof value === 'string' || Array.isArray(value)
      ? [value].flat().map((text) => [name, text])
      : Object.entries(value).map(([key, text]) => [`${name}.${key}`, text]),
  );
  return pairs.length > 0 ? `${line}?${new URLSearchParams(pairs).toString()}` : line;
}

/** Percent-encodes, but keeps malformed percent signs, and writes a lone surrogate as invalid UTF-8. */
function encodeSegment(text: string): string {
  if (/^%(zz)?$/.test(text)) return text;
  return text.replaceAll(/[^]/gu, (character) =>
    /\p{Surrogate}/u.test(character) ? '%ED%A0%80' : encodeURIComponent(character),
  );
}
