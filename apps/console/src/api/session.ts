import { useSyncExternalStore } from 'react';
import type { ErrorBody } from '@parley/contracts/errors';
import { errorOf } from './api-error';

/** Signed-in person. The token is in memory, and in the session storage of the tab if the person wants that. */
export interface Session {
  token: string;
  /** Id of a token that signing out revokes; absent for a pasted token. */
  tokenId?: string;
}

interface State {
  session?: Session;
  isKept: boolean;
}

const storageKey = 'parley.session';
const listeners = new Set<() => void>();
let state: State = readKept();

function readKept(): State {
  const kept = sessionStorage.getItem(storageKey);
  return { session: kept ? (JSON.parse(kept) as Session) : undefined, isKept: kept !== null };
}

function change(next: State): void {
  state = next;
  if (next.session && next.isKept) sessionStorage.setItem(storageKey, JSON.stringify(next.session));
  else sessionStorage.removeItem(storageKey);
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function currentSession(): Session | undefined {
  return state.session;
}

export function useSession(): State {
  return useSyncExternalStore(subscribe, () => state);
}

export function signIn(session: Session, isKept: boolean): void {
  change({ session, isKept });
}

export function forgetSession(): void {
  change({ isKept: false });
}

export function keepSession(isKept: boolean): void {
  change({ ...state, isKept });
}

/** Code in the fragment of a console link. Removes it from the address bar and the history. */
export function takeCode(): string | undefined {
  const code = /^#code=(.+)$/.exec(location.hash)?.[1];
  if (code === undefined) return undefined;
  history.replaceState(null, '', location.pathname + location.search);
  return code;
}

/** Exchanges the code of a link. Throws an error with the message of the platform. */
export async function redeem(code: string): Promise<Session> {
  const response = await fetch('/console/sessions', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ code }),
  });
  const body = (await response.json()) as { token: string; tokenId: string } | ErrorBody;
  if ('token' in body) return { token: body.token, tokenId: body.tokenId };
  throw errorOf(body);
}
