import { IsIn, IsString } from 'class-validator';
import { service } from '../access';
import { JsonObject } from '../fields';
import { operation } from '../operation';

/** Integrations that clients built before 2026 look for. A bot without one of this name is answered by its models. */
export const legacyIntegrations = ['google-ai', 'anthropic', 'openai', 'cerebras', 'fireworks-ai', 'groq'];
export const legacyActions = ['generateContent', 'listLanguageModels'] as const;

const maxBytes = 5_000_000;

export class CallModelAction {
  @IsIn(legacyActions) action!: (typeof legacyActions)[number];
  @IsString() integrationName!: string;
  @JsonObject({ maxBytes }) input!: Record<string, unknown>;
}

export class ModelActionReply {
  @JsonObject({ maxBytes }) output!: Record<string, unknown>;
}

export const modelActions = {
  call: operation({
    subject: 'models.actions.call',
    summary: 'Answers an action of a language model integration that the bot of the caller has not installed.',
    access: service,
    input: CallModelAction,
    output: ModelActionReply,
    timeoutMs: 55_000,
  }),
};
