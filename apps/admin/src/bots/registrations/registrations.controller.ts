import { Controller } from '@nestjs/common';
import type { BotCaller, WorkspaceCaller } from '@parley/contracts/access';
import { admin } from '@parley/contracts/admin/admin';
import type {
  ConfigureIntegration,
  ConnectInstallation,
  InstalledAlias,
  RegistrationsPending,
  SettleRegistration,
} from '@parley/contracts/admin/registrations';
import type { Caller } from '@parley/contracts/caller';
import { Handles } from '@parley/transport/handles';
import { RegistrationsService } from './registrations.service';

@Controller()
export class RegistrationsController {
  constructor(private readonly service: RegistrationsService) {}

  @Handles(admin.registrations.listPending)
  listPending(_caller: Caller, input: RegistrationsPending) {
    return this.service.listPending(input);
  }

  @Handles(admin.registrations.settle)
  settle(_caller: Caller, input: SettleRegistration) {
    return this.service.settle(input);
  }

  @Handles(admin.registrations.connect)
  connect(caller: Caller, input: ConnectInstallation) {
    return this.service.connect(caller, input);
  }

  @Handles(admin.registrations.configure)
  configure(caller: BotCaller, input: ConfigureIntegration) {
    return this.service.configure(caller, input);
  }

  @Handles(admin.registrations.registerAgainByMember)
  registerAgainByMember(caller: WorkspaceCaller, input: InstalledAlias) {
    return this.service.registerAgainByMember(caller, input);
  }

  @Handles(admin.registrations.registerAgain)
  registerAgain(_caller: Caller, input: InstalledAlias) {
    return this.service.registerAgain(input);
  }
}
