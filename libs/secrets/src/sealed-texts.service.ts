import { Injectable } from '@nestjs/common';
import { ConfigError } from '@parley/config/config';
import type { SealAnew, SealedAnew } from '@parley/contracts/sealed-texts';
import { Database } from '@parley/persistence/database';
import { isStopped } from '@parley/persistence/errors';
import { SecretBox } from './secret-box';
import { SealedTextsRepository } from './sealed-texts.repository';

/** Owners per transaction, and per call. */
const batchSize = 50;
const maxOwners = 1_000;
/** Time limit of a call, checked between batches. */
const longEnoughMs = 10_000;
const countTimeoutMs = 40_000;
/** Timeout of the key check at start; after it the process starts unchecked. */
const checkTimeoutMs = 5_000;

/** Key rotation of sealed texts: checks at start that all keys in use are known, and re-encrypts under the current key. */
@Injectable()
export class SealedTextsService {
  constructor(
    private readonly database: Database,
    private readonly texts: SealedTextsRepository,
    private readonly box: SecretBox,
  ) {}

  /** Throws ConfigError when none of the keys opens an existing text. */
  async requireKeys(): Promise<void> {
    const keys = await this.texts.listKeysInUse(checkTimeoutMs).catch((error: unknown) => {
      if (isStopped(error)) return [];
      throw error;
    });
    const problems = keys
      .filter(({ sample }) => !this.box.canOpen(sample))
      .map(({ keyId, count }) => {
        const key = keyId ? `the key with the id ${keyId}` : 'a key of an earlier version';
        return (
          `PARLEY_SECRET_KEY has changed: ${count} secrets in the schema "${this.database.schema}" are ` +
          `encrypted under ${key}. Restore the previous key, or add it to PARLEY_FORMER_SECRET_KEYS.`
        );
      });
    if (problems.length > 0) throw new ConfigError(problems);
  }

  /**
   * Re-encrypts in batches, each in a transaction with row locks on its owners. Safe beside writers; may be interrupted
   * and repeated.
   */
  async sealAnew({ after = '' }: SealAnew): Promise<SealedAnew> {
    const until = Date.now() + longEnoughMs;
    const owners = await this.texts.listOwnersAfter(after, maxOwners);
    const unreadable = new Set<string>();
    let sealed = 0;
    let done = 0;
    while (done < owners.length && Date.now() < until) {
      const batch = await this.sealBatch(owners.slice(done, done + batchSize));
      sealed += batch.sealed;
      batch.unreadable.forEach((owner) => unreadable.add(owner));
      done += batchSize;
    }
    const answer = { sealed, unreadable: [...unreadable] };
    if (done < owners.length) return { ...answer, next: owners[done - 1] };
    if (owners.length === maxOwners) return { ...answer, next: owners.at(-1) };
    return { ...answer, left: await this.countOthers() };
  }

  private async sealBatch(owners: string[]): Promise<{ sealed: number; unreadable: string[] }> {
    const { keyId } = this.box;
    // In a repeat most batches have nothing to do: no transaction and no locks.
    if ((await this.texts.listUnderOtherKeys(this.database, owners, keyId)).length === 0)
      return { sealed: 0, unreadable: [] };
    return this.database.transaction(async (tx) => {
      await this.texts.lockOwners(tx, owners);
      const others = await this.texts.listUnderOtherKeys(tx, owners, keyId);
      const readable = others.filter(({ sealed }) => this.box.canOpen(sealed));
      const former = readable.map(({ sealed }) => sealed);
      const fresh = former.map((sealed) => this.box.seal(this.box.open(sealed)));
      await this.texts.replaceTexts(tx, owners, former, fresh);
      const unreadable = others.filter((text) => !readable.includes(text)).map(({ owner }) => owner);
      return { sealed: readable.length, unreadable };
    });
  }

  private async countOthers(): Promise<number> {
    const keys = await this.texts.listKeysInUse(countTimeoutMs);
    return keys.filter(({ keyId }) => keyId !== this.box.keyId).reduce((sum, { count }) => sum + count, 0);
  }
}
