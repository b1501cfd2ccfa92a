import { Controller } from '@nestjs/common';
import type { WorkspaceCaller } from '@parley/contracts/access';
import { admin } from '@parley/contracts/admin/admin';
import type { InstalledAlias } from '@parley/contracts/admin/registrations';
import type { Caller } from '@parley/contracts/caller';
import { Handles } from '@parley/transport/handles';
import { InstallationLinksService } from './installation-links.service';

@Controller()
export class InstallationLinksController {
  constructor(private readonly service: InstallationLinksService) {}

  @Handles(admin.installationLinks.get)
  get(caller: WorkspaceCaller, input: InstalledAlias) {
    return this.service.get(caller, input);
  }

  @Handles(admin.installationLinks.getOfAnyBot)
  getOfAnyBot(caller: Caller, input: InstalledAlias) {
    return this.service.getOfAnyBot(caller, input);
  }
}
