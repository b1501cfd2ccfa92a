import { Injectable } from '@nestjs/common';
import type { IssueRuntimeKey, RuntimeKey } from '@parley/contracts/admin/runtime-keys';
import { SecretKeys } from '@parley/secrets/secret-keys';
import { runtimeKey } from '@parley/secrets/token';
import { RuntimeKeysRepository } from './runtime-keys.repository';

/** Digits of a revision, so that texts of revisions compare as their numbers. */
const revisionDigits = 16;

@Injectable()
export class RuntimeKeysService {
  private readonly keys: [Buffer, ...Buffer[]];

  constructor(
    private readonly runtimeKeys: RuntimeKeysRepository,
    keys: SecretKeys,
  ) {
    this.keys = keys.derive('runtime-keys');
  }

  /** Idempotent: the same key for the same revision. */
  async issue({ integrationId, workspaceId, revision: number }: IssueRuntimeKey): Promise<RuntimeKey> {
    const revision = String(number).padStart(revisionDigits, '0');
    const token = runtimeKey('iak', this.keys[0], integrationId, revision);
    await this.runtimeKeys.storeKey({ integrationId, workspaceId, revision, token });
    return { token };
  }
}
