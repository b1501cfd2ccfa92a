/** The conversation that a URL names, and what its query may carry for clients that cannot set headers. */
export interface ListenTarget {
  webhookId: string;
  /** In any form. A foreign id may hold slashes, and clients do not encode it. */
  conversationId: string;
  userKey?: string;
  lastEventId?: string;
}

const form = /^\/chat\/([^/]+)\/conversations\/(.+)\/listen$/;
const maxIdLength = 1000;

/** Undefined when the URL is that of something else, or of nothing that could be there. */
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
    // Not percent-encoded UTF-8.
    return undefined;
  }
}
