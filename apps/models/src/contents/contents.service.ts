import { Inject, Injectable } from '@nestjs/common';
import { atMostEntries } from '@parley/background/entry-limit';
import { type ContentSettings, keptContentDays } from '@parley/contracts/models/contents';
import { SecretBox } from '@parley/secrets/secret-box';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { Every } from '@parley/work-queue/worker';
import { LRUCache } from 'lru-cache';
import { ContentsRepository } from './contents.repository';

/** A setting of another process begins to apply after this time. It ends at once. */
const knownMs = 5_000;
const maxKnown = 30_000;
const cleanMs = 3_600_000;
/** Length of the text of a prompt, and of an answer. */
const maxCharacters = 256_000;

/** JSON texts, of at most 256,000 characters each. */
export interface CallContents {
  prompt: string;
  answer: string;
}

/** Prompts and answers of bots whose owners ask for it: encrypted, and deleted after some days. */
@Injectable()
export class ContentsService {
  private readonly known = new LRUCache<string, boolean>({ ...atMostEntries(maxKnown), ttl: knownMs });

  constructor(
    private readonly contents: ContentsRepository,
    private readonly box: SecretBox,
    @Inject(platformToken) private readonly platform: Platform,
  ) {}

  async get(botId: string): Promise<ContentSettings> {
    return { kept: await this.contents.isKept(botId), days: keptContentDays };
  }

  async set(botId: string, kept: boolean): Promise<ContentSettings> {
    await (kept ? this.contents.keepFromNow(botId) : this.contents.end(botId));
    this.known.set(botId, kept);
    return { kept, days: keptContentDays };
  }

  /** Keeps the contents of a call that was answered, if its bot wants that. A failure is logged: the answer is paid for. */
  async keep(botId: string, callId: string, prompt: object, answer: object): Promise<void> {
    try {
      const isKept = this.known.get(botId) ?? (await this.contents.isKept(botId));
      this.known.set(botId, isKept);
      if (!isKept) return;
      const contents: CallContents = { prompt: bounded(prompt), answer: bounded(answer) };
      await this.contents.insert(callId, botId, this.box.seal(JSON.stringify(contents)));
    } catch (error) {
      this.platform.logger.warn({ err: error, botId, callId }, 'prompt and answer of a call of a model are not kept');
    }
  }

  /** Contents by call. Those under a secret key that is gone are left out. */
  async list(botId: string, callIds: string[]): Promise<Map<string, CallContents>> {
    const sealed = await this.contents.listSealed(botId, callIds);
    return new Map(
      [...sealed]
        .filter(([, text]) => this.box.canOpen(text))
        .map(([id, text]) => [id, JSON.parse(this.box.open(text)) as CallContents]),
    );
  }

  @Every({ name: 'models.deleteOldContents', everyMs: cleanMs })
  deleteOld(): Promise<void> {
    return this.contents.deleteOld();
  }
}

function bounded(value: object): string {
  return JSON.stringify(value).slice(0, maxCharacters);
}
