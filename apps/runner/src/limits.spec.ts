import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Logger } from '@nestjs/common';
import { workerFile } from '@parley/background/worker-file';
import { Metrics } from '@parley/service/metrics';
import type { Platform } from '@parley/service/platform';
import type { BotChild } from './children/bot-child';
import { ChildrenService } from './children/children.service';
import { isolate } from './children/isolation';
import type { IsolationService } from './children/isolation.service';
import { exceededLimit } from './children/temporary-folder';
import type { CodeService } from './code/code.service';
import { RunnerConfig } from './config';
import type { LogSenderService } from './logs/log-sender.service';

const program = workerFile(join(__dirname, 'host'), 'host.child');
const request = { method: 'POST', path: '/', query: '', headers: {}, body: '{}' };
const frame = { request, apiHeaders: {}, functionName: 'bot', functionVersion: '1', memoryMb: 256, timeoutMs: 60_000 };

let service: ChildrenService;

beforeAll(() => {
  Logger.overrideLogger(false);
  // As many bytes as the body says.
  const code = `exports.handler = ({ body }) => ({ status: 200, body: 'x'.repeat(Number(body)) })`;
  const output = { begin: () => undefined, take: () => undefined, end: () => undefined };
  service = new ChildrenService(
    { programOf: () => ({ code, secrets: {}, token: 'key' }) } as unknown as CodeService,
    { outputOf: () => output } as unknown as LogSenderService,
    Object.assign(new RunnerConfig(), { allowPrivate: 'true' }),
    { isolate: (place: number) => isolate('process', program, place) } as unknown as IsolationService,
    { metrics: new Metrics() } as Platform,
  );
});

afterAll(() => service.onApplicationShutdown());

const use = <T>(work: (child: BotChild) => Promise<T>) =>
  service.use({ owner: 'bot', ownerId: 'bot', codeRevision: '1' }, work);
const answerOf = (bytes: number) => (child: BotChild) =>
  child.invoke({ ...frame, request: { ...request, body: String(bytes) } }, () => undefined);

it('gives a process 256 MiB of heap, 512 MiB in all, 2,048 open files, and files of 64 MiB', async () => {
  const { pid, memory } = await use((child) => Promise.resolve({ pid: child.pid!, memory: child['limitBytes'] }));

  const limits = readFileSync(`/proc/${pid}/limits`, 'utf8');
  expect(readFileSync(`/proc/${pid}/cmdline`, 'utf8')).toContain('--max-old-space-size=256\0');
  expect(memory).toBe(512 * 2 ** 20);
  expect(limits).toMatch(/^Max open files +2048 /m);
  expect(limits).toMatch(new RegExp(`^Max file size +${64 * 2 ** 20} `, 'm'));
});

it('takes answers of 5 MB', async () => {
  expect(await use(answerOf(5_000_000))).toMatchObject({ status: 200 });

  await expect(use(answerOf(5_000_001))).rejects.toMatchObject({
    failure: 'too large',
    message: 'The answer has more than 5000000 bytes: 5000001.',
  });
});

it('lets a temporary folder have 64 MiB and 5,000 files', () => {
  const full = { bytes: 64 * 2 ** 20, files: 5_000 };

  expect(exceededLimit(full)).toBeUndefined();
  expect(exceededLimit({ ...full, bytes: full.bytes + 1 })).toBe('64 MiB');
  expect(exceededLimit({ ...full, files: 5_001 })).toBe('5,000 files');
});

it('handles ten events, ten actions and ten webhooks of a process at once', () => {
  expect(new RunnerConfig().concurrency).toBe(10);
});
