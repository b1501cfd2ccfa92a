import type { FileEntity } from '../store/file.entity';
import type { SecretKeys } from '@parley/secrets/secret-keys';
import { UrlSignature } from '@parley/secrets/url-signature';

const uploadLifetimeMs = 60 * 60_000;
const downloadLifetimeMs = 15 * 60_000;

export interface UploadGrant {
  fileId: string;
  uploadId: string;
  size: number;
  contentType: string;
  /** Requires `x-amz-tagging: public=true` in the PUT. */
  tagged: boolean;
}

interface DownloadGrant {
  fileId: string;
  /** Version of the content, or id of its pending upload. */
  version: string;
}

/** Signs and verifies content URLs. A signature covers one method, one file and all parameters. */
export class ContentUrlsService {
  private readonly signature: UrlSignature;

  constructor(
    private readonly baseUrl: string,
    keys: SecretKeys,
  ) {
    this.signature = new UrlSignature(keys.derive('content-urls'));
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

  download(fileId: string, version: string, now = Date.now()): string {
    return this.sign('GET', fileId, new Date(now + downloadLifetimeMs), { version });
  }

  /** Permanent URL for public content, otherwise a signed URL of the current content or its pending upload. */
  contentUrl(file: FileEntity): string {
    if (file.access_policies.includes('public_content')) return this.publicDownload(file.id);
    return this.download(file.id, file.blob_version ?? file.upload_id ?? '');
  }

  /** Permanent URL without a signature, valid while the file is public. */
  publicDownload(fileId: string): string {
    return `${this.baseUrl}/content/${fileId}`;
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

  /** Undefined for a URL without a signature. Throws Forbidden for an altered or expired one. */
  readDownload(fileId: string, query: Record<string, unknown>): DownloadGrant | undefined {
    if (query['signature'] === undefined) return undefined;
    return { fileId, version: this.signature.verify(['GET', fileId], query, ['version'])['version']! };
  }

  private sign(method: string, fileId: string, expiresAt: Date, parameters: Record<string, string>): string {
    return `${this.baseUrl}/content/${fileId}?${this.signature.sign([method, fileId], parameters, expiresAt)}`;
  }
}
