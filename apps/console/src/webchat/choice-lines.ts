interface Choice {
  label: string;
  value: string;
}

/** Choices as lines: `label`, or `label | text that is sent`. */
export function linesOf(choices: readonly Choice[]): string {
  return choices.map(({ label, value }) => (label === value ? label : `${label} | ${value}`)).join('\n');
}

export function choicesIn(lines: string): Choice[] {
  return valuesIn(lines).map((line) => {
    const [label, value] = line.split('|').map((part) => part.trim());
    return { label: label!, value: value || label! };
  });
}

/** Lines that are not empty. */
export function valuesIn(lines: string): string[] {
  return lines
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}
