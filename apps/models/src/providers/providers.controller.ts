import { Controller } from '@nestjs/common';
import type { Caller } from '@parley/contracts/caller';
import { models } from '@parley/contracts/models/models';
import type { NamedProvider, PutProvider, ReorderProviders } from '@parley/contracts/models/providers';
import { Handles } from '@parley/transport/handles';
import { OperatorProvidersService } from './operator-providers.service';

@Controller()
export class ProvidersController {
  constructor(private readonly providers: OperatorProvidersService) {}

  @Handles(models.providers.list)
  list() {
    return this.providers.list();
  }

  @Handles(models.providers.put)
  put(_caller: Caller, input: PutProvider) {
    return this.providers.put(input);
  }

  @Handles(models.providers.delete)
  delete(_caller: Caller, { name }: NamedProvider) {
    return this.providers.delete(name);
  }

  @Handles(models.providers.reorder)
  reorder(_caller: Caller, input: ReorderProviders) {
    return this.providers.reorder(input);
  }

  @Handles(models.providers.test)
  test(_caller: Caller, { name }: NamedProvider) {
    return this.providers.test(name);
  }
}
