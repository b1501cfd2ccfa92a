import { hash } from 'node:crypto';

/** Key of a tunnel on the bus. A hash, because the id is a credential: subjects appear in logs and traces. */
export function tunnelKey(id: string): string {
  return hash('sha256', id, 'base64url');
}
