import { Controller } from '@nestjs/common';
import type { Caller } from '@parley/contracts/caller';
import { type CallModelAction, modelActions } from '@parley/contracts/models/model-actions';
import { Handles } from '@parley/transport/handles';
import { ModelActionsService } from './model-actions.service';

@Controller()
export class ModelActionsController {
  constructor(private readonly service: ModelActionsService) {}

  @Handles(modelActions.call)
  call(caller: Caller, input: CallModelAction) {
    return this.service.call(caller, input);
  }
}
