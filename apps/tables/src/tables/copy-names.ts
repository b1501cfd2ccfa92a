const maxLength = 50;

export function copyNames(name: string, count: number): string[] {
  return Array.from({ length: count }, (_entry, index) => {
    const suffix = index === 0 ? '_copy' : `_copy${index + 1}`;
    return `${name.slice(0, maxLength - suffix.length)}${suffix}`;
  });
}
