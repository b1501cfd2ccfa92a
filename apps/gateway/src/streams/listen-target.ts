/** Parsed URL of a listen request. The query carries values for clients that cannot set headers. */
export interface ListenTarget {
  webhookId: string;
  /** Id or foreign id, in any form: foreign ids may contain slashes, which clients do not encode. */
  conversationId: string;
  userKey?: string;
  lastEventId?: string;
}

const form = /^\/chat\/([^/]+)\/conversations\/(.+)\/listen$/;
const maxIdLength = 1000;

/** Undefined for any other URL, and for ids that cannot exist. */
export function listenTarget(url: string): ListenTarget | undefined {
  const [path, query] = url.split('?', 2) as [string, string | undefined];
  const [webhookId, conversationId] = form.exec(path)?.slice(1).map(decoded) ?? [];
  if (!webhookId || !conversationId) return undefined;
  const parameters = new URLSearchParams(query);
  return {
    webhookId,
    conversationId,
    userKey: parameters.get('x-user-key') ?? undefined,
    lastEventId: parameters.get('lastEventId') ?? undefined,
  };
}

function decoded(text: string): string | undefined {
  try {
    const id = decodeURIComponent(text);
    return id.length > maxIdLength || id.includes('\0') ? undefined : id;
  } catch {
    return undefined;
  }
}
