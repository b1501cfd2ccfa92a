import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingHttpHeaders, request } from 'node:http';
import type { DynamicModule } from '@nestjs/common';
import type { Client } from '@botpress/client';
import { Outbox } from '@parley/events/outbox';
import { Database } from '@parley/persistence/database';
import { newId } from '@parley/persistence/ids';
import type { Role } from '@parley/contracts/caller';
import type { Event } from '@parley/contracts/operation';
import { newToken, operatorToken } from '@parley/secrets/token';
import { ProcessConfig, ServiceConfig } from '@parley/service/config';
import type { Platform } from '@parley/service/platform';
import { Pool } from 'pg';
import { clientOf } from './api';
import { type RunningService, startService } from './running-service';

/** Settings of the admin service, declared here because this library may not import its config class. */
export interface AdminSettings extends ServiceConfig {
  secretKey: string;
  formerSecretKeys?: string[];
  bootstrapToken: string;
  bootstrapEmail: string;
  publicUrl: string;
  quotaInvocationTimeoutMs: number;
  quotaInvocationCalls: number;
  quotaStorageBytes: number;
  recurringMinSeconds: number;
  eventRetentionDays: number;
  strictDeploy: 'true' | 'false';
}

export interface GatewaySettings extends ProcessConfig {
  listenPingMs: number;
  programPingMs: number;
  listenMaxUnsentBytes: number;
  listenMaxStreams: number;
  rateLimitPerSecond: number;
  rateLimitBurst: number;
  gatewayMaxInFlight: number;
}

interface AppModule<Config> {
  register(config: Config, platform: Platform): DynamicModule;
}

export interface Account {
  accountId: string;
  email: string;
  token: string;
  workspaceId: string;
  client: Client;
}

/** Public API under test: gateway, admin and further apps in this process, with an operator who creates accounts. */
export interface PublicApi extends RunningService {
  settings: AdminSettings;
  operatorToken: string;
  newAccount(): Promise<Account>;
  addMember(workspaceId: string, accountId: string, role: Role): Promise<void>;
  client(token: string, workspaceId?: string, botId?: string): Client;
  send(line: string, options?: SendOptions): Promise<TestResponse>;
  sql<T = Record<string, unknown>>(text: string, values?: unknown[]): Promise<T[]>;
  /** Publishes an event at once. A row that a test inserts into an outbox is found after five seconds. */
  publish<D>(event: Event<D>, data: D): Promise<void>;
}

/** App with the settings of admin, further defaults of its own config class, and these changes. */
export function configured<Config extends ProcessConfig>(
  app: AppModule<Config>,
  config: new () => Config,
  changes: Partial<Config> = {},
): AppModule<AdminSettings> {
  return { register: (settings, platform) => app.register(Object.assign(new config(), settings, changes), platform) };
}

/** @param others apps that the tested operations need besides admin. They receive its settings. */
export async function startPublicApi(
  gateway: AppModule<GatewaySettings>,
  admin: AppModule<AdminSettings>,
  ...others: AppModule<AdminSettings>[]
): Promise<PublicApi> {
  // The apps share the event loop of the tests, which block it as they like on a slow machine.
  const maxLoopDelayMs = 60_000;
  const settings: AdminSettings = Object.assign(new ServiceConfig(), {
    maxLoopDelayMs,
    secretKey: randomBytes(32).toString('hex'),
    bootstrapToken: newToken('pat'),
    bootstrapEmail: 'admin@parley.local',
    publicUrl: 'http://parley.test',
    quotaInvocationTimeoutMs: 60_000,
    quotaInvocationCalls: 100_000_000,
    quotaStorageBytes: 1_000_000_000_000,
    recurringMinSeconds: 60,
    eventRetentionDays: 90,
    strictDeploy: 'false' as const,
  });
  const gatewaySettings: GatewaySettings = Object.assign(new ProcessConfig(), {
    maxLoopDelayMs,
    listenPingMs: 30_000,
    programPingMs: 4_000,
    listenMaxUnsentBytes: 1_000_000,
    listenMaxStreams: 1_000,
    rateLimitPerSecond: 0,
    rateLimitBurst: 1,
    gatewayMaxInFlight: 2_000,
  });
  const service = await startService(
    (_databaseUrl, platform) => gateway.register(gatewaySettings, platform),
    ...[admin, ...others].map(
      (app) => (databaseUrl: string, platform: Platform) =>
        app.register(Object.assign(settings, { databaseUrl }), platform),
    ),
  );
  // Kept while it is idle: it may have an open transaction.
  const postgres = new Pool({ connectionString: service.databaseUrl, max: 1, idleTimeoutMillis: 0 });
  const operator = operatorToken(settings.secretKey);
  const send = (line: string, options?: SendOptions) => sendTo(service.url, line, options);
  const client = (token: string, workspaceId?: string, botId?: string) =>
    clientOf({ url: service.url, token, workspaceId: workspaceId! }, botId);
  const sql = async <T>(text: string, values: unknown[] = []) => (await postgres.query(text, values)).rows as T[];

  return {
    ...service,
    settings,
    operatorToken: operator,
    client,
    send,
    sql,
    publish: async (event, data) => {
      const [, adminApp] = service.apps;
      const outbox = adminApp!.get(Outbox, { strict: false });
      await adminApp!.get(Database, { strict: false }).transaction((tx) => outbox.add(tx, event, data));
    },
    newAccount: () => newAccount(service.url, operator),
    addMember: async (workspaceId, accountId, role) => {
      await sql('INSERT INTO admin.workspace_member (id, workspace_id, account_id, role) VALUES ($1, $2, $3, $4)', [
        newId('member'),
        workspaceId,
        accountId,
        role,
      ]);
    },
    stop: async () => {
      // A test of the stop stops it itself.
      if (!postgres.ending) await closePool(postgres);
      await service.stop();
    },
  };
}

/** Unlike `end` alone, waits until the connection is closed: dropping the database would break it. */
async function closePool(pool: Pool): Promise<void> {
  const closed = pool.totalCount > 0 ? once(pool, 'remove') : undefined;
  await pool.end();
  await closed;
}

export async function newAccount(url: string, operator: string): Promise<Account> {
  const email = `${randomBytes(6).toString('hex')}@example.com`;
  const headers = { authorization: `Bearer ${operator}` };
  const { id, workspaceId } = (await sendTo(url, 'POST /operator/accounts', { headers, json: { email } })).json;
  const { value: token } = (await sendTo(url, 'POST /operator/tokens', { headers, json: { email } })).json;
  return { accountId: id, email, workspaceId, token, client: clientOf({ url, token, workspaceId }) };
}

/** Single-use code that signs the account in to the console. */
export async function consoleCode(home: { url: string; operatorToken: string }, account: { email: string }) {
  const { json } = await sendTo(home.url, 'POST /operator/console/links', {
    headers: { authorization: `Bearer ${home.operatorToken}` },
    json: { email: account.email },
  });
  return new URL((json as { url: string }).url).hash.replace('#code=', '');
}

export interface SendOptions {
  headers?: Record<string, string>;
  /** Sent as JSON, with its content type. */
  json?: unknown;
  body?: string | Buffer;
}

export interface TestResponse {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
  /** Parsed body. Undefined when it is not JSON. */
  json: ReturnType<typeof JSON.parse>;
}

/** Sends one request with an unnormalized path, which `fetch` would correct: `sendTo(url, 'GET /%zz')`. */
export function sendTo(
  url: string,
  line: string,
  { headers = {}, json, body }: SendOptions = {},
): Promise<TestResponse> {
  const [method, path] = line.split(' ') as [string, string];
  const { hostname, port } = new URL(url);
  const content = json === undefined ? body : JSON.stringify(json);
  const own: Record<string, string> = json === undefined ? {} : { 'content-type': 'application/json' };
  if (content !== undefined && !headers['transfer-encoding'])
    own['content-length'] = String(Buffer.byteLength(content));
  return new Promise((resolve, reject) => {
    const outgoing = request({ hostname, port, method, path, headers: { ...own, ...headers } }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString();
        resolve({ status: response.statusCode!, headers: response.headers, text, json: parse(text) });
      });
    });
    outgoing.on('error', reject);
    outgoing.end(content);
  });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
