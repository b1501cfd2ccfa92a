import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Fault of a request: an error status, or a connection that is cut in the middle. */
export type S3Fault = 500 | 503 | 'cut';

interface S3Request {
  method: string;
  key: string;
  query: URLSearchParams;
}

/** Requests that can fail: reading an object, or writing one or a part of one. */
export type S3Verb = 'get' | 'put';

const xmlHead = '<?xml version="1.0" encoding="UTF-8"?>';

/**
 * Fake of an S3 server, with one bucket `parley` in memory, which fails on demand. Supports only requests of
 * `libs/blobs`, and does not verify signatures.
 */
export class S3Server {
  readonly objects = new Map<string, Buffer>();
  /** Number of requests by verb, including failed ones. */
  readonly asked: Record<S3Verb, number> = { get: 0, put: 0 };
  private readonly uploads = new Map<string, Map<number, Buffer>>();
  private readonly faults: Record<S3Verb, S3Fault[]> = { get: [], put: [] };
  private readonly server = createServer((request, response) => void this.receive(request, response));

  private constructor() {}

  static async start(): Promise<S3Server> {
    const s3 = new S3Server();
    s3.server.listen(0, '127.0.0.1');
    await once(s3.server, 'listening');
    return s3;
  }

  get env() {
    const { port } = this.server.address() as AddressInfo;
    return {
      S3_ENDPOINT: `http://127.0.0.1:${port}`,
      S3_BUCKET: 'parley',
      S3_ACCESS_KEY_ID: 'key',
      S3_SECRET_ACCESS_KEY: 'secret',
    };
  }

  /** One fault for each of the next requests of this verb; later requests succeed. */
  order(verb: S3Verb, ...faults: S3Fault[]): void {
    this.faults[verb] = faults;
  }

  /** Number of multipart uploads that were neither completed nor aborted. */
  get unfinished(): number {
    return this.uploads.size;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }

  private async receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams: query } = new URL(request.url!, 'http://localhost');
    const question = { method: request.method!, key: pathname.split('/').slice(2).join('/'), query };
    const verb = verbOf(question);
    if (verb) this.asked[verb]++;
    const fault = verb && this.faults[verb].shift();
    // The client still sends the body of a refused request; a cut connection raises an error here.
    request.on('error', () => undefined);
    if (fault === 'cut' && verb === 'put') return void request.once('data', () => request.destroy());
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    if (fault === 500 || fault === 503) return refuse(response, fault, 'ServiceUnavailable');
    this.answer(question, Buffer.concat(chunks), request.headers, response, fault === 'cut');
  }

  private answer(
    { method, key, query }: S3Request,
    body: Buffer,
    headers: IncomingMessage['headers'],
    response: ServerResponse,
    isCut: boolean,
  ): void {
    const uploadId = query.get('uploadId');
    const source = headers['x-amz-copy-source'];
    if (method === 'HEAD' && key === '') return void response.end();
    if (method === 'HEAD' || method === 'GET') {
      return key === '' ? this.list(query, response) : this.give(method, key, headers.range, response, isCut);
    }
    if (method === 'POST' && query.has('delete')) return this.deleteAll(body, response);
    if (method === 'POST' && query.has('uploads')) return this.begin(response);
    if (method === 'DELETE') {
      if (uploadId) this.uploads.delete(uploadId);
      else this.objects.delete(key);
      return void response.writeHead(204).end();
    }
    if (uploadId) {
      const parts = this.uploads.get(uploadId);
      if (!parts) return refuse(response, 404, 'NoSuchUpload');
      if (method === 'PUT') return store(parts, Number(query.get('partNumber')), body, response);
      this.objects.set(key, Buffer.concat([...parts].sort(([one], [other]) => one - other).map(([, part]) => part)));
      this.uploads.delete(uploadId);
      return xml(response, '<CompleteMultipartUploadResult><ETag>"whole"</ETag></CompleteMultipartUploadResult>');
    }
    if (typeof source !== 'string') return store(this.objects, key, body, response);
    const copied = this.objects.get(source.replace(/^\/?parley\//, ''));
    if (!copied) return refuse(response, 404, 'NoSuchKey');
    this.objects.set(key, copied);
    xml(response, '<CopyObjectResult><ETag>"copy"</ETag></CopyObjectResult>');
  }

  private give(method: string, key: string, range: string | undefined, response: ServerResponse, isCut: boolean): void {
    const object = this.objects.get(key);
    if (!object) return refuse(response, 404, 'NoSuchKey');
    const [, start, end] = /^bytes=(\d+)-(\d+)$/.exec(range ?? '') ?? [];
    if (start && Number(start) >= object.length) return refuse(response, 416, 'InvalidRange');
    const part = start ? object.subarray(Number(start), Number(end) + 1) : object;
    response.writeHead(start ? 206 : 200, { 'content-length': part.length, etag: '"object"' });
    if (!isCut) return void response.end(method === 'HEAD' ? undefined : part);
    response.write(part.subarray(0, part.length / 2), () => response.destroy());
  }

  private list(query: URLSearchParams, response: ServerResponse): void {
    if (query.has('uploads')) return xml(response, '<ListMultipartUploadsResult/>');
    const prefix = query.get('prefix') ?? '';
    const delimiter = query.get('delimiter');
    const keys = [...this.objects.keys()].filter((key) => key.startsWith(prefix));
    const isFolder = (key: string) => delimiter !== null && key.slice(prefix.length).includes(delimiter);
    const folders = keys.filter(isFolder).map((key) => key.slice(0, key.indexOf(delimiter!, prefix.length) + 1));
    const contents = keys.filter((key) => !isFolder(key)).map((key) => `<Contents><Key>${key}</Key></Contents>`);
    const common = [...new Set(folders)].map((path) => `<CommonPrefixes><Prefix>${path}</Prefix></CommonPrefixes>`);
    xml(response, `<ListBucketResult>${[...contents, ...common].join('')}</ListBucketResult>`);
  }

  private begin(response: ServerResponse): void {
    const id = randomUUID();
    this.uploads.set(id, new Map());
    xml(response, `<InitiateMultipartUploadResult><UploadId>${id}</UploadId></InitiateMultipartUploadResult>`);
  }

  private deleteAll(body: Buffer, response: ServerResponse): void {
    for (const [, key] of body.toString().matchAll(/<Key>(.*?)<\/Key>/g)) this.objects.delete(key!);
    xml(response, '<DeleteResult/>');
  }
}

function verbOf({ method, key }: S3Request): S3Verb | undefined {
  if (key === '') return undefined;
  return method === 'GET' ? 'get' : method === 'PUT' ? 'put' : undefined;
}

function store<Key>(where: Map<Key, Buffer>, key: Key, bytes: Buffer, response: ServerResponse): void {
  where.set(key, bytes);
  response.writeHead(200, { etag: `"${createHash('md5').update(bytes).digest('hex')}"` }).end();
}

function xml(response: ServerResponse, body: string): void {
  response.writeHead(200, { 'content-type': 'application/xml' }).end(xmlHead + body);
}

function refuse(response: ServerResponse, status: number, code: string): void {
  response.writeHead(status, { 'content-type': 'application/xml' });
  response.end(`${xmlHead}<Error><Code>${code}</Code><Message>Not now.</Message></Error>`);
}
