import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { Logger } from '@nestjs/common';
import { ConfigError } from '@parley/config/config';
import { Metrics } from '@parley/service/metrics';
import { RunnerConfig } from '../config';
import { bubblewrapProblem, IsolationService } from './isolation.service';

beforeAll(() => Logger.overrideLogger(false));

const path = process.env['PATH'];

async function started(
  isolation: RunnerConfig['isolation'],
  { host = '127.0.0.1', isOnlyProcess = true }: { host?: string; isOnlyProcess?: boolean } = {},
) {
  const config = Object.assign(new RunnerConfig(), { isolation, host });
  const service = new IsolationService(config, { isOnlyProcess, metrics: new Metrics() });
  await service.onModuleInit();
  service.onApplicationShutdown();
  return service;
}

const modeOf = async (isolation: RunnerConfig['isolation']) => (await started(isolation)).description.split(':', 1)[0];

it('uses bubblewrap by default where it works', async () => {
  expect(await modeOf('auto')).toBe((await bubblewrapProblem()) === undefined ? 'bwrap' : 'process');
});

describe('where bubblewrap does not work', () => {
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'parley-bwrap-'));
    await chmod(folder, 0o755);
    const script = '#!/bin/sh\necho "bwrap: No permissions to create new namespace" >&2\nexit 1\n';
    await writeFile(join(folder, 'bwrap'), script, { mode: 0o755 });
    process.env['PATH'] = `${folder}${delimiter}${path}`;
  });

  afterEach(async () => {
    process.env['PATH'] = path;
    await rm(folder, { recursive: true });
  });

  it('does without it by default', async () => {
    expect(await modeOf('auto')).toBe('process');
    expect(await modeOf('process')).toBe('process');
  });

  it('does not start when it is required, and says why and what to do', async () => {
    const starting = modeOf('bwrap');

    await expect(starting).rejects.toThrow(ConfigError);
    await expect(starting).rejects.toThrow(
      /RUNNER_ISOLATION is bwrap, but .* No permissions to create new namespace.* Install it .* or set RUNNER_ISOLATION=process/,
    );
  });
});
