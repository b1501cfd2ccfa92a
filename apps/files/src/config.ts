import { Env, integer, url } from '@parley/config/config';
import { FileStoreConfig } from './store/config';
import { formerSecretKeysVariable, secretKeyVariable, sweepIntervalVariable } from '@parley/service/config';

export class FilesConfig extends FileStoreConfig {
  @Env(secretKeyVariable) secretKey!: string;
  @Env(formerSecretKeysVariable) formerSecretKeys?: string[];

  @Env({
    env: 'CONTENT_URL',
    need: 'always',
    type: url('http', 'https'),
    about:
      'Address under which clients reach the files service: `/content/…` is added. The same as `PUBLIC_URL` in embedded mode.',
  })
  contentUrl!: string;

  @Env({
    env: 'MAX_UPLOAD_BYTES',
    type: integer(1, Number.MAX_SAFE_INTEGER),
    about: 'Largest accepted file, in bytes.',
  })
  maxUploadBytes = 5_000_000_000;

  @Env({
    env: 'CONTENT_MAX_UPLOADS',
    need: 'rarely',
    type: integer(1, 100_000),
    about:
      'Concurrent uploads. A bot may use as many of these slots as are free, so half of them alone. In front of S3, each may take 5 MB of the temporary folder.',
    optional: true,
    defaultText: '`400`',
  })
  contentMaxUploads?: number;

  @Env(sweepIntervalVariable) sweepIntervalMs = 5_000;
}
