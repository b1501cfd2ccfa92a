// Takes longer than other suites: only the start of each app shows which folders it needs.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { clientOf } from '@parley/testing/api';
import { put } from '@parley/testing/bot-files';
import { hasNatsServer } from '@parley/testing/nats-server';
import { pdfOf } from '@parley/testing/pdf';
import { S3Server } from '@parley/testing/s3-server';
import { waitFor } from '@parley/testing/wait-for';
import { parse } from 'yaml';
import { Fleet } from '../../test/faults/fleet';
import { apps } from './configurations';
import { hasHelm, render } from './helm';
import { podsOf, siteNames, type Site, sites, writableMountsOf } from './releases';

/** Folders that each app may write to. */
type Mounts = Record<string, string[]>;

const [bwrap, ...readOnly] = [
  ...['bwrap', '--die-with-parent', '--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc'],
  ...['--unshare-user', '--unshare-pid', '--uid', '1000', '--gid', '1000', '--cap-drop', 'ALL'],
];

/** Shared folder of the chart. Here it is another one, since no folder can be created below a read-only root. */
const blobs = '/blobs';

function mountsOfCompose(): Mounts {
  const { services } = parse(readFileSync('docker-compose.yml', 'utf8'), { merge: true }) as {
    services: Record<string, { volumes?: string[]; tmpfs?: string[] }>;
  };
  return mountsOfApps((app) => {
    const { volumes = [], tmpfs = [] } = services[app]!;
    return [...volumes, ...tmpfs]
      .filter((volume) => !volume.endsWith(':ro'))
      .map((volume) => volume.split(':').at(-1)!);
  });
}

function mountsOfChart(site: Site): Mounts {
  const pods = podsOf(render(sites[site]));
  return mountsOfApps((app) => writableMountsOf(pods.find(({ name }) => name === app)!));
}

function mountsOfApps(mountsOf: (app: string) => string[]): Mounts {
  return Object.fromEntries(apps.map((app) => [app, mountsOf(app).sort()]));
}

/** Installations by their mounts, so that each set of mounts is tried once. */
function installations(): [string, Mounts][] {
  const all: [string, Mounts][] = [
    ['Compose', mountsOfCompose()],
    ...(hasHelm() ? siteNames : []).map((site): [string, Mounts] => [site, mountsOfChart(site)]),
  ];
  const names = new Map<string, string[]>();
  for (const [name, mounts] of all) {
    const key = JSON.stringify(mounts);
    names.set(key, [...(names.get(key) ?? []), name]);
  }
  return Array.from(names, ([key, same]) => [same.join(', '), JSON.parse(key) as Mounts]);
}

/** True where bubblewrap works. Otherwise prints a warning, or throws where CI must not skip the suite. */
function hasBubblewrap(): boolean {
  const { status, stderr, error } = spawnSync(bwrap!, [...readOnly, 'true'], { encoding: 'utf8' });
  if (status === 0) return true;
  const message = `SKIPPED: apps with the mounts of the chart and of Compose. ${error?.message ?? stderr.trim()}`;
  if (process.env['PARLEY_REQUIRE_ISOLATION'] === '1') throw new Error(message);
  process.stderr.write(`\n${message}\n`);
  return false;
}

const suite = hasNatsServer() && hasBubblewrap() ? describe.each : describe.skip.each;

/** Apps that index a file. The others are started once for each of their mounts. */
const indexing = ['gateway', 'admin', 'files', 'files-worker'];
const started = new Set<string>();

suite(installations())('with the mounts of %s', (_names, mounts) => {
  let folder: string;
  let s3: S3Server;
  let fleet: Fleet | undefined;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'parley-mounts-'));
    s3 = await S3Server.start();
    const usesFolder = mounts['files']!.includes(blobs);
    const isNew = (app: string) => !started.has(`${app} ${mounts[app]!.join()}`);
    const left = apps.filter((app) => !indexing.includes(app) && !isNew(app));
    for (const app of apps) started.add(`${app} ${mounts[app]!.join()}`);
    fleet = await Fleet.start({
      replicasOf: Object.fromEntries(left.map((app) => [app, 0])),
      env: usesFolder ? { BLOBS_DIR: folder } : s3.env,
      wrapperOf: (app) => {
        const temporary = mounts[app]!.filter((path) => path !== blobs).flatMap((path) => ['--tmpfs', path]);
        // Both may be below a temporary folder.
        const others = ['--ro-bind', process.cwd(), process.cwd()];
        if (mounts[app]!.includes(blobs)) others.push('--bind', folder, folder);
        return [bwrap!, ...readOnly, ...temporary, ...others];
      },
    });
  });

  afterAll(async () => {
    await fleet?.stop();
    await s3.stop();
    rmSync(folder, { recursive: true });
  });

  it('starts the apps, and indexes a file', async () => {
    const { bot } = await clientOf(fleet!).createBot({});
    const client = clientOf(fleet!, bot.id);
    const content = pdfOf([[{ text: 'The ferry leaves at nine.', x: 72, y: 700 }]]);

    const { file } = await client.upsertFile({ key: 'ferry.pdf', size: content.length, index: true });
    expect((await put(file.uploadUrl, content)).status).toBe(200);

    const indexed = await waitFor(
      () => client.getFile({ id: file.id }),
      (answer) => !answer.file.status.endsWith('_pending'),
    );
    expect(indexed.file.status).toBe('indexing_completed');
  });
});
