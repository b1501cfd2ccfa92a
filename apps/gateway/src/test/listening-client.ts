import { type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { WebSocket } from 'ws';

export const kinds = ['server-sent events', 'WebSocket'] as const;
export type Kind = (typeof kinds)[number];

export interface ListenOptions {
  key?: string;
  conversation?: string;
  path?: string;
  /** Number of the last received signal, in the header or the query. */
  after?: { header?: number; query?: number };
  headers?: Record<string, string>;
}

export interface Client {
  status: number;
  headers: IncomingHttpHeaders;
  json?: { code: number; type: string; message: string; id: string };
  received: string[];
  events: Record<string, string>[];
  isClosed: boolean;
  closeCode?: number;
  pause(): void;
  destroy(): void;
}

export function listen(kind: Kind, url: string, options: ListenOptions = {}): Promise<Client> {
  return kind === 'WebSocket' ? byWebSocket(url, options) : byEvents(url, options);
}

function pathOf({ conversation = 'conv_1', path, after }: ListenOptions): string {
  const query = after?.query === undefined ? '' : `?lastEventId=${after.query}`;
  return path ?? `/chat/hook/conversations/${conversation}/listen${query}`;
}

function headersOf({ key, after, headers }: ListenOptions): Record<string, string> {
  return {
    ...(key === undefined ? {} : { 'x-user-key': key }),
    ...(after?.header === undefined ? {} : { 'last-event-id': String(after.header) }),
    ...headers,
  };
}

function byEvents(url: string, options: ListenOptions): Promise<Client> {
  const { hostname, port } = new URL(url);
  const headers = { accept: 'text/event-stream', ...headersOf({ key: 'alice', ...options }) };
  return new Promise((resolve, reject) => {
    const outgoing = request({ hostname, port, path: pathOf(options), headers, agent: false });
    outgoing.on('error', reject);
    outgoing.on('response', (response) => {
      response.setEncoding('utf8');
      const client = clientOf(response, response);
      if (response.statusCode === 200) {
        let rest = '';
        response.on('data', (chunk: string) => {
          const events = (rest + chunk).split('\n\n');
          rest = events.pop()!;
          events.forEach((event) => readEvent(client, event));
        });
        response.on('close', () => (client.isClosed = true));
        response.on('error', () => undefined);
        resolve(client);
      } else {
        void refusal(client, response).then(resolve, reject);
      }
    });
    outgoing.end();
  });
}

function readEvent(client: Client, event: string): void {
  const fields: Record<string, string> = {};
  for (const [, name, value] of event.matchAll(/^(\w+): ([^\n]*)$/gm)) fields[name!] = value!;
  client.events.push(fields);
  client.received.push(fields['data']!);
}

/** Sends the key in the query, as browsers do, where WebSockets cannot set headers. */
function byWebSocket(url: string, { key = 'alice', ...options }: ListenOptions): Promise<Client> {
  const address = new URL(`${url.replace('http', 'ws')}${pathOf(options)}`);
  if (key !== '') address.searchParams.set('x-user-key', key);
  const socket = new WebSocket(address, { headers: headersOf(options) });
  return new Promise((resolve, reject) => {
    let client: Client | undefined;
    socket.on('upgrade', (response) => {
      client = clientOf(response, { pause: () => socket.pause(), destroy: () => socket.terminate() });
    });
    socket.on('open', () => {
      socket.on('message', (data: Buffer) => {
        client!.received.push(data.toString());
      });
      resolve(client!);
    });
    socket.on('close', (code) => client && Object.assign(client, { isClosed: true, closeCode: code }));
    socket.on('error', (error) => (client ? undefined : reject(error)));
    socket.on('unexpected-response', (_request, response) => {
      void refusal(clientOf(response, response), response).then(resolve, reject);
    });
  });
}

async function refusal(client: Client, response: IncomingMessage): Promise<Client> {
  return Object.assign(client, { json: JSON.parse(await text(response)) as Client['json'] });
}

function clientOf(
  { statusCode, headers }: IncomingMessage,
  connection: { pause(): unknown; destroy(): unknown },
): Client {
  return {
    status: statusCode!,
    headers,
    received: [],
    events: [],
    isClosed: false,
    pause: () => void connection.pause(),
    destroy: () => void connection.destroy(),
  };
}
