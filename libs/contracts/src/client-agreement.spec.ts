import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Client as ChatClient, type ClientRequests, type ClientResponses } from '@botpress/chat';
import { Client, type ClientInputs, type ClientOutputs, type ErrorType as ClientErrorType } from '@botpress/client';
import type { Access } from './access';
import { admin } from './admin/admin';
import { chat } from './chat/chat';
import { allOperations } from './contracts';
import type { ErrorType } from './errors';
import type { TagQuery } from './query-fields';
import { files } from './files';
import { hub } from './hub/hub';
import type { Text } from './paging';
import { runtime } from './runtime/runtime';
import { tables } from './tables/tables';
import type { Contract, InputOf, Operation, OutputOf } from './operation';

/** Operations except those of the chat API, which has a client of its own. */
const { chatApi, ...runtimeOfChat } = chat;
const contracts = { admin, chat: runtimeOfChat, files, hub, runtime, tables };
type Contracts = typeof contracts;

/** Public client's operation for each of our operations, `null` for our own. A missing one does not compile. */
const clientNames = {
  admin: {
    accountPreferences: { get: 'getAccountPreference', set: 'setAccountPreference' },
    accounts: { get: 'getAccount', update: 'updateAccount', delete: 'deleteAccount' },
    auditRecords: { list: 'getAuditRecords' },
    billing: {
      listInvoices: 'listWorkspaceInvoices',
      getUpcomingInvoice: 'getUpcomingInvoice',
      chargeUnpaidInvoices: 'chargeWorkspaceUnpaidInvoices',
    },
    bots: {
      create: 'createBot',
      get: 'getBot',
      update: 'updateBot',
      list: 'listBots',
      delete: 'deleteBot',
      rotateSigningSecret: 'rotateBotSigningSecrets',
      transfer: 'transferBot',
    },
    budgets: { getOfWorkspace: null, setOfWorkspace: null, getOfBot: null, setOfBot: null },
    botAllowlist: { get: 'getBotAllowlist', update: 'updateBotAllowlist' },
    registrations: { configure: 'configureIntegration', registerAgainByMember: null },
    botVersions: {
      create: 'createBotVersion',
      deploy: 'deployBotVersion',
      get: 'getBotVersion',
      list: 'listBotVersions',
    },
    integrationApiKeys: {
      create: 'createIntegrationApiKey',
      list: 'listIntegrationApiKeys',
      delete: 'deleteIntegrationApiKey',
    },
    botApiKeys: { create: 'createBotApiKey', list: 'listBotApiKeys', delete: 'deleteBotApiKey' },
    shareableIds: {
      create: 'createIntegrationShareableId',
      get: 'getIntegrationShareableId',
      delete: 'deleteIntegrationShareableId',
    },
    consoleSessions: { create: null },
    installationLinks: { get: null },
    operatorAccess: { get: null },
    introspection: { introspect: 'introspect' },
    members: {
      list: 'listWorkspaceMembers',
      getOwn: 'getWorkspaceMember',
      create: 'createWorkspaceMember',
      update: 'updateWorkspaceMember',
      delete: 'deleteWorkspaceMember',
    },
    personalAccessTokens: {
      create: 'createPersonalAccessToken',
      list: 'listPersonalAccessTokens',
      delete: 'deletePersonalAccessToken',
    },
    quotas: {
      changeAiSpend: 'changeAISpendQuota',
      get: 'getWorkspaceQuota',
      list: 'listWorkspaceQuotas',
      listCompletion: 'getAllWorkspaceQuotaCompletion',
    },
    usage: {
      get: 'getUsage',
      getMultiple: 'getMultipleUsages',
      listOfWorkspace: 'listWorkspaceUsages',
      breakDownByBot: 'breakDownWorkspaceUsageByBot',
      listHistory: 'listUsageHistory',
      listActivity: 'listUsageActivity',
      listDailyActivity: 'listUsageActivityDaily',
    },
    webchats: { getSnippet: 'getBotWebchat', getSettings: null, updateSettings: null, show: null },
    workspacePreferences: { get: 'getWorkspacePreference', set: 'setWorkspacePreference' },
    workspaces: {
      create: 'createWorkspace',
      get: 'getWorkspace',
      list: 'listWorkspaces',
      update: 'updateWorkspace',
      delete: 'deleteWorkspace',
      migrateToV4: 'migrateWorkspaceToV4',
      getPublic: 'getPublicWorkspace',
      listPublic: 'listPublicWorkspaces',
      checkHandle: 'checkHandleAvailability',
    },
  },
  chat: {
    analytics: {
      track: 'trackAnalytics',
      captureObservation: 'captureObservation',
      getOfBot: 'getBotAnalytics',
    },
    chatFiles: { create: null },
    conversations: {
      create: 'createConversation',
      get: 'getConversation',
      getOrCreate: 'getOrCreateConversation',
      list: 'listConversations',
      update: 'updateConversation',
      delete: 'deleteConversation',
    },
    deliveries: { replayOfBot: null },
    events: {
      create: 'createEvent',
      get: 'getEvent',
      list: 'listEvents',
      cancelScheduled: 'cancelScheduledEvent',
    },
    incomingMessages: { initialize: 'initializeIncomingMessage' },
    messages: {
      create: 'createMessage',
      get: 'getMessage',
      getOrCreate: 'getOrCreateMessage',
      list: 'listMessages',
      update: 'updateMessage',
      delete: 'deleteMessage',
      import: 'importMessages',
    },
    participants: {
      list: 'listParticipants',
      add: 'addParticipant',
      get: 'getParticipant',
      remove: 'removeParticipant',
    },
    states: {
      get: 'getState',
      set: 'setState',
      getOrSet: 'getOrSetState',
      patch: 'patchState',
      setExpiry: 'setStateExpiry',
    },
    tags: { listValues: 'listTagValues' },
    users: {
      create: 'createUser',
      get: 'getUser',
      getOrCreate: 'getOrCreateUser',
      list: 'listUsers',
      update: 'updateUser',
      delete: 'deleteUser',
    },
    workflows: {
      create: 'createWorkflow',
      get: 'getWorkflow',
      getOrCreate: 'getOrCreateWorkflow',
      list: 'listWorkflows',
      update: 'updateWorkflow',
      delete: 'deleteWorkflow',
    },
  },
  files: {
    upsert: 'upsertFile',
    get: 'getFile',
    list: 'listFiles',
    update: 'updateFileMetadata',
    delete: 'deleteFile',
    copy: 'copyFile',
    search: 'searchFiles',
    listTags: 'listFileTags',
    listTagValues: 'listFileTagValues',
    setPassages: 'setFilePassages',
    listPassages: 'listFilePassages',
    indexAgain: null,
    knowledgeBases: {
      create: 'createKnowledgeBase',
      delete: 'deleteKnowledgeBase',
      list: 'listKnowledgeBases',
      update: 'updateKnowledgeBase',
    },
  },
  hub: {
    interfaces: {
      create: 'createInterface',
      get: 'getInterface',
      getByName: 'getInterfaceByName',
      update: 'updateInterface',
      delete: 'deleteInterface',
      list: 'listInterfaces',
    },
    plugins: {
      create: 'createPlugin',
      get: 'getPlugin',
      getByName: 'getPluginByName',
      getDereferenced: 'getDereferencedPlugin',
      getCode: 'getPluginCode',
      update: 'updatePlugin',
      delete: 'deletePlugin',
      list: 'listPlugins',
    },
    publicPlugins: {
      list: 'listPublicPlugins',
      get: 'getPublicPluginById',
      getByName: 'getPublicPlugin',
      getDereferenced: 'getDereferencedPublicPluginById',
      getCode: 'getPublicPluginCode',
    },
    publicInterfaces: {
      list: 'listPublicInterfaces',
      get: 'getPublicInterfaceById',
      getByName: 'getPublicInterface',
    },
    integrations: {
      create: 'createIntegration',
      validateCreation: 'validateIntegrationCreation',
      update: 'updateIntegration',
      validateUpdate: 'validateIntegrationUpdate',
      delete: 'deleteIntegration',
      list: 'listIntegrations',
      requestVerification: 'requestIntegrationVerification',
      rotateSigningSecrets: 'rotateIntegrationSigningSecrets',
      get: 'getIntegration',
      getByName: 'getIntegrationByName',
    },
    vrlScripts: { run: 'runVrl' },
    publicIntegrations: {
      list: 'listPublicIntegrations',
      getById: 'getPublicIntegrationById',
      get: 'getPublicIntegration',
    },
  },
  runtime: {
    actions: { call: 'callAction', listRuns: 'listActionRuns' },
    logs: { list: 'getBotLogs', listOfIntegration: 'getIntegrationLogs' },
    deliveries: { listOfBot: null },
    webhookRecordings: { set: null, list: null, get: null, replay: null },
    issues: {
      list: 'listBotIssues',
      get: 'getBotIssue',
      listEvents: 'listBotIssueEvents',
      delete: 'deleteBotIssue',
    },
  },
  tables: {
    create: 'createTable',
    get: 'getTable',
    getOrCreate: 'getOrCreateTable',
    list: 'listTables',
    update: 'updateTable',
    renameColumn: 'renameTableColumn',
    duplicate: 'duplicateTable',
    delete: 'deleteTable',
    rows: {
      get: 'getTableRow',
      find: 'findTableRows',
      create: 'createTableRows',
      update: 'updateTableRows',
      upsert: 'upsertTableRows',
      delete: 'deleteTableRows',
    },
    jobs: { export: 'exportTable', import: 'importTable', list: 'getTableJobs' },
  },
} as const satisfies ClientNames<Contracts>;

type Names = typeof clientNames;
type ClientName = keyof ClientOutputs;

/**
 * True for operations of the public client: excludes operator operations, operations between services, and downloads by
 * signed URL.
 */
type IsPublic<T> =
  T extends Operation<infer _I, infer O, infer A extends Access>
    ? A['actor'] extends 'operator' | 'service'
      ? false
      : O extends Text
        ? false
        : true
    : PublicKeys<T> extends never
      ? false
      : true;
type PublicKeys<C> = { [K in keyof C]: IsPublic<C[K]> extends true ? K : never }[keyof C];
type ClientNames<C> = { [K in PublicKeys<C>]: C[K] extends Operation ? ClientName | null : ClientNames<C[K]> };

/**
 * Input as the client sends it. A tag filter is not comparable: the client sends it as query text in two forms, and we
 * parse it into a third.
 */
type AsSent<I> = { [K in keyof I]: TagQuery extends I[K] ? unknown : I[K] };

/** `agree`, or the difference. */
type Replies<O, N> = N extends null
  ? 'agree'
  : N extends ClientName
    ? OutputOf<O> extends ClientOutputs[N]
      ? 'agree'
      : { reply: OutputOf<O>; isNo: ClientOutputs[N] }
    : { [K in keyof N & keyof O]: Replies<O[K], N[K]> };
type Requests<O, N> = N extends null
  ? 'agree'
  : N extends ClientName
    ? ClientInputs[N] extends AsSent<InputOf<O>>
      ? 'agree'
      : { request: ClientInputs[N]; isNo: AsSent<InputOf<O>> }
    : { [K in keyof N & keyof O]: Requests<O[K], N[K]> };
type AllAgree<N> = { [K in keyof N]: N[K] extends string | null ? 'agree' : AllAgree<N[K]> };

/** Operations of the endpoint, by the client's names. The client has no operation for the greeting. */
type Endpoint = Omit<typeof chatApi, 'hello' | 'helloWithSlash'>;
type EndpointReplies = {
  [K in keyof Endpoint]: OutputOf<Endpoint[K]> extends ClientResponses[K]
    ? 'agree'
    : { reply: OutputOf<Endpoint[K]>; isNo: ClientResponses[K] };
};
/** A client is created for one endpoint and does not send its webhook id. */
type EndpointRequests = {
  [K in keyof Endpoint]: ClientRequests[K] extends Omit<InputOf<Endpoint[K]>, 'webhookId'>
    ? 'agree'
    : { request: ClientRequests[K]; isNo: InputOf<Endpoint[K]> };
};

/** Compiles only when `Actual` is assignable to `Expected`. */
type Fits<_Expected, _Actual extends _Expected> = true;

// Checked by the compiler: the client can read every answer of ours, and we declare every field that it sends.
const agreement: [
  Fits<AllAgree<Names>, Replies<Contracts, Names>>,
  Fits<AllAgree<Names>, Requests<Contracts, Names>>,
  Fits<AllAgree<Record<keyof Endpoint, string>>, EndpointReplies>,
  Fits<AllAgree<Record<keyof Endpoint, string>>, EndpointRequests>,
  Fits<ClientErrorType, ErrorType>,
  Fits<ErrorType, ClientErrorType>,
] = [true, true, true, true, true, true];

function pairs(contract: Contract, names: object): [string, Operation, ClientName][] {
  return Object.entries(names).flatMap(([key, name]: [string, ClientName | object | null]) => {
    const entry = contract[key]!;
    if (name === null) return [];
    if (typeof name === 'object') return pairs(entry as Contract, name);
    return [[(entry as Operation).subject, entry as Operation, name]] as [string, Operation, ClientName][];
  });
}

describe('the contracts', () => {
  it('names every public operation for the client, in the compared types and at run time', () => {
    const publicOnes = allOperations.filter(
      ({ access, contentType, isOwn }) =>
        !contentType && !isOwn && !['operator', 'service', 'chat-user', 'chat-visitor'].includes(access.actor),
    );

    expect(agreement).not.toContain(false);
    expect(pairs(contracts, clientNames).map(([subject]) => subject)).toEqual(
      expect.arrayContaining(publicOnes.map(({ subject }) => subject)),
    );
    expect(pairs(contracts, clientNames)).toHaveLength(publicOnes.length);
  });

  it.each(pairs(contracts, clientNames))(
    'declares for %s the route that the client requests',
    async (_subject, { route }, name) => {
      const asked = await listen();
      const client = new Client({ apiUrl: asked.url, token: 'x', botId: 'b', workspaceId: 'w' });
      const call = client[name] as (input: object) => Promise<unknown>;

      const parameters = [...route!.matchAll(/\{(\w+)\}/g)].map(([, parameter]) => [parameter, 'a/b']);
      await call.call(client, Object.fromEntries(parameters) as object);
      await asked.stop();

      expect(asked.requests).toEqual([route!.replaceAll(/\{\w+\}/g, 'a%2Fb')]);
    },
  );
});

describe('the contracts of the chat API', () => {
  const { hello, helloWithSlash, ...operations } = chatApi;
  type Name = keyof typeof operations;

  it('names every operation of the chat API as its client does, except the stream', () => {
    const names = Object.keys(new ChatClient({ apiUrl: 'http://127.0.0.1:1' })).filter(
      (name) => !['props', '_connectionTested', '_auto', 'listenConversation'].includes(name) && !name.startsWith('_'),
    );

    expect(Object.keys(operations).sort()).toEqual(names.sort());
    expect([hello, helloWithSlash].map(({ route }) => route)).toEqual([
      'GET /chat/{webhookId}/hello',
      'GET /chat/{webhookId}/hello/',
    ]);
  });

  it.each(Object.entries(operations) as [Name, Operation][])(
    'declares for %s of the chat API the route that the client requests',
    async (name, { route }) => {
      const asked = await listen();
      const client = new ChatClient({ apiUrl: `${asked.url}/chat/a%2Fb` });
      const parameters = [...route!.matchAll(/\{(\w+)\}/g)].map(([, parameter]) => [parameter, 'a/b']);

      await client[name]({ 'x-user-key': 'x', ...Object.fromEntries(parameters) } as never);
      await asked.stop();

      expect(asked.requests).toEqual(['GET /chat/a%2Fb/hello/', route!.replaceAll(/\{\w+\}/g, 'a%2Fb')]);
    },
  );
});

async function listen(): Promise<{ url: string; requests: string[]; stop(): Promise<void> }> {
  const requests: string[] = [];
  const server = createServer(({ method, url }, response) => {
    requests.push(`${method} ${url?.split('?')[0]}`);
    response.setHeader('connection', 'close').setHeader('content-type', 'application/json').end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    stop: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
