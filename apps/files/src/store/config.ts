import { choice, Env, orWord, pair, text, url } from '@parley/config/config';
import { PassagesConfig } from '@parley/passages/config';

export class FileStoreConfig extends PassagesConfig {
  @Env({
    env: 'NEXT_EMBEDDINGS_URL',
    type: orWord('bundled', url('http', 'https')),
    about:
      'Embedding server of the next model, or `bundled`. Its index is filled, and not searched, until the switch after a re-index.',
    optional: true,
  })
  nextEmbeddingsUrl?: string;

  @Env({ env: 'NEXT_EMBEDDINGS_MODEL', type: text(), about: 'Model name in requests to the server of the next model.' })
  nextEmbeddingsModel = 'text-embedding-3-small';

  @Env({
    env: 'NEXT_EMBEDDINGS_API_KEY',
    type: text(),
    about: 'API key of the server of the next model.',
    optional: true,
  })
  nextEmbeddingsApiKey?: string;

  @Env({
    env: 'NEXT_EMBEDDINGS_PASSAGE_PREFIX',
    need: 'rarely',
    type: text(),
    about: 'Text before each passage for the next model.',
    optional: true,
  })
  nextEmbeddingsPassagePrefix?: string;

  @Env({
    env: 'NEXT_EMBEDDINGS_INPUT_TYPES',
    need: 'rarely',
    type: pair(text()),
    about: 'Values of `input_type` for search texts and for passages for the next model.',
    optional: true,
  })
  nextEmbeddingsInputTypes?: [query: string, passage: string];

  @Env({
    env: 'BLOBS_DIR',
    need: 'always',
    type: text('a folder'),
    about:
      'Folder that content is kept in, shared by the files service and its workers. Inside the data folder in embedded mode.',
    optional: true,
    defaultText: 'required unless `S3_BUCKET` is set',
  })
  blobsDir?: string;

  @Env({
    env: 'S3_ENDPOINT',
    type: url('http', 'https'),
    about: 'URL of the S3 server. Without it: AWS.',
    optional: true,
  })
  s3Endpoint?: string;

  @Env({ env: 'S3_REGION', type: text(), about: 'Region of the bucket.' }) s3Region = 'us-east-1';

  @Env({
    env: 'S3_BUCKET',
    need: 'always',
    type: text('the name of a bucket', /^[\w.-]{3,255}$/),
    about:
      'Existing bucket of AWS S3 or of an S3-compatible server for the content of files. Parley needs no versioning.',
    optional: true,
  })
  s3Bucket?: string;

  @Env({
    env: 'S3_PREFIX',
    type: text('names of letters, digits, - and _ with / between them', /^[\w-]+(\/[\w-]+)*$/),
    about: 'Prefix of the keys of all content, for a bucket that is shared.',
    optional: true,
  })
  s3Prefix?: string;

  @Env({
    env: 'S3_ACCESS_KEY_ID',
    type: text(),
    about:
      "Key of the S3 server. Without it, the credential chain of AWS's SDK: its variables, files or the role of the machine.",
    optional: true,
  })
  s3AccessKeyId?: string;

  @Env({ env: 'S3_SECRET_ACCESS_KEY', type: text(), about: 'Secret of `S3_ACCESS_KEY_ID`.', optional: true })
  s3SecretAccessKey?: string;

  @Env({
    env: 'S3_PATH_STYLE',
    need: 'rarely',
    type: choice('true', 'false'),
    about: 'Path-style URLs: the bucket in the path, not in the host name.',
    optional: true,
    defaultText: '`true` if `S3_ENDPOINT` is set, else `false`',
  })
  s3PathStyle?: 'true' | 'false';
}
