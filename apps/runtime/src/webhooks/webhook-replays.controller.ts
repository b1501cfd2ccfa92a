import { Controller } from '@nestjs/common';
import type { WorkspaceCaller } from '@parley/contracts/access';
import type { Caller } from '@parley/contracts/caller';
import { runtime } from '@parley/contracts/runtime/runtime';
import type { ReplayRequest } from '@parley/contracts/runtime/webhook-recordings';
import { Handles } from '@parley/transport/handles';
import { WebhookReplaysService } from './webhook-replays.service';

@Controller()
export class WebhookReplaysController {
  constructor(private readonly service: WebhookReplaysService) {}

  @Handles(runtime.webhookRecordings.replay)
  replay(caller: WorkspaceCaller, input: ReplayRequest) {
    return this.service.replay(caller, input);
  }

  @Handles(runtime.webhookRecordings.replayOfAnyBot)
  replayOfAnyBot(caller: Caller, input: ReplayRequest) {
    return this.service.replayOfAnyBot(caller, input);
  }
}
