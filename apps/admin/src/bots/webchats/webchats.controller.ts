import { Controller } from '@nestjs/common';
import { Handles } from '@parley/transport/handles';
import type { WorkspaceCaller } from '@parley/contracts/access';
import { admin } from '@parley/contracts/admin/admin';
import type {
  GetBotWebchat,
  UpdateWebchatSettings,
  WebchatBotId,
  WebchatWebhookId,
  WebchatWorkspace,
} from '@parley/contracts/admin/webchats';
import type { Caller } from '@parley/contracts/caller';
import { WebchatsService } from './webchats.service';

@Controller()
export class WebchatsController {
  constructor(private readonly service: WebchatsService) {}

  @Handles(admin.webchats.getSnippet)
  getSnippet(caller: WorkspaceCaller, input: GetBotWebchat) {
    return this.service.getSnippet(caller, input);
  }

  @Handles(admin.webchats.getSettings)
  getSettings(caller: WorkspaceCaller, input: WebchatBotId) {
    return this.service.getSettings(caller, input);
  }

  @Handles(admin.webchats.updateSettings)
  updateSettings(caller: WorkspaceCaller, input: UpdateWebchatSettings) {
    return this.service.updateSettings(caller, input);
  }

  @Handles(admin.webchats.show)
  show(_caller: Caller, input: WebchatWebhookId) {
    return this.service.show(input);
  }

  @Handles(admin.webchats.findNewest)
  findNewest(_caller: Caller, input: WebchatWorkspace) {
    return this.service.findNewest(input);
  }

  @Handles(admin.webchats.requireUploads)
  requireUploads(_caller: Caller, input: WebchatWebhookId) {
    return this.service.requireUploads(input);
  }

  @Handles(admin.webchats.getOrigins)
  getOrigins(_caller: Caller, input: WebchatWebhookId) {
    return this.service.getOrigins(input);
  }
}
