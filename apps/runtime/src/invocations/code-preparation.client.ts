import { Injectable } from '@nestjs/common';
import { JsonLines } from '@parley/background/json-lines';
import { botCode } from '@parley/contracts/admin/bot-code';
import { runtimeKeys } from '@parley/contracts/admin/runtime-keys';
import { type Caller, systemCaller } from '@parley/contracts/caller';
import { ApiError } from '@parley/contracts/errors';
import { integrationCode } from '@parley/contracts/hub/integration-targets';
import type { CodePart, CodeTarget } from '@parley/contracts/runner/code';
import { type Lacking, putCodePart, runnerError } from '@parley/contracts/runner/runner';
import { newId } from '@parley/persistence/ids';
import { ParleyClient } from '@parley/transport/parley-client';
import { type Callee, CodeUnprepared } from './invocation';

/** Deployed code that a runner is to be prepared for. */
export type Prepared = Pick<Callee, 'owner' | 'ownerId' | 'workspaceId'> & CodeTarget;

/** Brings runners the code and the secrets that they lack, from the services below that own them. */
@Injectable()
export class CodePreparationClient {
  /** Concurrent calls of the same code share one. */
  private readonly underWay = new Map<string, Promise<string[] | undefined>>();

  constructor(private readonly client: ParleyClient) {}

  /**
   * Hands the code over, and returns the sealed secrets if the runner lacks them. Throws CodeUnprepared when its owner does
   * not give them away now, and the errors of `ParleyClient` when the runner does not take the code.
   */
  prepare(runnerId: string, code: Prepared, lacking: Lacking): Promise<string[] | undefined> {
    const key = [runnerId, code.ownerId, code.revision, ...lacking.lacks].join('/');
    const known = this.underWay.get(key);
    if (known) return known;
    const begun = this.bring(runnerId, code, lacking).finally(() => this.underWay.delete(key));
    this.underWay.set(key, begun);
    return begun;
  }

  private async bring(runnerId: string, code: Prepared, { lacks, publicKey }: Lacking): Promise<string[] | undefined> {
    const [sealed] = await Promise.all([
      lacks.includes('secrets') ? this.seal(code, publicKey) : undefined,
      lacks.includes('code') ? this.handOver(runnerId, code) : undefined,
    ]);
    return sealed;
  }

  /** The key of an integration is issued by admin, once the hub has found its code still deployed. */
  private async seal(code: Prepared, publicKey: string): Promise<string[]> {
    const input = { ticket: code.ticket, publicKey };
    const caller = callerFor(code);
    if (code.owner === 'bot')
      return [(await this.given(code, this.client.call(botCode.sealSecrets, caller, input))).sealed];
    const secrets = await this.given(code, this.client.call(integrationCode.sealSecrets, caller, input));
    const key = await this.given(code, this.client.call(runtimeKeys.issue, caller, input));
    return [secrets.sealed, key.sealed];
  }

  /** One part in memory at a time. */
  private async handOver(runnerId: string, code: Prepared): Promise<void> {
    const { ownerId, revision: codeRevision } = code;
    for (let offset: number | undefined = 0; offset !== undefined;) {
      const part: CodePart = await this.given(code, this.getPart(code, offset));
      await this.put(runnerId, code, await JsonLines.of({ ownerId, codeRevision, offset, ...part }));
      offset = part.nextOffset;
    }
  }

  private getPart({ owner, ticket, ...code }: Prepared, offset: number): Promise<CodePart> {
    return owner === 'bot'
      ? this.client.call(botCode.getPart, callerFor(code), { ticket, offset })
      : this.client.call(integrationCode.getPart, callerFor(code), { ticket, offset });
  }

  private async put(runnerId: string, code: Prepared, part: JsonLines): Promise<void> {
    try {
      await this.client.callInstance(putCodePart, runnerId, callerFor(code), part);
    } catch (error) {
      // The code was not called, so another runner may take it.
      if (error instanceof ApiError && error.type === 'OperationTimeout') throw runnerError('away', error.message);
      throw error;
    }
  }

  private async given<T>({ owner, ownerId }: Pick<Prepared, 'owner' | 'ownerId'>, answer: Promise<T>): Promise<T> {
    try {
      return await answer;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (error.type === 'ResourceNotFound')
        throw new CodeUnprepared(`Other code of the ${owner} ${ownerId} was deployed meanwhile.`);
      if (error.code === 503 || error.type === 'OperationTimeout') throw new CodeUnprepared(error.message);
      throw error;
    }
  }
}

/** Large requests are admitted by workspace. */
function callerFor({ workspaceId }: Pick<Prepared, 'workspaceId'>): Caller {
  return { ...systemCaller(newId('req')), workspace: { id: workspaceId } };
}
