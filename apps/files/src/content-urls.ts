import { createHmac, timingSafeEqual } from 'node:crypto';
import { ApiError } from '@parley/contracts/errors';

const uploadLifetimeMs = 60 * 60_000;
const downloadLifetimeMs = 15 * 60_000;

/** What an upload URL is good for, and nothing else. */
export interface UploadGrant {
  fileId: string;
  uploadId: string;
  size: number;
  contentType: string;
  /** The PUT must carry `x-amz-tagging: public=true`. */
  tagged: boolean;
}

interface DownloadGrant {
  fileId: string;
  contentVersion: string;
}

type Parameters = Record<string, string>;

/** Signs and checks the URLs of the content address: HMAC-SHA256 over the method, the path and every parameter. */
export class ContentUrls {
  constructor(
    private readonly baseUrl: string,
    private readonly key: Buffer,
  ) {}

  uploadExpiry(): Date {
    return new Date(Date.now() + uploadLifetimeMs);
  }

  upload({ fileId, uploadId, size, contentType, tagged }: UploadGrant, expiresAt: Date): string {
    return this.sign('PUT', fileId, expiresAt, {
      upload: uploadId,
      size: String(size),
      type: contentType,
      tagged: tagged ? '1' : '0',
    });
  }

  download({ fileId, contentVersion }: DownloadGrant, now = Date.now()): string {
    return this.sign('GET', fileId, new Date(now + downloadLifetimeMs), { version: contentVersion });
  }

  /** Throws Forbidden for an altered or expired URL. */
  readUpload(fileId: string, query: Record<string, unknown>): UploadGrant {
    const { upload, size, type, tagged } = this.verify('PUT', fileId, query, ['upload', 'size', 'type', 'tagged']);
    return { fileId, uploadId: upload!, size: Number(size), contentType: type!, tagged: tagged === '1' };
  }

  /** Throws Forbidden for an altered or expired URL. */
  readDownload(fileId: string, query: Record<string, unknown>): DownloadGrant {
    return { fileId, contentVersion: this.verify('GET', fileId, query, ['version'])['version']! };
  }

  private sign(method: string, fileId: string, expiresAt: Date, parameters: Parameters): string {
    const signed: Parameters = { ...parameters, expires: String(Math.floor(expiresAt.getTime() / 1000)) };
    const query = new URLSearchParams({ ...signed, signature: this.signature(method, fileId, signed) });
    return `${this.baseUrl}/content/${fileId}?${query.toString()}`;
  }

  private verify(method: string, fileId: string, query: Record<string, unknown>, names: string[]): Parameters {
    const signed: Parameters = {};
    for (const name of [...names, 'expires']) signed[name] = typeof query[name] === 'string' ? query[name] : '';
    const expected = Buffer.from(this.signature(method, fileId, signed));
    const given = Buffer.from(typeof query['signature'] === 'string' ? query['signature'] : '');
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) {
      throw new ApiError('Forbidden', 'The signature of this URL is wrong: use the URL exactly as it was given.');
    }
    if (Number(signed['expires']) * 1000 <= Date.now()) {
      throw new ApiError('Forbidden', 'This URL has expired: ask for the file again to get a new one.');
    }
    return signed;
  }

  private signature(method: string, fileId: string, signed: Parameters): string {
    const text = JSON.stringify([method, fileId, ...Object.entries(signed).sort(([a], [b]) => (a < b ? -1 : 1))]);
    return createHmac('sha256', this.key).update(text).digest('base64url');
  }
}
