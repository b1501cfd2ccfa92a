/** Segment of a URL path without its escapes. Malformed escapes and those of U+0000 stay: they name nothing. */
export function decodedSegment(segment: string): string {
  try {
    const decoded = decodeURIComponent(segment);
    return decoded.includes('\0') ? segment : decoded;
  } catch {
    return segment;
  }
}
