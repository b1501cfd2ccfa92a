import { allOperations } from '@parley/contracts/contracts';
import type { Operation } from '@parley/contracts/operation';
import { type Account, type Answer, newAccount, sendTo } from '@parley/testing/front-door';
import { publicThings } from './public-things';
import { newName, type Tenant } from './tenant';

/** What a request has besides its route and its credential. */
export interface Request {
  path?: Record<string, string>;
  /** A value that is a record is sent as the public client does: `name.key=value`. */
  query?: Record<string, string | string[] | Record<string, string>>;
  headers?: Record<string, string>;
  body?: object;
  /** Who asks, where it is not the tenant. */
  as?: Account;
}

/** A request that may be anything. */
export interface WildRequest extends Omit<Request, 'headers' | 'body'> {
  /** `null` leaves out a header that it would have otherwise. */
  headers?: Record<string, string | null>;
  body?: unknown;
  /** In place of the body: sent as JSON whether it is some or not. */
  text?: string;
}

const schema = { type: 'object', properties: { text: { type: 'string' } } };
const action = { input: { schema }, output: { schema } };

/**
 * For each operation a request that succeeds for the tenant, with ids of what is the tenant's and new names for the rest.
 * What it uses up is made for it. An operation that has none here is named by the tests that try every operation.
 */
const requests: Record<string, (tenant: Tenant) => Request | Promise<Request>> = {
  'admin.accountPreferences.get': () => ({ path: { key: 'theme' } }),
  'admin.accountPreferences.set': () => ({ path: { key: newName() }, body: { value: { dark: true } } }),
  'admin.accounts.create': () => ({ body: { email: `${newName()}@example.com` } }),
  'admin.accounts.createToken': ({ account: { email } }) => ({ body: { email } }),
  // The workspace goes first: an account that owns one with something in it stays.
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
  'admin.deadLetters.list': () => ({}),
  'admin.deadLetters.replay': () => ({}),
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
  'admin.personalAccessTokens.create': () => ({ body: { note: newName() } }),
  'admin.personalAccessTokens.delete': async ({ client, tag }) => ({
    path: { id: (await client.createPersonalAccessToken({ note: tag })).pat.id },
  }),
  'admin.personalAccessTokens.list': () => ({}),
  'admin.quotas.get': ({ account }) => ({ path: { id: account.workspaceId }, query: { type: 'bot_count' } }),
  'admin.quotas.list': ({ account }) => ({ path: { id: account.workspaceId } }),
  'admin.quotas.listCompletion': () => ({}),
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
  'admin.workspaces.update': ({ account }) => ({ path: { id: account.workspaceId }, body: { about: newName() } }),
  'files.countLeftovers': ({ has }) => ({ path: { botId: has.botId } }),
  'files.deadLetters.list': () => ({}),
  'files.deadLetters.replay': () => ({}),
  'files.delete': async (tenant) => ({ path: { id: await tenant.newFile() } }),
  'files.get': ({ has }) => ({ path: { id: has.fileId } }),
  'files.list': () => ({}),
  'files.listPassages': ({ has }) => ({ path: { id: has.fileId } }),
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
  'tables.countLeftovers': ({ has }) => ({ path: { botId: has.botId } }),
  'tables.create': () => ({ body: { name: newName(), schema } }),
  'tables.deadLetters.list': () => ({}),
  'tables.deadLetters.replay': () => ({}),
  'tables.delete': async (tenant) => ({ path: { table: await tenant.newTable() } }),
  'tables.duplicate': ({ has }) => ({ path: { sourceTableId: has.tableId }, body: { tableName: newName() } }),
  'tables.get': ({ has }) => ({ path: { table: has.tableId } }),
  'tables.jobs.export': ({ has }) => ({ path: { table: has.tableId } }),
  'tables.jobs.import': async (tenant) => ({
    path: { table: tenant.has.tableId },
    body: { fileId: await tenant.newUploadedFile('text\nblue\n') },
  }),
  'tables.jobs.list': ({ has }) => ({ path: { table: has.tableId } }),
  'tables.getOrCreate': ({ has }) => ({ path: { table: has.tableId }, body: { schema } }),
  'tables.list': () => ({}),
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

function shareableId({ botId, integrationId }: Tenant['has']) {
  return { path: { botId, integrationId }, query: { integrationInstanceAlias: 'mine' } };
}

/** What can be asked from outside. */
export const routedOperations = allOperations.filter(({ route }) => route);

/** What the table above and the contracts do not agree on. */
export function disagreements(): string[] {
  const subjects = routedOperations.map(({ subject }) => subject);
  return [
    ...subjects.filter((subject) => !(subject in requests)).map((subject) => `${subject} has no request`),
    ...Object.keys(requests)
      .filter((subject) => !subjects.includes(subject))
      .map((subject) => `${subject} is no operation`),
  ];
}

/** A request of this operation that succeeds for the tenant. */
export async function requestOf({ subject }: Operation, tenant: Tenant): Promise<Request> {
  const make = requests[subject];
  if (!make) throw new Error(`${subject} has no request: add one to apps/standalone/src/test/requests.ts`);
  return make(tenant);
}

/** Who asks, as the headers say it. */
export interface Sender {
  token: string;
  workspaceId?: string;
  botId?: string;
}

/** The tenant, with the credential that the operation takes. */
export function senderOf({ access }: Operation, { account, has, home }: Tenant): Sender {
  return {
    token: access.actor === 'operator' ? home.operatorToken : account.token,
    botId: has.botId,
    workspaceId: account.workspaceId,
  };
}

/** Asks as the sender, with the context headers that the operation reads. */
export function ask(url: string, operation: Operation, sender: Sender, request: WildRequest): Promise<Answer> {
  const { token, workspaceId, botId } = sender;
  const { actor } = operation.access;
  const headers = {
    ...(actor === 'anyone' ? {} : { authorization: `Bearer ${token}` }),
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

/** Method and path with its query. */
function lineOf({ route }: Operation, { path = {}, query = {} }: WildRequest): string {
  const line = route!.replaceAll(/\{(\w+)\}/g, (_match, name: string) => encodeSegment(path[name]!));
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    typeof value === 'string' || Array.isArray(value)
      ? [value].flat().map((text) => [name, text])
      : Object.entries(value).map(([key, text]) => [`${name}.${key}`, text]),
  );
  return pairs.length > 0 ? `${line}?${new URLSearchParams(pairs as [string, string][]).toString()}` : line;
}

/** Half a surrogate pair as the bytes that it would be, and a lone percent sign as it is. */
function encodeSegment(text: string): string {
  if (/^%(zz)?$/.test(text)) return text;
  return text.replaceAll(/[^]/gu, (character) =>
    /\p{Surrogate}/u.test(character) ? '%ED%A0%80' : encodeURIComponent(character),
  );
}
