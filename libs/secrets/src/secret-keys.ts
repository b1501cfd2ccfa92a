import { deriveKey, type Purpose } from './derived-key';

export interface SecretKeyVariables {
  secretKey: string;
  formerSecretKeys?: readonly string[];
}

/** Secret keys, the current one first. It encrypts and signs; former keys only decrypt and verify. */
export class SecretKeys {
  private readonly all: readonly string[];

  constructor({ secretKey, formerSecretKeys = [] }: SecretKeyVariables) {
    this.all = [...new Set([secretKey, ...formerSecretKeys])];
  }

  derive(purpose: Purpose): [Buffer, ...Buffer[]] {
    return this.all.map((key) => deriveKey(key, purpose)) as [Buffer, ...Buffer[]];
  }

  map<T>(make: (key: string) => T): T[] {
    return this.all.map(make);
  }
}
