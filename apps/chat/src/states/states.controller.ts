import { Controller } from '@nestjs/common';
import { Handles } from '@parley/transport/handles';
import type { BotCaller } from '@parley/contracts/access';
import {
  type GetOrSetState,
  type PatchState,
  type SetState,
  type SetStateExpiry,
  type StateName,
  states,
} from '@parley/contracts/chat/states';
import { StatesService } from './states.service';

@Controller()
export class StatesController {
  constructor(private readonly service: StatesService) {}

  @Handles(states.get)
  get(caller: BotCaller, path: StateName) {
    return this.service.get(caller, path);
  }

  @Handles(states.set)
  set(caller: BotCaller, input: SetState) {
    return this.service.set(caller, input);
  }

  @Handles(states.getOrSet)
  getOrSet(caller: BotCaller, input: GetOrSetState) {
    return this.service.getOrSet(caller, input);
  }

  @Handles(states.patch)
  patch(caller: BotCaller, input: PatchState) {
    return this.service.patch(caller, input);
  }

  @Handles(states.setExpiry)
  setExpiry(caller: BotCaller, input: SetStateExpiry) {
    return this.service.setExpiry(caller, input);
  }
}
