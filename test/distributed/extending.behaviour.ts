import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { transform } from '@swc/core';
import { clientOf } from '@parley/testing/api';
import type { NatsServer } from '@parley/testing/nats-server';
import { run, type RunningPlatform } from '@parley/testing/running-platform';
import { waitFor } from '@parley/testing/wait-for';

const text = readFileSync('docs/extending.md', 'utf8');

/** First match of the document. Throws without one. */
function documented(pattern: RegExp): string {
  const found = pattern.exec(text)?.[1];
  if (found === undefined) throw new Error(`docs/extending.md does not match ${pattern.source}.`);
  return found;
}

/** Service whose source and permissions are exactly those of docs/extending.md. */
export class DocumentedService {
  platform?: RunningPlatform & { nats: NatsServer };
  private seed?: string;
  private readonly program = join('dist/apps', `reports-${randomUUID()}`, 'src/main.js');

  /** Runs the documented command. Returns the user for the configuration of the NATS server. */
  async createUser(): Promise<string> {
    const command = documented(/`npm run parley -- (nats keys [^`]+)`/);
    const parley = run('dist/apps/cli/src/main.js', {}, command.split(/\s+/));
    await parley.ended;
    const [, seed, user] = /^NATS_NKEY_SEED=(\S+)$[^{]*(\{[^]*\})\s*$/m.exec(parley.output()) ?? [];
    if (!seed) throw new Error(`The command printed no key:\n${parley.output()}`);
    this.seed = seed;
    return user!;
  }

  async start() {
    const { paths } = (
      JSON.parse(readFileSync('tsconfig.base.json', 'utf8')) as { compilerOptions: { paths: Record<string, string[]> } }
    ).compilerOptions;
    const { code } = await transform(documented(/```ts\n([^]*?)```/), {
      filename: resolve('apps/reports/src/main.ts'),
      configFile: resolve('.swcrc'),
      jsc: { baseUrl: resolve('.'), paths },
      sourceMaps: false,
    });
    await mkdir(dirname(this.program), { recursive: true });
    await writeFile(this.program, code);
    const { nats } = this.platform!;
    const { NATS_CA_FILE } = nats.access;
    const service = run(this.program, {
      PORT: '0',
      NATS_URL: nats.url,
      NATS_NKEY_SEED: this.seed!,
      ...(NATS_CA_FILE ? { NATS_CA_FILE } : {}),
    });
    await service.said(/reports is ready/);
    return service;
  }

  async remove(): Promise<void> {
    await rm(dirname(dirname(this.program)), { recursive: true, force: true });
  }
}

export function describeExtension(extension: DocumentedService): void {
  describe('a service of its own, as documented', () => {
    afterAll(() => extension.remove());

    it('documents a service of its own in at most 40 lines', () => {
      expect(
        documented(/```ts\n([^]*?)```/)
          .trimEnd()
          .split('\n').length,
      ).toBeLessThanOrEqual(40);
    });

    it('consumes an event and calls an operation as a service of its own, with a key for only these', async () => {
      const admin = clientOf(extension.platform!);
      const { bot } = await admin.createBot({});
      const client = clientOf(extension.platform!, bot.id);
      const known = await client.uploadFile({
        key: 'terms.txt',
        content: 'A refund is paid within two weeks.',
        index: true,
        contentType: 'text/plain',
      });
      await waitFor(
        async () => (await client.getFile({ id: known.file.id })).file.status,
        (status) => status === 'indexing_completed',
        60_000,
      );
      const service = await extension.start();

      const { file } = await client.uploadFile({
        key: 'news.txt',
        content: 'News.',
        index: true,
        contentType: 'text/plain',
      });

      await service.said(new RegExp(`${file.id}: [1-9]\\d* passages about refunds`));
      await service.stop();
      expect(service.output()).not.toMatch(/permission violation|not found/i);
    });
  });
}
