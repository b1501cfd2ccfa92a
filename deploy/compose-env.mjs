// Creates `.env` in this folder for docker-compose.yml, with a new random value for every secret that it requires. Adds
// to an existing file only the NATS keys of apps that a new version brings: data encrypted under a lost PARLEY_SECRET_KEY cannot
// be recovered. Needs only Node.
import { generateKeyPairSync, randomBytes, randomInt } from 'node:crypto';
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { crc32 } from 'node:zlib';

const natsUsers = [
  'GATEWAY',
  'ADMIN',
  'HUB',
  'FILES',
  'FILES_WORKER',
  'TABLES',
  'CHAT',
  'RUNTIME',
  'RUNNER',
  'MODELS',
  'OPERATOR',
  'SYS',
];
const secret = () => randomBytes(32).toString('hex');
const keys = natsUsers.map((user) => ({ user, ...newNatsKey() }));
const text = `# Secrets of this installation: keep a copy in a safe place.
PARLEY_SECRET_KEY=${secret()}
PARLEY_BOOTSTRAP_TOKEN=${newToken()}
POSTGRES_PASSWORD=${secret()}
QDRANT_API_KEY=${secret()}
MINIO_PASSWORD=${secret()}

# NATS keys: each app authenticates with its seed, the server holds the public keys.
${keys.map(linesOf).join('\n')}
`;

try {
  writeFileSync('.env', text, { mode: 0o600, flag: 'wx' });
  process.stdout.write('Created .env. Use its PARLEY_BOOTSTRAP_TOKEN as the first token of the platform.\n');
} catch (error) {
  if (error.code !== 'EEXIST') throw error;
  complete();
}

function linesOf({ user, seed, publicKey }) {
  return `NATS_SEED_${user}=${seed}\nNATS_KEY_${user}=${publicKey}`;
}

/** Adds the keys that an existing file lacks. */
function complete() {
  const known = readFileSync('.env', 'utf8');
  const missing = keys.filter(({ user }) => !known.includes(`NATS_SEED_${user}=`));
  if (missing.length === 0) {
    process.stderr.write('.env exists already and was not changed. Delete or rename it to create a new one.\n');
    process.exitCode = 1;
    return;
  }
  appendFileSync('.env', `${known.endsWith('\n') ? '' : '\n'}${missing.map(linesOf).join('\n')}\n`);
  const names = missing.map(({ user }) => user).join(', ');
  process.stdout.write(`Added the NATS keys of ${names} to .env. Restart NATS: \`docker compose up -d nats\`.\n`);
}

/** Personal access token in the format of libs/secrets/src/token.ts. */
function newToken() {
  const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
  const random = Array.from({ length: 30 }, () => alphabet[randomInt(alphabet.length)]).join('');
  const body = `bp_pat_${random}`;
  let checksum = '';
  for (let rest = crc32(body); checksum.length < 6; rest = Math.floor(rest / alphabet.length)) {
    checksum = `${alphabet[rest % alphabet.length]}${checksum}`;
  }
  return `${body}${checksum}`;
}

/** Nkey of a NATS user: an Ed25519 key with a type prefix and a CRC-16 checksum. */
function newNatsKey() {
  const { x, d } = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' });
  const [ofSeed, ofUser] = [18 << 3, 20 << 3];
  return {
    seed: nkey([ofSeed | (ofUser >> 5), (ofUser & 31) << 3], Buffer.from(d, 'base64url')),
    publicKey: nkey([ofUser], Buffer.from(x, 'base64url')),
  };
}

function nkey(prefix, key) {
  const body = Buffer.concat([Buffer.from(prefix), key]);
  const checksum = Buffer.alloc(2);
  checksum.writeUInt16LE(crc16(body));
  return base32(Buffer.concat([body, checksum]));
}

function crc16(bytes) {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit += 1) crc = crc & 0x8000 ? ((crc << 1) ^ 0x1021) & 0xffff : crc << 1;
  }
  return crc;
}

function base32(bytes) {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  const groups = bits.match(/.{1,5}/g).map((group) => Number.parseInt(group.padEnd(5, '0'), 2));
  return groups.map((group) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'[group]).join('');
}
