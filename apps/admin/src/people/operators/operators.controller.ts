import { Controller } from '@nestjs/common';
import type { AccountCaller } from '@parley/contracts/access';
import { admin } from '@parley/contracts/admin/admin';
import { Handles } from '@parley/transport/handles';
import { OperatorsService } from './operators.service';

@Controller()
export class OperatorsController {
  constructor(private readonly service: OperatorsService) {}

  @Handles(admin.operatorAccess.get)
  get(caller: AccountCaller) {
    return this.service.get(caller);
  }
}
