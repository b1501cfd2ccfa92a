/** Results go to `out`, so that they can be piped; errors, progress and hints go to `err`. */
export interface Output {
  out: (text: string) => void;
  err: (text: string) => void;
}

/** Prints text as it is and everything else as indented JSON. */
export function printResult({ out }: Output, result: unknown): void {
  out(`${typeof result === 'string' ? result : JSON.stringify(result, null, 2)}\n`);
}
