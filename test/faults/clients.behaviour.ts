import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { put } from '@parley/testing/bot-files';
import { sendTo } from '@parley/testing/public-api';
import { waitFor } from '@parley/testing/wait-for';
import type { Client as Postgres } from 'pg';
import { EverydayClient } from './everyday-client';
import type { Fleet } from './fleet';
import { MemoryWatch, openFiles } from './process-usage';
import { type Headers, RawClient, rawRequest } from './raw-client';
import { FleetHealth, type SharedFleet } from './shared-fleet';

export function describeBadClients(sharedFleet: () => SharedFleet): void {
  describe('a bad client', () => {
    let fleet: Fleet;
    let database: Postgres;
    let connections: RawClient[] = [];

    let health: FleetHealth;

    beforeAll(() => {
      ({ fleet, database } = sharedFleet());
      health = new FleetHealth(fleet);
    });

    afterEach(() => {
      connections.forEach((connection) => connection.vanish());
      connections = [];
      expect(health.problems()).toEqual([]);
    });

    /** One client for each request prefix, which it has sent. */
    async function connectAll(beginnings: string[], url: string): Promise<RawClient[]> {
      const clients = await Promise.all(beginnings.map(() => RawClient.connect(url)));
      connections.push(...clients);
      clients.forEach((client, n) => client.send(beginnings[n]!));
      return clients;
    }

    async function count(question: string, values: unknown[] = []): Promise<number> {
      const { rows } = await database.query<{ count: number }>(question, values);
      return rows[0]!.count;
    }

    describe('of the content address', () => {
      const size = 100_000;
      const half = 'x'.repeat(size / 2);

      const incoming = () => readdir(join(fleet.blobsDir, 'incoming'));
      const openBlobs = () => openFiles(fleet.the('files').pid, fleet.blobsDir);

      async function halfway(everyday: EverydayClient) {
        const files = await everyday.declareMany(200, size);
        const beginnings = files.map(({ uploadUrl }) => rawRequest('PUT', uploadUrl, { 'content-length': size }, half));
        const clients = await connectAll(beginnings, files[0]!.uploadUrl);
        await waitFor(incoming, (names) => names.length === files.length);
        return { files, clients };
      }

      it('serves others during 200 uploads that arrive byte by byte', async () => {
        const everyday = await EverydayClient.create(fleet);
        const memory = await MemoryWatch.start(fleet.the('files').pid);
        const { clients } = await halfway(everyday);

        let drops = 0;
        const dripping = setInterval(() => {
          clients.forEach((client) => client.send('x'));
          drops += 1;
        }, 200);
        await everyday.works();
        const busyConnections = () =>
          count(
            `SELECT count(*)::int FROM pg_stat_activity
             WHERE datname = current_database() AND application_name = 'parley-files' AND state <> 'idle'`,
          );
        await waitFor(busyConnections, (busy) => busy === 0);
        clearInterval(dripping);
        clients.forEach((client) => client.send(half.slice(drops)));
        const answers = await Promise.all(clients.map((client) => client.answer()));
        const grownMb = await memory.stop();

        tell(`200 slow uploads, ${grownMb} MB more`);
        expect(answers.map((answer) => answer?.status)).toEqual(Array(200).fill(200));
        expect(grownMb).toBeLessThan(80);
      });

      it('leaves only an error and a valid upload URL when a client disconnects during an upload', async () => {
        const everyday = await EverydayClient.create(fleet);
        const { files, clients } = await halfway(everyday);

        clients.forEach((client, n) => (n % 2 === 0 ? client.vanish() : client.hangUp()));
        await waitFor(incoming, (names) => names.length === 0);
        await waitFor(
          () => count('SELECT count(*)::int FROM files.upload'),
          (underWay) => underWay === 0,
        );

        expect(await openBlobs()).toEqual([]);
        for (const { id, uploadUrl } of files) {
          expect(await everyday.get(id)).toMatchObject({
            status: 'upload_pending',
            failedStatusReason: expect.stringMatching(/cut after \d+ of 100000 bytes/) as string,
          });
          expect((await put(uploadUrl, half + half)).status).toBe(200);
        }
      });

      it('answers one upload sent 200 times at once, without delaying others', async () => {
        const everyday = await EverydayClient.create(fleet);
        const { id, uploadUrl } = await everyday.declare('many times', 5);
        const upload = rawRequest('PUT', uploadUrl, { 'content-length': 5 }, 'bytes');

        const clients = await connectAll(Array<string>(200).fill(upload), uploadUrl);
        const answers = Promise.all(clients.map((client) => client.answer()));
        await everyday.works();

        // A bot may hold as many upload slots as are free, and a busy process sheds load: such an upload is repeated.
        const statuses = (await answers).map((answer) => answer?.status);
        const shed = statuses.filter((status) => status === 503);
        expect(statuses.filter((status) => status !== 503)).toEqual(Array(200 - shed.length).fill(200));
        expect(shed.length).toBeLessThan(20);
        for (const _ of shed) expect((await put(uploadUrl, 'bytes')).status).toBe(200);
        expect((await everyday.get(id)).status).toBe('upload_completed');
      });

      it('accepts several uploads pipelined on one connection', async () => {
        const everyday = await EverydayClient.create(fleet);
        const files = await everyday.declareMany(10, 5);
        const uploads = files.map(({ uploadUrl }, n) =>
          rawRequest('PUT', uploadUrl, { 'content-length': 5 }, `bytes${n}`.slice(-5)),
        );

        const [client] = await connectAll([uploads.join('')], files[0]!.uploadUrl);
        for (const _ of files) expect(await client!.answer()).toMatchObject({ status: 200 });

        for (const [n, { id }] of files.entries()) {
          expect(await (await fetch((await everyday.get(id)).url)).text()).toBe(`bytes${n}`.slice(-5));
        }
      });

      describe('with a download of 100 MB', () => {
        let url: string;

        beforeAll(async () => {
          const everyday = await EverydayClient.create(fleet);
          const { id, uploadUrl } = await everyday.declare('large.bin', 100_000_000);
          expect((await put(uploadUrl, Buffer.alloc(100_000_000, 'x'))).status).toBe(200);
          url = (await everyday.get(id)).url;
        });

        it('serves clients that read byte by byte without buffering in memory, and without delaying others', async () => {
          const everyday = await EverydayClient.create(fleet);
          const memory = await MemoryWatch.start(fleet.the('files').pid);
          const downloads = await Promise.all(Array.from({ length: 20 }, () => startDownload(url)));

          const taking = setInterval(() => downloads.forEach((download) => download.read(1)), 10);
          await everyday.works();
          clearInterval(taking);
          await waitFor(openBlobs, (paths) => paths.length === downloads.length);
          downloads.forEach((download) => download.destroy());
          const grownMb = await memory.stop();

          tell(`20 slow downloads, ${grownMb} MB more`);
          expect(grownMb).toBeLessThan(60);
          await waitFor(openBlobs, (paths) => paths.length === 0);
        });

        it('leaks no file and no memory when clients disconnect during a download', async () => {
          const memory = await MemoryWatch.start(fleet.the('files').pid);

          for (let round = 0; round < 5; round += 1) {
            const downloads = await Promise.all(Array.from({ length: 40 }, () => startDownload(url)));
            downloads.forEach((download, n) => (n % 2 === 0 ? download.destroy() : download.resetAndDestroy()));
          }
          await waitFor(openBlobs, (paths) => paths.length === 0);
          const grownMb = await memory.stop();

          tell(`200 cut downloads: ${grownMb} MB more`);
          expect(grownMb).toBeLessThan(60);
          expect((await fetch(url, { headers: { range: 'bytes=0-9' } })).status).toBe(206);
        });
      });
    });

    describe('of the gateway', () => {
      const json = (body: string) => ({ 'content-type': 'application/json', 'content-length': body.length });
      const botsNamed = (name: string) => count('SELECT count(*)::int FROM admin.bot WHERE name = $1', [name]);

      it('serves others during 600 connections with nothing, half a header or half a body', async () => {
        const everyday = await EverydayClient.create(fleet);
        const memory = await MemoryWatch.start(fleet.the('gateway').pid);
        const headers = { ...everyday.headers, 'content-type': 'application/json', 'content-length': 1_000 };
        const halfHeader = rawRequest('GET', `${fleet.url}/v1/files`, headers).slice(0, -10);
        const halfBody = rawRequest('POST', `${fleet.url}/v1/admin/bots`, headers, '{"name":');
        const clients = await connectAll(Array<string[]>(200).fill(['', halfHeader, halfBody]).flat(), fleet.url);

        await everyday.works();
        const grownMb = await memory.stop();

        tell(`600 clients that do not go on, ${grownMb} MB more`);
        expect(clients.filter(({ isClosed }) => isClosed)).toEqual([]);
        expect(grownMb).toBeLessThan(60);
      });

      it('serves a body of 9 MB together with 19 others, or returns 503', async () => {
        const { headers } = await EverydayClient.create(fleet);
        // Unlike that of a bot, the code of a plugin is only stored: no code has to start on a busy machine.
        const code = 'x'.repeat(9_000_000);
        const requests = Array.from({ length: 20 }, (_, index) => ({
          headers: { ...headers, 'content-type': 'application/json' },
          body: Buffer.from(
            JSON.stringify({
              name: `large-${index}`,
              version: '1.0.0',
              code: { node: `${code}${index}`, browser: '' },
            }),
          ),
        }));
        const memory = await MemoryWatch.start(fleet.the('gateway').pid);

        const answers = await Promise.all(
          requests.map((request) => sendTo(fleet.url, 'POST /v1/admin/plugins', request)),
        );
        const grownMb = await memory.stop();

        const served = answers.filter(({ status }) => status === 200);
        const refused = answers.filter(({ status }) => status === 503);
        tell(`20 bodies of 9 MB: ${served.length} served, ${refused.length} refused, ${grownMb} MB more`);
        expect(served.length).toBeGreaterThanOrEqual(2);
        const others = answers.filter(({ status }) => status !== 200 && status !== 503);
        expect(others.map(({ text }) => text)).toEqual([]);
        for (const answer of refused) expect(answer.headers['retry-after']).toBe('1');
        const stored = `SELECT count(*)::int FROM hub.plugin WHERE name LIKE 'large-%'`;
        expect(await count(stored)).toBe(served.length);
        expect(grownMb).toBeLessThan(250);
      });

      it.each([
        ['vanishes', (client: RawClient) => client.vanish()],
        ['hangs up', (client: RawClient) => client.hangUp()],
      ])('ignores a body that is shorter than declared from a client that %s', async (how, leave) => {
        const { headers } = await EverydayClient.create(fleet);
        const body = JSON.stringify({ name: 'cut' });
        const id = `cut-${how.replace(' ', '-')}`;
        const announced = { ...headers, ...json(`${body} `), 'x-request-id': id, expect: '100-continue' };
        const request = rawRequest('POST', `${fleet.url}/v1/admin/bots`, announced, body);

        const [client] = await connectAll([request], fleet.url);
        expect(await client!.answer()).toMatchObject({ status: 100 });
        leave(client!);

        await waitFor(() => fleet.the('gateway').output.includes(`"requestId":"${id}"`), Boolean);
        expect((await client!.answer())?.status).toBe(how === 'hangs up' ? 400 : undefined);
        expect(await botsNamed('cut')).toBe(0);
      });

      it('answers many pipelined requests in order', async () => {
        const { headers } = await EverydayClient.create(fleet);
        const [files, bots] = [`${fleet.url}/v1/files`, `${fleet.url}/v1/admin/bots`];
        const kinds: [status: number, method: string, url: string, headers: Headers, body?: string][] = [
          [200, 'GET', files, headers],
          [404, 'GET', `${files}/none`, headers],
          [400, 'POST', bots, { ...headers, ...json('{"name"') }, '{"name"'],
          [401, 'POST', bots, json('{}'), '{}'],
          [404, 'POST', `${fleet.url}/none`, json('{}'), '{}'],
        ];
        const requests = Array.from({ length: 50 }, (_, n) => ({ id: `request-${n}`, kind: kinds[n % kinds.length]! }));
        const texts = requests.map(({ id, kind: [, method, url, own, body] }) =>
          rawRequest(method, url, { ...own, 'x-request-id': id }, body),
        );

        const [client] = await connectAll([texts.join('')], fleet.url);
        const answers = [];
        for (const _ of requests) answers.push(await client!.answer());

        expect(answers.map((answer) => [answer?.headers['x-request-id'], answer?.status])).toEqual(
          requests.map(({ id, kind: [status] }) => [id, status]),
        );
      });

      it.each([
        ['x-nobody-reads-it', 200],
        ['x-request-id', 200],
        ['traceparent', 200],
        ['authorization', 401],
        ['x-bot-id', 403],
        ['x-user-id', 403],
      ])('answers a request with 10,000 bytes in the header %s', async (name, status) => {
        const { headers } = await EverydayClient.create(fleet);

        const answer = await sendTo(fleet.url, 'GET /v1/files', {
          headers: { ...headers, [name]: 'x'.repeat(10_000) },
        });

        expect(answer.status).toBe(status);
      });
    });
  });
}

/** Download whose first bytes have arrived and are not read. */
async function startDownload(url: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => undefined);
  socket.write(rawRequest('GET', url));
  await once(socket, 'readable');
  return socket;
}

function tell(figures: string): void {
  process.stderr.write(`${figures}\n`);
}
