import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { nkeys } from 'nats';
import type { Logger } from '@parley/logging/logger';
import { hasNatsServer, makeCertificate, NatsServer } from '@parley/testing/nats-server';
import { waitFor } from '@parley/testing/wait-for';
import { NatsLink } from './nats-connection';
import { countStatuses, silent } from './test/probe';

const suite = hasNatsServer() ? describe : describe.skip;

let folder: string;
let server: NatsServer | undefined;
const links: NatsLink[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'parley-link-'));
});
afterEach(async () => {
  await Promise.all(links.splice(0).map((link) => link.close()));
  await server?.stop();
  server = undefined;
  await rm(folder, { recursive: true, force: true });
});

async function open(credentials: object, url = server!.url, logger: Logger = silent): Promise<NatsLink> {
  const link = await NatsLink.open(url, 'files', logger, credentials);
  links.push(link);
  return link;
}

function newKey() {
  const pair = nkeys.createUser();
  return { seed: new TextDecoder().decode(pair.getSeed()), publicKey: pair.getPublicKey() };
}

function listeningLogger() {
  const lines: string[] = [];
  const note = (...words: unknown[]) => void lines.push(JSON.stringify(words));
  return { lines, logger: { ...silent, error: note, warn: note, info: () => undefined } as unknown as Logger };
}

suite('the key of a file', () => {
  const config = () => join(folder, 'nats.conf');
  const seedFile = () => join(folder, 'seed');
  const letIn = (publicKey: string) => writeFile(config(), `authorization { users: [{ nkey: ${publicKey} }] }`);

  it('reads the key of a file again for each connection, and logs a wrong key once', async () => {
    const [former, next] = [newKey(), newKey()];
    const { lines, logger } = listeningLogger();
    await writeFile(seedFile(), `${former.seed}\n`);
    await letIn(former.publicKey);
    server = await NatsServer.startWith(['-c', config()], {});
    const link = await open({ seedFile: seedFile() }, server.url, logger);
    await link.connection.flush();
    const statuses = countStatuses(link);

    await server.kill();
    await letIn(next.publicKey);
    await server.run();
    await waitFor(() => statuses['error']! > 3);
    expect(link.isUp).toBe(false);
    expect(lines.filter((line) => line.includes('AUTHORIZATION'))).toHaveLength(1);
    expect(lines.filter((line) => line.includes('is lost'))).toHaveLength(1);

    await writeFile(seedFile(), next.seed);
    await waitFor(() => link.isUp);
    await link.connection.flush();
  });

  it('fails the start when the key file is no seed, without revealing the content', async () => {
    await writeFile(seedFile(), 'my secret');

    await expect(NatsLink.open('nats://127.0.0.1:1', 'files', silent, { seedFile: seedFile() })).rejects.toThrow(
      /^[^ ]*seed does not contain the seed of a user: 58 letters and digits that begin with SU\.$/,
    );
  });
});

suite('a server that asks for certificates', () => {
  it('accepts only a process with a certificate where the server requires one', async () => {
    const certFile = makeCertificate(folder);
    // makeCertificate has printed the reason for the skip.
    if (!certFile) return;
    const keyFile = join(folder, 'key.pem');
    const config = join(folder, 'nats.conf');
    const ask = (verify: boolean) =>
      writeFile(
        config,
        `tls { cert_file: "${certFile}", key_file: "${keyFile}", ca_file: "${certFile}", verify: ${verify} }`,
      );
    await ask(true);
    server = await NatsServer.startWith(['-c', config], {});
    const url = server.url.replace('nats:', 'tls:');
    const { lines, logger } = listeningLogger();

    const link = await open({ caFile: certFile, certFile, keyFile }, url);
    await link.connection.flush();
    const without = open({ caFile: certFile }, url, logger);
    await waitFor(() => lines.some((line) => line.includes('NATS_CERT_FILE')));

    await server.kill();
    await ask(false);
    await server.run();
    await (await without).connection.flush();
  });
});
