/** File that was declared, before its content is uploaded. */
export interface DeclaredFile {
  url: string;
  uploadUrl: string;
  contentType: string;
}

export class ChatError extends Error {
  override readonly name = 'ChatError';

  /** @param status of the response; 0 when there was none */
  constructor(
    message: string,
    readonly status: number,
    readonly retryAfterMs = 0,
  ) {
    super(message);
  }

  /** Whether the same request may succeed later. */
  get isTemporary(): boolean {
    return this.status === 0 || this.status >= 500 || (this.status === 429 && this.retryAfterMs > 0);
  }
}

export function unreachable(): ChatError {
  return new ChatError('The server cannot be reached.', 0);
}

/** Declares a file of a visitor, for which the public client has no operation. Throws ChatError. */
export async function declareFile(
  url: string,
  headers: Record<string, string>,
  conversationId: string,
  { name, size, type }: File,
): Promise<DeclaredFile> {
  const response = await respond(`${url}/files`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify({ conversationId, name, size, contentType: type || undefined }),
  });
  return ((await response.json()) as { file: DeclaredFile }).file;
}

/**
 * Throws ChatError. `fetch` tells nothing about the progress of an upload.
 * @param progressed called with the part that was sent, from 0 to 1
 */
export function upload(file: File, { uploadUrl, contentType }: DeclaredFile, progressed: (part: number) => void) {
  return new Promise<void>((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open('PUT', uploadUrl);
    request.setRequestHeader('content-type', contentType);
    request.upload.onprogress = ({ loaded, total }) => progressed(loaded / total);
    request.onerror = () => reject(unreachable());
    request.onload = () =>
      request.status < 300 ? resolve() : reject(new ChatError(messageIn(request), request.status));
    request.send(file);
  });
}

function messageIn({ status, responseText }: XMLHttpRequest): string {
  try {
    return (JSON.parse(responseText) as { message: string }).message;
  } catch {
    // Another server answered, such as a proxy.
    return unexplained(status);
  }
}

/** Throws ChatError without a response, or for the response of an error. */
export async function respond(url: string, init?: RequestInit): Promise<Response> {
  const response = await fetch(url, { ...init, credentials: 'omit' }).catch(() => {
    throw unreachable();
  });
  if (response.ok) return response;
  const body = (await response.json().catch(() => ({}))) as { message?: string };
  throw failed(response, body.message);
}

/** Error of a response. */
export function failed({ status, headers }: Pick<Response, 'status' | 'headers'>, message?: string): ChatError {
  return new ChatError(message ?? unexplained(status), status, Number(headers.get('retry-after') ?? 0) * 1000);
}

export function unexplained(status: number): string {
  return `The server answered ${status}.`;
}
