import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Client as ChatClient } from '@botpress/chat';
import { Client } from '@botpress/client';

type Ask = (input: object) => Promise<unknown>;

/** Names of the public client's operations, by the route that each asks for: `GET /v1/files/{}` is `getFile`. */
export async function clientMethods(): Promise<Map<string, string>> {
  const asked: string[] = [];
  const server = createServer(({ method, url }, response) => {
    const [path] = decodeURIComponent(url!).split('?');
    asked.push(anonymous(`${method} ${path}`));
    response.setHeader('content-type', 'application/json').end('{}');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const client = new Client({ apiUrl: `http://127.0.0.1:${port}`, token: 'x', botId: 'x', workspaceId: 'x' });

  const methods = new Map<string, string>();
  for (const [name, method] of Object.entries(client) as [string, unknown][]) {
    if (typeof method !== 'function' || name === 'axiosInstance') continue;
    asked.length = 0;
    await (method as Ask)(everyParameter).catch(() => undefined);
    if (asked.length === 1 && !methods.has(asked[0]!)) methods.set(asked[0]!, name);
  }
  server.closeAllConnections();
  server.close();
  return methods;
}

/** Asks a new client for one of its operations. */
export function call(props: ConstructorParameters<typeof Client>[0], method: string, input: object): Promise<unknown> {
  return (new Client(props) as unknown as Record<string, Ask>)[method]!(input);
}

/** The same of the public client of the chat, which is made for the endpoint of one bot. */
export function callChat(apiUrl: string, method: string, input: object): Promise<unknown> {
  return (new ChatClient({ apiUrl }) as unknown as Record<string, Ask>)[method]!(input);
}

/** A route without the names of its parameters. */
export function anonymous(route: string): string {
  return route.replaceAll(/\{\w*\}/g, '{}');
}

/** An input whose every parameter is its own name in braces. */
const everyParameter = new Proxy({}, { get: (_target, name) => (typeof name === 'string' ? `{${name}}` : undefined) });
