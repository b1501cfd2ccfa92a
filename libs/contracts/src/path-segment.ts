/** Segment of a URL path without its escapes. Malformed escapes stay: they name nothing. */
export function decodedSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
