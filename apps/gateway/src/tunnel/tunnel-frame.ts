import type { TunnelReply, TunnelRequest } from '@parley/contracts/tunnel';
import { isRecord } from '@parley/contracts/is-record';

/** Frame from a client: sign of life, or the answer to a request. */
export type TunnelFrame = { type: 'hello' } | { type: 'response'; requestId: string; reply: TunnelReply };

export function requestFrame(id: string, { method, path, query, headers, body }: TunnelRequest): string {
  return JSON.stringify({ type: 'request', id, method, path, query, headers, body });
}

/** Undefined for an invalid frame. Old clients send answers without `type`. */
export function readTunnelFrame(text: string): TunnelFrame | undefined {
  const frame = parsed(text);
  if (!isRecord(frame)) return undefined;
  const { type = 'response', requestId, status, headers = {}, body = '' } = frame;
  if (type === 'hello') return { type };
  if (type !== 'response' || typeof requestId !== 'string' || typeof body !== 'string') return undefined;
  if (!isStatus(status) || !isRecord(headers)) return undefined;
  const named = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), joined(value)] as const);
  if (named.some(([, value]) => value === undefined)) return undefined;
  return { type, requestId, reply: { status, headers: Object.fromEntries(named) as Record<string, string>, body } };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isStatus(status: unknown): status is number {
  return Number.isInteger(status) && (status as number) >= 100 && (status as number) <= 599;
}

/** Undefined unless the value is a text, a number or a list of texts. */
function joined(value: unknown): string | undefined {
  if (typeof value === 'string' || typeof value === 'number') return String(value);
  const isList = Array.isArray(value) && value.every((entry) => typeof entry === 'string');
  return isList ? value.join(', ') : undefined;
}
