import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { fakeClock, realClock } from '@parley/testing/fake-clock';
import { freePort } from '@parley/testing/free-port';
import { LoopbackServer, json } from '@parley/testing/loopback-server';
import { waitFor } from '@parley/testing/wait-for';
import { AddressRefused, RequestFailed, RequestTimedOut, RequestTooLarge, ResponseTooLarge } from './egress-errors';
import { EgressClient, type EgressOptions, type EgressRequest } from './egress.client';

const request: EgressRequest = { headers: { 'content-type': 'application/json' }, body: '{}', timeoutMs: 20_000 };
const shortTimeoutMs = 200;
const okResponse = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';
const megabyte = Buffer.alloc(1_000_000, 'x');

const opened: { close(): Promise<unknown> }[] = [];
afterEach(async () => {
  realClock();
  for (const each of opened.splice(0).reverse()) await each.close();
});

function clientOf(options: Partial<EgressOptions> = {}): EgressClient {
  const client = new EgressClient({ allowPrivate: true, ...options });
  opened.push(client);
  return client;
}

/** Client whose resolver gives these answers, the last one for ever. */
function clientWithAnswers(answers: string[][], allowPrivate = true) {
  const questions: string[] = [];
  const client = clientOf({
    allowPrivate,
    resolve: async (hostname) => {
      questions.push(hostname);
      const answer = answers[Math.min(questions.length, answers.length) - 1]!;
      return answer.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
    },
  });
  return { client, questions };
}

/** TCP server on a loopback address. `answer` runs for each request, with its number and that of its connection. */
class RawServer {
  readonly sockets: Socket[] = [];
  /** Number of the connection of each request. */
  readonly requests: number[] = [];
  private readonly server: Server;

  constructor(answer: (socket: Socket, request: number, connection: number) => void) {
    this.server = createServer((socket) => {
      const connection = this.sockets.push(socket);
      let received = '';
      socket.on('error', () => undefined);
      socket.on('data', (chunk) => {
        received += chunk.toString('latin1');
        // All requests of these tests have the body "{}".
        if (!received.endsWith('\r\n\r\n{}')) return;
        received = '';
        answer(socket, this.requests.push(connection), connection);
      });
    });
    opened.push(this);
  }

  async listen(host = '127.0.0.1', port = 0): Promise<this> {
    this.server.listen(port, host);
    await once(this.server, 'listening');
    return this;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/`;
  }

  async close(): Promise<void> {
    this.sockets.forEach((socket) => socket.destroy());
    this.server.close();
    await once(this.server, 'close');
  }
}

const rawServer = (answer: ConstructorParameters<typeof RawServer>[0]) => new RawServer(answer).listen();

/** Completes a request whose connection then is free for the next one, after a turn of the event loop. */
async function leaveIdleConnection(client: EgressClient, url: string): Promise<void> {
  await client.post(url, request);
  await nextTurn();
}

/** Writes for ever, as fast as the client reads. */
function flood(socket: Socket, chunk: Buffer | string): void {
  const write = () => {
    while (!socket.destroyed && socket.write(chunk));
  };
  socket.on('drain', write);
  write();
}

async function closed(socket: Socket): Promise<void> {
  await waitFor(() => socket.destroyed);
}

/** Advances the fake clock to the end of the time limit: the request runs until then, and not longer. */
async function endsAtTimeLimit(response: Promise<unknown>): Promise<void> {
  const onError = jest.fn();
  response.catch(onError);
  jest.advanceTimersByTime(shortTimeoutMs - 1);
  await nextTurn();
  expect(onError).not.toHaveBeenCalled();

  jest.advanceTimersByTime(1);
  await expect(response).rejects.toThrow(RequestTimedOut);
}

it('offers HTTP/1.1 only, so that a connection carries one request at a time', async () => {
  let hello = '';
  const server = createServer((socket) =>
    socket.once('data', (chunk) => {
      hello = chunk.toString('latin1');
      socket.destroy();
    }),
  ).listen(0, '127.0.0.1');
  opened.push({ close: async () => server.close() });
  await once(server, 'listening');

  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  await expect(clientOf().post(url, request)).rejects.toThrow(RequestFailed);

  expect(hello).toContain('\x08http/1.1');
  expect(hello).not.toContain('\x02h2');
});

describe('a request', () => {
  it('sends headers and body of a request and returns status, headers and body', async () => {
    const server = await LoopbackServer.start(json({ fine: true }, 201, { 'x-answer': 'yes' }));
    opened.push(server);

    const response = await clientOf().post(`${server.url}/hook?a=1`, {
      ...request,
      headers: { 'content-type': 'application/json', 'x-bp-type': 'ping' },
      body: '{"a":"é"}',
    });

    expect(response).toMatchObject({ status: 201, headers: { 'x-answer': 'yes' } });
    expect(JSON.parse(response.body.toString())).toEqual({ fine: true });
    const [{ method, path, query, headers, body }] = server.requests as [(typeof server.requests)[0]];
    expect({ method, path, query, body }).toEqual({
      method: 'POST',
      path: '/hook',
      query: { a: '1' },
      body: { a: 'é' },
    });
    expect(headers).toMatchObject({ 'x-bp-type': 'ping', 'accept-encoding': 'identity' });
  });

  it('reuses the connection of the request before', async () => {
    const server = await rawServer((socket) => socket.write(okResponse));
    const client = clientOf();

    await leaveIdleConnection(client, server.url);
    await client.post(server.url, request);

    expect(server.requests).toEqual([1, 1]);
  });

  it.each([
    ['says nothing about idle connections', ''],
    ['would keep an idle connection for ten minutes', 'keep-alive: timeout=600\r\n'],
  ])('closes a connection that was idle for 4 s when the server %s', async (_, header) => {
    fakeClock('setTimeout', 'clearTimeout');
    const server = await rawServer((socket) => socket.write(okResponse.replace('\r\n\r\n', `\r\n${header}\r\n`)));
    const [client, other] = [clientOf(), clientOf()];
    await leaveIdleConnection(client, server.url);

    jest.advanceTimersByTime(3_999);
    await other.post(server.url, request);
    expect(server.sockets[0]!.destroyed).toBe(false);
    jest.advanceTimersByTime(1);

    await closed(server.sockets[0]!);
  });

  it('opens at most 50 connections to one server', async () => {
    const waiting: Socket[] = [];
    const server = await rawServer((socket) => waiting.push(socket));
    const client = clientOf();

    const responses = Array.from({ length: 60 }, () => client.post(server.url, request));
    await waitFor(() => waiting.length === 50);
    for (let answered = 0; answered < 60; answered += 1) {
      await waitFor(() => waiting.length > 0);
      waiting.shift()!.write(okResponse);
    }

    expect((await Promise.all(responses)).every(({ status }) => status === 200)).toBe(true);
    expect(server.sockets).toHaveLength(50);
  });

  it('fails a request when the client is closed', async () => {
    const server = await rawServer(() => undefined);
    const client = clientOf();
    const response = client.post(server.url, request);
    response.catch(() => undefined);
    await waitFor(() => server.requests.length === 1);

    await client.close();

    await expect(response).rejects.toBeInstanceOf(RequestFailed);
  });

  it('refuses request bodies of more than 5 MB', async () => {
    const server = await rawServer((socket) => socket.write(okResponse));

    const response = clientOf().post(server.url, { ...request, body: Buffer.alloc(5_000_001) });

    await expect(response).rejects.toThrow(RequestTooLarge);
    expect(server.sockets).toHaveLength(0);
  });
});

describe('addresses', () => {
  const anyPort = ':1/';
  const neverAllowed = [
    '169.254.169.254',
    '169.254.170.2',
    '169.254.0.1',
    '0xa9.254.43518',
    '2852039166',
    '100.100.100.200',
    '168.63.129.16',
    '[fe80::1]',
    '[febf::1]',
    '[fd00:ec2::254]',
    '[fd20:ce::254]',
    '[::ffff:169.254.169.254]',
    '[::169.254.169.254]',
    '[64:ff9b::169.254.169.254]',
    '[64:ff9b:1::169.254.169.254]',
    '[2002:a9fe:a9fe::1]',
    '[2001:0:1::5601:5601]',
  ];
  const onlyWithAllowPrivate = [
    '127.0.0.1',
    '127.1',
    '0x7f.1',
    '0177.0.0.1',
    '2130706433',
    '127.0.0.1.',
    '①②⑦.0.0.1',
    '0.0.0.0',
    '10.0.0.1',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.1.1',
    '100.64.0.1',
    '198.18.0.1',
    '192.0.2.1',
    '224.0.0.1',
    '240.0.0.1',
    '255.255.255.255',
    '[::1]',
    '[::]',
    '[fc00::1]',
    '[fec0::1]',
    '[ff02::1]',
    '[2001:db8::1]',
    '[2002:7f00:1::1]',
    '[2001:0:1::1]',
    '[64:ff9b::7f00:1]',
    '[64:ff9b::8.8.8.8]',
    '[::ffff:127.0.0.1]',
    '[::ffff:8.8.8.8]',
    '[::127.0.0.1]',
    '[4000::1]',
  ];

  it.each([...neverAllowed, ...onlyWithAllowPrivate])('refuses the address http://%s', async (host) => {
    const { client, questions } = clientWithAnswers([['127.0.0.1']], false);

    await expect(client.post(`http://${host}${anyPort}`, request)).rejects.toThrow(AddressRefused);
    expect(questions).toEqual([]);
  });

  it.each(neverAllowed)('refuses http://%s although private addresses are allowed', async (host) => {
    await expect(clientOf().post(`http://${host}${anyPort}`, request)).rejects.toThrow(
      /is refused: link-local and metadata addresses are never called/,
    );
  });

  it.each(['127.0.0.1', '0x7f.1', '[::ffff:127.0.0.1]'])(
    'calls http://%s when private addresses are allowed',
    async (host) => {
      const server = await rawServer((socket) => socket.write(okResponse));

      await expect(clientOf().post(`http://${host}:${server.port}/`, request)).resolves.toMatchObject({ status: 200 });
    },
  );

  it('names the refused address and the setting that allows it', async () => {
    const { client } = clientWithAnswers([['10.1.2.3']], false);

    await expect(client.post('http://bot.example.org/', request)).rejects.toThrow(
      'Address 10.1.2.3 of "bot.example.org" is refused: it is not public. Use a public address, or set EGRESS_ALLOW_PRIVATE=true.',
    );
  });

  it('refuses a name when one of its addresses is not public', async () => {
    const server = await rawServer((socket) => socket.write(okResponse));
    const { client } = clientWithAnswers([['8.8.8.8', '127.0.0.1']], false);

    await expect(client.post(`http://bot.example.org:${server.port}/`, request)).rejects.toThrow(AddressRefused);
    expect(server.sockets).toHaveLength(0);
  });

  it('resolves a name once and connects to that address', async () => {
    const server = await rawServer((socket) => socket.write(okResponse));
    const other = await new RawServer((socket) => socket.write(okResponse)).listen('127.0.0.2', server.port);
    const { client, questions } = clientWithAnswers([['127.0.0.1'], ['127.0.0.2']]);

    await leaveIdleConnection(client, `http://bot.example.org:${server.port}/`);
    await client.post(`http://bot.example.org:${server.port}/`, request);

    expect(questions).toEqual(['bot.example.org']);
    expect(server.requests).toEqual([1, 1]);
    expect(other.sockets).toHaveLength(0);
  });

  it('checks a name again for each connection: DNS rebinding', async () => {
    const server = await rawServer((socket) => socket.end(okResponse.replace('\r\n', '\r\nconnection: close\r\n')));
    const { client, questions } = clientWithAnswers([['127.0.0.1'], ['169.254.169.254']]);
    const url = `http://bot.example.org:${server.port}/`;

    await client.post(url, request);
    await expect(client.post(url, request)).rejects.toThrow(AddressRefused);

    expect(questions).toHaveLength(2);
    expect(server.sockets).toHaveLength(1);
  });

  it('refuses another address of the name when it repeats a request', async () => {
    const server = await rawServer((socket, number) => (number === 1 ? socket.write(okResponse) : socket.destroy()));
    const { client } = clientWithAnswers([['127.0.0.1'], ['169.254.169.254']]);
    const url = `http://bot.example.org:${server.port}/`;

    await leaveIdleConnection(client, url);

    await expect(client.post(url, request)).rejects.toThrow(AddressRefused);
  });

  it.each([
    ['ftp://bot.example.org/', /protocol "ftp:"/],
    ['file:///etc/passwd', /protocol "file:"/],
    ['http://user@bot.example.org/', /user name or a password/],
    ['http://:secret@bot.example.org/', /user name or a password/],
    ['bot.example.org', /URL is invalid/],
  ])('refuses the address %s', async (url, message) => {
    const { client, questions } = clientWithAnswers([['127.0.0.1']]);

    const response = client.post(url, request);

    await expect(response).rejects.toThrow(AddressRefused);
    await expect(response).rejects.toThrow(message);
    expect(questions).toEqual([]);
  });
});

describe('a hostile server', () => {
  it('cuts off a server that sends more than the limit', async () => {
    const server = await rawServer((socket) => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      flood(socket, megabyte);
    });

    await expect(clientOf().post(server.url, request)).rejects.toThrow(
      `The response of ${server.url.slice(0, -1)} exceeds 5000000 bytes. Answer with a smaller body.`,
    );
    await closed(server.sockets[0]!);

    // Socket buffers of the kernel hold a few megabytes more than the client reads.
    expect(server.sockets[0]!.bytesWritten).toBeLessThan(50_000_000);
  });

  it('cuts off a server that declares more than the limit', async () => {
    const server = await rawServer((socket) => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 1000000000\r\n\r\n'));

    await expect(clientOf().post(server.url, request)).rejects.toThrow(ResponseTooLarge);
    await closed(server.sockets[0]!);
  });

  it('reads a response of exactly the limit', async () => {
    const server = await rawServer((socket) => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n0123456789'));

    const response = await clientOf().post(server.url, { ...request, maxResponseBytes: 10 });

    expect(response.body.toString()).toBe('0123456789');
  });

  it('reads a body of single bytes without more memory than the body', async () => {
    const count = 300_000;
    const server = await rawServer((socket) => {
      socket.end(`HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${'1\r\nx\r\n'.repeat(count)}0\r\n\r\n`);
    });

    const { body } = await clientOf().post(server.url, request);

    expect(body.equals(Buffer.alloc(count, 'x'))).toBe(true);
    expect(body.buffer.byteLength).toBeLessThanOrEqual(2 * count);
  });

  it.each([
    ['many headers', 'x-name: value\r\n'.repeat(1_000)],
    ['one long header', 'x'.repeat(16_000)],
  ])('cuts off a server whose headers never end: %s', async (_, chunk) => {
    const server = await rawServer((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nx-first: ');
      flood(socket, chunk);
    });

    await expect(clientOf().post(server.url, request)).rejects.toMatchObject({ code: 'UND_ERR_HEADERS_OVERFLOW' });
    await closed(server.sockets[0]!);

    expect(server.sockets[0]!.bytesWritten).toBeLessThan(50_000_000);
  });

  it('accepts an answer with 16 KiB of headers, and no larger one', async () => {
    const answerOf = (bytes: number) => async () => {
      const server = await rawServer((socket) => socket.end(`HTTP/1.1 200 OK\r\nx: ${'x'.repeat(bytes)}\r\n\r\n`));
      return clientOf().post(server.url, request);
    };

    expect(await answerOf(16_380)()).toMatchObject({ status: 200 });
    await expect(answerOf(16_384)()).rejects.toThrow('the response headers exceed 16384 bytes');
  });

  it('accepts 5 MB of an answer and of a request, and no more', async () => {
    const server = await LoopbackServer.start(({ bytes }, response) => void response.end(bytes));
    opened.push(server);
    const echoOf = (bytes: number) => clientOf().post(server.url, { ...request, headers: {}, body: 'x'.repeat(bytes) });
    const larger = await rawServer((socket) => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 5000001\r\n\r\n'));

    expect((await echoOf(5_000_000)).body).toHaveLength(5_000_000);
    await expect(echoOf(5_000_001)).rejects.toThrow('at most 5000000 bytes');
    await expect(clientOf().post(larger.url, request)).rejects.toThrow('exceeds 5000000 bytes');
  });

  it.each([
    ['nothing', ''],
    ['headers', 'HTTP/1.1 200 OK\r\nx-name: '],
    ['a body', 'HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n'],
    ['informational responses', 'HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 103 Early Hints\r\nx-name: '],
  ])('cuts off a server at the time limit when it sends %s slowly', async (_, start) => {
    fakeClock('setTimeout', 'clearTimeout');
    let drops = 0;
    const server = await rawServer((socket) => {
      socket.write(start);
      const drip = setInterval(() => {
        drops += 1;
        if (start) socket.write('x');
      }, 10);
      socket.on('close', () => clearInterval(drip));
    });

    const response = clientOf().post(server.url, { ...request, timeoutMs: shortTimeoutMs });
    await waitFor(() => drops > 3);

    await endsAtTimeLimit(response);
    await closed(server.sockets[0]!);
  });

  it('delays no request beyond its time limit when a server holds all connections', async () => {
    const server = await rawServer(() => undefined);
    const client = clientOf();
    const holding = Array.from({ length: 50 }, () => client.post(server.url, request).catch((error: unknown) => error));
    await waitFor(() => server.requests.length === 50);
    fakeClock('setTimeout', 'clearTimeout');

    const response = client.post(server.url, { ...request, timeoutMs: shortTimeoutMs });

    await endsAtTimeLimit(response);
    realClock();
    await client.close();
    expect(await Promise.all(holding)).toEqual(Array.from({ length: 50 }, () => expect.any(RequestFailed)));
  });

  it('skips an informational response before the response', async () => {
    const server = await rawServer((socket) =>
      socket.write(`HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n${okResponse}`),
    );

    const response = await clientOf().post(server.url, request);

    expect(response).toEqual({ status: 200, headers: { 'content-length': '2' }, body: Buffer.from('ok') });
  });

  it('does not follow a redirect', async () => {
    const server = await rawServer((socket) =>
      socket.write('HTTP/1.1 307 Temporary Redirect\r\nlocation: http://169.254.169.254/\r\ncontent-length: 0\r\n\r\n'),
    );

    const response = await clientOf().post(server.url, request);

    expect(response).toMatchObject({ status: 307, headers: { location: 'http://169.254.169.254/' } });
    expect(server.requests).toHaveLength(1);
  });

  it('does not decompress a response: gzip bomb', async () => {
    const bomb = gzipSync(Buffer.alloc(50_000_000));
    const server = await rawServer((socket) => {
      socket.write(`HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: ${bomb.length}\r\n\r\n`);
      socket.write(bomb);
    });

    const { body } = await clientOf().post(server.url, request);

    expect(body.equals(bomb)).toBe(true);
  });

  it.each([
    ['a content length', 'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf'],
    [
      'a content length and `connection: close`',
      'HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 100\r\n\r\nhalf',
    ],
    ['chunks', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n64\r\nhalf'],
    ['headers', 'HTTP/1.1 200 OK\r\ncontent-le'],
  ])('fails a request with half a response: %s', async (_, half) => {
    const server = await rawServer((socket) => socket.end(half));

    const response = clientOf().post(server.url, request);

    await expect(response).rejects.toThrow(RequestFailed);
    await expect(response).rejects.toThrow(/failed: the connection was closed before the response was complete/);
    expect(server.requests).toHaveLength(1);
  });

  it.each([
    ['garbage', 'garbage\r\n\r\n'],
    ['another protocol', 'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'],
    ['100 Continue', 'HTTP/1.1 100 Continue\r\n\r\n'],
  ])('fails a request with %s in the response', async (_, answer) => {
    const server = await rawServer((socket) => socket.write(answer));

    await expect(clientOf().post(server.url, request)).rejects.toThrow(RequestFailed);
  });

  it('reads header names that are names of object properties', async () => {
    const server = await rawServer((socket) =>
      socket.write(
        'HTTP/1.1 200 OK\r\n__proto__: a\r\nconstructor: b\r\nx-two: 1\r\nx-two: 2\r\ncontent-length: 0\r\n\r\n',
      ),
    );

    const { headers } = await clientOf().post(server.url, request);

    expect(Object.entries(headers)).toEqual([
      ['__proto__', 'a'],
      ['constructor', 'b'],
      ['x-two', '1, 2'],
      ['content-length', '0'],
    ]);
  });
});

describe('a failed connection', () => {
  it('reports a failed connection with its code: port refused', async () => {
    const port = await freePort();

    await expect(clientOf().post(`http://127.0.0.1:${port}/`, request)).rejects.toThrow(
      `The request to http://127.0.0.1:${port} failed: the connection was refused (ECONNREFUSED).`,
    );
  });

  it('reports a failed connection with its code: unknown name', async () => {
    const resolve = async () => {
      throw Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND' });
    };

    await expect(clientOf({ resolve }).post('http://bot.example.org/', request)).rejects.toThrow(
      'The request to http://bot.example.org failed: the name cannot be resolved (ENOTFOUND).',
    );
  });

  it('reports a failed connection with its code: name without an address', async () => {
    const { client } = clientWithAnswers([[]]);

    await expect(client.post('http://bot.example.org/', request)).rejects.toMatchObject({ code: 'ENOTFOUND' });
  });

  it('reports a failed connection with its code: no TLS', async () => {
    const server = await LoopbackServer.start(json({}));
    opened.push(server);

    await expect(clientOf().post(server.url.replace('http:', 'https:'), request)).rejects.toMatchObject({
      name: 'RequestFailed',
      code: expect.stringMatching(/^(ERR_SSL_|EPROTO)/),
    });
  });

  it('ends a request at the time limit while the name is being resolved', async () => {
    fakeClock('setTimeout', 'clearTimeout');
    const resolve = jest.fn(() => new Promise<never>(() => undefined));
    const client = clientOf({ resolve });

    const response = client.post('http://bot.example.org/', { ...request, timeoutMs: shortTimeoutMs });
    await waitFor(() => resolve.mock.calls.length === 1);

    await endsAtTimeLimit(response);
    await expect(response).rejects.toThrow('http://bot.example.org gave no complete response within 200 ms.');
  });

  it('ends a request with the reason of the signal', async () => {
    const server = await rawServer(() => undefined);
    const stop = new AbortController();
    const response = clientOf().post(server.url, { ...request, signal: stop.signal });
    response.catch(() => undefined);
    await waitFor(() => server.requests.length === 1);

    stop.abort(new Error('The process stops.'));

    await expect(response).rejects.toThrow('The process stops.');
    await closed(server.sockets[0]!);
  });
});

describe('a reset connection', () => {
  it('repeats a request once when a reused connection is reset', async () => {
    const server = await rawServer((socket, number) =>
      number === 2 ? socket.resetAndDestroy() : socket.write(okResponse),
    );
    const client = clientOf();
    await leaveIdleConnection(client, server.url);

    await expect(client.post(server.url, request)).resolves.toMatchObject({ status: 200 });
    expect(server.requests).toEqual([1, 1, 2]);
  });

  it('repeats a request once when the server closed the reused connection', async () => {
    const server = await rawServer((socket, number) => (number === 2 ? socket.end() : socket.write(okResponse)));
    const client = clientOf();
    await leaveIdleConnection(client, server.url);

    await expect(client.post(server.url, request)).resolves.toMatchObject({ status: 200 });
    expect(server.requests).toEqual([1, 1, 2]);
  });

  it('repeats a request once only', async () => {
    const server = await rawServer((socket, number) =>
      number === 1 ? socket.write(okResponse) : socket.resetAndDestroy(),
    );
    const client = clientOf();
    await leaveIdleConnection(client, server.url);

    await expect(client.post(server.url, request)).rejects.toThrow(RequestFailed);
    expect(server.requests).toEqual([1, 1, 2]);
  });

  it('repeats a request on a new connection, not on another idle one', async () => {
    const waiting: Socket[] = [];
    const server = await rawServer((socket, number) => {
      if (number <= 2) waiting.push(socket);
      else if (number === 3) socket.resetAndDestroy();
      else socket.write(okResponse);
    });
    const client = clientOf();
    const both = [client.post(server.url, request), client.post(server.url, request)];
    await waitFor(() => waiting.length === 2);
    waiting.forEach((socket) => socket.write(okResponse));
    await Promise.all(both);
    await nextTurn();

    await client.post(server.url, request);

    expect(server.requests[3]).toBe(3);
    expect(server.requests).toHaveLength(4);
  });

  it('repeats a request on a connection that carries nothing else', async () => {
    const server = await rawServer((socket, number) =>
      number === 2 || number === 5 ? socket.resetAndDestroy() : socket.write(okResponse),
    );
    const client = clientOf();

    for (let count = 0; count < 4; count += 1) await leaveIdleConnection(client, server.url);

    expect(server.requests).toEqual([1, 1, 2, 3, 3, 4]);
  });

  it('does not repeat a request when the connection replaces one that the server closed', async () => {
    const server = await rawServer((socket, number) => {
      if (number === 2) socket.end(okResponse.replace('\r\n', '\r\nconnection: close\r\n'));
      if (number === 3) socket.resetAndDestroy();
    });
    const client = clientOf();
    const open = client.post(server.url, request).catch((error: unknown) => error);
    await waitFor(() => server.requests.length === 1);
    await leaveIdleConnection(client, server.url);
    await closed(server.sockets[1]!);

    await expect(client.post(server.url, request)).rejects.toThrow(RequestFailed);
    expect(server.requests).toEqual([1, 2, 3]);
    await client.close();
    expect(await open).toBeInstanceOf(RequestFailed);
  });

  it('does not repeat a request when the connection was new', async () => {
    const server = await rawServer((socket) => socket.resetAndDestroy());

    await expect(clientOf().post(server.url, request)).rejects.toMatchObject({ name: 'RequestFailed' });
    expect(server.requests).toEqual([1]);
  });

  it('does not repeat a request when the response has begun', async () => {
    const server = await rawServer((socket, number) =>
      number === 2 ? socket.end('HTTP/1.1 200 OK\r\nx-') : socket.write(okResponse),
    );
    const client = clientOf();
    await leaveIdleConnection(client, server.url);

    await expect(client.post(server.url, request)).rejects.toMatchObject({ code: 'UND_ERR_SOCKET' });
    expect(server.requests).toEqual([1, 1]);
  });
});
