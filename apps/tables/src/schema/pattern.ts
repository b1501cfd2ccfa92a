import { RE2JS } from 're2js';

const maxLength = 1000;
const maxInstructions = 1000;
/** Work limit: characters of a text times instructions of the pattern, 50 ms in the worst case. */
const maxWork = 500_000;

/** Regular expression with linear time (RE2): no look-around and no back references. */
export class Pattern {
  private constructor(
    private readonly expression: RE2JS,
    private readonly source: string,
    /** Longest text, in characters, that can be tested without blocking the event loop. */
    readonly longestText: number,
  ) {}

  /** Throws an error whose message is a predicate without a subject when the pattern is invalid or too large. */
  static compile(source: string): Pattern {
    if (source.length > maxLength) throw new Error(`must be at most ${maxLength} characters`);
    const expression = compile(source);
    const instructions = expression.re2().numberOfInstructions() as number;
    if (instructions > maxInstructions) throw new Error('repeats too much: use smaller counts in braces');
    return new Pattern(expression, source, Math.floor(maxWork / instructions));
  }

  test(text: string): boolean {
    return this.expression.test(text);
  }

  toString(): string {
    return this.source;
  }
}

function compile(source: string): RE2JS {
  try {
    return RE2JS.compile(RE2JS.translateRegExp(source));
  } catch (error) {
    const reason = (error as Error).message.replace('error parsing regexp: ', '').slice(0, 200);
    throw new Error(`must be a regular expression without look-around and back references (${reason})`, {
      cause: error,
    });
  }
}
