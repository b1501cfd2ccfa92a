import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import {
  type $Command,
  AbortMultipartUploadCommand,
  type CompletedPart,
  CompleteMultipartUploadCommand,
  CopyObjectCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  DeleteObjectsCommand,
  GetObjectCommand,
  HeadBucketCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  type ListMultipartUploadsCommandOutput,
  ListObjectsV2Command,
  type ListObjectsV2CommandOutput,
  ListPartsCommand,
  type ListPartsCommandOutput,
  type MultipartUpload,
  PutObjectCommand,
  S3Client,
  type S3ClientConfig,
  type S3ClientResolvedConfig,
  type ServiceInputTypes,
  type ServiceOutputTypes,
  UploadPartCommand,
  type UploadPartCommandInput,
  UploadPartCopyCommand,
} from '@aws-sdk/client-s3';
import { Semaphore } from '@parley/background/semaphore';
import { BlobMissing, type BlobStore, type ByteRange, checkKey } from './blob-store';
import { type Part, Parts } from './parts';
import { tellingRefusals } from './refused-writes';
import { isMissing, S3Refusal, type SdkError, toOurError, unanswered, unlessGone } from './s3-errors';

export interface S3BlobsOptions {
  bucket: string;
  region: string;
  /** Default: AWS. */
  endpoint?: string;
  /** Path-style URLs: the bucket in the path, not in the host name. */
  pathStyle: boolean;
  prefix?: string;
  /** Default: the credential chain of the AWS SDK. */
  credentials?: { accessKeyId: string; secretAccessKey: string };
  /** Timeout from a request to the first byte of its answer, and for an answer that stalls. */
  timeoutMs?: number;
  /** Largest object that S3 copies in one request. */
  maxCopyBytes?: number;
  copyPartBytes?: number;
  /** For parts that find no free buffer in memory. Default: the temporary folder of the system. */
  temporaryFolder?: string;
  /** Called for each write that the server, or the temporary folder, had no room for. */
  onWritesRefused?: () => void;
}

interface Target {
  Bucket: string;
  Key: string;
}

/** Smallest part that S3 accepts, to save memory. With S3's maximum of 10,000 parts, a blob may have 52 GB. */
const partBytes = 5 * 1024 * 1024;
/** Limit over all blobs. */
const partsSentAtOnce = 4;
/**
 * Limit over all blobs: some parts arrive while as many are sent. Together with parts that are read back from disk, 60
 * MB.
 */
const partsInMemory = 2 * partsSentAtOnce;
/** S3 copies within the request, and some servers send nothing until they are done. */
const copyTimeoutMs = 900_000;
const attempts = 3;
const abandonedAfterMs = 3_600_000;

export class S3Blobs implements BlobStore {
  private readonly client: S3Client;
  /**
   * Separate client for downloads: they last as long as their readers take, and must not use up the sockets of other
   * requests.
   */
  private readonly reader: S3Client;
  private readonly bucket: string;
  private readonly prefix: string;
  private readonly timeoutMs: number;
  private readonly maxCopyBytes: number;
  private readonly copyPartBytes: number;
  private readonly parts: Parts;
  private readonly sending = new Semaphore(partsSentAtOnce);

  constructor(private readonly options: S3BlobsOptions) {
    this.bucket = options.bucket;
    this.prefix = options.prefix ? `${options.prefix}/` : '';
    this.timeoutMs = options.timeoutMs ?? 30_000;
    this.maxCopyBytes = options.maxCopyBytes ?? 5 * 1024 ** 3;
    this.copyPartBytes = options.copyPartBytes ?? 1024 ** 3;
    this.parts = new Parts(partBytes, partsInMemory, options.temporaryFolder);
    this.client = this.connect(64);
    this.reader = this.connect(256, this.timeoutMs);
  }

  write(key: string, source: AsyncIterable<Uint8Array>): Promise<void> {
    return tellingRefusals(() => this.writeOnce(key, source), this.options.onWritesRefused);
  }

  copy(fromKey: string, toKey: string): Promise<void> {
    return tellingRefusals(() => this.copyOnce(fromKey, toKey), this.options.onWritesRefused);
  }

  private async writeOnce(key: string, source: AsyncIterable<Uint8Array>): Promise<void> {
    const target = this.target(key);
    const parts = this.parts.of(source);
    const first = await parts.next();
    try {
      if (first.done) await this.put(target, first.value);
      else await this.assemble(target, (uploadId) => this.sendParts(target, uploadId, first, parts));
    } finally {
      await parts.return(first.value);
      await first.value.discard();
    }
  }

  async read(key: string, range?: ByteRange): Promise<Readable> {
    const Range = range && `bytes=${range.start}-${range.end}`;
    const command = new GetObjectCommand({ ...this.target(key), Range });
    try {
      const { Body } = await this.send(command, { client: this.reader });
      return Body as Readable;
    } catch (error) {
      if (isMissing(error)) throw new BlobMissing(`Blob "${key}" not found.`);
      if (error instanceof S3Refusal && error.status === 416) return Readable.from([]);
      throw error;
    }
  }

  private async copyOnce(fromKey: string, toKey: string): Promise<void> {
    const [source, target] = [this.target(fromKey), this.target(toKey)];
    try {
      const { ContentLength: sizeBytes = 0 } = await this.send(new HeadObjectCommand(source));
      if (sizeBytes > this.maxCopyBytes)
        await this.assemble(target, (uploadId) => this.copyParts(source, target, uploadId, sizeBytes));
      else await this.copyWhole(source, target);
    } catch (error) {
      if (isMissing(error)) throw new BlobMissing(`Blob "${fromKey}" not found.`);
      throw error;
    }
  }

  async delete(key: string): Promise<void> {
    const command = new DeleteObjectCommand(this.target(key));
    await this.send(command).catch(unlessGone);
  }

  async list(prefix: string): Promise<string[]> {
    const below = this.below(prefix);
    const names: string[] = [];
    for await (const { Contents = [], CommonPrefixes = [] } of this.pages(below, '/')) {
      const paths = [...Contents.map(({ Key }) => Key), ...CommonPrefixes.map(({ Prefix }) => Prefix)];
      names.push(...paths.map((path) => path!.slice(below.length).replace(/\/$/, '')));
    }
    return names;
  }

  async deletePrefix(prefix: string): Promise<void> {
    const failed: { Code?: string; Message?: string }[] = [];
    for await (const { Contents = [] } of this.pages(this.below(prefix))) {
      if (Contents.length === 0) continue;
      const command = deleteAll(
        this.bucket,
        Contents.map(({ Key }) => Key!),
      );
      const { Errors = [] } = await this.send(command);
      failed.push(...Errors);
    }
    const [first] = failed;
    if (first) throw toOurError({ name: first.Code, message: first.Message, $metadata: { httpStatusCode: 200 } });
  }

  /**
   * A multipart upload that received no part for an hour has no writer. MinIO lists none of them, and removes them
   * itself after a day.
   */
  async removeAbandoned(): Promise<void> {
    const before = new Date(Date.now() - abandonedAfterMs);
    for await (const { Key, UploadId, Initiated } of this.uploads()) {
      const upload = { Bucket: this.bucket, Key, UploadId };
      if (!Initiated || Initiated > before || (await this.hasPartSince(before, upload))) continue;
      const command = new AbortMultipartUploadCommand(upload);
      await this.send(command).catch(unlessGone);
    }
  }

  async count(prefix: string): Promise<number> {
    let count = 0;
    for await (const { Contents = [] } of this.pages(this.below(prefix))) count += Contents.length;
    return count;
  }

  async ready(): Promise<void> {
    const { endpoint, region } = this.options;
    const where = `the bucket "${this.bucket}" at ${endpoint ? new URL(endpoint).host : `AWS in ${region}`}`;
    try {
      await this.send(new HeadBucketCommand({ Bucket: this.bucket }));
    } catch (error) {
      throw new Error(`Cannot store content in ${where}: ${adviceFor(error as Error)}`, { cause: error });
    }
  }

  readyToWrite(): Promise<void> {
    return this.parts.ready();
  }

  close(): void {
    this.client.destroy();
    this.reader.destroy();
  }

  private connect(maxSockets: number, socketTimeout = 0): S3Client {
    const { region, endpoint, pathStyle, credentials } = this.options;
    const agent = { keepAlive: true, maxSockets };
    const config: S3ClientConfig = {
      region,
      endpoint,
      credentials,
      forcePathStyle: pathStyle,
      // Older servers reject the trailers of the newer checksums. The signature covers the body anyway.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
      // With `Expect: 100-continue`, each part would have a socket of its own, and wait for servers that do not know
      // the header.
      expectContinueHeader: false,
      maxAttempts: attempts,
      retryMode: 'standard',
      requestHandler: {
        connectionTimeout: Math.min(5_000, this.timeoutMs),
        throwOnRequestTimeout: true,
        socketTimeout,
        httpAgent: agent,
        httpsAgent: agent,
      },
    };
    return new S3Client(config);
  }

  /** Multipart upload: completes the blob, or leaves nothing of it. No part may be under way once `makeParts` settles. */
  private async assemble(target: Target, makeParts: (uploadId: string) => Promise<CompletedPart[]>): Promise<void> {
    const created = await this.send(new CreateMultipartUploadCommand(target));
    const upload = { ...target, UploadId: created.UploadId };
    try {
      const MultipartUpload = { Parts: await makeParts(created.UploadId!) };
      const command = new CompleteMultipartUploadCommand({ ...upload, MultipartUpload });
      const { ETag } = await this.send(command);
      if (!ETag) throw unanswered(`S3 did not confirm that ${target.Key} is complete.`);
    } catch (error) {
      await this.send(new AbortMultipartUploadCommand(upload)).catch(() => {});
      throw error;
    }
  }

  private async sendParts(
    target: Target,
    UploadId: string,
    first: IteratorResult<Part, Part>,
    parts: AsyncIterator<Part, Part>,
  ): Promise<CompletedPart[]> {
    const failed = new AbortController();
    const sent: Promise<CompletedPart>[] = [];
    /** Backpressure: resolves once the part is being sent, so that the next one arrives meanwhile. */
    const send = (part: Part) =>
      new Promise<void>((resolve) => {
        const PartNumber = sent.length + 1;
        const sendAndDiscard = async () => {
          try {
            return await this.sending.run(() => {
              resolve();
              return this.sendPart({ ...target, UploadId, PartNumber }, part);
            }, failed.signal);
          } finally {
            await part.discard();
          }
        };
        const sending = sendAndDiscard();
        sending.catch((error: unknown) => {
          failed.abort(error);
          resolve();
        });
        sent.push(sending);
      });
    try {
      for (let part = first; ; part = await parts.next()) {
        await send(part.value);
        if (part.done) break;
        failed.signal.throwIfAborted();
      }
    } finally {
      await Promise.allSettled(sent);
    }
    return Promise.all(sent);
  }

  private async sendPart(place: UploadPartCommandInput, part: Part): Promise<CompletedPart> {
    const { ETag } = await this.send(new UploadPartCommand({ ...place, Body: await part.read() }));
    await part.giveBack();
    return { PartNumber: place.PartNumber, ETag };
  }

  /** Small blobs do not wait for parts of large ones. */
  private put(target: Target, part: Part): Promise<void> {
    const send = async () => {
      await this.send(new PutObjectCommand({ ...target, Body: await part.read() }));
      await part.giveBack();
    };
    return part.isSmall ? send() : this.sending.run(send);
  }

  private async copyWhole(source: Target, target: Target): Promise<void> {
    const command = new CopyObjectCommand({ ...target, CopySource: path(source) });
    const { CopyObjectResult } = await this.send(command, { timeoutMs: copyTimeoutMs });
    if (!CopyObjectResult?.ETag) throw unanswered(`S3 did not confirm that ${target.Key} is copied.`);
  }

  private async copyParts(source: Target, target: Target, UploadId: string, size: number): Promise<CompletedPart[]> {
    const parts: CompletedPart[] = [];
    for (let start = 0; start < size; start += this.copyPartBytes) {
      const PartNumber = parts.length + 1;
      const end = Math.min(start + this.copyPartBytes, size) - 1;
      const CopySourceRange = `bytes=${start}-${end}`;
      const command = new UploadPartCopyCommand({
        ...target,
        UploadId,
        PartNumber,
        CopySource: path(source),
        CopySourceRange,
      });
      const { CopyPartResult } = await this.send(command, { timeoutMs: copyTimeoutMs });
      if (!CopyPartResult?.ETag) throw unanswered(`S3 did not confirm that a part of ${target.Key} is copied.`);
      parts.push({ PartNumber, ETag: CopyPartResult.ETag });
    }
    return parts;
  }

  private async *pages(Prefix: string, Delimiter?: string): AsyncIterable<ListObjectsV2CommandOutput> {
    let ContinuationToken: string | undefined;
    do {
      const command = new ListObjectsV2Command({ Bucket: this.bucket, Prefix, Delimiter, ContinuationToken });
      const page: ListObjectsV2CommandOutput = await this.send(command);
      yield page;
      ContinuationToken = page.IsTruncated ? page.NextContinuationToken : undefined;
    } while (ContinuationToken);
  }

  private async *uploads(): AsyncIterable<MultipartUpload> {
    const place: { KeyMarker?: string; UploadIdMarker?: string } = {};
    for (let isTruncated = true; isTruncated;) {
      const command = new ListMultipartUploadsCommand({ Bucket: this.bucket, Prefix: this.prefix, ...place });
      const page: ListMultipartUploadsCommandOutput = await this.send(command);
      yield* page.Uploads ?? [];
      place.KeyMarker = page.NextKeyMarker;
      place.UploadIdMarker = page.NextUploadIdMarker;
      isTruncated = page.IsTruncated === true && place.KeyMarker !== undefined;
    }
  }

  private async hasPartSince(
    time: Date,
    upload: { Bucket: string; Key: string | undefined; UploadId: string | undefined },
  ): Promise<boolean> {
    let PartNumberMarker: string | undefined;
    do {
      const command = new ListPartsCommand({ ...upload, PartNumberMarker });
      const page: ListPartsCommandOutput | void = await this.send(command).catch(unlessGone);
      if (page?.Parts?.some(({ LastModified }) => LastModified && LastModified > time)) return true;
      PartNumberMarker = page?.IsTruncated ? page.NextPartNumberMarker : undefined;
    } while (PartNumberMarker);
    return false;
  }

  /** Bounds the time of a request with all its retries. Its errors are safe to log and to show to clients. */
  private async send<I extends ServiceInputTypes, O extends ServiceOutputTypes>(
    command: $Command<I, O, S3ClientResolvedConfig, ServiceInputTypes, ServiceOutputTypes>,
    { client = this.client, timeoutMs = this.timeoutMs } = {},
  ): Promise<O> {
    const limit = new AbortController();
    const timer = setTimeout(() => limit.abort(), (attempts + 1) * timeoutMs);
    try {
      return await client.send(command, { requestTimeout: timeoutMs, abortSignal: limit.signal });
    } catch (error) {
      throw toOurError(error as SdkError);
    } finally {
      clearTimeout(timer);
    }
  }

  private target(key: string): Target {
    checkKey(key);
    return { Bucket: this.bucket, Key: this.prefix + key };
  }

  private below(prefix: string): string {
    checkKey(prefix);
    return `${this.prefix}${prefix}/`;
  }
}

function adviceFor(error: Error): string {
  if (!(error instanceof S3Refusal)) return error.cause instanceof Error ? error.cause.message : error.message;
  const { status, message } = error;
  if (status === 404) return 'the bucket does not exist. Create it, or set S3_BUCKET to another.';
  if (status === 403)
    return 'access is denied. Check S3_ACCESS_KEY_ID, S3_SECRET_ACCESS_KEY and their permissions on the bucket.';
  return `${message}. Check S3_ENDPOINT, S3_REGION and S3_PATH_STYLE.`;
}

/** Content-MD5, which every server knows: older ones reject the checksum that the SDK would send instead. */
function deleteAll(Bucket: string, keys: string[]): DeleteObjectsCommand {
  const Objects = keys.map((Key) => ({ Key }));
  const command = new DeleteObjectsCommand({ Bucket, Delete: { Objects, Quiet: true } });
  command.middlewareStack.add(
    (next) => (args) => {
      const request = args.request as { headers: Record<string, string>; body: string };
      for (const name of Object.keys(request.headers)) {
        if (/^x-amz-(checksum|sdk-checksum)-/.test(name)) delete request.headers[name];
      }
      request.headers['content-md5'] = createHash('md5').update(request.body).digest('base64');
      return next(args);
    },
    { step: 'build', priority: 'low' },
  );
  return command;
}

/** Keys need no URL encoding. */
function path({ Bucket, Key }: Target): string {
  return `${Bucket}/${Key}`;
}
