import { Client } from '@botpress/client';
import { currentSession, forgetSession, type Session } from './session';

export interface Scope {
  workspaceId?: string;
  botId?: string;
}

/** Public client with the token of the session. */
export function clientOf({ workspaceId, botId }: Scope = {}): Client {
  const token = currentSession()?.token ?? '';
  return new Client({ apiUrl: location.origin, token, workspaceId, botId });
}

/** Revokes the token if signing in created it, and forgets it in any case. */
export async function signOut({ tokenId }: Session): Promise<void> {
  try {
    if (tokenId !== undefined) await clientOf().deletePersonalAccessToken({ id: tokenId });
  } finally {
    forgetSession();
  }
}
