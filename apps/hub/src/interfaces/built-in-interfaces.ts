import type { InterfaceDefinition } from '@parley/contracts/hub/interface-definition';
import { list, object } from '@parley/contracts/schemas';

export interface BuiltInInterface {
  id: string;
  name: string;
  version: string;
  title: string;
  description: string;
  definition: InterfaceDefinition;
}

type Schema = Record<string, unknown>;

const text = { type: 'string' };
const number = { type: 'number' };
const anything = { type: 'object', additionalProperties: true };
const nothing = object({});

function described(description: string, schema: Schema): Schema {
  return { ...schema, description };
}

function entity(name: string): Schema {
  return { $ref: name };
}

function action(title: string, description: string, input: Schema, output: Schema) {
  return { title, description, input: { schema: input }, output: { schema: output } };
}

const conversationId = described('Id of the conversation.', text);
const messageId = described('Id of the message that the bot answers.', text);
const cost = described('Cost that the provider charges, in US dollars.', number);
const item = entity('item');
const itemId = described('Id of the item.', text);

function aboutItems(parts: Partial<InterfaceDefinition>, nameTemplate: string): InterfaceDefinition {
  return {
    entities: {
      item: {
        title: 'Item',
        description: 'One of many records of the integration, such as an issue or a contact.',
        schema: object({ id: text }),
      },
    },
    events: {},
    actions: {},
    channels: {},
    nameTemplate: { script: nameTemplate, language: 'handlebars' },
    attributes: {},
    ...parts,
  };
}

const typingIndicator: InterfaceDefinition = {
  entities: {},
  events: {},
  actions: {
    startTypingIndicator: action(
      'Start the typing indicator',
      'Shows the user that the bot is writing an answer.',
      object(
        { conversationId, messageId, timeout: described('Milliseconds after which the indicator ends.', number) },
        ['timeout'],
      ),
      nothing,
    ),
    stopTypingIndicator: action(
      'Stop the typing indicator',
      'Hides the typing indicator.',
      object({ conversationId, messageId }),
      nothing,
    ),
  },
  channels: {},
  attributes: {},
};

const fileMessage = (field: string) => ({ schema: object({ [field]: text, title: text }, ['title']) });
const hitlMessages = {
  text: { schema: object({ text }) },
  image: fileMessage('imageUrl'),
  audio: fileMessage('audioUrl'),
  video: fileMessage('videoUrl'),
  file: fileMessage('fileUrl'),
  bloc: { schema: object({ items: list(object({ type: text, payload: anything })) }) },
};

const hitl: InterfaceDefinition = {
  entities: {
    hitlSession: {
      title: 'Session',
      description: 'Data that the help desk needs at the start of a session.',
      schema: anything,
    },
  },
  events: {
    hitlAssigned: {
      title: 'Assigned',
      description: 'An agent was assigned to the conversation.',
      schema: object({ conversationId, userId: described('Id of the agent as a user of the bot.', text) }),
    },
    hitlStopped: {
      title: 'Stopped',
      description: 'The agent has ended the session.',
      schema: object({ conversationId }),
    },
  },
  actions: {
    createUser: action(
      'Create a user',
      "Creates the bot's user in the help desk.",
      object({ name: text, pictureUrl: text, email: text }, ['name', 'pictureUrl', 'email']),
      object({ userId: text }),
    ),
    startHitl: action(
      'Start a session',
      'Requests an agent of the help desk.',
      object(
        {
          userId: text,
          title: text,
          description: text,
          hitlSession: entity('hitlSession'),
          messageHistory: described(
            'Earlier messages of the conversation, oldest first.',
            list(object({ source: anything, type: text, payload: anything })),
          ),
        },
        ['title', 'description', 'hitlSession', 'messageHistory'],
      ),
      object({ conversationId }),
    ),
    stopHitl: action(
      'Stop a session',
      'Ends the session: the bot continues without the help desk.',
      object({ conversationId, reason: text }, ['reason']),
      nothing,
    ),
  },
  channels: {
    hitl: { title: 'Session', description: 'Messages between user and agent.', messages: hitlMessages },
  },
  attributes: {},
};

const role = { type: 'string', enum: ['user', 'assistant'] };
const toolCall = object({ id: text, type: { type: 'string', enum: ['function'] }, function: anything });
const llmMessage = object(
  {
    role,
    type: { type: 'string', enum: ['text', 'tool_calls', 'tool_result', 'multipart'] },
    content: described('Text, or a list of parts.', { anyOf: [text, list(anything), { type: 'null' }] }),
    toolCalls: list(toolCall),
    toolResultCallId: text,
  },
  ['type', 'content', 'toolCalls', 'toolResultCallId'],
);
const tokenPrice = described(
  'Limit for the tokens of one request, and the price of a million tokens in US dollars.',
  object({ maxTokens: number, costPer1MTokens: number }),
);

function modelEntity(title: string) {
  return { title, description: 'Identifies a model of the provider.', schema: object({ id: text }) };
}

function listedModels(reference: string, properties: Record<string, object>): Schema {
  const about = object({ name: text, description: text, tags: list(text), ...properties }, ['tags']);
  return object({ models: list({ allOf: [entity(reference), about] }) });
}

const llm: InterfaceDefinition = {
  entities: { modelRef: modelEntity('Language model') },
  events: {},
  actions: {
    generateContent: {
      ...action(
        'Generate content',
        'Continues a conversation with a language model.',
        object(
          {
            model: entity('modelRef'),
            systemPrompt: described('System prompt: instructions that precede the messages.', text),
            messages: list(llmMessage),
            responseFormat: { type: 'string', enum: ['text', 'json_object'] },
            reasoningEffort: { type: 'string', enum: ['none', 'low', 'medium', 'high'] },
            maxTokens: described('Limit for the tokens of the answer.', number),
            temperature: { type: 'number', minimum: 0, maximum: 2 },
            topP: { type: 'number', minimum: 0, maximum: 1 },
            stopSequences: list(text),
            tools: described(
              'Functions that the model may call.',
              list(object({ type: { type: 'string', enum: ['function'] }, function: anything })),
            ),
            toolChoice: object(
              { type: { type: 'string', enum: ['auto', 'specific', 'any', 'none'] }, functionName: text },
              ['functionName'],
            ),
            userId: text,
          },
          [
            ...['model', 'systemPrompt', 'responseFormat', 'reasoningEffort', 'maxTokens', 'temperature', 'topP'],
            ...['stopSequences', 'tools', 'toolChoice', 'userId'],
          ],
        ),
        object({
          id: text,
          provider: text,
          model: text,
          choices: list(
            object(
              {
                index: number,
                role: { type: 'string', enum: ['assistant'] },
                type: text,
                content: { anyOf: [text, list(anything), { type: 'null' }] },
                toolCalls: list(toolCall),
                stopReason: { type: 'string', enum: ['stop', 'max_tokens', 'tool_calls', 'content_filter', 'other'] },
              },
              ['type', 'toolCalls'],
            ),
          ),
          usage: object({ inputTokens: number, inputCost: cost, outputTokens: number, outputCost: cost }),
          botpress: object({ cost }),
        }),
      ),
      billable: true,
      cacheable: true,
    },
    listLanguageModels: action(
      'List language models',
      'Lists the available models.',
      nothing,
      listedModels('modelRef', { input: tokenPrice, output: tokenPrice }),
    ),
  },
  channels: {},
  attributes: {},
};

const speechToText: InterfaceDefinition = {
  entities: { speechModelRef: modelEntity('Speech model') },
  events: {},
  actions: {
    transcribeAudio: {
      ...action(
        'Transcribe audio',
        'Transcribes the speech of a recording.',
        object(
          {
            fileUrl: described('URL of the recording.', text),
            model: entity('speechModelRef'),
            language: described('ISO 639-1 code; detected when absent.', text),
            prompt: described('Context for the model: expected words, or the preceding text.', text),
            temperature: number,
          },
          ['model', 'language', 'prompt', 'temperature'],
        ),
        object({
          model: text,
          language: text,
          duration: described('Duration in seconds.', number),
          segments: list(object({ text, start: number, end: number }, ['start', 'end'])),
          cost,
          botpress: object({ cost }),
        }),
      ),
      billable: true,
      cacheable: true,
    },
    listSpeechToTextModels: action(
      'List speech models',
      'Lists the available models.',
      nothing,
      listedModels('speechModelRef', { costPerMinute: number }),
    ),
  },
  channels: {},
  attributes: {},
};

const textToImage: InterfaceDefinition = {
  entities: {
    imageModelRef: modelEntity('Image model'),
    imageGenerationParams: {
      title: 'Parameters',
      description: 'Parameters that are specific to models of this provider.',
      schema: anything,
    },
  },
  events: {},
  actions: {
    generateImage: {
      ...action(
        'Generate an image',
        'Generates an image from a description.',
        object(
          {
            prompt: described('Description of the image.', text),
            model: entity('imageModelRef'),
            size: described('Image size, such as 1024x1024.', text),
            expiration: described('Days until the image is deleted.', number),
            params: entity('imageGenerationParams'),
          },
          ['model', 'size', 'expiration', 'params'],
        ),
        object({ model: text, imageUrl: text, cost, botpress: object({ cost }) }),
      ),
      billable: true,
      cacheable: true,
    },
    listImageModels: action(
      'List image models',
      'Lists the available models.',
      nothing,
      listedModels('imageModelRef', { costPerImage: number, sizes: list(text), defaultSize: text }),
    ),
  },
  channels: {},
  attributes: {},
};

const listable = aboutItems(
  {
    actions: {
      list: action(
        'List',
        'Returns the items, page by page.',
        object({ nextToken: described('Token from `meta.nextToken` of the previous page.', text) }, ['nextToken']),
        object({ items: list(item), meta: object({ nextToken: text }, ['nextToken']) }),
      ),
    },
  },
  '{{item}}Listable',
);

const creatable = aboutItems(
  {
    actions: { create: action('Create', 'Creates an item.', object({ item }), object({ item })) },
    events: { created: { title: 'Created', description: 'An item was created.', schema: object({ item }) } },
  },
  '{{item}}Creatable',
);

const updatable = aboutItems(
  {
    actions: {
      update: action('Update', 'Updates an item.', object({ id: itemId, item }), object({ item })),
    },
    events: { updated: { title: 'Updated', description: 'An item was updated.', schema: object({ item }) } },
  },
  '{{item}}Updatable',
);

const deletable = aboutItems(
  {
    actions: { delete: action('Delete', 'Deletes an item.', object({ id: itemId }), nothing) },
    events: { deleted: { title: 'Deleted', description: 'An item was deleted.', schema: object({ id: itemId }) } },
  },
  '{{item}}Deletable',
);

const readable = aboutItems(
  { actions: { read: action('Read', 'Returns an item.', object({ id: itemId }), object({ item })) } },
  '{{item}}Readable',
);

const all: [string, string, string, InterfaceDefinition][] = [
  ['typing-indicator', 'Typing indicator', 'Shows users that the bot is about to answer.', typingIndicator],
  ['hitl', 'Human in the loop', 'Hands conversations over to agents of a help desk.', hitl],
  ['llm', 'Language models', 'Generates text with large language models.', llm],
  ['listable', 'Listable', 'Has items that can be listed.', listable],
  ['creatable', 'Creatable', 'Has items that can be created.', creatable],
  ['updatable', 'Updatable', 'Has items that can be updated.', updatable],
  ['deletable', 'Deletable', 'Has items that can be deleted.', deletable],
  ['readable', 'Readable', 'Has items that can be read one by one.', readable],
  ['speech-to-text', 'Speech to text', 'Transcribes the speech of recordings.', speechToText],
  ['text-to-image', 'Text to image', 'Generates images from descriptions.', textToImage],
];

/** Common interfaces, inserted when a database is created. A change needs a migration of its own for existing databases. */
export const builtInInterfaces: BuiltInInterface[] = all.map(([name, title, description, definition], index) => ({
  id: `00000000-0000-4000-8000-0000000000${String(index + 1).padStart(2, '0')}`,
  name,
  version: '1.0.0',
  title,
  description,
  definition,
}));
