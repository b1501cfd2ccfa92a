import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readProviderFile } from './provider-file';
import { toProvider } from './provider-settings';
import { UpstreamClient } from './upstream.client';

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'parley-providers-'));
});

afterAll(() => rm(folder, { recursive: true }));

async function read(...providers: object[]) {
  const file = join(folder, 'providers.json');
  await writeFile(file, JSON.stringify({ providers }));
  return readProviderFile(file, 60_000, { KEY: 'sk-of-the-variable' });
}

it('reads the same settings from a file as operations take, with defaults', async () => {
  const [provider] = await read({
    ...{ name: 'local', url: 'http://vllm:8000', keyVariable: 'KEY', rate: 60 },
    models: [{ name: 'qwen3', aliases: ['small'] }],
  });

  expect(provider).toEqual({
    ...{ name: 'local', url: 'http://vllm:8000', key: 'sk-of-the-variable', rate: 60, roles: {} },
    models: [{ name: 'qwen3', upstream: 'qwen3', aliases: ['small'], abilities: [], tags: [], voices: [] }],
    ...{ timeoutMs: 60_000, concurrency: 512, limitField: 'max_completion_tokens' },
  });
});

it.each([
  [{ name: 'Local', url: 'http://vllm:8000' }, 'providers[0].name must match'],
  [{ name: 'local', url: 'http://vllm:99999' }, 'providers[0].url must be a UR'],
  [{ name: 'local', url: 'http://vllm:8000', roles: { smart: 'x' } }, 'providers[0].roles has a name "smart"'],
])('names the field of a file with %j', async (provider, problem) => {
  await expect(read(provider)).rejects.toThrow(problem);
});

it('reports a key that HTTP cannot send as a failure of the provider, without the key', async () => {
  const client = new UpstreamClient();
  const provider = toProvider({ url: 'http://127.0.0.1:1' }, { name: 'local', key: 'sk-secret\n', timeoutMs: 1_000 });

  const sent = client.send(provider, { path: 'models', method: 'GET', signal: new AbortController().signal });

  await expect(sent).rejects.toMatchObject({
    failure: 'failed',
    message: 'The provider "local" cannot be reached or broke off (ERR_INVALID_CHAR).',
  });
  client.onApplicationShutdown();
});
