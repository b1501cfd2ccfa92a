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

const conversationId = described('The conversation it is about.', text);
const messageId = described('The message that is being answered.', text);
const cost = described('What the provider charges for it, in US dollars.', number);
const item = entity('item');
const itemId = described('Which item.', text);

/** What can be done with items of some kind: each of these interfaces speaks of one entity, `item`. */
function aboutItems(parts: Partial<InterfaceDefinition>, nameTemplate: string): InterfaceDefinition {
  return {
    entities: {
      item: {
        title: 'Item',
        description: 'What the integration keeps many of, such as an issue or a contact.',
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
      'Shows the user that an answer is being written.',
      object({ conversationId, messageId, timeout: described('Milliseconds until it ends by itself.', number) }, [
        'timeout',
      ]),
      nothing,
    ),
    stopTypingIndicator: action(
      'Stop the typing indicator',
      'Shows the user that nothing is being written any more.',
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
      description: 'What the help desk wants to know when a session starts.',
      schema: anything,
    },
  },
  events: {
    hitlAssigned: {
      title: 'Assigned',
      description: 'An agent takes the conversation over.',
      schema: object({ conversationId, userId: described('The agent, as a user of the bot.', text) }),
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
      'Makes the person whom the bot talks with known to the help desk.',
      object({ name: text, pictureUrl: text, email: text }, ['name', 'pictureUrl', 'email']),
      object({ userId: text }),
    ),
    startHitl: action(
      'Start a session',
      'Asks the help desk for an agent.',
      object(
        {
          userId: text,
          title: text,
          description: text,
          hitlSession: entity('hitlSession'),
          messageHistory: described(
            'What was said before, oldest first.',
            list(object({ source: anything, type: text, payload: anything })),
          ),
        },
        ['title', 'description', 'hitlSession', 'messageHistory'],
      ),
      object({ conversationId }),
    ),
    stopHitl: action(
      'Stop a session',
      'Tells the help desk that the bot goes on without it.',
      object({ conversationId, reason: text }, ['reason']),
      nothing,
    ),
  },
  channels: {
    hitl: { title: 'Session', description: 'What user and agent say to each other.', messages: hitlMessages },
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
  'Tokens of one request at most, and the price of a million in US dollars.',
  object({ maxTokens: number, costPer1MTokens: number }),
);

/** Of some kind of model: what identifies it, and what lists tell of it besides. */
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
            systemPrompt: described('What the model is told before the messages.', text),
            messages: list(llmMessage),
            responseFormat: { type: 'string', enum: ['text', 'json_object'] },
            reasoningEffort: { type: 'string', enum: ['none', 'low', 'medium', 'high'] },
            maxTokens: described('Tokens of the answer at most.', number),
            temperature: { type: 'number', minimum: 0, maximum: 2 },
            topP: { type: 'number', minimum: 0, maximum: 1 },
            stopSequences: list(text),
            tools: described(
              'Functions that the model may ask for.',
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
      'Says which models there are.',
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
        'Writes down what is said in a recording.',
        object(
          {
            fileUrl: described('Where the recording is.', text),
            model: entity('speechModelRef'),
            language: described('As ISO 639-1 says it; found out when absent.', text),
            prompt: described('Words that may come up, or what was said before.', text),
            temperature: number,
          },
          ['model', 'language', 'prompt', 'temperature'],
        ),
        object({
          model: text,
          language: text,
          duration: described('Seconds.', number),
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
      'Says which models there are.',
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
      description: 'What only models of this provider understand.',
      schema: anything,
    },
  },
  events: {},
  actions: {
    generateImage: {
      ...action(
        'Generate an image',
        'Makes an image of a description.',
        object(
          {
            prompt: described('What the image should show.', text),
            model: entity('imageModelRef'),
            size: described('Such as 1024x1024.', text),
            expiration: described('Days for which the image is kept.', number),
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
      'Says which models there are.',
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
        'Gives the items, page by page.',
        object({ nextToken: described('Of the page before.', text) }, ['nextToken']),
        object({ items: list(item), meta: object({ nextToken: text }, ['nextToken']) }),
      ),
    },
  },
  '{{item}}Listable',
);

const creatable = aboutItems(
  {
    actions: { create: action('Create', 'Makes an item.', object({ item }), object({ item })) },
    events: { created: { title: 'Created', description: 'An item was made.', schema: object({ item }) } },
  },
  '{{item}}Creatable',
);

const updatable = aboutItems(
  {
    actions: {
      update: action('Update', 'Changes an item.', object({ id: itemId, item }), object({ item })),
    },
    events: { updated: { title: 'Updated', description: 'An item was changed.', schema: object({ item }) } },
  },
  '{{item}}Updatable',
);

const deletable = aboutItems(
  {
    actions: { delete: action('Delete', 'Removes an item.', object({ id: itemId }), nothing) },
    events: { deleted: { title: 'Deleted', description: 'An item was removed.', schema: object({ id: itemId }) } },
  },
  '{{item}}Deletable',
);

const readable = aboutItems(
  { actions: { read: action('Read', 'Gives an item.', object({ id: itemId }), object({ item })) } },
  '{{item}}Readable',
);

const all: [string, string, string, InterfaceDefinition][] = [
  ['typing-indicator', 'Typing indicator', 'Shows users that the bot is about to answer.', typingIndicator],
  ['hitl', 'Human in the loop', 'Hands conversations over to people, at a help desk.', hitl],
  ['llm', 'Language models', 'Generates text with large language models.', llm],
  ['listable', 'Listable', 'Has items that can be listed.', listable],
  ['creatable', 'Creatable', 'Has items that can be made.', creatable],
  ['updatable', 'Updatable', 'Has items that can be changed.', updatable],
  ['deletable', 'Deletable', 'Has items that can be removed.', deletable],
  ['readable', 'Readable', 'Has items that can be read one by one.', readable],
  ['speech-to-text', 'Speech to text', 'Writes down what is said in recordings.', speechToText],
  ['text-to-image', 'Text to image', 'Makes images of descriptions.', textToImage],
];

/** What integrations commonly implement, as it is when a database is made. */
export const builtInInterfaces: BuiltInInterface[] = all.map(([name, title, description, definition], index) => ({
  id: `00000000-0000-4000-8000-0000000000${String(index + 1).padStart(2, '0')}`,
  name,
  version: '1.0.0',
  title,
  description,
  definition,
}));
