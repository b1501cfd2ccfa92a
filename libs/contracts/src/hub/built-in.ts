import { card, choices, simplePayloads, text } from '../chat/payload-schemas';
import { list, object } from '../schemas';
import type { IntegrationDefinition } from './integration-definition';

/** Workspace that owns the built-in integrations. No account is a member of it. */
export const builtInWorkspace = { id: 'wkspace_00000000000000000000000001', name: 'Parley', handle: null };

const payloads = {
  ...simplePayloads,
  card,
  ...choices,
  carousel: object({ items: list(card) }),
  bloc: object({
    items: list({
      anyOf: Object.entries(simplePayloads).map(([type, payload]) =>
        object({ type: { type: 'string', const: type }, payload }),
      ),
    }),
  }),
};

/** Metadata: the sender may add any fields to the payload. */
function withMetadata(payload: ReturnType<typeof object>) {
  const { properties, ...rest } = payload;
  return { ...rest, properties: { ...properties, metadata: { type: 'object', additionalProperties: true } } };
}

const anything = { type: 'object', additionalProperties: true };
const nothing = object({});

/**
 * Built-in integration for applications that use the chat API. The platform itself runs it, and every bot has it
 * installed. A migration has stored its texts and definition: changes here only reach new databases.
 */
export const chatIntegration: {
  id: string;
  name: string;
  version: string;
  /** Changes only together with a migration. */
  publishedAt: string;
  title: string;
  description: string;
  definition: IntegrationDefinition;
} = {
  id: 'intver_00000000000000000000000001',
  name: 'chat',
  version: '1.0.0',
  publishedAt: '2026-01-01T00:00:00.000Z',
  title: 'Chat',
  description: 'Lets websites and applications talk with the bot over HTTP, with live updates.',
  definition: {
    configuration: {
      identifier: { required: false },
      schema: object(
        {
          encryptionKey: {
            type: 'string',
            title: 'Encryption key',
            description: 'Signs the keys of your users, so that only you decide who they are.',
          },
          webhookUrl: {
            type: 'string',
            title: 'Webhook URL',
            description: 'Ignored; accepted for compatibility with bots from another platform. Nothing is sent to it.',
          },
          webhookSecret: {
            type: 'string',
            title: 'Webhook secret',
            description: 'Ignored; accepted together with the webhook URL.',
          },
        },
        ['encryptionKey', 'webhookUrl', 'webhookSecret'],
      ),
    },
    configurations: {},
    identifier: {},
    sandbox: {},
    channels: {
      channel: {
        title: 'Conversation',
        description: 'A conversation that is held in an application.',
        messages: Object.fromEntries(
          Object.entries(payloads).map(([name, payload]) => [name, { schema: withMetadata(payload) }]),
        ),
        conversation: {
          tags: {
            owner: { title: 'Owner', description: 'The user who began the conversation.' },
            fid: { title: 'Foreign id', description: 'The id under which the application knows the conversation.' },
          },
          creation: { enabled: false, requiredTags: [] },
        },
        message: {
          tags: { fid: { title: 'Foreign id', description: 'The id under which the application knows the message.' } },
        },
      },
    },
    states: {},
    events: {
      custom: {
        title: 'Custom event',
        description: 'An event that an application sends to the bot.',
        schema: object({ userId: text, conversationId: text, payload: anything }),
      },
    },
    actions: {
      sendEvent: {
        title: 'Send an event',
        description: 'Sends an event to the applications that listen to a conversation.',
        input: { schema: object({ conversationId: text, payload: anything }) },
        output: { schema: nothing },
      },
      publishMessageStream: {
        title: 'Publish a part of a message',
        description: 'Shows a message to the listeners of a conversation while it is still being written.',
        input: {
          schema: object({
            conversationId: text,
            signal: {
              anyOf: [
                object({
                  type: { type: 'string', const: 'delta' },
                  streamId: text,
                  sequence: { type: 'number' },
                  delta: { type: 'string' },
                }),
                object({ type: { type: 'string', const: 'abort' }, streamId: text }),
              ],
            },
          }),
        },
        output: { schema: nothing },
      },
    },
    entities: {},
    user: {
      tags: {
        fid: { title: 'Foreign id', description: 'The id under which the application knows the user.' },
        profile: { title: 'Profile', description: 'Text about the user that the application provides.' },
      },
      creation: { enabled: false, requiredTags: [] },
    },
    extraOperations: {},
  },
};
