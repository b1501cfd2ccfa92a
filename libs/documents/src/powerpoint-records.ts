import { deepestNesting } from './limits';
import { UnreadableDocument } from './block';

const headBytes = 8;
const containerMark = 0xf;

/** Record of a presentation before 2007 (MS-PPT): an atom with content, or a container of others. */
export interface PowerPointRecord {
  type: number;
  instance: number;
  content: Buffer;
  children: PowerPointRecord[];
}

/** Record at this position with all within it; undefined behind the end. */
export function recordAt(stream: Buffer, at: number, depth = 0): (PowerPointRecord & { end: number }) | undefined {
  if (at + headBytes > stream.length) return undefined;
  if (depth > deepestNesting) {
    throw new UnreadableDocument(
      `The document is nested more than ${deepestNesting} levels deep. Simplify its structure and upload it again.`,
    );
  }
  const mark = stream.readUInt16LE(at);
  const end = Math.min(stream.length, at + headBytes + stream.readUInt32LE(at + 4));
  const content = stream.subarray(at + headBytes, end);
  const isContainer = (mark & containerMark) === containerMark;
  const children = isContainer ? recordsIn(content, depth + 1) : [];
  return { type: stream.readUInt16LE(at + 2), instance: mark >> 4, content, children, end };
}

export function recordsIn(content: Buffer, depth = 0): PowerPointRecord[] {
  const records: PowerPointRecord[] = [];
  for (let at = 0; at < content.length;) {
    const record = recordAt(content, at, depth);
    if (!record) break;
    records.push(record);
    at = record.end;
  }
  return records;
}

export function childOf(record: PowerPointRecord | undefined, ...types: number[]): PowerPointRecord | undefined {
  return types.reduce<PowerPointRecord | undefined>(
    (found, type) => found?.children.find((child) => child.type === type),
    record,
  );
}
