/** Messages between a runner and the process of a bundle: lines of JSON over pipes. */

/** Origin that code may call although its address is private. */
export interface AllowedOrigin {
  hostname: string;
  port: number;
}

export interface LoadFrame {
  type: 'load';
  code: string;
  /** Added to the environment before the bundle is loaded. */
  env: Record<string, string>;
  /** Where code may connect to among private addresses; absent: everywhere. */
  allowedOrigins?: AllowedOrigin[];
}

export interface InvokeFrame {
  type: 'invoke';
  /** Random: code that forges an answer cannot name the invocation of another process. */
  id: string;
  /** Carried by its requests to the API. */
  apiHeaders: Record<string, string>;
  request: { method: string; path: string; query: string; headers: Record<string, string>; body: string };
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
  | { type: 'loaded' }
  | { type: 'not loadable'; message: string }
  | { type: 'begun'; id: string }
  | { type: 'answered'; id: string; status: number; body: string; headers?: Record<string, string> }
  | { type: 'failed'; id: string; message: string }
  | { type: 'too large'; id: string; bytes: number }
  | { type: 'crashed'; message: string }
  | { type: 'output'; id?: string; stream: 'stdout' | 'stderr'; text: string }
  | { type: 'pong' };

export const orderDescriptor = 3;
export const replyDescriptor = 4;
