import { clientOf } from '@parley/testing/api';
import { put } from '@parley/testing/bot-files';
import { document, type Ledger, type PromisedFile } from './checker/ledger';
import type { LoadTarget } from './recorded-requests';

export interface DeclaredFile {
  id: string;
  promised: PromisedFile;
  text: string;
  /** A word of each passage. */
  marks: string[];
  /** Sends the content. Returns the status of the answer. */
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
    // Shortest chunks: each paragraph becomes a passage.
    indexing: { configuration: { chunking: { maximumChunkLength: 100 } } },
  });
  const promised = ledger.declared({ botId, id: file.id, index });
  return {
    id: file.id,
    promised,
    text,
    marks: content.marks,
    upload: async () => {
      const acknowledge = ledger.attempt(promised, content);
      const { ok, status } = await put(file.uploadUrl, text, { 'content-type': 'text/plain' });
      if (ok) acknowledge();
      return status;
    },
  };
}
