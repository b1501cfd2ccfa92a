import { Injectable } from '@nestjs/common';
import type { BotCaller } from '@parley/contracts/access';
import type { Caller } from '@parley/contracts/caller';
import { ApiError } from '@parley/contracts/errors';
import { generationTimeoutMs } from '@parley/contracts/models/cognitive';
import type { AskForText, TextAnswer } from '@parley/contracts/models/texts';
import { AnswersService } from '../generation/answers.service';
import type { ChatRequest } from '../generation/completion';
import { GenerationService, noModelAnswered } from '../generation/generation.service';

/** Before the deadline of the caller, so that it learns that the model is too slow. */
const longestMs = generationTimeoutMs - 10_000;
const maxAnswerLength = 1_000_000;

/** Texts for the columns of tables and for the indexing of files. */
@Injectable()
export class TextsService {
  constructor(
    private readonly generation: GenerationService,
    private readonly answers: AnswersService,
  ) {}

  /** Throws like `GenerationService.generate`. */
  generate(caller: Caller, { purpose, model, maxTokens, ...input }: AskForText): Promise<TextAnswer> {
    return this.answers.whole(caller, async (left) => {
      const late = AbortSignal.timeout(longestMs);
      const call = {
        ...{ caller: caller as BotCaller, kind: purpose, wanted: [model], maxTokens },
        request: toRequest(input),
        signal: AbortSignal.any([left, late]),
      };
      const { completion } = await this.generation.generate(call).catch((error: unknown) => {
        throw error === late.reason ? noModelAnswered('failed', `None answered within ${longestMs} ms.`) : error;
      });
      if (completion.stopReason === 'content_filter')
        throw new ApiError('InvalidPayload', 'The provider of the language model refuses this content.');
      if (completion.output.length > maxAnswerLength)
        throw noModelAnswered('failed', `The answer has more than ${maxAnswerLength} characters.`);
      return { text: completion.output };
    });
  }
}

function toRequest({ system, prompt, picture }: Pick<AskForText, 'system' | 'prompt' | 'picture'>): ChatRequest {
  const parts = [
    { type: 'text', text: prompt },
    { type: 'image_url', image_url: { url: `data:image/png;base64,${picture}` } },
  ];
  return {
    messages: [
      { role: 'system', content: system },
      { role: 'user', content: picture === undefined ? prompt : parts },
    ],
  };
}
