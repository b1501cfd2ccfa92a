import { randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import type { StreamedAnswer } from '@parley/contracts/answer-streams';
import type { Caller } from '@parley/contracts/caller';
import { modelAnswers } from '@parley/contracts/models/model-answers';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { AnswerSender, ReceiverGone } from '@parley/transport/answer-sender';
import { ParleyClient } from '@parley/transport/parley-client';
import { ParleyServer } from '@parley/transport/parley-server';

/** Streamed answers to the gateway. */
@Injectable()
export class AnswersService {
  constructor(
    private readonly client: ParleyClient,
    private readonly server: ParleyServer,
    @Inject(platformToken) private readonly platform: Platform,
  ) {}

  /** Answers in one piece. The signal aborts when the client goes. */
  async whole<Output>(caller: Caller, work: (signal: AbortSignal) => Promise<Output>): Promise<Output> {
    const sender = this.open(caller);
    try {
      return await work(sender.signal);
    } finally {
      sender.close();
    }
  }

  private open({ answerKey = randomUUID() }: Caller): AnswerSender {
    return new AnswerSender(this.client, this.server, modelAnswers, answerKey);
  }

  /**
   * Answers `StreamedAnswer` when the work writes for the first time, so that an error before is the error of the request. An
   * error after it breaks the answer off.
   */
  stream(caller: Caller, streams: string, work: (sender: AnswerSender) => Promise<void>): Promise<StreamedAnswer> {
    const sender = this.open(caller);
    return new Promise((resolve, reject) => {
      sender.onOpen(() => resolve({ streams }));
      work(sender)
        .then(
          () => sender.end('complete'),
          (error: unknown) => {
            if (sender.isOpen && !(error instanceof ReceiverGone))
              this.platform.logger.warn({ err: error, bot: caller.bot?.id }, 'a streamed answer broke off');
            sender.end('broken');
            reject(error instanceof Error ? error : new Error(String(error)));
          },
        )
        .finally(() => sender.close());
    });
  }
}
