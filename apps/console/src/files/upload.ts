import type { ErrorBody } from '@parley/contracts/errors';
import { errorOf } from '../api/api-error';
import { clientOf } from '../api/client';

interface Options {
  key: string;
  index: boolean;
  expiresAt?: string;
}

/**
 * Declares a file, by default one that is indexed under its name, and sends its content. Returns the id. `fetch` tells no
 * progress of an upload.
 */
export async function upload(
  botId: string,
  content: globalThis.File,
  onPercent: (percent: number) => void,
  options: Options = { key: content.name, index: true },
): Promise<string> {
  const { file } = await clientOf({ botId }).upsertFile({ size: content.size, ...options });
  await new Promise<void>((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open('PUT', file.uploadUrl);
    request.setRequestHeader('content-type', file.contentType);
    request.upload.onprogress = ({ loaded, total }) =>
      onPercent(total === 0 ? 100 : Math.round((100 * loaded) / total));
    request.onload = () => (request.status < 300 ? resolve() : reject(uploadErrorOf(request)));
    request.onerror = () => reject(new Error('The connection was lost during the upload. Try again.'));
    request.send(content);
  });
  return file.id;
}

function uploadErrorOf({ responseText, status }: XMLHttpRequest): Error {
  try {
    return errorOf(JSON.parse(responseText) as ErrorBody);
  } catch {
    // A proxy in between answers in its own words.
    return new Error(`The upload was refused with HTTP status ${status}.`);
  }
}
