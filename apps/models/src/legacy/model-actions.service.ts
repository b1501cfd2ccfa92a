import { Injectable } from '@nestjs/common';
import type { BotCaller } from '@parley/contracts/access';
import type { Caller } from '@parley/contracts/caller';
import { ApiError } from '@parley/contracts/errors';
import { problemsOf, toInstance } from '@parley/contracts/fields';
import { type GeneratedText, GenerateText } from '@parley/contracts/models/cognitive';
import type { CallModelAction, ModelActionReply } from '@parley/contracts/models/model-actions';
import { newId } from '@parley/persistence/ids';
import { CognitiveService } from '../cognitive/cognitive.service';

/** Actions of the `llm` interface, for clients built before 2026. */
@Injectable()
export class ModelActionsService {
  constructor(private readonly cognitive: CognitiveService) {}

  /** Throws like `CognitiveService.generateText`. */
  async call(caller: Caller, { action, input }: CallModelAction): Promise<ModelActionReply> {
    if (action === 'listLanguageModels') return { output: { ...(await this.cognitive.listModels()) } };
    const request = toInstance(GenerateText, input) as GenerateText;
    const problems = problemsOf(request);
    if (problems.length > 0) throw new ApiError('InvalidPayload', `${problems.join('; ')}.`);
    return { output: toContent(await this.cognitive.generateText(caller as BotCaller, request)) };
  }
}

function toContent({ output, toolCalls, metadata }: GeneratedText): Record<string, unknown> {
  const { provider, model, usage, cost, stopReason } = metadata;
  const calls = toolCalls?.map(({ id, name, input }) => ({
    ...{ id, type: 'function' },
    function: { name, arguments: input },
  }));
  const choice = { type: calls ? 'tool_calls' : 'text', content: output, role: 'assistant', index: 0, stopReason };
  return {
    id: newId('mcall'),
    ...{ provider, model },
    choices: [{ ...choice, ...(calls && { toolCalls: calls }) }],
    usage,
    botpress: { cost },
  };
}
