import { mostArchiveEntryBytes } from './limits';

const headBytes = 16;
const compressed = 'LZFu';
const windowBytes = 4096;
/** Text that the window begins with (MS-OXRTFCP). */
const beginning =
  '{\\rtf1\\ansi\\mac\\deff0\\deftab720{\\fonttbl;}{\\f0\\fnil \\froman \\fswiss \\fmodern \\fscript \\fdecor ' +
  'MS Sans SerifSymbolArialTimes New RomanCourier{\\colortbl\\red0\\green0\\blue0\r\n\\par \\pard\\plain\\f0\\fs20\\b' +
  '\\i\\u\\tab\\tx';

/** RTF of an Outlook message. A damaged one ends early. */
export function decompressedRtf(bytes: Buffer): Buffer {
  if (bytes.toString('latin1', 8, 12) !== compressed) return bytes.subarray(headBytes);
  const size = Math.min(bytes.length < headBytes ? 0 : bytes.readUInt32LE(4), mostArchiveEntryBytes, bytes.length * 9);
  const output = Buffer.alloc(size);
  const window = Buffer.alloc(windowBytes);
  window.write(beginning, 'latin1');
  let [written, at, end] = [0, headBytes, beginning.length];
  const put = (byte: number) => {
    if (written < size) output[written++] = byte;
    window[end] = byte;
    end = (end + 1) % windowBytes;
  };
  while (at < bytes.length && written < size) {
    const kinds = bytes[at++]!;
    for (let bit = 0; bit < 8 && at < bytes.length; bit++) {
      if ((kinds & (1 << bit)) === 0) {
        put(bytes[at++]!);
        continue;
      }
      const reference = bytes[at]! * 0x100 + (bytes[at + 1] ?? 0);
      at += 2;
      const from = reference >> 4;
      if (from === end) return output.subarray(0, written);
      for (let i = 0; i < (reference & 0xf) + 2; i++) put(window[(from + i) % windowBytes]!);
    }
  }
  return output.subarray(0, written);
}
