import { totalmem } from 'node:os';
import { choice, Env, integer, text, url } from '@parley/config/config';
import { ProcessConfig, webhookUrlVariable } from '@parley/service/config';
import { type IsolationMode, isolationModes } from './children/isolation';

const platformMb = 700;
const childMb = 300;
const maxProcesses = 24;

/** Processes that fit into the memory of this process, in its container or on its machine. */
export function defaultProcesses(): number {
  const limit = process.constrainedMemory();
  const bytes = limit > 0 && limit < totalmem() ? limit : totalmem();
  return Math.min(maxProcesses, Math.max(1, Math.floor((bytes / 2 ** 20 - platformMb) / childMb)));
}

export class RunnerConfig extends ProcessConfig {
  @Env({
    env: 'RUNNER_PROCESSES',
    type: integer(1, 1_000),
    about: 'Processes that a runner starts at most: each runs the code of one bot or of one version of an integration.',
    defaultText: 'by memory: one for each 300 MB beyond 700 MB, at least 1 and at most 24',
  })
  processes = defaultProcesses();

  @Env({
    env: 'RUNNER_CONCURRENCY',
    type: integer(1, 1_000),
    about: 'Events that one process handles at once, and as many actions and as many webhooks beside them.',
  })
  concurrency = 10;

  @Env({
    env: 'RUNNER_IDLE_MS',
    need: 'rarely',
    type: integer(100, 86_400_000),
    about: 'Time in milliseconds after which a process without calls ends.',
  })
  idleMs = 300_000;

  @Env({
    env: 'RUNNER_MEMORY_MB',
    type: integer(64, 16_384),
    about: 'Heap limit of a process in MiB. Its resident memory may be twice as large.',
  })
  memoryMb = 256;

  @Env({
    env: 'RUNNER_ISOLATION',
    type: choice<'auto' | IsolationMode>('auto', ...isolationModes),
    about:
      'Isolation of the processes: `process` for the limits of Node and of the system, `bwrap` for namespaces of bubblewrap around them (Linux), without which the start fails, `auto` for `bwrap` where it works. Where it does not, `auto` refuses code in embedded mode on an address that others reach, unless Parley runs as root.',
  })
  isolation: 'auto' | IsolationMode = 'auto';

  @Env({
    env: 'RUNNER_ALLOW_PRIVATE',
    need: 'rarely',
    type: choice<'true' | 'false'>('true', 'false'),
    about:
      'Whether code may connect to private and loopback addresses. The API and the content address are always allowed.',
  })
  allowPrivate: 'true' | 'false' = 'false';

  @Env({
    env: 'HTTP_PROXY',
    alias: 'http_proxy',
    need: 'rarely',
    type: url('http', 'https'),
    about:
      'Proxy for requests of code to `http` URLs, also read as `http_proxy`. It may have a user name and a password.',
    optional: true,
  })
  httpProxy?: string;

  @Env({
    env: 'HTTPS_PROXY',
    alias: 'https_proxy',
    need: 'rarely',
    type: url('http', 'https'),
    about:
      'Proxy for requests of code to `https` URLs, also read as `https_proxy`. It may have a user name and a password.',
    optional: true,
  })
  httpsProxy?: string;

  @Env({
    env: 'NO_PROXY',
    alias: 'no_proxy',
    need: 'rarely',
    type: text(
      'hosts, domains (`.example.com`) and ranges (`10.0.0.1-10.0.0.9`), with or without a port; separate several with commas',
    ),
    about:
      'Hosts that code reaches without a proxy, also read as `no_proxy`. The API and the content address are always among them.',
    optional: true,
  })
  noProxy?: string;

  @Env({
    env: 'PUBLIC_URL',
    need: 'always',
    type: url('http', 'https'),
    about: 'Address of the API, under which code calls it.',
  })
  publicUrl!: string;

  @Env({
    env: 'CONTENT_URL',
    need: 'always',
    type: url('http', 'https'),
    about: 'Address of the content of files, which code may reach too.',
  })
  contentUrl!: string;

  @Env(webhookUrlVariable) webhookUrl?: string;
}
