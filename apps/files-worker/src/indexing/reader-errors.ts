import type { ChildEnd } from '@parley/child-processes/supervised-child';
import type { ReaderFailure } from '@parley/documents/reader-failure';

/** A reader process ended, by its memory limit, a crash or a standstill. Another reader may succeed. */
export class ReaderDied extends Error {
  override readonly name = 'ReaderDied';

  constructor(end: ChildEnd | { cause: 'standstill' }, residentMb: number) {
    super(deathReason(end.cause, residentMb), { cause: end.cause === 'crash' ? end.detail : undefined });
  }
}

function deathReason(cause: ChildEnd['cause'] | 'standstill', residentMb: number): string {
  if (cause === 'memory') {
    return `The document takes more than ${residentMb} MB of memory to read. Split it into smaller files.`;
  }
  const effect = cause === 'crash' ? 'crashed' : 'stops';
  return `The document ${effect} its reader: save it again with another program, and upload the new file.`;
}

const remedy = 'Save it with another program or in another format, and upload the new file.';

/** A reader met an exception that it does not expect: a defect of ours, which each attempt would meet again. */
export class ReaderFailed extends Error {
  override readonly name = 'ReaderFailed';
  readonly hasPlainText: boolean;
  /** Reason for the owner of a file that is not indexed. */
  readonly reason: string;
  /** Reason for the owner of a file whose plain text is indexed. */
  readonly warning: string;

  constructor({ reader, exception, place, hasPlainText, stack }: ReaderFailure) {
    super(`The ${reader} reader failed on this document (${exception} in ${place}).`, { cause: stack });
    this.hasPlainText = hasPlainText;
    this.reason = `${this.message} ${remedy}`;
    this.warning = `${this.message} Only its plain text is indexed, without headings, lists and tables. ${remedy}`;
  }
}

/** A reader got too little of a processor for a long time: no fault of the document. */
export class ReaderStarved extends Error {
  override readonly name = 'ReaderStarved';

  constructor() {
    super('The server is too busy: the reader of the document got too little processor time. It is tried again.');
  }
}
