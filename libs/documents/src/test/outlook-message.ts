import { compoundFileOf, type Folder } from './compound-file-of';

/** Property by its identifier: text in Unicode, bytes, or a number; an 8-bit text in a list. */
export type MapiProperties = { [id: string]: string | Buffer | number | Date | [Buffer] };

export interface OutlookMessage {
  properties: MapiProperties;
  recipients?: MapiProperties[];
  attachments?: (MapiProperties | { message: OutlookMessage })[];
}

const headBytes = { message: 32, embedded: 24, other: 8 };

export function outlookMessage(message: OutlookMessage): Buffer {
  return compoundFileOf(folderOf(message, 'message'));
}

function folderOf(
  { properties, recipients = [], attachments = [] }: OutlookMessage,
  kind: keyof typeof headBytes,
): Folder {
  const folder = propertiesOf(properties, kind);
  for (const [index, one] of recipients.entries()) {
    folder[`__recip_version1.0_#${index.toString(16).padStart(8, '0')}`] = propertiesOf(one, 'other');
  }
  for (const [index, one] of attachments.entries()) {
    folder[`__attach_version1.0_#${index.toString(16).padStart(8, '0')}`] = isMessage(one)
      ? { ...propertiesOf({}, 'other'), '__substg1.0_3701000D': folderOf(one.message, 'embedded') }
      : propertiesOf(one, 'other');
  }
  return folder;
}

function isMessage(one: MapiProperties | { message: OutlookMessage }): one is { message: OutlookMessage } {
  return 'message' in one;
}

function propertiesOf(properties: MapiProperties, kind: keyof typeof headBytes): Folder {
  const folder: Folder = {};
  const fixed: Buffer[] = [Buffer.alloc(headBytes[kind])];
  for (const [id, value] of Object.entries(properties)) {
    const record = Buffer.alloc(16);
    record.writeUInt16LE(Number.parseInt(id, 16), 2);
    if (typeof value === 'number') {
      record.writeUInt16LE(3, 0);
      record.writeUInt32LE(value, 8);
    } else if (value instanceof Date) {
      record.writeUInt16LE(0x40, 0);
      record.writeBigUInt64LE(BigInt(value.getTime() + 11_644_473_600_000) * 10_000n, 8);
    } else if (typeof value === 'string') folder[`__substg1.0_${id}001F`] = Buffer.from(value, 'utf16le');
    else if (Array.isArray(value)) folder[`__substg1.0_${id}001E`] = value[0];
    else folder[`__substg1.0_${id}0102`] = value;
    fixed.push(record);
  }
  folder['__properties_version1.0'] = Buffer.concat(fixed);
  return folder;
}
