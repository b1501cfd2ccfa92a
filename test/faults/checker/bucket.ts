import { createHash, createHmac } from 'node:crypto';
import { patientFetch } from './patient-fetch';

export interface Bucket {
  /** Default: AWS. */
  endpoint?: string;
  region: string;
  bucket: string;
  /** Prefix of each key, without the slash. */
  prefix?: string;
  /** Path-style URLs, as most servers other than AWS require. */
  pathStyle: boolean;
  accessKeyId: string;
  secretAccessKey: string;
}

const entities: Record<string, string> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" };

/** Keys of all contents, without the prefix and without incomplete multipart uploads. */
export async function listBucket(bucket: Bucket): Promise<string[]> {
  const prefix = bucket.prefix ? `${bucket.prefix}/` : '';
  const keys: string[] = [];
  for (let next: string | undefined = ''; next !== undefined;) {
    const query = { 'list-type': '2', prefix, ...(next ? { 'continuation-token': next } : {}) };
    const text: string = await (await askBucket(bucket, 'GET', '', query)).text();
    keys.push(...textsOf(text, 'Key').map((key) => key.slice(prefix.length)));
    next = textsOf(text, 'IsTruncated')[0] === 'true' ? textsOf(text, 'NextContinuationToken')[0] : undefined;
  }
  return keys;
}

export async function askBucket(
  bucket: Bucket,
  method: string,
  key: string,
  query: Record<string, string> = {},
): Promise<Response> {
  const { endpoint, region, pathStyle } = bucket;
  const server = new URL(endpoint ?? `https://s3.${region}.amazonaws.com`);
  if (!pathStyle) server.hostname = `${bucket.bucket}.${server.hostname}`;
  const path = [...(pathStyle ? [bucket.bucket] : []), ...key.split('/')].map(encoded).join('/');
  const url = `${server.origin}/${path}`;
  const { headers, search } = signed(bucket, method, url, query, new Date());
  const response = await patientFetch(`${url}?${search}`, { method, headers });
  if (!response.ok) throw new Error(`S3 ${method} /${path}: ${response.status} ${await response.text()}`);
  return response;
}

/** AWS Signature Version 4 of a request without a body. */
export function signed(
  { region, accessKeyId, secretAccessKey }: Pick<Bucket, 'region' | 'accessKeyId' | 'secretAccessKey'>,
  method: string,
  url: string,
  query: Record<string, string>,
  now: Date,
): { headers: Record<string, string>; search: string } {
  const { host, pathname } = new URL(url);
  const time = now.toISOString().replace(/[-:]|\.\d+/g, '');
  const day = time.slice(0, 8);
  const bodyHash = createHash('sha256').update('').digest('hex');
  const search = Object.entries(query)
    .map(([name, value]) => `${encoded(name)}=${encoded(value)}`)
    .sort()
    .join('&');
  const own = { host, 'x-amz-content-sha256': bodyHash, 'x-amz-date': time };
  const names = Object.keys(own).join(';');
  const lines = Object.entries(own).map(([name, value]) => `${name}:${value}\n`);
  const request = [method, pathname, search, lines.join(''), names, bodyHash].join('\n');
  const scope = `${day}/${region}/s3/aws4_request`;
  const text = ['AWS4-HMAC-SHA256', time, scope, createHash('sha256').update(request).digest('hex')].join('\n');
  const key = [day, region, 's3', 'aws4_request'].reduce<string | Buffer>(
    (secret, part) => createHmac('sha256', secret).update(part).digest(),
    `AWS4${secretAccessKey}`,
  );
  const signature = createHmac('sha256', key).update(text).digest('hex');
  const authorization = `AWS4-HMAC-SHA256 Credential=${accessKeyId}/${scope},SignedHeaders=${names},Signature=${signature}`;
  return { headers: { authorization, 'x-amz-content-sha256': bodyHash, 'x-amz-date': time }, search };
}

function encoded(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);
}

function textsOf(xml: string, element: string): string[] {
  return [...xml.matchAll(new RegExp(`<${element}>([^<]*)</${element}>`, 'g'))].map(([, text]) =>
    text!.replace(/&(#?\w+);/g, (entity, name: string) =>
      name.startsWith('#x')
        ? String.fromCodePoint(parseInt(name.slice(2), 16))
        : name.startsWith('#')
          ? String.fromCodePoint(Number(name.slice(1)))
          : (entities[name] ?? entity),
    ),
  );
}
