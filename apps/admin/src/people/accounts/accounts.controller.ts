import { Controller } from '@nestjs/common';
import { Handles } from '@parley/transport/handles';
import type { AccountCaller } from '@parley/contracts/access';
import type { CreateAccount, CreateAccountToken, UpdateAccount } from '@parley/contracts/admin/accounts';
import { admin } from '@parley/contracts/admin/admin';
import type { Caller } from '@parley/contracts/caller';
import { AccountsService } from './accounts.service';

@Controller()
export class AccountsController {
  constructor(private readonly service: AccountsService) {}

  @Handles(admin.accounts.get)
  get(caller: AccountCaller) {
    return this.service.get(caller);
  }

  @Handles(admin.accounts.update)
  update(caller: AccountCaller, input: UpdateAccount) {
    return this.service.update(caller, input);
  }

  @Handles(admin.accounts.delete)
  delete(caller: AccountCaller) {
    return this.service.delete(caller);
  }

  @Handles(admin.accounts.create)
  create(_caller: Caller, input: CreateAccount) {
    return this.service.create(input);
  }

  @Handles(admin.accounts.createToken)
  createToken(_caller: Caller, input: CreateAccountToken) {
    return this.service.createToken(input);
  }
}
