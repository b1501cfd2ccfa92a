import { Controller } from '@nestjs/common';
import { Handles } from '@parley/transport/handles';
import type { WorkspaceCaller } from '@parley/contracts/access';
import { admin } from '@parley/contracts/admin/admin';
import type { AllowlistedBotId, UpdateBotAllowlist } from '@parley/contracts/admin/bot-allowlist';
import type { BotId, CreateBot, GetBot, ListBots, TransferBot, UpdateBot } from '@parley/contracts/admin/bots';
import { BotAllowlistService } from './bot-allowlist.service';
import { BotDeletionService } from './bot-deletion.service';
import { BotTransferService } from './bot-transfer.service';
import { BotsService } from './bots.service';

@Controller()
export class BotsController {
  constructor(
    private readonly service: BotsService,
    private readonly deletion: BotDeletionService,
    private readonly transfers: BotTransferService,
    private readonly allowlists: BotAllowlistService,
  ) {}

  @Handles(admin.bots.create)
  create(caller: WorkspaceCaller, input: CreateBot) {
    return this.service.create(caller, input);
  }

  @Handles(admin.bots.get)
  get(caller: WorkspaceCaller, input: GetBot) {
    return this.service.get(caller, input);
  }

  @Handles(admin.bots.update)
  update(caller: WorkspaceCaller, input: UpdateBot) {
    return this.service.update(caller, input);
  }

  @Handles(admin.bots.list)
  list(caller: WorkspaceCaller, input: ListBots) {
    return this.service.list(caller, input);
  }

  @Handles(admin.bots.delete)
  delete(caller: WorkspaceCaller, input: BotId) {
    return this.deletion.delete(caller, input);
  }

  @Handles(admin.bots.transfer)
  transfer(caller: WorkspaceCaller, input: TransferBot) {
    return this.transfers.transfer(caller, input);
  }

  @Handles(admin.bots.rotateSigningSecret)
  rotateSigningSecret(caller: WorkspaceCaller, input: BotId) {
    return this.service.rotateSigningSecret(caller, input);
  }

  @Handles(admin.botAllowlist.get)
  getAllowlist(caller: WorkspaceCaller, input: AllowlistedBotId) {
    return this.allowlists.get(caller, input);
  }

  @Handles(admin.botAllowlist.update)
  updateAllowlist(caller: WorkspaceCaller, input: UpdateBotAllowlist) {
    return this.allowlists.update(caller, input);
  }
}
