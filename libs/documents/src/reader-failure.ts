/** Unexpected exception of a reader: a defect of ours, which each attempt would meet again. Plain data, for IPC. */
export interface ReaderFailure {
  /** Name of the format. */
  reader: string;
  /** Class of the exception. */
  exception: string;
  /** Function and line of our code, the same in each installation. */
  place: string;
  /** Whether the document has a plain text that is read without this reader. */
  hasPlainText: boolean;
  /** For the log. */
  stack: string;
}

const longestStack = 4_000;
const ownFrame =
  /^ *at (?:async )?(?:new )?(?:(\S+)[^(]* \()?.*[\\/](?:libs|apps)[\\/][\w-]+[\\/]src[\\/](?:.*[\\/])?([\w.-]+:\d+):\d+\)?$/m;
const packageFrame = /[\\/]node_modules[\\/]((?:@[\w.-]+[\\/])?[\w.-]+)[\\/]/;

export function failureOf(error: unknown, format: { name: string; plainText?: unknown }): ReaderFailure {
  const { name, stack } = error instanceof Error ? error : new Error(String(error));
  return {
    reader: format.name,
    exception: name,
    place: placeIn(stack ?? ''),
    hasPlainText: format.plainText !== undefined,
    stack: (stack ?? '').slice(0, longestStack),
  };
}

/** Innermost function of our code, else the package that threw. */
function placeIn(stack: string): string {
  const [, name, line] = ownFrame.exec(stack) ?? [];
  if (line) return name ? `${name}, ${line}` : line;
  return packageFrame.exec(stack)?.[1] ?? 'unknown place';
}
