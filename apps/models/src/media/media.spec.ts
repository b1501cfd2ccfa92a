import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '@parley/testing/free-port';
import { answerBytes, answerJson, answerWith, failWith, ModelServer } from '@parley/testing/model-server';
import { type Account, configured, type PublicApi, startPublicApi } from '@parley/testing/public-api';
import { AdminModule } from '../../../admin/src/admin.module';
import { AdminConfig } from '../../../admin/src/config';
import { FilesConfig } from '../../../files/src/config';
import { FilesModule } from '../../../files/src/files.module';
import { GatewayModule } from '../../../gateway/src/gateway.module';
import { HubModule } from '../../../hub/src/hub.module';
import { ModelsConfig } from '../config';
import { ModelsModule } from '../models.module';

const png = Buffer.concat([Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]), Buffer.alloc(200, 7)]);
const dayMs = 24 * 3_600_000;

/** WAV of silence with 8,000 bytes in a second. */
function wavOf(seconds: number): Buffer {
  const wav = Buffer.alloc(44 + seconds * 8_000);
  wav.write('RIFF    WAVEfmt ', 0, 'latin1');
  wav.writeUInt32LE(8_000, 28);
  return wav;
}

let directory: string;
let blobsDir: string;
let first: ModelServer;
let second: ModelServer;
let web: Server;
let api: PublicApi;
let account: Account;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'parley-media-'));
  blobsDir = join(directory, 'blobs');
  await mkdir(blobsDir);
  [first, second] = await Promise.all([ModelServer.start(), ModelServer.start()]);
  const media = [
    { name: 'ears', prices: { minute: 0.6 }, abilities: ['transcription'] },
    { name: 'gpt-image-1', aliases: ['brush'], prices: { picture: 0.04 }, abilities: ['imageGeneration'] },
    {
      ...{ name: 'mouth', prices: { characters: 15 }, abilities: ['speech'] },
      voices: [
        { id: 'nova', displayName: 'Nova', gender: 'female', languages: ['en', 'pt-BR'] },
        { id: 'onyx', languages: ['de'] },
      ],
    },
    { name: 'plain' },
    { name: 'hearing', abilities: ['audio'] },
  ];
  const providers = [
    { name: 'first', url: first.url, models: media, roles: { auto: 'plain' } },
    { name: 'second', url: second.url, models: [{ name: 'dall-e', abilities: ['imageGeneration'] }] },
  ];
  await writeFile(join(directory, 'providers.json'), JSON.stringify({ providers }));
  const contentPort = await freePort();
  web = createServer((request, response) => {
    if (request.url === '/sound.wav') response.setHeader('content-type', 'audio/wav').end(wavOf(2));
    else if (request.url === '/large') response.end(Buffer.alloc(25_000_001));
    else response.end('no sound');
  });
  await new Promise<void>((resolve) => web.listen(0, '127.0.0.1', resolve));
  api = await startPublicApi(
    GatewayModule,
    configured(AdminModule, AdminConfig, { quotaStorageBytes: 1_000_000 }),
    HubModule,
    configured(ModelsModule, ModelsConfig, {
      completionsProvidersFile: join(directory, 'providers.json'),
      egressAllowPrivate: 'true',
    }),
    configured(FilesModule, FilesConfig, { blobsDir, contentUrl: `http://127.0.0.1:${contentPort}` }),
  );
  await api.apps[4]!.listen(contentPort, '127.0.0.1');
  account = await api.newAccount();
});

afterAll(async () => {
  await api?.stop();
  web?.close();
  await Promise.all([first?.stop(), second?.stop()]);
  await rm(directory, { recursive: true, force: true });
});

beforeEach(() => {
  for (const server of [first, second]) {
    server.requests.length = 0;
    server.answer = failWith(500);
  }
});

const webUrl = (path: string) => `http://127.0.0.1:${(web.address() as AddressInfo).port}${path}`;
const dataUri = (type: string, bytes: Buffer) => `data:${type};base64,${bytes.toString('base64')}`;

async function newBot(owner = account) {
  const { bot } = await owner.client.createBot({});
  const headers = { authorization: `Bearer ${owner.token}`, 'x-bot-id': bot.id };
  const ask = (path: string, json: object) => api.send(`POST /v2/cognitive/${path}`, { headers, json });
  return {
    id: bot.id,
    headers,
    ask,
    draw: (json: object = {}) => ask('generate-image', { prompt: 'a cat', ...json }),
    speak: (json: object = {}) => ask('generate-audio', { model: 'mouth', input: 'Hello', ...json }),
    hear: (json: object) => ask('transcribe-audio', json),
    calls: () =>
      api.sql(
        `SELECT kind, provider, model, cost::int, is_estimated, fallbacks, finish FROM models.model_call WHERE bot_id = $1 ORDER BY id`,
        [bot.id],
      ),
    files: () => api.sql('SELECT key, size::int FROM files.file WHERE bot_id = $1', [bot.id]),
  };
}

describe('transcription', () => {
  const heard = answerJson({ text: ' Good morning. ', usage: { type: 'duration', seconds: 90 } });

  it('sends the audio of a data URI as a file to the model of the role, and charges by the minute', async () => {
    const bot = await newBot();
    first.answer = heard;

    const { status, json } = await bot.hear({ url: dataUri('audio/wav', wavOf(1)) });

    expect({ status, json }).toMatchObject({
      status: 200,
      json: {
        output: 'Good morning.',
        metadata: { provider: 'first', model: 'first:ears', cost: 0.9, durationSeconds: 90, cached: false },
      },
    });
    const [{ path, form }] = first.requests as [(typeof first.requests)[0]];
    expect({ path, model: form?.get('model') }).toEqual({ path: '/v1/audio/transcriptions', model: 'ears' });
    const file = form!.get('file') as File;
    expect({ name: file.name, bytes: Buffer.from(await file.arrayBuffer()) }).toEqual({
      name: 'audio.wav',
      bytes: wavOf(1),
    });
    const about = { provider: 'first', model: 'first:ears', is_estimated: false, fallbacks: 0, finish: 'stop' };
    expect(await bot.calls()).toEqual([{ kind: 'transcription', cost: 900_000_000, ...about }]);
  });

  it('fetches audio by its address, and counts its seconds where the provider does not', async () => {
    const bot = await newBot();
    first.answer = answerJson({ text: 'hi' });

    const { json } = await bot.hear({ url: webUrl('/sound.wav') });

    expect(json.metadata).toMatchObject({ durationSeconds: 2, cost: 0.02 });
    expect(await bot.calls()).toMatchObject([{ is_estimated: true }]);
  });

  it.each([
    ['text in place of audio', () => webUrl('/text'), 'url must be audio'],
    ['more than 25 MB', () => webUrl('/large'), 'url cannot be fetched'],
    ['an address that is no public one', () => 'http://169.254.169.254/x', 'url cannot be fetched'],
    ['a data URI without base64', () => 'data:audio/wav,xx', 'url must be an address, or a data URI in base64'],
  ])('returns 400 for %s', async (_name, url, message) => {
    const bot = await newBot();

    const { status, json } = await bot.hear({ url: url() });

    expect({ status, message: json.message }).toEqual({
      status: 400,
      message: expect.stringContaining(message) as string,
    });
    expect(first.requests).toEqual([]);
  });

  it('puts the transcription in the place of audio for a model that does not hear', async () => {
    const bot = await newBot();
    first.answer = (request, response) => (request.form ? heard : answerWith('Hello!'))(request, response);
    const content = [
      { type: 'text', text: 'Answer:' },
      { type: 'audio', url: webUrl('/sound.wav') },
    ];

    const { json } = await bot.ask('generate-text', { messages: [{ role: 'user', content }] });

    expect(json).toMatchObject({ output: 'Hello!' });
    expect(json.metadata.transcription).toEqual({
      ...{ model: 'first:ears', provider: 'first', cost: 0.9, durationSeconds: 90, parts: 1 },
    });
    expect(first.requests.at(-1)!.body.messages[0]!['content']).toEqual([
      { type: 'text', text: 'Answer:' },
      { type: 'text', text: 'Good morning.' },
    ]);
  });

  it('sends audio to a model that hears as it is', async () => {
    const bot = await newBot();
    first.answer = answerWith('Hello!');
    const content = [{ type: 'audio', url: dataUri('audio/wav', wavOf(1)) }];

    const { json } = await bot.ask('generate-text', { model: 'hearing', messages: [{ role: 'user', content }] });

    expect(json.metadata).not.toHaveProperty('transcription');
    expect(first.requests.at(-1)!.body.messages[0]!['content']).toEqual([
      { type: 'input_audio', input_audio: { data: wavOf(1).toString('base64'), format: 'wav' } },
    ]);
  });
});

describe('pictures', () => {
  const drawn = answerJson({
    data: [{ b64_json: png.toString('base64') }],
    usage: { input_tokens: 3, output_tokens: 9 },
  });

  it('stores a picture as a public file of the bot that expires', async () => {
    const bot = await newBot();
    first.answer = drawn;

    const { status, json } = await bot.draw({ size: '16:9', format: 'png', options: { expirationDays: 2 } });

    expect({ status, json }).toMatchObject({
      status: 200,
      json: { metadata: { model: 'first:gpt-image-1', cost: 0.04, size: '16:9', format: 'png' } },
    });
    expect(first.requests[0]).toMatchObject({
      path: '/v1/images/generations',
      body: { model: 'gpt-image-1', prompt: 'a cat', n: 1, size: '1536x1024', output_format: 'png' },
    });
    const content = await fetch(json.output.imageUrl);
    expect(content.headers.get('content-type')).toBe('image/png');
    expect(Buffer.from(await content.arrayBuffer())).toEqual(png);
    const client = api.client(account.token, account.workspaceId, bot.id);
    const [file] = (await client.listFiles({})).files;
    expect(file).toMatchObject({ tags: { generated: 'image' }, accessPolicies: ['public_content'] });
    const days = (Date.parse(file!.expiresAt!) - Date.now()) / dayMs;
    expect(Math.abs(days - 2)).toBeLessThan(0.01);
    expect(await bot.calls()).toMatchObject([{ kind: 'image', cost: 40_000_000, is_estimated: false }]);
  });

  it('asks the next model when the first one fails, and fetches a picture that it answers by address', async () => {
    const bot = await newBot();
    const address = `http://127.0.0.1:${(web.address() as AddressInfo).port}/sound.wav`;
    second.answer = answerJson({ data: [{ url: address }] });

    const { status, json } = await bot.draw();

    expect({ status, message: json.message }).toEqual({
      status: 503,
      message: expect.stringMatching(/No model for image could answer.*second.*no picture/s) as string,
    });
    second.answer = drawn;
    expect((await bot.draw()).json.metadata).toMatchObject({ model: 'second:dall-e', cost: 0 });
    expect(second.requests.at(-1)!.body).toMatchObject({ response_format: 'b64_json' });
  });

  it('returns 400 for a prompt that the provider refuses', async () => {
    const bot = await newBot();
    first.answer = failWith(400, { message: 'not this', code: 'content_policy_violation' });
    second.answer = first.answer;

    const { status, json } = await bot.draw({ model: 'brush' });

    expect({ status, json }).toMatchObject({ status: 400, json: { type: 'InvalidPayload' } });
    expect(json.message).toContain('not this');
  });

  it('ends an answer above 10 MB, and one that is no picture', async () => {
    const bot = await newBot();
    first.answer = answerJson({ data: [{ b64_json: Buffer.from('text').toString('base64') }] });
    second.answer = answerJson({ data: [{ b64_json: 'A'.repeat(14_000_000) }] });

    const { status, json } = await bot.draw();

    expect(status).toBe(503);
    expect(json.message).toContain('"first" answered with no picture');
    expect(json.message).toContain('"second" answered with more than');
  });

  it('reports a quota that refuses the picture, and leaves no file', async () => {
    const bot = await newBot(await api.newAccount());
    const large = Buffer.concat([png, Buffer.alloc(1_000_000)]);
    first.answer = answerJson({ data: [{ b64_json: large.toString('base64') }] });
    second.answer = first.answer;

    const { status, json } = await bot.draw();

    expect({ status, type: json.type }).toEqual({ status: 403, type: 'QuotaExceeded' });
    expect(await bot.files()).toEqual([]);
    expect(await bot.calls()).toMatchObject([{ kind: 'image', finish: 'stop' }]);
  });

  it('reports a store that is away as a failure that clients do not repeat', async () => {
    const bot = await newBot();
    first.answer = drawn;
    second.answer = drawn;
    await rename(blobsDir, `${blobsDir}-away`);
    await writeFile(blobsDir, 'no folder');

    const { status, json } = await bot.draw();
    await rm(blobsDir);
    await rename(`${blobsDir}-away`, blobsDir);

    expect({ status, message: json.message }).toEqual({
      status: 500,
      message: expect.stringMatching(/was generated and could not be stored/) as string,
    });
    expect(await bot.files()).toEqual([]);
  });

  it('reserves the price of a picture, and refuses one above the budget', async () => {
    const bot = await newBot();
    await api.sql(`INSERT INTO models.budget (scope, scope_id, max_cost) VALUES ('bot', $1, 39999999)`, [bot.id]);

    const { status, json } = await bot.draw();

    expect({ status, type: json.type }).toEqual({ status: 403, type: 'QuotaExceeded' });
    expect([...first.requests, ...second.requests]).toEqual([]);
  });
});

describe('speech', () => {
  const mp3 = Buffer.concat([Buffer.from('ID3'), Buffer.alloc(1_000, 5)]);

  it('speaks with the first voice of the model, and stores the audio', async () => {
    const bot = await newBot();
    first.answer = answerBytes('audio/mpeg', mp3);

    const { status, json } = await bot.speak({ speed: 1.5, instructions: 'Whisper.' });

    expect({ status, json }).toMatchObject({
      status: 200,
      json: { metadata: { model: 'first:mouth', voice: 'nova', format: 'mp3', characterCount: 5, cost: 0.000075 } },
    });
    expect(first.requests[0]).toMatchObject({
      path: '/v1/audio/speech',
      body: {
        model: 'mouth',
        input: 'Hello',
        voice: 'nova',
        response_format: 'mp3',
        speed: 1.5,
        instructions: 'Whisper.',
      },
    });
    const content = await fetch(json.output.audioUrl);
    expect(content.headers.get('content-type')).toBe('audio/mpeg');
    expect(Buffer.from(await content.arrayBuffer())).toEqual(mp3);
  });

  it('streams audio as it arrives, and ends with the address of the stored file', async () => {
    const bot = await newBot();
    const wav = wavOf(1);
    first.answer = answerBytes('audio/wav', wav.subarray(0, 100), wav.subarray(100));

    const { status, headers, text } = await bot.ask('generate-audio-stream', {
      ...{ model: 'mouth', input: 'Hello', voice: 'onyx', format: 'wav' },
    });

    expect({ status, type: headers['content-type'] }).toEqual({
      status: 200,
      type: expect.stringContaining('application/x-ndjson') as string,
    });
    const lines = text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { audio: string; audioUrl: string; finished: boolean; metadata: object });
    const parts = lines.slice(0, -1);
    expect(Buffer.from(parts.map(({ audio }) => audio).join(''), 'base64')).toEqual(wav);
    expect(parts.every(({ finished }) => finished === false)).toBe(true);
    expect(lines.at(-1)).toMatchObject({ finished: true, metadata: { voice: 'onyx', durationSeconds: 1 } });
    const content = await fetch(lines.at(-1)!.audioUrl);
    expect(Buffer.from(await content.arrayBuffer())).toEqual(wav);
  });

  it('breaks a stream off without a last line when the provider does, and charges it', async () => {
    const bot = await newBot();
    first.answer = (_request, response) => {
      response.writeHead(200, { 'content-type': 'audio/mpeg' }).write(mp3);
      setImmediate(() => response.destroy());
    };

    const answer = bot.ask('generate-audio-stream', { model: 'mouth', input: 'Hello' });

    await expect(answer).rejects.toThrow();
    expect(await bot.calls()).toMatchObject([{ kind: 'speech', finish: 'error', cost: 75_000 }]);
    expect(await bot.files()).toEqual([]);
  });

  it('lists the voices of the configuration, by model and language', async () => {
    const bot = await newBot();
    const list = async (query: string) => {
      const { json } = await api.send(`GET /v2/cognitive/voices${query}`, { headers: bot.headers });
      return (json.voices as { id: string }[]).map(({ id }) => id);
    };

    const { json } = await api.send('GET /v2/cognitive/voices', { headers: bot.headers });
    expect(json.voices[0]).toEqual({
      ...{ id: 'nova', displayName: 'Nova', provider: 'first', gender: 'female', languages: ['en', 'pt-BR'] },
      models: ['mouth'],
    });
    expect(await list('?model=first:mouth&language=pt')).toEqual(['nova']);
    expect(await list('?language=de')).toEqual(['onyx']);
  });
});

it('lists what the models can do', async () => {
  const bot = await newBot();

  const { json } = await api.send('GET /v2/cognitive/models', { headers: bot.headers });

  const tags = (json.models as { id: string; tags: string[] }[]).map(({ id, tags }) => [id, tags]);
  expect(Object.fromEntries(tags)).toMatchObject({
    'first:ears': ['speech-to-text'],
    'first:gpt-image-1': ['image-generation'],
    'first:mouth': ['text-to-speech'],
  });
});
