import { Controller } from '@nestjs/common';
import { Handles } from '@parley/transport/handles';
import type { WorkspaceCaller } from '@parley/contracts/access';
import { admin } from '@parley/contracts/admin/admin';
import type {
  BotVersionId,
  CreateBotVersion,
  DeployBotVersion,
  DownloadBotVersion,
} from '@parley/contracts/admin/bot-versions';
import type { BotId } from '@parley/contracts/admin/bots';
import type { Caller } from '@parley/contracts/caller';
import { BotVersionsService } from './bot-versions.service';

@Controller()
export class BotVersionsController {
  constructor(private readonly service: BotVersionsService) {}

  @Handles(admin.botVersions.list)
  list(caller: WorkspaceCaller, input: BotId) {
    return this.service.list(caller, input);
  }

  @Handles(admin.botVersions.get)
  get(caller: WorkspaceCaller, input: BotVersionId) {
    return this.service.get(caller, input);
  }

  @Handles(admin.botVersions.create)
  create(caller: WorkspaceCaller, input: CreateBotVersion) {
    return this.service.create(caller, input);
  }

  @Handles(admin.botVersions.deploy)
  deploy(caller: WorkspaceCaller, input: DeployBotVersion) {
    return this.service.deploy(caller, input);
  }

  @Handles(admin.botVersions.download)
  download(_caller: Caller, input: DownloadBotVersion) {
    return this.service.download(input);
  }
}
