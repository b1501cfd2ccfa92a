import { randomBytes } from 'node:crypto';
import { askBucket, type Bucket, listBucket } from '../checker/bucket';
import { askQdrant, type Qdrant } from '../checker/vectors';

/** Where the platform keeps contents and vectors, apart from what others keep on the same servers. */
export interface Stores {
  /** For the files service, its worker and tables. */
  env: Record<string, string>;
  /** In place of the folder. */
  bucket?: Bucket;
  /** In place of the index in Postgres. */
  qdrant?: Qdrant;
}

/**
 * Qdrant where QDRANT_URL is set, and S3 where S3_BUCKET is. One run has a collection of its own there, by a name of its
 * own for the embedding model, and a prefix of its own. Throws an Error that says which variable is missing.
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

/** Removes what the run has left. */
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
    if (!value) throw new Error(`${name} is missing: S3_BUCKET is set.`);
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
