import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { ApiError } from '@parley/contracts/errors';
import type { RunVrl, VrlReply } from '@parley/contracts/hub/shared-webhooks';
import { type VrlResult, VrlRunner, type VrlScript } from '@parley/vrl/vrl-runner';

/** Scripts of integrations, on a thread of this process. */
@Injectable()
export class VrlScriptsService implements OnApplicationShutdown {
  private readonly runner = new VrlRunner();

  onApplicationShutdown(): Promise<void> {
    return this.runner.close();
  }

  /** Never throws because of the script. */
  execute(script: VrlScript): Promise<VrlResult> {
    return this.runner.run(script);
  }

  async run({ script, data }: RunVrl): Promise<VrlReply> {
    const done = await this.execute({ script, data, isDataWanted: true });
    if (done.problem !== undefined) throw new ApiError('InvalidPayload', `script: ${done.problem}`);
    return { data: done.data ?? data, result: done.result ?? undefined };
  }
}
