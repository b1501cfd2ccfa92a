import { randomBytes } from 'node:crypto';
import { request as httpRequest, type ClientRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { clientOf } from '@parley/testing/api';
import { EmbeddingServer } from '@parley/testing/embedding-server';
import { answerBytes, answerJson, answerWith, beginStream, ModelServer, sendChunk } from '@parley/testing/model-server';
import { hasNatsServer } from '@parley/testing/nats-server';
import { sendTo } from '@parley/testing/public-api';
import { waitFor } from '@parley/testing/wait-for';
import { Client } from 'pg';
import { Fleet } from './fleet';
import type { Replica } from './replica';

jest.setTimeout(120_000);

const messages = [{ role: 'user', content: 'hi' }];
const streamPath = '/v2/cognitive/generate-text-stream';

/** A stream as its client sees it. */
interface Reading {
  request: ClientRequest;
  text: string;
  status?: number;
  end?: 'complete' | 'broken';
}

(hasNatsServer() ? describe : describe.skip)('Streams of models over NATS', () => {
  let fleet: Fleet;
  let upstream: ModelServer;
  let embeddings: EmbeddingServer;
  let database: Client;
  let headers: Record<string, string>;

  beforeAll(async () => {
    upstream = await ModelServer.start();
    embeddings = await EmbeddingServer.start();
    fleet = await Fleet.start({
      isSecured: true,
      replicasOf: { gateway: 2, models: 2, chat: 0, runtime: 0, runner: 0 },
      env: {
        COMPLETIONS_SCRIPT_FILE: '',
        COMPLETIONS_URL: upstream.url,
        EMBEDDINGS_URL: embeddings.url,
        SWEEP_INTERVAL_MS: '500',
        COMPLETIONS_CACHE_SECONDS: '0',
        SHUTDOWN_TIMEOUT_MS: '20000',
      },
    });
    // Only the test of budgets needs a second process.
    await fleet.replicas('models')[1]!.end('SIGTERM');
    database = new Client({ connectionString: fleet.databaseUrl });
    await database.connect();
    const { bot } = await clientOf(fleet).createBot({});
    headers = fleet.headers(bot.id);
  });

  afterAll(async () => {
    await database?.end();
    await fleet?.stop();
    await upstream?.stop();
    await embeddings?.stop();
  });

  beforeEach(() => {
    upstream.requests.length = 0;
  });

  function read(url = fleet.the('gateway').url, headersOf = headers, more: object = {}): Reading {
    const body = JSON.stringify({ messages, ...more });
    const request = httpRequest(new URL(streamPath, url), {
      method: 'POST',
      headers: { ...headersOf, 'content-type': 'application/json' },
    });
    const reading: Reading = { request, text: '' };
    request.on('error', () => (reading.end = 'broken'));
    request.once('response', (response: IncomingMessage) => {
      reading.status = response.statusCode;
      response.setEncoding('utf8').on('data', (part: string) => (reading.text += part));
      response.on('error', () => (reading.end = 'broken'));
      response.on('end', () => (reading.end = 'complete'));
    });
    request.end(body);
    return reading;
  }

  /** Answers with a first part, and hands out how to go on. */
  function hold(): { responses: ServerResponse[] } {
    const held = { responses: [] as ServerResponse[] };
    upstream.answer = (_request, response) => {
      beginStream(response);
      sendChunk(response, { content: 'begun' });
      held.responses.push(response);
    };
    return held;
  }

  function finish(response: ServerResponse): void {
    sendChunk(response, { content: ' done' }, 'stop');
    response.end('data: [DONE]\n\n');
  }

  it('stores a picture of 9 MB, and audio of which the client has heard the parts', async () => {
    const picture = Buffer.concat([Buffer.from([0x89, 0x50, 0x4e, 0x47]), randomBytes(9_000_000)]);
    upstream.answer = answerJson({ data: [{ b64_json: picture.toString('base64') }] });
    const json = { model: 'gpt-4.1-mini', prompt: 'a cat', input: 'Hello' };
    const drawn = await sendTo(fleet.url, 'POST /v2/cognitive/generate-image', { headers, json });
    const sound = randomBytes(2_000_000);
    upstream.answer = answerBytes('audio/mpeg', sound.subarray(0, 999_999), sound.subarray(999_999));
    const { text } = await sendTo(fleet.url, 'POST /v2/cognitive/generate-audio-stream', { headers, json });

    const contentAt = async (url: string) => Buffer.from(await (await fetch(url)).arrayBuffer());
    expect((await contentAt(drawn.json.output.imageUrl as string)).equals(picture)).toBe(true);
    const { audioUrl } = JSON.parse(text.trim().split('\n').at(-1)!) as { audioUrl: string };
    expect((await contentAt(audioUrl)).equals(sound)).toBe(true);
  });

  it('delivers a text of a megabyte unchanged, also to a client that reads slowly', async () => {
    const words = Array.from({ length: 20_000 }, (_, n) => `слово-${n}-■`).join(' ');
    upstream.answer = answerWith(words);
    const reading = read();
    reading.request.once('response', (response: IncomingMessage) => {
      response.pause();
      setTimeout(() => response.resume(), 500);
    });

    await waitFor(() => reading.end);
    const parts = reading.text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { output?: string });
    expect(parts.map(({ output = '' }) => output).join('')).toBe(words);
  });

  it('streams to 100 clients at once, each its own text', async () => {
    upstream.answer = (request, response) => {
      const [{ content }] = request.body.messages as [{ content: string }];
      return answerWith(`echo of ${content}`)(request, response);
    };
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, n) =>
        sendTo(fleet.url, `POST ${streamPath}`, { headers, json: { messages: [{ role: 'user', content: `n${n}` }] } }),
      ),
    );

    const texts = answers.map(({ text }) =>
      text
        .trim()
        .split('\n')
        .map((line) => (JSON.parse(line) as { output?: string }).output ?? '')
        .join(''),
    );
    expect(texts).toEqual(Array.from({ length: 100 }, (_, n) => `echo of n${n}`));
  });

  it('breaks a stream off when models is killed, and settles what had streamed', async () => {
    const held = hold();
    const reading = read();
    await waitFor(() => reading.text.includes('begun'));
    await fleet.the('models').end('SIGKILL');

    await waitFor(() => reading.end);
    expect(reading.end).toBe('broken');
    expect(reading.text).not.toContain('finished');
    expect(held.responses).toHaveLength(1);
    await upstream.requests[0]!.aborted;
    // As if two minutes had passed: a process that starts looks for such reservations at once.
    await database.query(`UPDATE models.reservation SET renewed_at = now() - interval '2 minutes'`);
    await fleet.the('models').start();
    await waitFor(async () => (await database.query('SELECT 1 FROM models.reservation')).rowCount === 0);
    const { rows } = await database.query(
      `SELECT reserved_tokens, settled_tokens > 0 AS is_settled FROM models.spend WHERE scope = 'bot'`,
    );
    expect(rows).toEqual([{ reserved_tokens: '0', is_settled: true }]);
  });

  it('ends the call of the provider when the gateway of its client is killed', async () => {
    hold();
    const gateway = fleet.replicas('gateway')[1]!;
    const reading = read(gateway.url);
    await waitFor(() => reading.text.includes('begun'));
    await gateway.end('SIGKILL');

    await upstream.requests[0]!.aborted;
    await gateway.start();
  });

  it('lets streams end when models or the gateway stops', async () => {
    const held = hold();
    const [first, second] = fleet.replicas('gateway') as [Replica, Replica];
    const readings = [read(first.url), read(second.url)];
    await waitFor(() => readings.every(({ text }) => text.includes('begun')));
    const stopped = Promise.all([fleet.the('models').end('SIGTERM'), first.end('SIGTERM')]);
    await first.stopsListening();
    held.responses.forEach(finish);

    await waitFor(() => readings.every(({ end }) => end));
    expect(readings.map(({ end, text }) => [end, text.includes('"finished":true')])).toEqual([
      ['complete', true],
      ['complete', true],
    ]);
    await stopped;
    await Promise.all([fleet.the('models').start(), first.start()]);
  });

  it('keeps to the budget of a workspace with two bots and two processes, of which one is killed', async () => {
    const { id: workspaceId } = await clientOf(fleet).createWorkspace({ name: 'limited' });
    const inWorkspace = { authorization: headers['authorization']!, 'x-workspace-id': workspaceId };
    const newBot = async () => {
      const { json } = await sendTo(fleet.url, 'POST /v1/admin/bots', { headers: inWorkspace, json: {} });
      return { ...inWorkspace, 'x-bot-id': (json as unknown as { bot: { id: string } }).bot.id };
    };
    const bots = [await newBot(), await newBot()];
    // A call reserves 9 tokens of the prompt and 5 of the answer, and uses all of them.
    const budget = { dollars: null, tokens: 14 * 40 + 13 };
    await sendTo(fleet.url, 'PUT /v1/admin/budget', { headers: inWorkspace, json: budget });
    const spend = async () => {
      const { rows } = await database.query<{ reserved: number; settled: number }>(
        `SELECT reserved_tokens::int AS reserved, settled_tokens::int AS settled FROM models.spend WHERE scope_id = $1`,
        [workspaceId],
      );
      return rows[0]!;
    };
    const isKnown = () => database.query('SELECT 1 FROM models.budget WHERE scope_id = $1', [workspaceId]);
    await waitFor(async () => (await isKnown()).rowCount === 1);
    const killed = fleet.replicas('models')[1]!;
    await killed.start();
    const held = hold();

    const urls = fleet.replicas('gateway').map(({ url }) => url);
    const send = (count: number) =>
      Array.from({ length: count }, (_, n) => read(urls[n % 2], bots[(n >> 1) % 2], { maxTokens: 5 }));
    // All of these fit, so that both processes have calls, however slow one of them is at its start.
    const readings = send(20);
    await waitFor(() => readings.every(({ text }) => text.includes('begun')));
    readings.push(...send(180));
    await waitFor(() => readings.every(({ text, end }) => end || text.includes('begun')));
    const begun = readings.filter(({ text }) => text.includes('begun'));
    expect(readings.filter(({ status }) => status === 403)).toHaveLength(160);
    expect(begun).toHaveLength(40);
    expect(await spend()).toEqual({ reserved: 14 * 40, settled: 0 });

    await killed.end('SIGKILL');
    await waitFor(() => begun.some(({ end }) => end === 'broken'));
    const usage = JSON.stringify({ choices: [], usage: { prompt_tokens: 9, completion_tokens: 5 } });
    for (const response of held.responses) {
      sendChunk(response, {}, 'stop');
      response.end(`data: ${usage}\n\ndata: [DONE]\n\n`);
    }
    await waitFor(() => begun.every(({ end }) => end));
    const complete = begun.filter(({ end }) => end === 'complete').length;
    const broken = begun.length - complete;
    expect(Math.min(complete, broken)).toBeGreaterThan(0);
    await waitFor(async () => (await spend()).settled === 14 * complete);
    expect(await spend()).toEqual({ reserved: 14 * broken, settled: 14 * complete });
    const { status } = await sendTo(fleet.url, `POST ${streamPath}`, {
      headers: bots[0]!,
      json: { messages, maxTokens: 5 },
    });
    expect(status).toBe(403);

    await database.query(`UPDATE models.reservation SET renewed_at = now() - interval '2 minutes'`);
    // A process that starts looks for such reservations at once.
    await killed.start();
    await waitFor(async () => (await spend()).reserved === 0);
    expect(await spend()).toEqual({ reserved: 0, settled: 14 * 40 });
    await killed.end('SIGTERM');
  });

  it('answers 503 while no models service runs', async () => {
    await fleet.the('models').end('SIGTERM');
    const { status } = await sendTo(fleet.url, `POST ${streamPath}`, { headers, json: { messages } });
    await fleet.the('models').start();

    expect(status).toBe(503);
  });

  it('keeps a column and a file waiting that models worked on when it was killed, until it is back', async () => {
    const { bot } = await clientOf(fleet).createBot({});
    const client = clientOf(fleet, bot.id);
    const answer = { type: 'string', 'x-zui': { computed: { action: 'ai', prompt: 'Why?', dependencies: [] } } };
    upstream.answer = () => undefined;
    const { table } = await client.createTable({
      name: 'AskedTable',
      schema: { type: 'object', properties: { answer, note: { type: 'string' } } },
    });
    await client.createTableRows({ table: table.id, rows: [{ note: 'x' }] });
    const { file } = await client.uploadFile({
      ...{ key: 'long.txt', content: 'Ships come and go. '.repeat(100), index: true },
      indexing: { configuration: { summarization: { enable: true } } },
    });
    await waitFor(() => upstream.requests.length === 2);
    await fleet.the('models').end('SIGKILL');
    await Promise.all(upstream.requests.map(({ aborted }) => aborted));
    upstream.answer = answerWith('In short.');
    await fleet.the('models').start();

    const { row } = await waitFor(
      () => client.getTableRow({ table: table.id, id: 1 }),
      ({ row: { stale } }) => stale === undefined,
    );
    const indexed = await waitFor(
      async () => (await client.getFile({ id: file.id })).file,
      ({ status }) => status !== 'indexing_pending',
    );
    expect(row['answer']).toBe('In short.');
    expect(indexed.status).toBe('indexing_completed');
    const { passages } = await client.listFilePassages({ id: file.id });
    expect(passages.at(-1)).toMatchObject({ content: 'In short.', meta: { type: 'summary' } });
    expect(upstream.requests).toHaveLength(4);
  });
});
