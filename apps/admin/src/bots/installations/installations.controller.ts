import { Controller } from '@nestjs/common';
import { Handles } from '@parley/transport/handles';
import type { WorkspaceCaller } from '@parley/contracts/access';
import { admin } from '@parley/contracts/admin/admin';
import type { HubEntryId } from '@parley/contracts/admin/installations';
import type { InstalledAlias } from '@parley/contracts/admin/registrations';
import type { InstallationPath } from '@parley/contracts/admin/shareable-ids';
import type { Caller } from '@parley/contracts/caller';
import { InstallationLinksService } from './installation-links.service';
import { InstallationsService } from './installations.service';
import { ShareableIdsService } from './shareable-ids.service';

@Controller()
export class InstallationsController {
  constructor(
    private readonly service: InstallationsService,
    private readonly links: InstallationLinksService,
    private readonly shareableIds: ShareableIdsService,
  ) {}

  @Handles(admin.installations.count)
  count(_caller: Caller, input: HubEntryId) {
    return this.service.count(input);
  }

  @Handles(admin.installationLinks.get)
  getLink(caller: WorkspaceCaller, input: InstalledAlias) {
    return this.links.get(caller, input);
  }

  @Handles(admin.installationLinks.getOfAnyBot)
  getLinkOfAnyBot(caller: Caller, input: InstalledAlias) {
    return this.links.getOfAnyBot(caller, input);
  }

  @Handles(admin.shareableIds.create)
  createShareableId(caller: WorkspaceCaller, input: InstallationPath) {
    return this.shareableIds.create(caller, input);
  }

  @Handles(admin.shareableIds.get)
  getShareableId(caller: WorkspaceCaller, input: InstallationPath) {
    return this.shareableIds.get(caller, input);
  }

  @Handles(admin.shareableIds.delete)
  deleteShareableId(caller: WorkspaceCaller, input: InstallationPath) {
    return this.shareableIds.delete(caller, input);
  }
}
