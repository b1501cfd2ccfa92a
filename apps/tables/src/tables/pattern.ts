import { RE2JS } from 're2js';

const maxLength = 1000;
const maxInstructions = 1000;
/** Characters of a text times instructions of the pattern: some 50 ms for the worst that there is. */
const maxWork = 500_000;

/** A regular expression that takes time in proportion to the text, whatever it is; without look-around and back references. */
export class Pattern {
  private constructor(
    private readonly expression: RE2JS,
    private readonly source: string,
    /** In characters: what may be tested without holding up others. */
    readonly longestText: number,
  ) {}

  /** Throws a sentence without its subject for what is none, or too large a one. */
  static compile(source: string): Pattern {
    if (source.length > maxLength) throw new Error(`must be at most ${maxLength} characters`);
    const expression = compile(source);
    const instructions = expression.re2().numberOfInstructions() as number;
    if (instructions > maxInstructions) throw new Error('repeats too much: use smaller counts in braces');
    return new Pattern(expression, source, Math.floor(maxWork / instructions));
  }

  /** Whether any part of the text matches. */
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
