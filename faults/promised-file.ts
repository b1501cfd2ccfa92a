import { clientOf } from '@parley/testing/api';
import { put } from '@parley/testing/bot-files';
import { document, type Ledger } from './checker/ledger';
import type { LoadTarget } from './load';

/** A file of so many passages that a ledger knows of, still without its content. */
export interface DeclaredFile {
  id: string;
  /** A word that stands in the last passage alone. */
  lastMark: string;
  /** Sends the content and says how that was answered. */
  upload(): Promise<number>;
}

export interface DeclareOptions {
  passages?: number;
  index?: boolean;
}

export async function declare(
  target: LoadTarget,
  ledger: Ledger,
  botId: string,
  name: string,
  { passages = 3, index = true }: DeclareOptions = {},
): Promise<DeclaredFile> {
  const { text, content } = document(name, passages);
  const { file } = await clientOf(target, botId).upsertFile({
    key: `${name}.txt`,
    size: text.length,
    contentType: 'text/plain',
    index,
    // As short as they may be: each paragraph of the document becomes a passage.
    indexing: { configuration: { chunking: { maximumChunkLength: 100 } } },
  });
  const promised = ledger.declared({ botId, id: file.id, index });
  return {
    id: file.id,
    lastMark: content.marks.at(-1)!,
    upload: async () => {
      const acknowledge = ledger.attempt(promised, content);
      const { ok, status } = await put(file.uploadUrl, text, { 'content-type': 'text/plain' });
      if (ok) acknowledge();
      return status;
    },
  };
}
