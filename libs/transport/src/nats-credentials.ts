export const seedPattern = /^SU[A-Z2-7]{56}$/;
export const seedForm = 'the seed of a user: 58 letters and digits that begin with SU';

/** Credentials of this process and trust in the server. Empty for a server without authentication. */
export interface NatsCredentials {
  /** Nkey seed of the app, or the file that holds it. The file is read again for each connection. */
  seed?: string;
  seedFile?: string;
  /** CA of the server, and a client certificate where the server requires one. */
  caFile?: string;
  certFile?: string;
  keyFile?: string;
}
