import { nkeys } from 'nats';
import { publicKeyVariable, seedVariable, userNames } from './permissions';

/** Typed here: the package exports this function without its types. */
const { createUser } = nkeys as { createUser: () => { getPublicKey(): string; getSeed(): Uint8Array } };

/** Creates NATS keys for all users of the server, as lines of an environment file. */
export function newKeys(): string {
  const pairs = userNames.map((name) => ({ name, pair: createUser() }));
  return [
    '# Public keys: for the NATS server, whose configuration in deploy/nats reads these variables.',
    ...pairs.map(({ name, pair }) => `${publicKeyVariable(name)}=${pair.getPublicKey()}`),
    '',
    '# Secret seeds: give each app only its own, as NATS_NKEY_SEED. `operator` is for `npm run streams`',
    '# and `parley streams`, `sys` for the system account of the server.',
    ...pairs.map(({ name, pair }) => `${seedVariable(name)}=${Buffer.from(pair.getSeed()).toString()}`),
  ].join('\n');
}
