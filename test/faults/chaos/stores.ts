import { randomBytes } from 'node:crypto';
import { askBucket, type Bucket, listBucket } from '../checker/bucket';
import { askQdrant, type Qdrant } from '../checker/vectors';

/** Stores of contents and vectors, separate from other data on the same servers. */
export interface Stores {
  env: Record<string, string>;
  /** S3 instead of the folder. */
  bucket?: Bucket;
  /** Qdrant instead of the index in Postgres. */
  qdrant?: Qdrant;
}

/**
 * Qdrant with QDRANT_URL, S3 with S3_BUCKET; each run has its own embedding model name (and so its own collection) and
 * key prefix. Throws an Error that names a missing variable.
 */
export function storesOf(env: NodeJS.ProcessEnv): Stores {
  const run = `chaos-${randomBytes(6).toString('hex')}`;
  const [qdrant, bucket] = [qdrantOf(env, run), bucketOf(env, run)];
  return {
    env: {
      ...(qdrant && {
        QDRANT_URL: qdrant.url,
        EMBEDDINGS_MODEL: run,
        ...(qdrant.apiKey ? { QDRANT_API_KEY: qdrant.apiKey } : {}),
      }),
      ...(bucket && {
        ...(bucket.endpoint ? { S3_ENDPOINT: bucket.endpoint } : {}),
        S3_BUCKET: bucket.bucket,
        S3_REGION: bucket.region,
        S3_PREFIX: run,
        S3_PATH_STYLE: String(bucket.pathStyle),
        S3_ACCESS_KEY_ID: bucket.accessKeyId,
        S3_SECRET_ACCESS_KEY: bucket.secretAccessKey,
      }),
    },
    qdrant,
    bucket,
  };
}

export async function clearStores({ bucket, qdrant }: Stores): Promise<void> {
  if (bucket) for (const key of await listBucket(bucket)) await askBucket(bucket, 'DELETE', `${bucket.prefix}/${key}`);
  if (!qdrant) return;
  const { collections } = await askQdrant<{ collections: { name: string }[] }>(qdrant, 'GET', '/collections');
  for (const { name } of collections.filter((known) => known.name.startsWith(qdrant.collections)))
    await askQdrant(qdrant, 'DELETE', `/collections/${name}`);
}

function qdrantOf({ QDRANT_URL: url, QDRANT_API_KEY: apiKey }: NodeJS.ProcessEnv, run: string): Qdrant | undefined {
  return url ? { url, ...(apiKey ? { apiKey } : {}), collections: `parley_${run}_` } : undefined;
}

function bucketOf(env: NodeJS.ProcessEnv, run: string): Bucket | undefined {
  if (!env['S3_BUCKET']) return undefined;
  const given = (name: string) => {
    const value = env[name];
    if (!value) throw new Error(`${name} is missing: it is required with S3_BUCKET.`);
    return value;
  };
  const endpoint = env['S3_ENDPOINT'] || undefined;
  return {
    ...(endpoint ? { endpoint } : {}),
    bucket: env['S3_BUCKET'],
    region: env['S3_REGION'] || 'us-east-1',
    prefix: run,
    pathStyle: (env['S3_PATH_STYLE'] || String(endpoint !== undefined)) === 'true',
    accessKeyId: given('S3_ACCESS_KEY_ID'),
    secretAccessKey: given('S3_SECRET_ACCESS_KEY'),
  };
}
