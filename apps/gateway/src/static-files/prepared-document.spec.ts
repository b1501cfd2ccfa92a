import type { FastifyReply } from 'fastify';
import { PreparedDocument } from './prepared-document';

/** Answer of the document, with what was set on the response. */
async function ask(document: PreparedDocument, headers: Record<string, string> = {}) {
  const sent = { status: 200, headers: {} as Record<string, string> };
  const reply = {
    code: (status: number) => (sent.status = status),
    type: (type: string) => (sent.headers['content-type'] = type),
    header: (name: string, value: string) => (sent.headers[name] = value),
    headers: (more: Record<string, string>) => Object.assign(sent.headers, more),
  } as unknown as FastifyReply;
  const body = await document.answer({ headers }, reply, 'no-cache');
  return { ...sent, body };
}

function countedDocument() {
  const reads = { plain: 0, gzip: 0 };
  const document = new PreparedDocument('text/plain', async () => Buffer.from(`content ${(reads.plain += 1)}`), {
    gzip: async (read) => Buffer.from(`packed ${(await read()).toString()} ${(reads.gzip += 1)}`),
  });
  return { reads, document };
}

it('reads and encodes a document once for all requests', async () => {
  const { reads, document } = countedDocument();

  const plain = await Promise.all(Array.from({ length: 5 }, () => ask(document)));
  const packed = await Promise.all(Array.from({ length: 5 }, () => ask(document, { 'accept-encoding': 'br, gzip' })));

  expect(reads).toEqual({ plain: 1, gzip: 1 });
  expect(new Set(plain.map(({ body }) => body)).size).toBe(1);
  expect(plain[0]).toMatchObject({ status: 200, headers: { 'content-type': 'text/plain', vary: 'accept-encoding' } });
  expect(packed[0]!.body!.toString()).toBe('packed content 1 1');
  expect(packed[0]!.headers).toMatchObject({ 'content-encoding': 'gzip', 'cache-control': 'no-cache' });
  expect(packed[0]!.headers['etag']).not.toBe(plain[0]!.headers['etag']);
});

it.each([['"another", %s'], ['W/%s']])('answers 304 without content for If-None-Match: %s', async (known) => {
  const { document } = countedDocument();
  const { etag } = (await ask(document)).headers;

  const answer = await ask(document, { 'if-none-match': known.replace('%s', etag!) });

  expect(answer).toMatchObject({ status: 304, body: undefined, headers: { etag } });
});

it('reads a document again after a failure', async () => {
  let reads = 0;
  const document = new PreparedDocument('text/plain', async () => {
    if ((reads += 1) === 1) throw new Error('The disk is away.');
    return Buffer.from('content');
  });

  await expect(ask(document)).rejects.toThrow('The disk is away.');

  expect((await ask(document)).body!.toString()).toBe('content');
});
