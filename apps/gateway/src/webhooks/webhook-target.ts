import { decodedSegment } from '@parley/contracts/path-segment';

/** Request to the shared webhook of an integration. `path` begins with its name. */
export interface SharedTarget {
  isShared: true;
  path: string;
  query: string;
}

export interface WebhookTarget {
  isShared?: undefined;
  webhookId: string;
  /** For the integration: the part after the webhook id, with a leading slash. */
  path: string;
  query: string;
  /** Whether a person follows it in a browser, to connect the integration with another service. */
  isOauth: boolean;
}

const sharedPath = '/integration/global/';

/**
 * Target of a request under the webhook base: `/{webhookId}…`, `/oauth…?state={webhookId}` or
 * `/integration/global/{name}…`. Undefined for other paths.
 * @param url raw request target without the base
 */
export function webhookTarget(url: string): WebhookTarget | SharedTarget | undefined {
  const mark = url.indexOf('?');
  const [path, query] = mark < 0 ? [url, ''] : [url.slice(0, mark), url.slice(mark + 1)];
  if (path.startsWith(sharedPath)) return { isShared: true, path: path.slice(sharedPath.length), query };
  const [, first = '', rest = ''] = /^\/([^/]*)(.*)$/.exec(path) ?? [];
  if (first === 'oauth') {
    const state = new URLSearchParams(query).get('state');
    return state && !state.includes('\0') ? { webhookId: state, path, query, isOauth: true } : undefined;
  }
  return first === ''
    ? undefined
    : { webhookId: decodedSegment(first), path: rest === '' ? '/' : rest, query, isOauth: false };
}
