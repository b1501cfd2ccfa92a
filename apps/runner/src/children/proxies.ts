import type { RunnerConfig } from '../config';
import type { AllowedOrigin } from '../host/frames';

type Addresses = Pick<RunnerConfig, 'publicUrl' | 'contentUrl' | 'httpProxy' | 'httpsProxy' | 'noProxy'>;

/** Where code may connect to among private addresses: the API, the contents, and the proxies. */
export function allowedOriginsOf({ publicUrl, contentUrl, httpProxy, httpsProxy }: Addresses): AllowedOrigin[] {
  return [publicUrl, contentUrl, httpProxy, httpsProxy].filter((address) => address !== undefined).map(originOf);
}

/**
 * Proxies of code, as Node reads them. It reaches the API, the contents and `localhost` without: proxies need not know the
 * former, and would reach their own machine for the latter.
 */
export function proxyEnvOf(config: Addresses): Record<string, string> | undefined {
  const { httpProxy, httpsProxy, noProxy, publicUrl, contentUrl } = config;
  if (!httpProxy && !httpsProxy) return undefined;
  const own = [publicUrl, contentUrl].map(originOf).flatMap(({ hostname, port }) => {
    // Node's agents read IPv6 addresses without brackets, its `fetch` with them.
    const spellings = hostname.includes(':') ? [hostname, `[${hostname}]`] : [hostname];
    return spellings.map((spelling) => `${spelling}:${port}`);
  });
  return {
    ...(httpProxy && { HTTP_PROXY: httpProxy }),
    ...(httpsProxy && { HTTPS_PROXY: httpsProxy }),
    NO_PROXY: [...own, 'localhost', ...(noProxy ? [noProxy] : [])].join(','),
  };
}

function originOf(address: string): AllowedOrigin {
  const { hostname, port, protocol } = new URL(address);
  const defaultPort = protocol === 'https:' ? 443 : 80;
  return { hostname: hostname.replace(/^\[|\]$/g, ''), port: Number(port) || defaultPort };
}
