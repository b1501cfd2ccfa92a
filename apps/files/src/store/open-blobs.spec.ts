import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FolderBlobs } from '@parley/blobs/folder-blobs';
import { S3Blobs } from '@parley/blobs/s3-blobs';
import { ConfigError } from '@parley/config/config';
import { LoopbackServer } from '@parley/testing/loopback-server';
import { FileStoreConfig } from './config';
import { openBlobs } from './open-blobs';

const open = (settings: Partial<FileStoreConfig>) => openBlobs(Object.assign(new FileStoreConfig(), settings));

let server: LoopbackServer;
let blobsDir: string;
beforeAll(async () => {
  server = await LoopbackServer.start((_, response) => void response.end());
  blobsDir = await mkdtemp(join(tmpdir(), 'parley-open-blobs-'));
});
afterAll(async () => {
  await server.close();
  await rm(blobsDir, { recursive: true, force: true });
});

it('uses the configured bucket, and the folder without one', async () => {
  const bucket = { s3Bucket: 'parley', s3Endpoint: server.url, s3AccessKeyId: 'id', s3SecretAccessKey: 'secret' };

  const chosen = [await open({ blobsDir, ...bucket }), await open({ blobsDir })];

  expect(chosen.map((blobs) => blobs.constructor)).toEqual([S3Blobs, FolderBlobs]);
  expect(server.requests.map(({ method, path }) => `${method} ${path}`)).toEqual(['HEAD /parley/']);
  chosen.forEach((blobs) => blobs.close());
});

it.each<[string, Partial<FileStoreConfig>]>([
  ['BLOBS_DIR', {}],
  ['S3_SECRET_ACCESS_KEY', { s3Bucket: 'parley', s3AccessKeyId: 'id' }],
  ['S3_ACCESS_KEY_ID', { s3Bucket: 'parley', s3SecretAccessKey: 'secret' }],
])('says that %s is missing with %j', async (name, settings) => {
  const opened = open(settings);

  await expect(opened).rejects.toBeInstanceOf(ConfigError);
  await expect(opened).rejects.toThrow(`${name} is missing`);
  await expect(opened).rejects.not.toThrow('secret');
});
