import type { ClientInputs } from '@botpress/client';
import { messages, transforms, z } from 'botpress-sdk-5';

type Interface = ClientInputs['createInterface'];

/** Options of the CLI. Its type does not declare the first one. */
const options = { $refStrategy: 'none', unionStrategy: 'anyOf' } as const;
/** Schema as the CLI writes it: without references, and with `additionalProperties: false` in each plain object. */
const asJson = (schema: z.ZodType) => ({
  schema: transforms.toJSONSchemaLegacy(schema, options) as Record<string, unknown>,
});
const schemaOf = (properties: z.ZodRawShape) => asJson(z.object(properties));
const action = (input: z.ZodRawShape, output: z.ZodRawShape) => ({ input: schemaOf(input), output: schemaOf(output) });

const id = z.string();
const text = z.string();
const tags = (...names: string[]) => ({ tags: Object.fromEntries(names.map((name) => [name, {}])) });

const source = z.union([z.object({ type: z.literal('user'), userId: id }), z.object({ type: z.literal('bot') })]);
const [first, second, ...more] = Object.entries(messages.defaults).map(([type, { schema }]) =>
  z.object({ source, type: z.literal(type), payload: schema }),
);

const events = {
  hitlAssigned: schemaOf({ conversationId: id, userId: id }),
  hitlStopped: schemaOf({ conversationId: id }),
};
const actions = {
  createUser: action({ name: text.optional(), pictureUrl: text.optional(), email: text.optional() }, { userId: id }),
  startHitl: action(
    {
      userId: id,
      title: text,
      description: text.optional(),
      messageHistory: z.array(z.union([first!, second!, ...more])).optional(),
    },
    { conversationId: id },
  ),
  stopHitl: action({ conversationId: id, reason: z.enum(['timeout', 'cancel']).optional() }, {}),
};
const hitlMessages = { text: asJson(messages.defaults.text.schema.extend({ userId: id.optional() })) };

/** The interface `hitl` as it is published elsewhere. */
export const hitlInterface = {
  name: 'hitl',
  version: '0.4.0',
  events,
  actions,
  channels: { hitl: { messages: hitlMessages } },
} satisfies Interface;

export const deskIntegration = {
  name: 'desk',
  version: '1.0.0',
  events,
  actions,
  user: tags('email'),
  states: { ticket: { type: 'conversation', ...schemaOf({ opened: z.record(z.any()) }) } },
  channels: { hitl: { messages: hitlMessages, conversation: tags('ticket', 'closed'), message: tags('shownAs') } },
} satisfies ClientInputs['createIntegration'];

const configuration = {
  onHitlHandoffMessage: text.optional(),
  agentAssignedTimeoutSeconds: z.number().optional(),
};

export const handoffPlugin = {
  name: 'handoff',
  version: '1.0.0',
  configuration: schemaOf(configuration),
  actions: {
    startHitl: action(
      { title: text, userId: id, conversationId: id, configurationOverrides: z.object(configuration).optional() },
      {},
    ),
    stopHitl: action({ conversationId: id }, {}),
  },
  events: { humanAgentAssignedTimeout: schemaOf({ sessionStartedAt: text, downstreamConversationId: id }) },
  states: {
    hitl: { type: 'conversation', ...schemaOf({ hitlActive: z.boolean() }) },
    effectiveSessionConfig: { type: 'conversation', ...schemaOf(configuration) },
  },
  user: tags('upstream', 'downstream'),
  conversation: tags('upstream', 'downstream', 'humanAgentId', 'humanAgentName'),
} satisfies Omit<ClientInputs['createPlugin'], 'code'>;
