import { crc32, deflateRawSync } from 'node:zlib';

export interface Part {
  name: string;
  content: string | Buffer;
  declaredSize?: number;
  checksum?: number;
  offset?: number;
  isEncrypted?: boolean;
}

/** Hand-written ZIP archive, because ZIP libraries do not write invalid ones. */
export function zipOf(parts: Part[]): Buffer {
  const written: Buffer[] = [];
  const directory: Buffer[] = [];
  let position = 0;
  for (const { name, content, offset, ...part } of parts) {
    const bytes = Buffer.from(content as string);
    const packed = deflateRawSync(bytes);
    const header = {
      name: Buffer.from(name),
      flags: part.isEncrypted ? 1 : 0x800,
      checksum: part.checksum ?? crc32(bytes),
      packedSize: packed.length,
      size: part.declaredSize ?? bytes.length,
    };
    const local = Buffer.concat([headerOf('504b0304', [20], header, []), header.name, packed]);
    directory.push(headerOf('504b0102', [20, 20], header, [0, 0, 0, 0, 0, 0, 0]), header.name);
    directory.at(-2)!.writeUInt32LE(offset ?? position, 42);
    written.push(local);
    position += local.length;
  }
  const entries = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.write('504b0506', 'hex');
  end.writeUInt16LE(parts.length, 8);
  end.writeUInt16LE(parts.length, 10);
  end.writeUInt32LE(entries.length, 12);
  end.writeUInt32LE(position, 16);
  return Buffer.concat([...written, entries, end]);
}

export function zipOfTexts(texts: Record<string, string | Buffer>): Buffer {
  return zipOf(Object.entries(texts).map(([name, content]) => ({ name, content })));
}

interface Header {
  name: Buffer;
  flags: number;
  checksum: number;
  packedSize: number;
  size: number;
}

function headerOf(signature: string, versions: number[], header: Header, more: number[]): Buffer {
  const words = (values: number[]) => Buffer.from(new Uint16Array(values).buffer);
  const sizes = new Uint32Array([header.checksum, header.packedSize, header.size]);
  return Buffer.concat([
    Buffer.from(signature, 'hex'),
    words([...versions, header.flags, 8, 0, 0]),
    Buffer.from(sizes.buffer),
    words([header.name.length, 0, ...more]),
  ]);
}
