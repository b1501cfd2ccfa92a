import { deriveKey, type Purpose } from './derived-key';

/** As every configuration of a service that seals or signs has them. */
export interface SecretKeyVariables {
  secretKey: string;
  formerSecretKeys?: readonly string[];
}

/** The key that is sealed and signed with, and those that are still opened and verified with. */
export class SecretKeys {
  /** The current one first. */
  private readonly all: readonly string[];

  constructor({ secretKey, formerSecretKeys = [] }: SecretKeyVariables) {
    this.all = [...new Set([secretKey, ...formerSecretKeys])];
  }

  /** What each is derived to for a purpose, the current one first. */
  derive(purpose: Purpose): [Buffer, ...Buffer[]] {
    return this.all.map((key) => deriveKey(key, purpose)) as [Buffer, ...Buffer[]];
  }

  /** What `make` makes of each, the current one first. */
  map<T>(make: (key: string) => T): T[] {
    return this.all.map(make);
  }
}
