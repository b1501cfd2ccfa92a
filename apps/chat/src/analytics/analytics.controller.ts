import { Controller } from '@nestjs/common';
import type { BotCaller, WorkspaceCaller } from '@parley/contracts/access';
import type { Caller } from '@parley/contracts/caller';
import type {
  CaptureObservation,
  GetBotAnalytics,
  ListObservations,
  TrackAnalytics,
} from '@parley/contracts/chat/analytics';
import { chat } from '@parley/contracts/chat/chat';
import { Handles } from '@parley/transport/handles';
import { AnalyticsService } from './analytics.service';

@Controller()
export class AnalyticsController {
  constructor(private readonly service: AnalyticsService) {}

  @Handles(chat.analytics.track)
  track(caller: BotCaller, input: TrackAnalytics) {
    return this.service.track(caller, input);
  }

  @Handles(chat.analytics.captureObservation)
  captureObservation(caller: BotCaller, input: CaptureObservation) {
    return this.service.captureObservation(caller, input);
  }

  @Handles(chat.analytics.listObservations)
  listObservations(_caller: Caller, input: ListObservations) {
    return this.service.listObservations(input);
  }

  @Handles(chat.analytics.getOfBot)
  getOfBot(caller: WorkspaceCaller, input: GetBotAnalytics) {
    return this.service.getOfBot(caller, input);
  }
}
