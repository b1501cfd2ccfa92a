import { Controller } from '@nestjs/common';
import type { WorkspaceCaller } from '@parley/contracts/access';
import type { InstalledAlias } from '@parley/contracts/admin/registrations';
import type { Caller } from '@parley/contracts/caller';
import { runtime } from '@parley/contracts/runtime/runtime';
import type {
  RecordedRequestId,
  ReplayRequest,
  SetWebhookRecording,
} from '@parley/contracts/runtime/webhook-recordings';
import { Handles } from '@parley/transport/handles';
import { WebhookRecordingsService } from './webhook-recordings.service';
import { WebhookReplaysService } from './webhook-replays.service';

@Controller()
export class WebhookRecordingsController {
  constructor(
    private readonly service: WebhookRecordingsService,
    private readonly replays: WebhookReplaysService,
  ) {}

  @Handles(runtime.webhookRecordings.set)
  set(caller: WorkspaceCaller, input: SetWebhookRecording) {
    return this.service.set(caller, input);
  }

  @Handles(runtime.webhookRecordings.setOfAnyBot)
  setOfAnyBot(caller: Caller, input: SetWebhookRecording) {
    return this.service.setOfAnyBot(caller, input);
  }

  @Handles(runtime.webhookRecordings.list)
  list(caller: WorkspaceCaller, input: InstalledAlias) {
    return this.service.list(caller, input);
  }

  @Handles(runtime.webhookRecordings.listOfAnyBot)
  listOfAnyBot(caller: Caller, input: InstalledAlias) {
    return this.service.listOfAnyBot(caller, input);
  }

  @Handles(runtime.webhookRecordings.get)
  get(caller: WorkspaceCaller, input: RecordedRequestId) {
    return this.service.get(caller, input);
  }

  @Handles(runtime.webhookRecordings.getOfAnyBot)
  getOfAnyBot(caller: Caller, input: RecordedRequestId) {
    return this.service.getOfAnyBot(caller, input);
  }

  @Handles(runtime.webhookRecordings.replay)
  replay(caller: WorkspaceCaller, input: ReplayRequest) {
    return this.replays.replay(caller, input);
  }

  @Handles(runtime.webhookRecordings.replayOfAnyBot)
  replayOfAnyBot(caller: Caller, input: ReplayRequest) {
    return this.replays.replayOfAnyBot(caller, input);
  }
}
