import { Controller } from '@nestjs/common';
import { Handles } from '@parley/transport/handles';
import { admin } from '@parley/contracts/admin/admin';
import type { HubEntryId } from '@parley/contracts/admin/installations';
import type { Caller } from '@parley/contracts/caller';
import { InstallationsService } from './installations.service';

@Controller()
export class InstallationsController {
  constructor(private readonly service: InstallationsService) {}

  @Handles(admin.installations.count)
  count(_caller: Caller, input: HubEntryId) {
    return this.service.count(input);
  }
}
