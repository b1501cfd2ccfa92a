import { UrlSignature } from '@parley/secrets/url-signature';

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

/** Signs and checks the URLs of the content address: each is good for one method, one file and what it says. */
export class ContentUrls {
  private readonly signature: UrlSignature;

  constructor(
    private readonly baseUrl: string,
    key: Buffer,
  ) {
    this.signature = new UrlSignature(key);
  }

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
    const { upload, size, type, tagged } = this.signature.verify(['PUT', fileId], query, [
      'upload',
      'size',
      'type',
      'tagged',
    ]);
    return { fileId, uploadId: upload!, size: Number(size), contentType: type!, tagged: tagged === '1' };
  }

  /** Throws Forbidden for an altered or expired URL. */
  readDownload(fileId: string, query: Record<string, unknown>): DownloadGrant {
    return { fileId, contentVersion: this.signature.verify(['GET', fileId], query, ['version'])['version']! };
  }

  private sign(method: string, fileId: string, expiresAt: Date, parameters: Record<string, string>): string {
    return `${this.baseUrl}/content/${fileId}?${this.signature.sign([method, fileId], parameters, expiresAt)}`;
  }
}
