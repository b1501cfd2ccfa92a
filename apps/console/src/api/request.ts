import type { ErrorBody } from '@parley/contracts/errors';
import { errorOf } from './api-error';
import type { Scope } from './client';
import { currentSession } from './session';

/** Operation of Parley that the public client does not have. The path is below its origin, with its query. */
export interface OwnRequest extends Scope {
  method?: 'GET' | 'POST' | 'PUT' | 'DELETE';
  path: string;
  body?: object;
}

/** Throws an error with the message of the platform. */
export async function request<T>({ method = 'GET', path, body, workspaceId, botId }: OwnRequest): Promise<T> {
  const headers = new Headers({ authorization: `Bearer ${currentSession()?.token ?? ''}` });
  if (workspaceId !== undefined) headers.set('x-workspace-id', workspaceId);
  if (botId !== undefined) headers.set('x-bot-id', botId);
  if (body) headers.set('content-type', 'application/json');
  const response = await fetch(path, { method, headers, body: body && JSON.stringify(body) });
  if (!response.ok) throw await refusalOf(response);
  return (await response.json()) as T;
}

/** Path whose values are encoded: `` pathOf`/v1/admin/bots/${botId}` ``. */
export function pathOf(parts: TemplateStringsArray, ...values: string[]): string {
  return String.raw({ raw: parts }, ...values.map(encodeURIComponent));
}

/** Query with the values that are present. */
export function queryOf(values: Record<string, string | number | undefined>): string {
  const present = Object.entries(values).flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [[name, String(value)]],
  );
  return present.length === 0 ? '' : `?${new URLSearchParams(present).toString()}`;
}

async function refusalOf(response: Response): Promise<Error> {
  try {
    return errorOf((await response.json()) as ErrorBody);
  } catch {
    // A proxy in between answers in its own words.
    return new Error(`The request was refused with HTTP status ${response.status}.`);
  }
}
