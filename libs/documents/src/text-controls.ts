const headBytes = 8_000;

/** Whether the first 8,000 bytes have control characters that text in an encoding of single bytes does not use. */
export function hasControls(bytes: Buffer): boolean {
  for (const byte of bytes.subarray(0, headBytes)) {
    if (byte < 0x20 && !(byte >= 0x09 && byte <= 0x0d) && byte !== 0x1b) return true;
  }
  return false;
}
