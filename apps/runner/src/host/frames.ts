/**
 * Messages between a runner and the process of a bundle, over two pipes. A frame is a header of JSON, preceded by its length and
 * that of the body in bytes (two unsigned integers of 32 bits, big-endian), then the body: code, request, answer or output, as
 * UTF-8. Neither side parses a body.
 */

/** Origin that code may call although its address is private. */
export interface AllowedOrigin {
  hostname: string;
  port: number;
}

/** The body is the code. */
export interface LoadFrame {
  type: 'load';
  /** Added to the environment before the bundle is loaded. */
  env: Record<string, string>;
  /** Where code may connect to among private addresses; absent: everywhere. */
  allowedOrigins?: AllowedOrigin[];
  /** Authorities (PEM) that code trusts besides those of Node. */
  certificates?: string[];
  /** `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY` of its requests; absent: no proxy. */
  proxyEnv?: Record<string, string>;
}

/** The body is that of the request. */
export interface InvokeFrame {
  type: 'invoke';
  /** Random: code that forges an answer cannot name the invocation of another process. */
  id: string;
  /** Carried by its requests to the API. */
  apiHeaders: Record<string, string>;
  request: { method: string; path: string; query: string; headers: Record<string, string> };
  functionName: string;
  functionVersion: string;
  memoryMb: number;
  timeoutMs: number;
  /** Whether the process shall say that it has begun: others run in it, and may block it. */
  isConfirmed: boolean;
}

/** To the process of the bundle. */
export type Order = LoadFrame | InvokeFrame | { type: 'ping' };

/** From the process of the bundle, which may be hostile: every property is checked. */
export type Reply =
  /** Before anything else: Node has started. */
  | { type: 'ready' }
  | { type: 'loaded' }
  /** The body is the reason. */
  | { type: 'not loadable' }
  | { type: 'begun'; id: string }
  /** The body is that of the answer. */
  | { type: 'answered'; id: string; status: number; headers?: Record<string, string> }
  /** The body is the message of the error. */
  | { type: 'failed'; id: string }
  | { type: 'too large'; id: string; bytes: number }
  /** The body is the error. */
  | { type: 'crashed' }
  /** The body is the text. */
  | { type: 'output'; id?: string; stream: 'stdout' | 'stderr' }
  | { type: 'pong' };

export const orderDescriptor = 3;
export const replyDescriptor = 4;
export const prefixBytes = 8;

export function encodeFrame(header: Order | Reply, body: Buffer): Buffer[] {
  const json = Buffer.from(JSON.stringify(header));
  const prefix = Buffer.allocUnsafe(prefixBytes);
  prefix.writeUInt32BE(json.length, 0);
  prefix.writeUInt32BE(body.length, 4);
  return [Buffer.concat([prefix, json]), ...(body.length > 0 ? [body] : [])];
}
