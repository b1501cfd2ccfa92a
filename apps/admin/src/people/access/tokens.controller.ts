import { Controller } from '@nestjs/common';
import { Handles } from '@parley/transport/handles';
import type { AccountCaller, WorkspaceCaller } from '@parley/contracts/access';
import { admin } from '@parley/contracts/admin/admin';
import type { CreateIntegrationApiKey, ListIntegrationApiKeys } from '@parley/contracts/admin/integration-keys';
import type {
  CreateBotApiKey,
  CreatePersonalAccessToken,
  ListBotApiKeys,
  TokenId,
} from '@parley/contracts/admin/tokens';
import { TokensService } from './tokens.service';

@Controller()
export class TokensController {
  constructor(private readonly service: TokensService) {}

  @Handles(admin.personalAccessTokens.create)
  createPersonal(caller: AccountCaller, input: CreatePersonalAccessToken) {
    return this.service.createPersonal(caller, input);
  }

  @Handles(admin.personalAccessTokens.list)
  listPersonal(caller: AccountCaller) {
    return this.service.listPersonal(caller);
  }

  @Handles(admin.personalAccessTokens.delete)
  deletePersonal(caller: AccountCaller, input: TokenId) {
    return this.service.deletePersonal(caller, input);
  }

  @Handles(admin.botApiKeys.create)
  createBotKey(caller: WorkspaceCaller, input: CreateBotApiKey) {
    return this.service.createBotKey(caller, input);
  }

  @Handles(admin.botApiKeys.list)
  listBotKeys(caller: WorkspaceCaller, input: ListBotApiKeys) {
    return this.service.listBotKeys(caller, input);
  }

  @Handles(admin.botApiKeys.delete)
  deleteBotKey(caller: WorkspaceCaller, input: TokenId) {
    return this.service.deleteBotKey(caller, input);
  }

  @Handles(admin.integrationApiKeys.create)
  createIntegrationKey(caller: WorkspaceCaller, input: CreateIntegrationApiKey) {
    return this.service.createIntegrationKey(caller, input);
  }

  @Handles(admin.integrationApiKeys.list)
  listIntegrationKeys(caller: WorkspaceCaller, input: ListIntegrationApiKeys) {
    return this.service.listIntegrationKeys(caller, input);
  }

  @Handles(admin.integrationApiKeys.delete)
  deleteIntegrationKey(caller: WorkspaceCaller, input: TokenId) {
    return this.service.deleteIntegrationKey(caller, input);
  }
}
