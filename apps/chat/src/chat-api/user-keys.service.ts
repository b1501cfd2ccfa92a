import { createSecretKey, hash, type KeyObject } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { ApiError } from '@parley/contracts/errors';
import { storageProblem } from '@parley/contracts/storage';
import { SecretKeys } from '@parley/secrets/secret-keys';
import { type JWTPayload, jwtVerify, SignJWT } from 'jose';
import { atMostEntries } from '@parley/background/entry-limit';
import { LRUCache } from 'lru-cache';
import { ChatConfig } from '../config';

/** Signing realm: the bot's own encryption key or, without one, the platform's. */
export interface KeyRealm {
  botId: string;
  encryptionKey?: string;
}

interface Claims {
  id: string;
  bot?: string;
}

const maxVerified = 10_000;

/** User keys of the native chat: JWTs signed with HS256, with the user id in the claim `id`. */
@Injectable()
export class UserKeysService {
  /** Platform keys, for bots without their own. The first signs, all verify. */
  private readonly shared: KeyObject[];
  /** Cache of verified claims by hash of secret and key. TTL: until the key expires. */
  private readonly verified = new LRUCache<string, Claims>(atMostEntries(maxVerified));

  constructor({ chatEncryptionKey, ...config }: ChatConfig) {
    this.shared = chatEncryptionKey
      ? [toKey(chatEncryptionKey)]
      : new SecretKeys(config).derive('chat-user-keys').map((key) => createSecretKey(key));
  }

  sign(realm: KeyRealm, userId: string): Promise<string> {
    return new SignJWT({ id: userId, bot: realm.botId })
      .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
      .setIssuedAt()
      .sign(this.secretsOf(realm)[0]!);
  }

  isValid(realm: KeyRealm, key: string): Promise<boolean> {
    return this.verify(realm, key).then(
      () => true,
      () => false,
    );
  }

  /** Returns the user id in the key; does not check that the user exists. Throws Unauthorized. */
  async verify(realm: KeyRealm, key: string): Promise<string> {
    const name = hash('sha256', JSON.stringify([realm.encryptionKey ?? null, key]));
    let claims = this.verified.get(name);
    if (!claims) {
      const payload = await readKey(key, this.secretsOf(realm));
      claims = claimsOf(payload);
      this.verified.set(name, claims, { ttl: remainingMs(payload) });
    }
    if (claims.bot !== undefined && claims.bot !== realm.botId) throw refused();
    return claims.id;
  }

  private secretsOf({ encryptionKey }: KeyRealm): KeyObject[] {
    return encryptionKey ? [toKey(encryptionKey)] : this.shared;
  }
}

function toKey(secret: string): KeyObject {
  return createSecretKey(secret, 'utf8');
}

async function readKey(key: string, secrets: KeyObject[]): Promise<JWTPayload> {
  for (const secret of secrets) {
    try {
      return (await jwtVerify(key, secret, { algorithms: ['HS256'] })).payload;
    } catch {
      // Key rotation: try the former keys.
    }
  }
  throw refused();
}

function claimsOf({ id, bot }: JWTPayload): Claims {
  if (typeof id !== 'string' || id === '' || storageProblem(id)) throw refused();
  if (bot !== undefined && typeof bot !== 'string') throw refused();
  return { id, bot };
}

function remainingMs({ exp }: JWTPayload): number | undefined {
  return exp === undefined ? undefined : Math.max(1, exp * 1000 - Date.now());
}

/** One message for every defect, so that the cause is not disclosed. */
function refused(): ApiError {
  return new ApiError(
    'Unauthorized',
    'The user key is not valid for this bot. Use the key that createUser returned for this bot, or a JWT signed (HS256) with the encryption key of the bot and with the user id in the claim "id".',
  );
}
