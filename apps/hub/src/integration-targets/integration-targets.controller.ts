import { Controller } from '@nestjs/common';
import type { Caller } from '@parley/contracts/caller';
import { hub } from '@parley/contracts/hub/hub';
import type { GetIntegrationAction, GetIntegrationTarget } from '@parley/contracts/hub/integration-targets';
import type { GetCodePart, SealCodeSecrets } from '@parley/contracts/runner/code';
import { Handles } from '@parley/transport/handles';
import { IntegrationCodeService } from './integration-code.service';
import { IntegrationTargetsService } from './integration-targets.service';

@Controller()
export class IntegrationTargetsController {
  constructor(
    private readonly service: IntegrationTargetsService,
    private readonly code: IntegrationCodeService,
  ) {}

  @Handles(hub.integrationTargets.get)
  get(_caller: Caller, input: GetIntegrationTarget) {
    return this.service.get(input);
  }

  @Handles(hub.integrationTargets.getAction)
  getAction(_caller: Caller, input: GetIntegrationAction) {
    return this.service.getAction(input);
  }

  @Handles(hub.integrationCode.getPart)
  getCodePart(_caller: Caller, input: GetCodePart) {
    return this.code.getPart(input);
  }

  @Handles(hub.integrationCode.sealSecrets)
  sealCodeSecrets(_caller: Caller, input: SealCodeSecrets) {
    return this.code.sealSecrets(input);
  }
}
