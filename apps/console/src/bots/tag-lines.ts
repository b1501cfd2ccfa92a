/** Tags as lines `name=value`. */
export function linesOf(tags: Record<string, string>): string {
  return Object.entries(tags)
    .map(([name, value]) => `${name}=${value}`)
    .join('\n');
}

/** Throws an error that names the first wrong line. */
export function tagsIn(lines: string): Record<string, string> {
  const tags = lines
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .map((line): [string, string] => {
      const [, name, value] = /^([^=]+)=(.*)$/.exec(line) ?? [];
      if (name === undefined || value === undefined)
        throw new Error(`The tag "${line}" has no value: write it as name=value.`);
      return [name.trim(), value.trim()];
    });
  return Object.fromEntries(tags);
}

/** Change that turns the former tags into these: `null` removes a tag. */
export function tagChanges(
  former: Record<string, string>,
  tags: Record<string, string>,
): Record<string, string | null> {
  const removed = Object.keys(former).filter((name) => !(name in tags));
  return { ...Object.fromEntries(removed.map((name) => [name, null])), ...tags };
}
