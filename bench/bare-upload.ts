import { createWriteStream } from 'node:fs';
import { open, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import fastify from 'fastify';

// Baseline: the minimal server that stores an upload as durably as libs/blobs. It streams to a file, flushes and
// renames it, and flushes its folder before it answers.

const folder = process.env['FOLDER'] ?? '';
const app = fastify();
app.removeAllContentTypeParsers();
app.addContentTypeParser('*', (_request, _payload, done) => done(null));
app.put<{ Params: { name: string } }>('/:name', async ({ params, raw }) => {
  const path = join(folder, params.name);
  await pipeline(raw, createWriteStream(`${path}.new`, { flush: true }));
  await rename(`${path}.new`, path);
  const parent = await open(folder);
  try {
    await parent.sync();
  } finally {
    await parent.close();
  }
  return {};
});
void app.listen({ host: '127.0.0.1', port: 0 }).then((url) => process.stdout.write(`Listening at ${url}\n`));
