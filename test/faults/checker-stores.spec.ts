import { randomUUID } from 'node:crypto';
import { json, LoopbackServer, type RequestHandler } from '@parley/testing/loopback-server';
import { S3Server } from '@parley/testing/s3-server';
import { OpenApiDocument } from '@parley/passages/test/openapi-document';
import { type Bucket, listBucket, signed } from './checker/bucket';
import { vectorsInQdrant, wrongVectors } from './checker/vectors';
import { StandInQdrant, type StoredPoint } from './stand-in-qdrant';

const documentPath = process.env['QDRANT_OPENAPI'];
if (!documentPath) {
  process.stderr.write(
    "SKIPPED: validation of the checker's requests to Qdrant. Set QDRANT_OPENAPI to its OpenAPI document.\n",
  );
}
const document = documentPath ? new OpenApiDocument(documentPath) : undefined;

describe('the checker, with Qdrant,', () => {
  let qdrant: StandInQdrant;

  beforeEach(async () => {
    qdrant = await StandInQdrant.start();
  });

  afterEach(async () => {
    await qdrant.stop();
    for (const request of qdrant.requests) expect(document?.complaints(request) ?? []).toEqual([]);
  });

  function keep(collection: string, count: number, botId = 'bot'): void {
    const points = qdrant.collections.get(collection) ?? new Map<string, StoredPoint>();
    qdrant.collections.set(collection, points);
    for (let n = 0; n < count; n += 1) {
      const payload = { botId, passageId: `${botId}-${n}`, fileId: 'file_1', contentVersion: 'v', tags: ['["a","b"]'] };
      const id = randomUUID();
      points.set(id, { id, payload });
    }
  }

  it('reads every vector of files once, page by page, only from its own collections', async () => {
    keep('parley_mine_3_1', 2_500);
    keep('parley_mine_3_2', 3);
    keep('parley_mine_3_2', 4, 'tables:7');
    keep('parley_other_3_3', 5);

    const found = await vectorsInQdrant({ url: `${qdrant.url}/`, collections: 'parley_mine_' });

    expect(found).toHaveLength(2_503);
    expect(new Set(found.map(({ model, passageId }) => `${model} ${passageId}`)).size).toBe(2_503);
    expect(found[0]).toMatchObject({ model: 'parley_mine_3_1', botId: 'bot', fileId: 'file_1', contentVersion: 'v' });
    expect(qdrant.requests.filter(({ path }) => path.endsWith('/scroll'))).toHaveLength(4);
  });

  it('sends the API key to Qdrant, and reads on after a page shorter than requested', async () => {
    keep('parley_mine_3_1', 10);
    qdrant.mostPerPage = 3;

    const found = await vectorsInQdrant({ url: qdrant.url, apiKey: 'the key', collections: 'parley_' });

    expect(found).toHaveLength(10);
    for (const { headers } of qdrant.requests) expect(headers['api-key']).toBe('the key');
  });

  it('reports an unexpected answer of Qdrant', async () => {
    const refusing = await LoopbackServer.start(json({ status: { error: 'Forbidden' } }, 403));

    await expect(vectorsInQdrant({ url: refusing.url, collections: 'parley_' })).rejects.toThrow(
      'Qdrant GET /collections: 403',
    );
    await refusing.close();
  });
});

it('finds a duplicate vector, but not the vector of another model', () => {
  const passage = { botId: 'bot', passageId: 'p', fileId: 'file_1', contentVersion: 'v' };
  const vectors = ['old', 'new'].map((model) => ({ ...passage, model }));

  expect(wrongVectors([passage], vectors)).toEqual([]);
  expect(wrongVectors([passage], [...vectors, vectors[0]!])).toEqual(['file_1 has a duplicate vector']);
});

describe('the checker, with S3,', () => {
  const access = { region: 'us-east-1', accessKeyId: 'key', secretAccessKey: 'secret' };

  it('lists the keys of a bucket below its prefix', async () => {
    const s3 = await S3Server.start();
    for (const key of ['mine/bot/file/1', 'mine/bot/file/2', 'other/bot/file/3'])
      s3.objects.set(key, Buffer.from('content'));
    const bucket = { ...access, endpoint: s3.env.S3_ENDPOINT, bucket: 'parley', prefix: 'mine', pathStyle: true };

    expect(await listBucket(bucket)).toEqual(['bot/file/1', 'bot/file/2']);
    expect(await listBucket({ ...bucket, prefix: undefined })).toHaveLength(3);
    await s3.stop();
  });

  it('lists the keys of S3 page by page, with unchanged keys', async () => {
    const pages: RequestHandler = ({ query }, response) => {
      const page = Number(query['continuation-token']?.split(' ')[1] ?? 1);
      const more = page < 3 ? `<IsTruncated>true</IsTruncated><NextContinuationToken>a&amp;&quot;/+ ${page + 1}` : '';
      response.end(
        `<ListBucketResult><Contents><Key>a/${page}&lt;&#38;</Key></Contents>${more && `${more}</NextContinuationToken>`}</ListBucketResult>`,
      );
    };
    const server = await LoopbackServer.start(pages);
    const bucket: Bucket = { ...access, endpoint: server.url, bucket: 'parley', pathStyle: true };

    expect(await listBucket(bucket)).toEqual(['a/1<&', 'a/2<&', 'a/3<&']);

    expect(server.requests.map(({ path, query }) => [path, query['continuation-token']])).toEqual([
      ['/parley/', undefined],
      ['/parley/', 'a&"/+ 2'],
      ['/parley/', 'a&"/+ 3'],
    ]);
    await server.close();
  });

  it('signs requests to S3 like the example in the documentation of AWS', () => {
    const { headers } = signed(
      {
        region: 'us-east-1',
        accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
        secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
      },
      'GET',
      'https://examplebucket.s3.amazonaws.com/',
      { prefix: 'J', 'max-keys': '2' },
      new Date('2013-05-24T00:00:00Z'),
    );

    expect(headers['authorization']).toBe(
      'AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,' +
        'SignedHeaders=host;x-amz-content-sha256;x-amz-date,' +
        'Signature=34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7',
    );
  });

  it('reports an unexpected answer of S3', async () => {
    const refusing = await LoopbackServer.start((_, response) => void response.writeHead(403).end('AccessDenied'));

    await expect(listBucket({ ...access, endpoint: refusing.url, bucket: 'parley', pathStyle: true })).rejects.toThrow(
      'S3 GET /parley/: 403 AccessDenied',
    );
    await refusing.close();
  });
});
