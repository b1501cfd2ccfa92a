import type { Value } from './ledger';
import { patientFetch } from './patient-fetch';

export interface ApiAddress {
  url: string;
  token: string;
  workspaceId: string;
}

export interface ShownMessage {
  text: string;
  createdAt: string;
}

/** Existing values by name: more than one are duplicates. */
export type FoundValues = Map<string, Value[]>;

const rowsPerPage = 1000;

/** Reads the public API, page by page. */
export class ApiClient {
  constructor(private readonly asked: ApiAddress) {}

  /** Throws for an answer other than 200 and 404. */
  async ask(path: string, botId?: string, body?: object): Promise<{ status: number; body: unknown }> {
    const { url, token, workspaceId } = this.asked;
    const response = await patientFetch(`${url}${path}`, {
      method: body ? 'POST' : 'GET',
      body: JSON.stringify(body),
      headers: {
        authorization: `Bearer ${token}`,
        'x-workspace-id': workspaceId,
        ...(botId ? { 'x-bot-id': botId } : {}),
        ...(body ? { 'content-type': 'application/json' } : {}),
      },
    });
    if (response.status !== 200 && response.status !== 404) throw new Error(`${path}: ${await response.text()}`);
    return { status: response.status, body: await response.json() };
  }

  /** Column `value` of each row by its column `name`. */
  async rows(botId: string, table: string): Promise<FoundValues> {
    const found: FoundValues = new Map();
    for (let offset = 0, hasMore = true; hasMore; offset += rowsPerPage) {
      const { body } = await this.ask(`/v1/tables/${table}/rows/find`, botId, { limit: rowsPerPage, offset });
      const page = body as { rows?: { name: string; value: number }[]; hasMore?: boolean };
      for (const { name, value } of page.rows ?? []) found.set(name, [...(found.get(name) ?? []), value]);
      hasMore = page.hasMore ?? false;
    }
    return found;
  }

  /** Oldest first. */
  async messages(botId: string, conversationId: string): Promise<ShownMessage[]> {
    const found: ShownMessage[] = [];
    for (let next: string | undefined = ''; next !== undefined;) {
      const token = next && `&nextToken=${encodeURIComponent(next)}`;
      const { body } = await this.ask(`/v1/chat/messages?conversationId=${conversationId}${token}`, botId);
      const page = body as {
        messages?: { payload: { text: string }; createdAt: string }[];
        meta?: { nextToken?: string };
      };
      found.push(...(page.messages ?? []).map(({ payload, createdAt }) => ({ text: payload.text, createdAt })));
      next = page.meta?.nextToken;
    }
    return found.reverse();
  }

  async tags(botId: string, conversationId: string): Promise<FoundValues> {
    const { body } = await this.ask(`/v1/chat/conversations/${conversationId}`, botId);
    return single((body as { conversation?: { tags: Record<string, string> } }).conversation?.tags);
  }

  async state(botId: string, conversationId: string, name: string): Promise<FoundValues> {
    const { body } = await this.ask(`/v1/chat/states/conversation/${conversationId}/${name}`, botId);
    return single((body as { state?: { payload: Record<string, number> } }).state?.payload);
  }
}

function single(values: Record<string, Value> = {}): FoundValues {
  return new Map(Object.entries(values).map(([name, value]) => [name, [value]]));
}
