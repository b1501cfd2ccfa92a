import { isDeepStrictEqual } from 'node:util';
import type { Operation } from '@parley/contracts/operation';
import type { TestResponse, PublicApi } from '@parley/testing/public-api';
import { brokenPromises } from '../support/answers';
import { publicThings } from '../support/public-things';
import {
  ask,
  disagreements,
  type Request,
  requestOf,
  routedOperations,
  type Sender,
  senderOf,
} from '../support/requests';
import { storedRows } from './stored-rows';
import { newName, type Possessions, Tenant } from '../support/tenant';
import { startAllServices } from '../support/all-services';

// Tenant isolation: for each operation of the contracts, a request of one tenant with the ids of another.

/** Operations whose request carries its own credential: a complete request is served, an incomplete one is refused. */
const credentials = [
  'admin.botVersions.download',
  'admin.consoleSessions.create',
  'admin.webchats.show',
  'chat.endpoint.createUser',
  'chat.endpoint.deleteUser',
  'chat.endpoint.hello',
  'chat.endpoint.helloWithSlash',
];

let api: PublicApi;
let alice: Tenant;
let mallory: Tenant;

beforeAll(async () => {
  api = await startAllServices();
  [alice, mallory] = await Promise.all([Tenant.create(api), Tenant.create(api)]);
});

// Some operations delete the account that calls them.
beforeEach(async () => {
  if (!(await mallory.isWhole())) mallory = await Tenant.create(api);
});

afterAll(() => api?.stop());

/** Status for the object of the caller, and for that of another. */
type Answers = [own: number, foreign: number];

interface Holdings {
  rows: string[];
  /** Names, ids and tokens that only Alice knows. */
  marks: string[];
}

/**
 * Stored rows of all services that mention Alice, without ids that rows of Mallory mention too, such as public
 * integrations.
 */
async function holdings(): Promise<Holdings> {
  const rows = (await storedRows(api.sql)).filter((row) => !isRunOfAnother(row));
  const shared = new Set(idsIn(mentioning(rows, mallory.names)));
  const idsOf = (marks: string[]) => idsIn(mentioning(rows, marks)).filter((id) => !shared.has(id));
  // Two steps: a row mentions its owner, or something that mentions its owner.
  const marks = [...new Set([...alice.names, ...idsOf([...alice.names, ...idsOf(alice.names)])])];
  return { rows: mentioning(rows, marks), marks };
}

/** By marks, whether a row has one of them: hardly any row changes from one operation to the next. */
const knownMentions = new Map<string, Map<string, boolean>>();
const maxKnown = 8;

function mentioning(rows: string[], marks: string[]): string[] {
  const key = marks.join();
  const former = knownMentions.get(key);
  const found = new Map(
    rows.map((row) => [row, former?.get(row) ?? marks.some((mark) => row.includes(mark))] as const),
  );
  knownMentions.delete(key);
  knownMentions.set(key, found);
  if (knownMentions.size > maxKnown) knownMentions.delete([...knownMentions.keys()][0]!);
  return rows.filter((row) => found.get(row));
}

/** A run of an action keeps the input of its caller, also ids of another tenant that gave no access. */
function isRunOfAnother(row: string): boolean {
  return row.startsWith('runtime.action_run (') && !row.startsWith(`runtime.action_run (${alice.has.botId},`);
}

function idsIn(rows: string[]): string[] {
  return rows.flatMap(
    (row) => row.match(/\b[a-z]+_[0-9A-HJKMNP-TV-Z]{26}\b|\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g) ?? [],
  );
}

interface Intrusion {
  name: string;
  sender: Sender;
  request: Request;
}

async function intrusions(operation: Operation, request: Request, own: Request, marks: string[]): Promise<Intrusion[]> {
  const { actor, credentials: kinds } = operation.access;
  const takesContext = actor === 'workspace' || actor === 'bot';
  const headersOf = ({ account: { workspaceId }, has: { botId, userKey } }: Tenant) => ({
    workspaceId,
    botId,
    userKey,
  });
  const tokens = [
    { kind: 'a personal token', token: mallory.account.token },
    ...(kinds.includes('bak') ? [{ kind: 'a bot key', token: mallory.has.botKey }] : []),
    ...(kinds.includes('iak') ? [{ kind: 'an integration key', token: mallory.has.integrationKey }] : []),
  ];
  const mixed = [...mixtures(own, request, marks), ...(await throughPublicRoutes(request))];
  const isCredential = credentials.includes(operation.subject);
  const partial = mixed.filter((mixture) => !isCredential || !isDeepStrictEqual(mixture.request, request));
  return [
    ...(isCredential ? [] : tokens).flatMap(({ kind, token }) => [
      { name: `${kind}, own headers`, sender: { token, ...headersOf(mallory) }, request },
      ...(takesContext ? [{ name: `${kind}, her headers`, sender: { token, ...headersOf(alice) }, request }] : []),
    ]),
    ...partial.map((mixture) => ({
      name: `own request with ${mixture.changed} of hers`,
      sender: { token: mallory.account.token, ...headersOf(mallory) },
      request: mixture.request,
    })),
  ];
}

/** A request for a public resource, with a private resource of Alice in its place. */
async function throughPublicRoutes(request: Request): Promise<Mixture[]> {
  const things = await publicThings(api);
  const hers: [string, string][] = [
    [things.workspaceId, alice.account.workspaceId],
    [things.interface.id, alice.has.interfaceId],
    [things.interface.name, `${alice.tag}-drawer`],
    [things.integration.id, alice.has.integrationId],
    [things.integration.name, `${alice.tag}-kettle`],
    [things.plugin.id, alice.has.pluginId],
    [things.plugin.name, `${alice.tag}-helper`],
  ];
  return hers.flatMap(([open, hidden]) => replaced(request, open, hidden));
}

interface Mixture {
  changed: string;
  request: Request;
}

/** Requests of Mallory for own resources, each with one value replaced by that of Alice. */
function mixtures(own: Request, hers: Request, marks: string[]): Mixture[] {
  const values = textsIn(hers);
  return textsIn(own).flatMap((text, index) => {
    const value = values[index];
    return value && value !== text && marks.some((mark) => value.includes(mark)) ? replaced(own, text, value) : [];
  });
}

/** Replaces a string in the request. Empty when the request does not contain it. */
function replaced(request: Request, text: string, other: string): Mixture[] {
  const before = JSON.stringify(request);
  const after = before.replaceAll(JSON.stringify(text), JSON.stringify(other));
  return after === before ? [] : [{ changed: other, request: JSON.parse(after) as Request }];
}

/** All strings of a request, including field names. The order depends on the shape of the request only. */
function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, entry]) => [name, ...textsIn(entry)]);
}

/** Whether the answer is the same refusal as for a resource that does not exist. */
function isRefusal({ status, json }: TestResponse): boolean {
  return status === 401 || status === 403 || status === 404 || (status === 400 && json?.type === 'ReferenceNotFound');
}

/** Whether values of Alice are only in the query of a list, which finds nothing for foreign and for unknown values. */
function isFilter({ sender, request }: Pick<Intrusion, 'sender' | 'request'>, marks: string[]): boolean {
  const others = JSON.stringify({ sender, request: { ...request, query: undefined, as: undefined } });
  return !marks.some((mark) => others.includes(mark));
}

function findsNothing({ status, json }: TestResponse): boolean {
  const lists = Object.values((json ?? {}) as object).filter(Array.isArray);
  return status === 200 && lists.length > 0 && lists.every(({ length }) => length === 0);
}

/** Values of Alice in the answer that the request itself did not contain. */
function leaks({ text, headers }: TestResponse, sent: string, marks: string[]): string[] {
  const answered = `${JSON.stringify(headers)}${text}`;
  return marks.filter((mark) => answered.includes(mark) && !sent.includes(mark));
}

it('holds a request for every operation, and no exception without one', () => {
  const subjects = routedOperations.map(({ subject }) => subject);

  expect(disagreements()).toEqual([]);
  expect(credentials.filter((subject) => !subjects.includes(subject))).toEqual([]);
});

describe('another tenant', () => {
  it.each(routedOperations.map((operation) => [operation.subject, operation] as const))(
    'refuses another tenant in %s without a trace, and serves its owner as declared',
    async (_subject, operation) => {
      const request = await requestOf(operation, alice);
      const own = await requestOf(operation, mallory);
      const before = await holdings();
      const tried = await intrusions(operation, request, own, before.marks);

      const wrong: unknown[] = [];
      for (const { name, ...intrusion } of tried) {
        const sent = JSON.stringify(intrusion);
        const answer = await ask(api.url, operation, intrusion.sender, intrusion.request);
        const mustRefuse = before.marks.some((mark) => sent.includes(mark));
        const leaked = leaks(answer, sent, before.marks);
        const isRight = isRefusal(answer) || (isFilter(intrusion, before.marks) && findsNothing(answer));
        if ((mustRefuse && !isRight) || leaked.length > 0)
          wrong.push({ name, sent, leaked, answer: `${answer.status} ${answer.text}` });
      }
      const after = await holdings();
      const served = await ask(api.url, operation, request.as ?? senderOf(operation, alice), request);

      expect(wrong).toEqual([]);
      expect(after.rows).toEqual(before.rows);
      expect(`${served.status} ${served.text}`).toMatch(new RegExp(`^${operation.status} `));
      expect(brokenPromises(operation, served)).toEqual([]);
    },
  );

  it.each([
    ['x-user-id', () => alice.has.userId],
    ['x-integration-id', () => alice.has.integrationId],
    ['x-workspace-id', () => alice.account.workspaceId],
    ['x-bot-id', () => alice.has.botId],
  ])('refuses a foreign id in %s with the same message as an unknown id', async (header, idOf) => {
    const naming = (id: string) =>
      api.send('GET /v1/chat/users', {
        headers: { authorization: `Bearer ${mallory.account.token}`, 'x-bot-id': mallory.has.botId, [header]: id },
      });
    const absent = idOf().replace(/.$/, (last) => (last === '0' ? '1' : '0'));

    const [foreign, nothing] = await Promise.all([naming(idOf()), naming(absent)]);

    expect(foreign).toMatchObject({ status: 403, json: { type: 'Forbidden' } });
    expect(foreign.json.message).toBe((nothing.json.message as string).replaceAll(absent, idOf()));
  });

  it.each<[string, (has: Possessions) => string, bot: Answers, integration: Answers]>([
    ['getBot', ({ botId }) => `/v1/admin/bots/${botId}`, [200, 403], [403, 403]],
    ['getIntegration', ({ integrationId }) => `/v1/admin/integrations/${integrationId}`, [403, 403], [200, 404]],
    ['getUser', ({ userId }) => `/v1/chat/users/${userId}`, [200, 404], [404, 404]],
    ['getFile', ({ fileId }) => `/v1/files/${fileId}`, [200, 404], [404, 404]],
    ['getTable', ({ tableId }) => `/v1/tables/${tableId}`, [200, 404], [200, 404]],
    [
      'getBotLogs',
      ({ botId }) => `/v1/admin/bots/${botId}/logs?timeStart=2040-01-01T00:00:00Z`,
      [403, 403],
      [403, 403],
    ],
    ['listBotVersions', ({ botId }) => `/v1/admin/bots/${botId}/versions`, [403, 403], [403, 403]],
  ])('answers %s by keys as docs/api.md has it, alike for foreign and absent ids', async (_, pathOf, ...expected) => {
    const { botKey, integrationKey, botId } = mallory.has;
    const absent = Object.fromEntries(
      Object.entries(alice.has).map(([name, id]) => [
        name,
        String(id).replace(/.$/, (last) => (last === '0' ? '1' : '0')),
      ]),
    ) as unknown as Possessions;

    for (const [index, key] of [botKey, integrationKey].entries()) {
      const read = (has: Possessions) =>
        api.send(`GET ${pathOf(has)}`, { headers: { authorization: `Bearer ${key}`, 'x-bot-id': botId } });
      const [own, foreign, nothing] = [await read(mallory.has), await read(alice.has), await read(absent)];
      const words = ({ json }: TestResponse) => String(json.message).replace(/"[^"]+"/, '');
      expect([own.status, foreign.status]).toEqual(expected[index]);
      expect([nothing.status, nothing.json.type, words(nothing)]).toEqual([
        foreign.status,
        foreign.json.type,
        words(foreign),
      ]);
    }
  });

  it('refuses to read or replace foreign content, also with the signature of an own URL', async () => {
    const [hers, own] = await Promise.all(
      [alice, mallory].map(async ({ asBot, tag }) => {
        const { id } = (await asBot.uploadFile({ key: newName(), content: tag })).file;
        const { uploadUrl } = (await asBot.upsertFile({ key: newName(), size: 3 })).file;
        return { id, url: (await asBot.getFile({ id })).file.url, uploadUrl: uploadUrl };
      }),
    );
    const { origin } = new URL(hers!.url);
    const toHers = (url: string) => url.replace(/file_[^/?]+/, hers!.id);
    const ask = async (url: string, method = 'GET') =>
      (await fetch(url, { method, body: method === 'PUT' ? 'new' : undefined })).status;

    expect(await ask(`${origin}/content/${hers!.id}`)).toBe(403);
    expect(await ask(toHers(own!.url))).toBe(403);
    expect(await ask(toHers(own!.uploadUrl), 'PUT')).toBe(403);
    expect(await ask(hers!.url, 'PUT')).toBe(403);
    expect(await (await fetch(hers!.url)).text()).toBe(alice.tag);
  });
});
