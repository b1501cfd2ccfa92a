import { Controller } from '@nestjs/common';
import type { Caller } from '@parley/contracts/caller';
import { hub } from '@parley/contracts/hub/hub';
import type { RunVrl } from '@parley/contracts/hub/shared-webhooks';
import { Handles } from '@parley/transport/handles';
import { VrlScriptsService } from './vrl-scripts.service';

@Controller()
export class VrlScriptsController {
  constructor(private readonly service: VrlScriptsService) {}

  @Handles(hub.vrlScripts.run)
  run(caller: Caller, input: RunVrl) {
    return this.service.run(caller, input);
  }
}
