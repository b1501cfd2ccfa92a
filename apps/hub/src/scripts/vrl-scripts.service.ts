import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { Caller } from '@parley/contracts/caller';
import { ApiError } from '@parley/contracts/errors';
import type { RunVrl, VrlReply } from '@parley/contracts/hub/shared-webhooks';
import { tenantOf } from '@parley/transport/envelope';
import { type VrlResult, VrlRunner, type VrlScript } from '@parley/vrl/vrl-runner';

/** Scripts of integrations, in a child process. */
@Injectable()
export class VrlScriptsService implements OnApplicationShutdown {
  private readonly runner = new VrlRunner();

  onApplicationShutdown(): Promise<void> {
    return this.runner.close();
  }

  /** Never throws because of the script. Throws a 503 when it cannot be run at present. */
  execute(workspaceId: string, script: VrlScript): Promise<VrlResult> {
    return this.runner.run(workspaceId, script);
  }

  async run(caller: Caller, { script, data }: RunVrl): Promise<VrlReply> {
    const done = await this.execute(tenantOf(caller), { script, data, isDataWanted: true });
    if (done.problem !== undefined) throw new ApiError('InvalidPayload', `script: ${done.problem}`);
    return { data: done.data ?? data, result: done.result ?? undefined };
  }
}
