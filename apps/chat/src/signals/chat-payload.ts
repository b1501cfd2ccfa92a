import { type ChatPayload, chatPayloadTypes, mendedPayload, payloadProblem } from '@parley/contracts/chat/chat-payload';
import { isRecord } from '@parley/contracts/is-record';

/** Stored format: the type stands beside the payload, metadata inside it. */
export interface Content {
  type: string;
  payload: Record<string, unknown>;
}

/** Client format of the native chat: the type inside the payload, metadata beside it. */
export interface ChatContent {
  payload: ChatPayload;
  metadata?: Record<string, unknown>;
}

export interface ChatMessage extends ChatContent {
  id: string;
  createdAt: string;
  userId: string;
  conversationId: string;
}

export interface ShownMessage extends Content {
  id: string;
  createdAt: Date;
  userId: string;
  conversationId: string;
}

export function toContent({ payload, metadata }: ChatContent): Content {
  const { type, ...fields } = payload;
  const content = { type, payload: toStoredFields(type, fields) };
  if (metadata && Object.keys(metadata).length > 0) content.payload['metadata'] = metadata;
  return content;
}

/** Never fails: a payload that fits none of the twelve types is shown unchanged. */
export function toChatContent({ type, payload }: Content): ChatContent {
  const { metadata, ...fields } = isRecord(payload) ? payload : {};
  return {
    payload: mendedPayload(withTypes(type, fields)) as unknown as ChatPayload,
    ...(isRecord(metadata) && Object.keys(metadata).length > 0 ? { metadata } : {}),
  };
}

/**
 * Validation error that names the field; undefined if clients can read the content. Defects that `toChatContent`
 * repairs, such as a missing list, are no errors.
 */
export function contentProblem(content: Content): string | undefined {
  if (!chatPayloadTypes.includes(content.type)) return `type must be one of: ${chatPayloadTypes.join(', ')}.`;
  const { metadata = null } = content.payload;
  if (metadata !== null && !isRecord(metadata)) return 'payload.metadata must be an object.';
  const problem = payloadProblem(toChatContent(content).payload);
  return problem && `payload${/^[.[]/.test(problem) ? '' : ' '}${problem}.`;
}

/** Fixed key order, so that replies, lists and signals serialize a message identically. */
export function toChatMessage({ id, createdAt, userId, conversationId, ...content }: ShownMessage): ChatMessage {
  return { id, createdAt: createdAt.toISOString(), ...toChatContent(content), userId, conversationId };
}

function toStoredFields(type: string, fields: Record<string, unknown>): Record<string, unknown> {
  if (type !== 'bloc' && type !== 'carousel') return fields;
  const items = (fields['items'] as Record<string, unknown>[]).map(({ type: itemType, ...item }) =>
    type === 'bloc' ? { type: itemType, payload: item } : item,
  );
  return { ...fields, items };
}

/** Changes `fields`. */
function withTypes(type: string, fields: Record<string, unknown>): Record<string, unknown> {
  const { items } = fields;
  if (type === 'carousel' && Array.isArray(items)) {
    return {
      ...fields,
      type,
      items: items.map((item: unknown) => (isRecord(item) ? { ...item, type: 'card' } : item)),
    };
  }
  if (type === 'bloc' && Array.isArray(items)) return { ...fields, type, items: items.map(flattened) };
  return Object.assign(fields, { type });
}

function flattened(item: unknown): unknown {
  if (!isRecord(item) || !isRecord(item['payload'])) return item;
  return { ...item['payload'], type: item['type'] };
}
