import type { Block } from './block';

/** Part of the path of a value: a name, the index in a list, or an element, which differs from others of its name. */
export type Step = string | number | { readonly name: string };

/** A passage of the usual length holds a block, so that each passage has the path of its values. */
const longestBlock = 900;
const deepestIndentation = 10;
/** Names above the first value of a block, and characters of a name. */
const mostNames = 10;
const longestName = 100;
/** Values of a list are on one line up to this length. */
const longestItem = 60;
const longestLine = 200;

/**
 * Writes records as in YAML: a line `name: value` for each value, below the names that contain it. Each name is written
 * once in a block.
 */
export class RecordWriter {
  private readonly ready: Block[] = [];
  private lines: string[] = [];
  private length = 0;
  private shown: readonly Step[] = [];
  /** Path of the list whose values are on the last line. */
  private list: readonly Step[] | undefined;

  /** `path` ends with the name of the value, or with its indices in a list of values. */
  write(path: readonly Step[], text: string): void {
    const end = path.findLastIndex((step) => typeof step !== 'number') + 1;
    const isInList = end < path.length;
    const name = path.slice(0, end);
    if (isInList && this.list && isSame(this.list, name)) return this.continueList(name, text);
    this.addValue(name, text);
    this.list = isInList ? name : undefined;
  }

  endBlock(): void {
    if (this.lines.length > 0) this.ready.push({ type: 'paragraph', text: this.lines.join('\n') });
    this.lines = [];
    this.length = 0;
    this.shown = [];
    this.list = undefined;
  }

  take(): Block[] {
    return this.ready.splice(0);
  }

  get blockLength(): number {
    return this.length;
  }

  private addValue(name: readonly Step[], text: string): void {
    const containers = name.slice(0, -1);
    const key = name.at(-1);
    if (this.length + text.length > longestBlock) this.endBlock();
    let common = 0;
    while (common < containers.length && common < this.shown.length && containers[common] === this.shown[common])
      common++;
    // The innermost names say most; a very deep path is not repeated in each block.
    if (this.lines.length === 0) common = Math.max(0, containers.length - mostNames);
    let bullet = '';
    for (let depth = common; depth < containers.length; depth++) {
      const step = containers[depth]!;
      if (typeof step === 'number') bullet = `${indentation(depth)}- `;
      else {
        this.add(`${bullet || indentation(depth)}${nameOf(step)}:`);
        bullet = '';
      }
    }
    this.shown = containers;
    const label = key === undefined ? '' : `${nameOf(key)}: `;
    this.add((bullet || indentation(containers.length)) + label + text);
  }

  private continueList(name: readonly Step[], text: string): void {
    if (this.length + text.length > longestBlock) {
      this.addValue(name, text);
      this.list = name;
      return;
    }
    const last = this.lines.at(-1)!;
    const fits = text.length <= longestItem && last.length <= longestLine;
    if (!fits) return this.add(`${indentation(name.length)}${text}`);
    this.lines[this.lines.length - 1] = `${last}, ${text}`;
    this.length += text.length + 2;
  }

  private add(line: string): void {
    this.lines.push(line);
    this.length += line.length + 1;
  }
}

function isSame(one: readonly Step[], other: readonly Step[]): boolean {
  return one.length === other.length && one.every((step, i) => step === other[i]);
}

function nameOf(step: Step): string {
  const name = typeof step === 'object' ? step.name : String(step);
  return name.length > longestName ? `${name.slice(0, longestName)}…` : name;
}

function indentation(depth: number): string {
  return '  '.repeat(Math.min(depth, deepestIndentation));
}
