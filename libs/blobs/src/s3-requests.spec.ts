import { createHash } from 'node:crypto';
// oxlint-disable-next-line parley/banned-in-tests -- for a server that answers byte by byte, without end
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { buffer, text } from 'node:stream/consumers';
import { inspect } from 'node:util';
import { type ApiError } from '@parley/contracts/errors';
import { type RequestHandler, LoopbackServer } from '@parley/testing/loopback-server';
import { waitFor } from '@parley/testing/wait-for';
import { BlobMissing } from './blob-store';
import { S3Blobs, type S3BlobsOptions } from './s3-blobs';
import { of } from './test/blob-store.behaviour';

const partBytes = 5 * 1024 * 1024;
const hourMs = 3_600_000;
const credentials = { accessKeyId: 'THE-KEY-ID', secretAccessKey: 'the-secret-of-s3' };

let server: LoopbackServer;
/** Answers in the order of the requests; the last one repeats. */
let answers: RequestHandler[];
let blobs: S3Blobs;

beforeEach(async () => {
  answers = [];
  server = await LoopbackServer.start((request, response) =>
    (answers.length > 1 ? answers.shift()! : answers[0]!)(request, response),
  );
  blobs = open();
});
afterEach(async () => {
  blobs.close();
  await server.close();
});

function open(options: Partial<S3BlobsOptions> = {}): S3Blobs {
  const { url: endpoint } = server;
  return new S3Blobs({ endpoint, region: 'eu-here-1', bucket: 'parley', pathStyle: true, credentials, ...options });
}

function answer(status: number, body: string | Buffer = '', headers: Record<string, string> = {}): RequestHandler {
  return (_, response) => {
    response.writeHead(status, headers);
    response.end(body);
  };
}

const xml = (body: string, status = 200) =>
  answer(status, `<?xml version="1.0" encoding="UTF-8"?>${body}`, { 'content-type': 'application/xml' });
const refusal = (status: number, code: string, more = '') =>
  xml(`<Error><Code>${code}</Code><Message>The words of S3.</Message>${more}</Error>`, status);
const stored = answer(200, '', { etag: '"e"' });
const created = xml('<InitiateMultipartUploadResult><UploadId>the-upload</UploadId></InitiateMultipartUploadResult>');
const completed = xml('<CompleteMultipartUploadResult><ETag>"whole"</ETag></CompleteMultipartUploadResult>');
const hangs: RequestHandler = () => {};

const asked = () =>
  server.requests.map(({ method, path, query: { 'x-id': _, ...query } }) => {
    const search = new URLSearchParams(query).toString();
    return `${method} ${path}${search && `?${search}`}`;
  });
const lastRequest = () => server.requests.at(-1)!;
const bodyOf = (position: number) => server.requests.at(position)!.bytes.toString();

async function failureOf(work: Promise<unknown>): Promise<ApiError> {
  return work.then(
    () => Promise.reject(new Error('It did not fail.')),
    (error: ApiError) => error,
  );
}
const unavailable = { type: 'Internal', code: 503, retryAfterSeconds: 1 };

describe('write', () => {
  it('sends a blob of one part in one signed request, with its hash and without trailers', async () => {
    answers = [stored];

    await blobs.write('bot/file/1', of('hello ', 'world'));

    expect(asked()).toEqual(['PUT /parley/bot/file/1']);
    const { headers, bytes } = lastRequest();
    expect(bytes.toString()).toBe('hello world');
    expect(headers['content-length']).toBe('11');
    expect(headers['x-amz-content-sha256']).toBe(createHash('sha256').update('hello world').digest('hex'));
    expect(headers.authorization).toMatch(
      /^AWS4-HMAC-SHA256 Credential=THE-KEY-ID\/\d{8}\/eu-here-1\/s3\/aws4_request,/,
    );
    expect(Object.keys(headers).filter((name) => /checksum|trailer|transfer-encoding/.test(name))).toEqual([]);
  });

  it('begins each key of a blob with the prefix', async () => {
    answers = [stored];

    await open({ prefix: 'a/b' }).write('bot/file/1', of('x'));

    expect(asked()).toEqual(['PUT /parley/a/b/bot/file/1']);
  });

  it('sends larger content in parts of 5 MB, and completes them in their order', async () => {
    const content = Buffer.alloc(2 * partBytes + 5, 'abc');
    answers = [
      (request, response) => {
        if (request.method === 'POST') return ('uploads' in request.query ? created : completed)(request, response);
        return answer(200, '', { etag: `"part ${request.query.partNumber}"` })(request, response);
      },
    ];

    await blobs.write('bot/file/1', of(content.subarray(0, 100), content.subarray(100)));

    expect(asked().at(0)).toBe('POST /parley/bot/file/1?uploads=');
    const parts = server.requests
      .filter(({ method }) => method === 'PUT')
      .sort((one, other) => Number(one.query.partNumber) - Number(other.query.partNumber));
    expect(parts.map(({ query }) => [query.partNumber, query.uploadId])).toEqual([
      ['1', 'the-upload'],
      ['2', 'the-upload'],
      ['3', 'the-upload'],
    ]);
    expect(parts.map(({ bytes }) => bytes.length)).toEqual([partBytes, partBytes, 5]);
    expect(Buffer.concat(parts.map(({ bytes }) => bytes)).equals(content)).toBe(true);
    expect(asked().at(-1)).toBe('POST /parley/bot/file/1?uploadId=the-upload');
    expect(bodyOf(-1).match(/<ETag>.*?<\/PartNumber>/g)).toEqual(
      [1, 2, 3].map((n) => `<ETag>&quot;part ${n}&quot;</ETag><PartNumber>${n}</PartNumber>`),
    );
  });

  it('sends at most four parts at once, over all blobs', async () => {
    let underWay = 0;
    let most = 0;
    answers = [
      async (request, response) => {
        if (request.method === 'POST') return ('uploads' in request.query ? created : completed)(request, response);
        if (request.path.endsWith('/small')) return stored(request, response);
        most = Math.max(most, (underWay += 1));
        // Other requests pass meanwhile, and so would a fifth part.
        for (let n = 0; n < 10; n += 1) await blobs.write('bot/file/small', of('x'));
        underWay -= 1;
        return stored(request, response);
      },
    ];
    const content = Buffer.alloc(2 * partBytes + 1);

    await Promise.all(Array.from({ length: 4 }, (_, n) => blobs.write(`bot/file/${n}`, of(content))));

    expect(most).toBe(4);
  });

  it('continues to write while many blobs stall, with bounded memory', async () => {
    const takesParts: RequestHandler = (request, response) => {
      if (request.method === 'DELETE') return answer(204)(request, response);
      if (request.method === 'PUT') return stored(request, response);
      return ('uploads' in request.query ? created : completed)(request, response);
    };
    answers = [takesParts];
    const { arrayBuffers: before } = process.memoryUsage();
    const almostPart = Buffer.alloc(partBytes - 1);
    let goOn = () => {};
    const standsStill = new Promise<void>((resolve) => (goOn = resolve));
    let arrived = 0;
    async function* slow() {
      yield almostPart;
      arrived += 1;
      await standsStill;
      throw new Error('cut');
    }
    const stuck = Promise.allSettled(Array.from({ length: 24 }, (_, n) => blobs.write(`bot/slow/${n}`, slow())));
    await waitFor(() => arrived === 24);
    const bytesHeld = process.memoryUsage().arrayBuffers - before;
    const content = Buffer.alloc(2 * partBytes + 5, 'abc');

    await blobs.write('bot/file/1', of(content));
    goOn();
    const ends = await stuck;

    expect(bytesHeld).toBeLessThan(12 * partBytes);
    const sent = server.requests.filter(({ method }) => method === 'PUT');
    sent.sort((one, other) => Number(one.query.partNumber) - Number(other.query.partNumber));
    expect(Buffer.concat(sent.map(({ bytes }) => bytes)).equals(content)).toBe(true);
    expect(ends.every(({ status }) => status === 'rejected')).toBe(true);
  });

  it.each([
    ['its parts', [created, refusal(403, 'AccessDenied')]],
    ['the upload', [refusal(403, 'AccessDenied')]],
  ])('frees the buffers of a blob when S3 refuses %s', async (_, canned) => {
    const content = Buffer.alloc(2 * partBytes);
    const withoutDisk = open({ temporaryFolder: '/none' });
    for (let n = 0; n < 9; n++) {
      answers = [...canned];
      await expect(withoutDisk.write(`bot/file/${n}`, of(content))).rejects.toThrow('AccessDenied');
    }
    answers = [created, stored, stored, completed];

    await expect(withoutDisk.write('bot/file/1', of(content))).resolves.toBeUndefined();
  });

  it('sends nothing when a short source fails', async () => {
    await expect(blobs.write('bot/file/1', of('half', new Error('cut')))).rejects.toThrow('cut');

    expect(asked()).toEqual([]);
  });

  it('aborts an upload when the source fails, once no part is under way', async () => {
    let partsUnderWay = 0;
    let answerParts = () => {};
    const answered = new Promise<void>((resolve) => (answerParts = resolve));
    answers = [
      created,
      async (request, response) => {
        if (request.method === 'DELETE') return answer(204)(request, response);
        if (request.path.endsWith('/small')) return stored(request, response);
        partsUnderWay += 1;
        await answered;
        return stored(request, response);
      },
    ];

    const written = failureOf(blobs.write('bot/file/1', of(Buffer.alloc(2 * partBytes + 1), new Error('cut'))));
    await waitFor(() => partsUnderWay === 2);
    await blobs.write('bot/file/small', of('asked after an abort would have been'));
    const askedMeanwhile = asked();
    answerParts();

    expect((await written).message).toBe('cut');
    expect(askedMeanwhile.filter((request) => request.startsWith('DELETE'))).toEqual([]);
    expect(asked().at(-1)).toBe('DELETE /parley/bot/file/1?uploadId=the-upload');
  });

  it('reports why the source of an upload failed, also when the upload cannot be aborted', async () => {
    answers = [created, stored, refusal(403, 'AccessDenied')];

    const written = blobs.write('bot/file/1', of(Buffer.alloc(partBytes + 1), new Error('cut')));

    await expect(written).rejects.toThrow('cut');
  });

  it('stops reading and aborts an upload when a part is refused', async () => {
    answers = [created, refusal(403, 'AccessDenied'), answer(204)];
    let isClosed = false;
    async function* endless() {
      try {
        for (;;) {
          yield Buffer.alloc(partBytes);
          await nextTurn();
        }
      } finally {
        isClosed = true;
      }
    }

    const error = await failureOf(blobs.write('bot/file/1', endless()));

    expect(error.message).toBe('S3 answered 403 AccessDenied: The words of S3.');
    expect(isClosed).toBe(true);
    expect(asked().at(-1)).toBe('DELETE /parley/bot/file/1?uploadId=the-upload');
  });

  it.each([
    ['an error', refusal(200, 'InternalError')],
    ['nothing that says so', xml('<CompleteMultipartUploadResult></CompleteMultipartUploadResult>')],
  ])('fails an upload when the answer to the completion is 200 with %s in it', async (_, answerOfComplete) => {
    answers = [
      (request, response) => {
        if (request.method === 'DELETE') return answer(204)(request, response);
        if (request.method === 'PUT') return stored(request, response);
        return ('uploads' in request.query ? created : answerOfComplete)(request, response);
      },
    ];

    const error = await failureOf(blobs.write('bot/file/1', of(Buffer.alloc(partBytes + 1))));

    expect(error).toMatchObject(unavailable);
    expect(asked().at(-1)).toBe('DELETE /parley/bot/file/1?uploadId=the-upload');
  });
});

describe('read', () => {
  it('streams the content of a blob', async () => {
    answers = [answer(200, 'hello')];

    expect(await text(await blobs.read('bot/file/1'))).toBe('hello');

    expect(asked()).toEqual(['GET /parley/bot/file/1']);
    expect(lastRequest().headers.range).toBeUndefined();
    expect(lastRequest().headers['x-amz-checksum-mode']).toBeUndefined();
  });

  it('requests a range of a blob', async () => {
    answers = [answer(206, 'ell', { 'content-range': 'bytes 1-3/5' })];

    expect(await text(await blobs.read('bot/file/1', { start: 1, end: 3 }))).toBe('ell');

    expect(lastRequest().headers.range).toBe('bytes=1-3');
  });

  it('returns nothing for a range of a blob that begins beyond the end', async () => {
    answers = [refusal(416, 'InvalidRange')];

    expect(await buffer(await blobs.read('bot/file/1', { start: 9, end: 9 }))).toHaveLength(0);
  });

  it('reports a missing blob, and does not take a missing bucket for one', async () => {
    answers = [refusal(404, 'NoSuchKey'), refusal(404, 'NoSuchBucket')];

    await expect(blobs.read('bot/file/1')).rejects.toBeInstanceOf(BlobMissing);
    await expect(blobs.read('bot/file/1')).rejects.toThrow('S3 answered 404 NoSuchBucket: The words of S3.');
  });

  it.each<[string, RequestHandler]>([
    [
      'is cut',
      (_, response) =>
        void response.writeHead(200, { 'content-length': '100' }).write('half', () => response.destroy()),
    ],
    ['stands still', (_, response) => void response.writeHead(200, { 'content-length': '100' }).write('half')],
  ])('fails to read a blob when an answer %s in the middle', async (_, halfAnswer) => {
    answers = [halfAnswer];

    const stream = await open({ timeoutMs: 300 }).read('bot/file/1');

    await expect(buffer(stream)).rejects.toThrow();
  });

  it('keeps sockets free for others while many blobs are read slowly', async () => {
    answers = [
      (request, response) =>
        request.method === 'PUT'
          ? stored(request, response)
          : void response.writeHead(200, { 'content-length': '100' }).write('half'),
    ];
    const streams = await Promise.all(Array.from({ length: 100 }, (_, n) => blobs.read(`bot/file/${n}`)));

    await expect(blobs.write('bot/file/1', of('x'))).resolves.toBeUndefined();

    streams.forEach((stream) => stream.destroy());
  });
});

describe('copy', () => {
  const sized = (bytes: number) => answer(200, '', { 'content-length': String(bytes) });

  it('lets S3 copy a blob', async () => {
    answers = [sized(5), xml('<CopyObjectResult><ETag>"e"</ETag></CopyObjectResult>')];

    await open({ prefix: 'p' }).copy('bot/file/1', 'other/file/2');

    expect(asked()).toEqual(['HEAD /parley/p/bot/file/1', 'PUT /parley/p/other/file/2']);
    expect(lastRequest().headers['x-amz-copy-source']).toBe('parley/p/bot/file/1');
    expect(lastRequest().bytes).toHaveLength(0);
  });

  it('copies a blob in parts above the limit of one copy request', async () => {
    const copiedPart = xml('<CopyPartResult><ETag>"e"</ETag></CopyPartResult>');
    answers = [sized(25), created, copiedPart, copiedPart, copiedPart, completed];

    await open({ maxCopyBytes: 24, copyPartBytes: 10 }).copy('bot/file/1', 'bot/file/2');

    expect(asked()).toEqual([
      'HEAD /parley/bot/file/1',
      'POST /parley/bot/file/2?uploads=',
      'PUT /parley/bot/file/2?partNumber=1&uploadId=the-upload',
      'PUT /parley/bot/file/2?partNumber=2&uploadId=the-upload',
      'PUT /parley/bot/file/2?partNumber=3&uploadId=the-upload',
      'POST /parley/bot/file/2?uploadId=the-upload',
    ]);
    const ranges = server.requests.slice(2, 5).map(({ headers }) => headers['x-amz-copy-source-range']);
    expect(ranges).toEqual(['bytes=0-9', 'bytes=10-19', 'bytes=20-24']);
    expect(server.requests[2]!.headers['x-amz-copy-source']).toBe('parley/bot/file/1');
  });

  it('copies a blob in one request at the limit', async () => {
    answers = [sized(24), xml('<CopyObjectResult><ETag>"e"</ETag></CopyObjectResult>')];

    await open({ maxCopyBytes: 24, copyPartBytes: 10 }).copy('bot/file/1', 'bot/file/2');

    expect(server.requests).toHaveLength(2);
  });

  it('aborts a copy when one of its parts fails', async () => {
    answers = [sized(25), created, refusal(400, 'InvalidRequest'), answer(204)];

    const error = await failureOf(open({ maxCopyBytes: 24, copyPartBytes: 10 }).copy('bot/file/1', 'bot/file/2'));

    expect(error.message).toContain('400 InvalidRequest');
    expect(asked().at(-1)).toBe('DELETE /parley/bot/file/2?uploadId=the-upload');
  });

  it('fails a copy when the answer is 200 with an error in it', async () => {
    answers = [sized(5), refusal(200, 'InternalError')];

    expect(await failureOf(blobs.copy('bot/file/1', 'bot/file/2'))).toMatchObject(unavailable);
  });

  it.each([
    ['before', [answer(404)]],
    ['meanwhile', [sized(5), refusal(404, 'NoSuchKey')]],
  ])('reports a missing blob when it was removed %s', async (_, canned) => {
    answers = canned;

    await expect(blobs.copy('bot/file/1', 'bot/file/2')).rejects.toBeInstanceOf(BlobMissing);
  });
});

describe('list, count and remove', () => {
  const page = (names: string[], next?: string, folders: string[] = []) =>
    xml(
      `<ListBucketResult><IsTruncated>${next !== undefined}</IsTruncated>${next ? `<NextContinuationToken>${next}</NextContinuationToken>` : ''}` +
        names.map((name) => `<Contents><Key>${name}</Key></Contents>`).join('') +
        folders.map((name) => `<CommonPrefixes><Prefix>${name}</Prefix></CommonPrefixes>`).join('') +
        '</ListBucketResult>',
    );

  it('lists blobs and folders of all pages', async () => {
    answers = [page(['p/bot/1', 'p/bot/2'], 'a+b/c='), page(['p/bot/3'], undefined, ['p/bot/one/', 'p/bot/two/'])];

    expect(await open({ prefix: 'p' }).list('bot')).toEqual(['1', '2', '3', 'one', 'two']);

    expect(server.requests.map(({ path, query: { 'x-id': _, ...query } }) => [path, query])).toEqual([
      ['/parley/', { 'list-type': '2', prefix: 'p/bot/', delimiter: '/' }],
      ['/parley/', { 'list-type': '2', prefix: 'p/bot/', delimiter: '/', 'continuation-token': 'a+b/c=' }],
    ]);
  });

  it('counts blobs at any depth in all pages', async () => {
    answers = [page(['bot/1', 'bot/one/2'], 'more'), page(['bot/two/3'])];

    expect(await blobs.count('bot')).toBe(3);

    expect(server.requests[0]!.query).not.toHaveProperty('delimiter');
  });

  it('deletes a blob, also a missing one', async () => {
    answers = [answer(204), refusal(404, 'NoSuchKey')];

    await blobs.delete('bot/file/1');
    await blobs.delete('bot/file/1');

    expect(asked()).toEqual(['DELETE /parley/bot/file/1', 'DELETE /parley/bot/file/1']);
  });

  it('deletes each page of blobs in one request, with Content-MD5', async () => {
    const deleted = xml('<DeleteResult></DeleteResult>');
    answers = [page(['bot/1', 'bot/2'], 'more'), deleted, page(['bot/3']), deleted];

    await blobs.deletePrefix('bot');

    expect(asked()).toEqual([
      'GET /parley/?list-type=2&prefix=bot%2F',
      'POST /parley/?delete=',
      'GET /parley/?continuation-token=more&list-type=2&prefix=bot%2F',
      'POST /parley/?delete=',
    ]);
    const { headers, bytes } = server.requests[1]!;
    expect(bytes.toString()).toContain('<Object><Key>bot/1</Key></Object><Object><Key>bot/2</Key></Object>');
    expect(headers['content-md5']).toBe(createHash('md5').update(bytes).digest('base64'));
    expect(Object.keys(headers).filter((name) => name.includes('checksum'))).toEqual([]);
    expect(bodyOf(3)).toContain('<Object><Key>bot/3</Key></Object>');
  });

  it('sends no deletion when there is nothing to delete', async () => {
    answers = [page([])];

    await blobs.deletePrefix('bot');

    expect(server.requests).toHaveLength(1);
  });

  it.each<[string, string, object]>([
    ['refuses', 'AccessDenied', { message: 'S3 answered 200 AccessDenied: not this one' }],
    ['cannot delete now', 'SlowDown', unavailable],
  ])('continues to delete blobs, and fails at the end, when S3 %s one of them', async (_, code, expected) => {
    const error = `<Error><Key>bot/1</Key><Code>${code}</Code><Message>not this one</Message></Error>`;
    answers = [
      page(['bot/1', 'bot/2'], 'more'),
      xml(`<DeleteResult>${error}</DeleteResult>`),
      page(['bot/3']),
      xml('<DeleteResult></DeleteResult>'),
    ];

    expect(await failureOf(blobs.deletePrefix('bot'))).toMatchObject(expected);

    expect(bodyOf(-1)).toContain('<Key>bot/3</Key>');
  });
});

describe('removeAbandoned', () => {
  const at = (agoMs: number) => new Date(Date.now() - agoMs).toISOString();
  const upload = (name: string, agoMs: number) =>
    `<Upload><Key>p/bot/${name}</Key><UploadId>of-${name}</UploadId><Initiated>${at(agoMs)}</Initiated></Upload>`;
  const page = (uploads: string[], next?: string) =>
    xml(
      `<ListMultipartUploadsResult><IsTruncated>${next !== undefined}</IsTruncated>` +
        (next ? `<NextKeyMarker>${next}</NextKeyMarker><NextUploadIdMarker>of-${next}</NextUploadIdMarker>` : '') +
        `${uploads.join('')}</ListMultipartUploadsResult>`,
    );
  const parts = (...agoMs: number[]) =>
    xml(
      `<ListPartsResult><IsTruncated>false</IsTruncated>${agoMs
        .map((ago, n) => `<Part><PartNumber>${n + 1}</PartNumber><LastModified>${at(ago)}</LastModified></Part>`)
        .join('')}</ListPartsResult>`,
    );

  it('aborts, in all pages, uploads that began and took their last part more than an hour ago', async () => {
    answers = [
      page([upload('young', hourMs / 2), upload('busy', 5 * hourMs)], 'busy'),
      parts(4 * hourMs, 1_000),
      page([upload('old', 2 * hourMs), upload('gone', 2 * hourMs)]),
      parts(1.5 * hourMs),
      answer(204),
      parts(),
      refusal(404, 'NoSuchUpload'),
    ];

    await open({ prefix: 'p' }).removeAbandoned();

    expect(asked()).toEqual([
      'GET /parley/?prefix=p%2F&uploads=',
      'GET /parley/p/bot/busy?uploadId=of-busy',
      'GET /parley/?key-marker=busy&prefix=p%2F&upload-id-marker=of-busy&uploads=',
      'GET /parley/p/bot/old?uploadId=of-old',
      'DELETE /parley/p/bot/old?uploadId=of-old',
      'GET /parley/p/bot/gone?uploadId=of-gone',
      'DELETE /parley/p/bot/gone?uploadId=of-gone',
    ]);
  });
});

describe('ready', () => {
  it('checks that the bucket exists', async () => {
    answers = [answer(200)];

    await blobs.ready();

    expect(asked()).toEqual(['HEAD /parley/']);
  });

  it.each([
    [404, 'the bucket does not exist. Create it, or set S3_BUCKET'],
    [403, 'access is denied. Check S3_ACCESS_KEY_ID'],
    [301, 'Check S3_ENDPOINT, S3_REGION and S3_PATH_STYLE'],
    [400, 'Check S3_ENDPOINT, S3_REGION and S3_PATH_STYLE'],
  ])('explains the answer %i of S3 with advice', async (status, advice) => {
    answers = [answer(status)];

    const { message } = await failureOf(blobs.ready());

    expect(message).toContain('the bucket "parley" at 127.0.0.1:');
    expect(message).toContain(advice);
  });

  it('demands a temporary folder for writing only, with advice', async () => {
    answers = [answer(200)];
    const withoutFolder = open({ temporaryFolder: '/none' });

    await withoutFolder.ready();

    await expect(withoutFolder.readyToWrite()).rejects.toThrow(
      'Cannot write upload parts to /none: set TMPDIR to a writable folder.',
    );
  });

  it('reports that nothing listens at the address of S3', async () => {
    const nowhere = open({ endpoint: 'http://127.0.0.1:1' });

    await expect(nowhere.ready()).rejects.toThrow(/the bucket "parley" at 127.0.0.1:1: .*ECONNREFUSED/);
  });
});

describe('when S3 fails', () => {
  it.each<[string, RequestHandler]>([
    ['asks it to slow down', refusal(503, 'SlowDown')],
    ['has an internal error', refusal(500, 'InternalError')],
    ['cuts the connection', (_, response) => void response.destroy()],
  ])('retries when S3 %s', async (_, failure) => {
    answers = [failure, failure, stored];

    await blobs.write('bot/file/1', of('hello'));

    expect(server.requests.map(({ bytes }) => bytes.toString())).toEqual(['hello', 'hello', 'hello']);
  });

  it('gives up after three attempts at S3, with a retryable error', async () => {
    answers = [refusal(503, 'SlowDown')];

    expect(await failureOf(blobs.write('bot/file/1', of('hello')))).toMatchObject(unavailable);

    expect(server.requests).toHaveLength(3);
  });

  it.each([
    ['507', refusal(507, 'XMinioStorageFull')],
    ['a full quota', refusal(403, 'QuotaExceeded')],
  ])('reports a full store (%s) as a retryable error', async (_, noRoom) => {
    let refused = 0;
    const full = open({ onWritesRefused: () => (refused += 1) });
    answers = [noRoom];

    expect(await failureOf(full.write('bot/file/1', of('hello')))).toMatchObject({
      ...unavailable,
      retryAfterSeconds: 30,
    });

    answers = [answer(200, '', { 'content-length': '5' }), noRoom];
    expect(await failureOf(full.copy('bot/file/1', 'bot/file/2'))).toMatchObject({ retryAfterSeconds: 30 });
    expect(refused).toBe(2);
  });

  it('does not retry a request that S3 rejects', async () => {
    answers = [refusal(501, 'NotImplemented')];

    await expect(blobs.write('bot/file/1', of('hello'))).rejects.toThrow('S3 answered 501 NotImplemented');

    expect(server.requests).toHaveLength(1);
  });

  it('reports a retryable error when nothing listens at the address of S3', async () => {
    const nowhere = open({ endpoint: 'http://127.0.0.1:1' });

    expect(await failureOf(nowhere.read('bot/file/1'))).toMatchObject(unavailable);
  });

  it.each<[string, RequestHandler]>([
    ['never comes', hangs],
    ['never ends', (_, response) => void response.writeHead(200).write('<ListBucketResult>')],
    [
      'comes a character at a time',
      async (_, response) => {
        response.writeHead(200);
        while (!response.destroyed) {
          response.write(' ');
          await sleep(20);
        }
      },
    ],
  ])('times out on an answer of S3 that %s', async (_, slow) => {
    answers = [slow];

    const error = await failureOf(open({ timeoutMs: 100 }).count('bot'));

    expect(error).toMatchObject(unavailable);
  });

  it('reports missing credentials, and not as a failure of S3', async () => {
    const before = { ...process.env };
    const none = '/none';
    for (const name of Object.keys(process.env)) if (name.startsWith('AWS_')) delete process.env[name];
    Object.assign(process.env, {
      AWS_EC2_METADATA_DISABLED: 'true',
      AWS_CONFIG_FILE: none,
      AWS_SHARED_CREDENTIALS_FILE: none,
    });

    const error = await failureOf(open({ credentials: undefined }).count('bot'));
    for (const name of Object.keys(process.env)) if (name.startsWith('AWS_')) delete process.env[name];
    Object.assign(process.env, before);

    expect(error.message).toMatch(/^Cannot send requests to S3: Could not load credentials/);
    expect(server.requests).toEqual([]);
  });

  it('keeps credentials out of errors, also when S3 repeats them', async () => {
    answers = [
      refusal(
        403,
        'SignatureDoesNotMatch',
        '<AWSAccessKeyId>THE-KEY-ID</AWSAccessKeyId><StringToSign>x</StringToSign>',
      ),
      refusal(503, 'SlowDown', '<AWSAccessKeyId>THE-KEY-ID</AWSAccessKeyId>'),
    ];

    const errors = [await failureOf(blobs.count('bot')), await failureOf(blobs.count('bot'))];

    expect(inspect(errors, { depth: 20, showHidden: true })).toContain('SignatureDoesNotMatch');
    expect(inspect(errors, { depth: 20, showHidden: true })).not.toMatch(/THE-KEY-ID|the-secret-of-s3/);
  });
});
