import { Controller } from '@nestjs/common';
import { Handles } from '@parley/transport/handles';
import type { AccountCaller } from '@parley/contracts/access';
import { admin } from '@parley/contracts/admin/admin';
import type { AccountAndBot, Identify } from '@parley/contracts/admin/identity';
import type { Introspect } from '@parley/contracts/admin/introspection';
import type { Caller } from '@parley/contracts/caller';
import { IdentityService } from './identity.service';
import { OperatorsService } from './operators.service';

@Controller()
export class IdentityController {
  constructor(
    private readonly service: IdentityService,
    private readonly operators: OperatorsService,
  ) {}

  @Handles(admin.identity.identify)
  identify(caller: Caller, input: Identify) {
    return this.service.identify(caller, input);
  }

  @Handles(admin.identity.roleInBot)
  roleInBot(_caller: Caller, input: AccountAndBot) {
    return this.service.roleInBot(input);
  }

  @Handles(admin.introspection.introspect)
  introspect(caller: Caller, input: Introspect) {
    return this.service.introspect(caller, input);
  }

  @Handles(admin.operatorAccess.get)
  getOperatorAccess(caller: AccountCaller) {
    return this.operators.get(caller);
  }
}
