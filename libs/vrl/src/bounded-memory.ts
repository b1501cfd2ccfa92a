const preambleBytes = 8;
const memorySection = 5;
const pageBytes = 65_536;
/** Flags of the limits of a memory. */
const [withoutMax, withMax] = [0x00, 0x01];

/**
 * WebAssembly program whose memory cannot grow beyond `maxBytes`: allocations beyond it fail. Programs that declare no
 * memory of their own, or have a maximum already, are returned as they are.
 * Source: binary format of modules, webassembly.github.io/spec/core/binary/modules.html.
 */
export function withBoundedMemory(program: Uint8Array, maxBytes: number): Uint8Array {
  for (let at = preambleBytes; at < program.length;) {
    const id = program[at]!;
    const [size, start] = readUnsigned(program, at + 1);
    if (id !== memorySection) {
      at = start + size;
      continue;
    }
    const [count, flagsAt] = readUnsigned(program, start);
    if (count !== 1 || program[flagsAt] !== withoutMax) return program;
    const [minPages] = readUnsigned(program, flagsAt + 1);
    const pages = Math.max(minPages, Math.floor(maxBytes / pageBytes));
    const content = [1, withMax, ...unsigned(minPages), ...unsigned(pages)];
    const section = [memorySection, ...unsigned(content.length), ...content];
    return Buffer.concat([program.subarray(0, at), Buffer.from(section), program.subarray(start + size)]);
  }
  return program;
}

/** LEB128: value, and the offset behind it. */
function readUnsigned(bytes: Uint8Array, offset: number): [number, number] {
  let value = 0;
  for (let at = offset, factor = 1; ; at += 1, factor *= 128) {
    const byte = bytes[at]!;
    value += (byte & 0x7f) * factor;
    if (byte < 0x80) return [value, at + 1];
  }
}

function unsigned(value: number): number[] {
  return value < 0x80 ? [value] : [(value % 128) + 128, ...unsigned(Math.floor(value / 128))];
}
