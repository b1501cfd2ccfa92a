import { Controller } from '@nestjs/common';
import { Handles } from '@parley/transport/handles';
import { admin } from '@parley/contracts/admin/admin';
import type {
  FindInstallationTarget,
  GetActionTarget,
  GetBotTarget,
  GetInstallationTarget,
  IdentifiedInstallation,
} from '@parley/contracts/admin/targets';
import type { Caller } from '@parley/contracts/caller';
import { ActionTargetsService } from './action-targets.service';
import { BotTargetsService } from './bot-targets.service';
import { InstallationTargetsService } from './installation-targets.service';

@Controller()
export class TargetsController {
  constructor(
    private readonly service: BotTargetsService,
    private readonly actions: ActionTargetsService,
    private readonly installations: InstallationTargetsService,
  ) {}

  @Handles(admin.targets.getBot)
  getBot(_caller: Caller, input: GetBotTarget) {
    return this.service.getBot(input);
  }

  @Handles(admin.targets.getInstallation)
  getInstallation(_caller: Caller, input: GetInstallationTarget) {
    return this.installations.get(input);
  }

  @Handles(admin.targets.identifyInstallation)
  identifyInstallation(_caller: Caller, input: IdentifiedInstallation) {
    return this.installations.identify(input);
  }

  @Handles(admin.targets.findInstallation)
  findInstallation(_caller: Caller, input: FindInstallationTarget) {
    return this.installations.find(input);
  }

  @Handles(admin.targets.getAction)
  getAction(_caller: Caller, input: GetActionTarget) {
    return this.actions.getAction(input);
  }
}
