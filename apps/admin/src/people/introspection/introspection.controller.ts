import { Controller } from '@nestjs/common';
import { Handles } from '@parley/transport/handles';
import { admin } from '@parley/contracts/admin/admin';
import type { Introspect } from '@parley/contracts/admin/introspection';
import type { Caller } from '@parley/contracts/caller';
import { IntrospectionService } from './introspection.service';

@Controller()
export class IntrospectionController {
  constructor(private readonly service: IntrospectionService) {}

  @Handles(admin.introspection.introspect)
  introspect(caller: Caller, input: Introspect) {
    return this.service.introspect(caller, input);
  }
}
