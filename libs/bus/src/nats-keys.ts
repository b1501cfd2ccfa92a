import { nkeys } from 'nats';
import { publicKeyVariable, seedVariable, userNames } from './permissions';

/** The package exports it without its types. */
const { createUser } = nkeys as { createUser: () => { getPublicKey(): string; getSeed(): Uint8Array } };

/** A new pair of keys for everyone who speaks to the NATS server, as lines of an environment file. */
export function newKeys(): string {
  const pairs = userNames.map((name) => ({ name, pair: createUser() }));
  return [
    '# Public: for the NATS server, whose configuration in deploy/nats reads these variables.',
    ...pairs.map(({ name, pair }) => `${publicKeyVariable(name)}=${pair.getPublicKey()}`),
    '',
    '# Secret: each app gets the one of its name as NATS_NKEY_SEED, and no other. `operator` is for `npm run streams`',
    '# and `parley streams`, `sys` for looking into the server itself.',
    ...pairs.map(({ name, pair }) => `${seedVariable(name)}=${Buffer.from(pair.getSeed()).toString()}`),
  ].join('\n');
}
