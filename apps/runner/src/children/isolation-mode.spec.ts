import { chmod, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { Logger } from '@nestjs/common';
import { ConfigError } from '@parley/config/config';
import { findProgram } from '@parley/child-processes/find-program';
import { Metrics } from '@parley/service/metrics';
import { RunnerConfig } from '../config';
import { hasOwnUserIds } from './isolation';
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

  it('isolates without bubblewrap by default where it does not work, with the reason and its meaning', async () => {
    expect((await started('auto')).description).toMatch(
      /^process: (each process of code has a user id of its own|code of bots can read this user's files) \(bubblewrap: exit code 1: bwrap: No permissions to create new namespace\)$/,
    );
    expect((await started('process')).description).toMatch(/^process: .* \(RUNNER_ISOLATION=process\)$/);
  });

  it('names what to install when bubblewrap is missing', async () => {
    await rm(join(folder, 'bwrap'));
    await symlink(findProgram('setpriv')!, join(folder, 'setpriv'));
    process.env['PATH'] = folder;

    expect((await started('auto')).description).toContain('(bubblewrap: not installed; apt install bubblewrap)');
  });

  it('refuses code where strangers reach a platform that shares its user with code', async () => {
    const { description, refusal } = await started('auto', { host: '0.0.0.0' });

    if (hasOwnUserIds) expect([description, refusal]).toEqual([expect.stringMatching(/^process: /), undefined]);
    else {
      expect(description).toMatch(/^none: .*bubblewrap.*RUNNER_ISOLATION=process/);
      expect(refusal).toMatch(/^This runner runs no code: it could read the data and keys of the platform/);
    }
  });

  it('runs code where the operator accepts it, and in a process of its own', async () => {
    expect((await started('process', { host: '0.0.0.0' })).refusal).toBeUndefined();
    expect((await started('auto', { host: '0.0.0.0', isOnlyProcess: false })).refusal).toBeUndefined();
  });

  it('tries bubblewrap again when it was killed from outside', async () => {
    await writeFile(join(folder, 'bwrap'), '#!/bin/sh\nkill -9 $$\n', { mode: 0o755 });

    const { description, refusal } = await started('auto');

    expect(description).toMatch(/^impaired: bubblewrap could not be tried \(.*SIGKILL.*\); another attempt follows/);
    expect(refusal).toMatch(/^This runner runs no code: bubblewrap could not be tried/);
  });

  it('does not start when bubblewrap is required and does not work, with reason and remedy', async () => {
    const starting = modeOf('bwrap');

    await expect(starting).rejects.toThrow(ConfigError);
    await expect(starting).rejects.toThrow(
      /RUNNER_ISOLATION is bwrap, but .* No permissions to create new namespace\. Use it where user namespaces are allowed, or set RUNNER_ISOLATION=process/,
    );
  });
});
