// Makes .env in this folder for docker-compose.yml: every secret that it requires, new and random. Never replaces one:
// without its PARLEY_SECRET_KEY, what an installation has encrypted is lost. Needs nothing but Node.
import { generateKeyPairSync, randomBytes, randomInt } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { crc32 } from 'node:zlib';

const natsUsers = ['GATEWAY', 'ADMIN', 'HUB', 'FILES', 'FILES_WORKER', 'TABLES', 'CHAT', 'OPERATOR', 'SYS'];
const secret = () => randomBytes(32).toString('hex');
const keys = natsUsers.map((user) => ({ user, ...newNatsKey() }));
const text = `# Secrets of this installation: keep a copy where it is safe.
PARLEY_SECRET_KEY=${secret()}
PARLEY_BOOTSTRAP_TOKEN=${newToken()}
POSTGRES_PASSWORD=${secret()}
QDRANT_API_KEY=${secret()}
MINIO_PASSWORD=${secret()}

# What shows NATS who an app is, and what NATS knows it by.
${keys.map(({ user, seed, publicKey }) => `NATS_SEED_${user}=${seed}\nNATS_KEY_${user}=${publicKey}`).join('\n')}
`;

try {
  writeFileSync('.env', text, { mode: 0o600, flag: 'wx' });
  process.stdout.write('Made .env. The first token of the platform is its PARLEY_BOOTSTRAP_TOKEN.\n');
} catch (error) {
  if (error.code !== 'EEXIST') throw error;
  process.stderr.write('There is a .env already, and it stays as it is.\n');
  process.exitCode = 1;
}

/** A personal access token, in the form of libs/secrets/src/token.ts. */
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

/** A key of a NATS user (nkey): Ed25519, with a prefix that says what it is, and a checksum. */
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
