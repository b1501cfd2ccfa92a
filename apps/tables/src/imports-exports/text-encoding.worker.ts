import { UnreadableDocument } from '@parley/documents/block';
import { encodingOfText } from '@parley/documents/decode-text';

export interface EncodingTask {
  sample: Uint8Array;
  charset: string | undefined;
}

/** Undefined for bytes that are no text. */
export default function encodingOfSample({ sample, charset }: EncodingTask): string | undefined {
  try {
    return encodingOfText(Buffer.from(sample), charset);
  } catch (error) {
    if (!(error instanceof UnreadableDocument)) throw error;
    return undefined;
  }
}
