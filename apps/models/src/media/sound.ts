/** Bytes of a second at 16 kbit/s, the lowest usual rate, and at 64 kbit/s. */
const lowestRate = 2_000;
const usualRate = 8_000;

const extensions: [string, (bytes: Buffer) => boolean][] = [
  ['wav', (bytes) => isAt(bytes, 0, 'RIFF') && isAt(bytes, 8, 'WAVE')],
  ['ogg', (bytes) => isAt(bytes, 0, 'OggS')],
  ['flac', (bytes) => isAt(bytes, 0, 'fLaC')],
  ['mp3', (bytes) => isAt(bytes, 0, 'ID3') || (bytes[0] === 0xff && ((bytes[1] ?? 0) & 0xe0) === 0xe0)],
  ['webm', (bytes) => bytes.length > 4 && bytes.readUInt32BE(0) === 0x1a45dfa3],
  ['mp4', (bytes) => isAt(bytes, 4, 'ftyp')],
];

/** Extension of an audio file by its first bytes: servers go by the name of a file. Undefined for other files. */
export function soundExtension(bytes: Buffer): string | undefined {
  return extensions.find(([, fits]) => fits(bytes))?.[0];
}

/** Seconds of WAV by its header; undefined for other formats, and for a header without a rate. */
export function secondsOfWav(bytes: Buffer): number | undefined {
  if (soundExtension(bytes) !== 'wav' || bytes.length < 44) return undefined;
  const rate = bytes.readUInt32LE(28);
  return rate > 0 ? rounded((bytes.length - 44) / rate) : undefined;
}

/** Longest and likely duration of a file whose format does not say it. */
export function estimatedSeconds(bytes: Buffer): { longest: number; likely: number } {
  const exact = secondsOfWav(bytes);
  return {
    longest: exact ?? rounded(bytes.length / lowestRate),
    likely: exact ?? rounded(bytes.length / usualRate),
  };
}

export function rounded(seconds: number): number {
  return Math.round(seconds * 1_000) / 1_000;
}

function isAt(bytes: Buffer, offset: number, text: string): boolean {
  return bytes.toString('latin1', offset, offset + text.length) === text;
}
