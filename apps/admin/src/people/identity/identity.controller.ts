import { Controller } from '@nestjs/common';
import { Handles } from '@parley/transport/handles';
import { admin } from '@parley/contracts/admin/admin';
import type { AccountAndBot, Identify } from '@parley/contracts/admin/identity';
import type { Caller } from '@parley/contracts/caller';
import { IdentityService } from './identity.service';

@Controller()
export class IdentityController {
  constructor(private readonly service: IdentityService) {}

  @Handles(admin.identity.identify)
  identify(caller: Caller, input: Identify) {
    return this.service.identify(caller, input);
  }

  @Handles(admin.identity.roleInBot)
  roleInBot(_caller: Caller, input: AccountAndBot) {
    return this.service.roleInBot(input);
  }
}
