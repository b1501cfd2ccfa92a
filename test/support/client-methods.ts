import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Client as ChatClient } from '@botpress/chat';
import { Client } from '@botpress/client';

type Ask = (input: object) => Promise<unknown>;

/** Method names of the public client by route: `GET /v1/files/{}` is `getFile`. */
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

export function call(props: ConstructorParameters<typeof Client>[0], method: string, input: object): Promise<unknown> {
  return (new Client(props) as unknown as Record<string, Ask>)[method]!(input);
}

/** Calls the public chat client. `apiUrl` is the chat endpoint of one bot. */
export function callChat(apiUrl: string, method: string, input: object): Promise<unknown> {
  return (new ChatClient({ apiUrl }) as unknown as Record<string, Ask>)[method]!(input);
}

/** Route without parameter names: `/v1/files/{}`. */
export function anonymous(route: string): string {
  return route.replaceAll(/\{\w*\}/g, '{}');
}

/** Input in which the value of every parameter is its name in braces. */
const everyParameter = new Proxy({}, { get: (_target, name) => (typeof name === 'string' ? `{${name}}` : undefined) });
