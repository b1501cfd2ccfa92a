import { Controller } from '@nestjs/common';
import { Handles } from '@parley/transport/handles';
import type { WorkspaceCaller } from '@parley/contracts/access';
import { admin } from '@parley/contracts/admin/admin';
import type { InstallationPath } from '@parley/contracts/admin/shareable-ids';
import { ShareableIdsService } from './shareable-ids.service';

@Controller()
export class ShareableIdsController {
  constructor(private readonly service: ShareableIdsService) {}

  @Handles(admin.shareableIds.create)
  create(caller: WorkspaceCaller, input: InstallationPath) {
    return this.service.create(caller, input);
  }

  @Handles(admin.shareableIds.get)
  get(caller: WorkspaceCaller, input: InstallationPath) {
    return this.service.get(caller, input);
  }

  @Handles(admin.shareableIds.delete)
  delete(caller: WorkspaceCaller, input: InstallationPath) {
    return this.service.delete(caller, input);
  }
}
