import { Controller } from '@nestjs/common';
import type { Caller } from '@parley/contracts/caller';
import { hub } from '@parley/contracts/hub/hub';
import type { MakeLink } from '@parley/contracts/hub/link-scripts';
import { Handles } from '@parley/transport/handles';
import { LinkScriptsService } from './link-scripts.service';

@Controller()
export class LinkScriptsController {
  constructor(private readonly service: LinkScriptsService) {}

  @Handles(hub.linkScripts.run)
  run(caller: Caller, input: MakeLink) {
    return this.service.run(caller, input);
  }
}
