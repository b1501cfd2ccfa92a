import { randomBytes } from 'node:crypto';
import { allOperations } from '@parley/contracts/contracts';
import type { Operation } from '@parley/contracts/operation';
import { type Account, type Answer, sendTo } from '@parley/testing/front-door';
import type { Tenant } from './tenant';

/** What a request has besides its route and its credential. */
export interface Request {
  path?: Record<string, string>;
  query?: Record<string, string | string[]>;
  /** `null` leaves out a header that it would have otherwise. */
  headers?: Record<string, string | null>;
  body?: unknown;
  /** In place of the body: sent as JSON whether it is some or not. */
  text?: string;
  /** Who asks, where it is not the tenant. */
  as?: Account;
}

const fresh = () => randomBytes(6).toString('hex');

/**
 * For each operation a request that succeeds for the tenant, with ids of what is the tenant's and new names for the rest.
 * What it uses up is made for it. An operation that has none here is named by the tests that try every operation.
 */
const requests: Record<string, (tenant: Tenant) => Request | Promise<Request>> = {
  'admin.accounts.create': () => ({ body: { email: `${fresh()}@example.com` } }),
  'admin.accounts.createToken': ({ account: { email } }) => ({ body: { email } }),
  'admin.botApiKeys.create': ({ botId }) => ({ body: { botId } }),
  'admin.botApiKeys.delete': async ({ client, botId }) => ({
    path: { id: (await client.createBotApiKey({ botId })).id },
  }),
  'admin.botApiKeys.list': ({ botId }) => ({ query: { botId } }),
  'admin.bots.create': () => ({ body: { name: fresh() } }),
  'admin.bots.delete': async (tenant) => ({ path: { id: await tenant.newBot() } }),
  'admin.bots.get': ({ botId }) => ({ path: { id: botId } }),
  'admin.bots.list': () => ({}),
  'admin.deadLetters.list': () => ({}),
  'admin.deadLetters.replay': () => ({}),
  'admin.personalAccessTokens.create': () => ({ body: { note: fresh() } }),
  'admin.personalAccessTokens.delete': async ({ client, tag }) => ({
    path: { id: (await client.createPersonalAccessToken({ note: tag })).pat.id },
  }),
  'admin.personalAccessTokens.list': () => ({}),
  'admin.workspaces.create': () => ({ body: { name: fresh() } }),
  'admin.workspaces.get': ({ account }) => ({ path: { id: account.workspaceId } }),
  'admin.workspaces.list': () => ({}),
  'admin.workspaces.update': ({ account }) => ({ path: { id: account.workspaceId }, body: { about: fresh() } }),
  'files.countLeftovers': ({ botId }) => ({ path: { botId } }),
  'files.deadLetters.list': () => ({}),
  'files.deadLetters.replay': () => ({}),
  'files.delete': async (tenant) => ({ path: { id: await tenant.newFile() } }),
  'files.get': ({ fileId }) => ({ path: { id: fileId } }),
  'files.list': () => ({}),
  'files.listPassages': ({ fileId }) => ({ path: { id: fileId } }),
  'files.update': ({ fileId }) => ({ path: { id: fileId }, body: { tags: { changed: fresh() } } }),
  'files.upsert': () => ({ body: { key: fresh(), size: 1 } }),
  'hub.deadLetters.list': () => ({}),
  'hub.deadLetters.replay': () => ({}),
};

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
export function senderOf({ access }: Operation, { account, botId, home }: Tenant): Sender {
  return {
    token: access.actor === 'operator' ? home.operatorToken : account.token,
    botId,
    workspaceId: account.workspaceId,
  };
}

/** Asks as the sender, with the context headers that the operation reads. */
export function ask(url: string, operation: Operation, sender: Sender, request: Request): Promise<Answer> {
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
function lineOf({ route }: Operation, { path = {}, query = {} }: Request): string {
  const line = route!.replaceAll(/\{(\w+)\}/g, (_match, name: string) => encodeSegment(path[name]!));
  const pairs = Object.entries(query).flatMap(([name, values]) => [values].flat().map((value) => [name, value]));
  return pairs.length > 0 ? `${line}?${new URLSearchParams(pairs as [string, string][]).toString()}` : line;
}

/** Half a surrogate pair as the bytes that it would be, and a lone percent sign as it is. */
function encodeSegment(text: string): string {
  if (/^%(zz)?$/.test(text)) return text;
  return text.replaceAll(/[^]/gu, (character) =>
    /\p{Surrogate}/u.test(character) ? '%ED%A0%80' : encodeURIComponent(character),
  );
}
