import { Client } from '@botpress/client';
import { currentSession, forgetSession, type Session } from './session';

export interface Scope {
  workspaceId?: string;
  botId?: string;
}

/** Public client with the token of the session. */
export function clientOf({ workspaceId, botId }: Scope = {}): Client {
  const token = currentSession()?.token ?? '';
  // Integrations of a bot by alias, of which one integration may have several.
  const headers = { 'x-multiple-integrations': 'true' };
  return new Client({ apiUrl: location.origin, token, workspaceId, botId, headers });
}

/** Forgets the token, and revokes it if signing in created it. In this order, because pages would request with it. */
export async function signOut({ tokenId }: Session): Promise<void> {
  const client = clientOf();
  forgetSession();
  if (tokenId !== undefined) await client.deletePersonalAccessToken({ id: tokenId });
}
