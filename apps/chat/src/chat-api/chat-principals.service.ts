import { Injectable } from '@nestjs/common';
import type { ChatUserCaller } from '@parley/contracts/access';
import type { Caller } from '@parley/contracts/caller';
import type { ChatBot } from '@parley/contracts/chat/callers';
import { ChatInstallationsCache } from './chat-installations.cache';
import { UserKeysService } from './user-keys.service';
import type { ChatPrincipal } from './viewer';

/** Authenticates the end users of native chats. */
@Injectable()
export class ChatPrincipalsService {
  constructor(
    private readonly installations: ChatInstallationsCache,
    private readonly keys: UserKeysService,
  ) {}

  async hello(webhookId: string): Promise<object> {
    await this.installations.get(webhookId);
    return {};
  }

  /** Bot of the request. Verifies the user key if one is given; none is required. */
  async verify({ userKey }: Caller, webhookId: string): Promise<ChatBot> {
    const { botId } =
      userKey === undefined
        ? await this.installations.get(webhookId)
        : (await this.identify({ userKey }, webhookId)).installation;
    return { botId };
  }

  /** Verifies the user key. Does not look up the user: that is part of the statement which reads the requested data. */
  async identify({ userKey }: Pick<ChatUserCaller, 'userKey'>, webhookId: string): Promise<ChatPrincipal> {
    const installation = await this.installations.get(webhookId, (it) => this.keys.isValid(it, userKey));
    return { installation, claim: await this.keys.verify(installation, userKey) };
  }
}
