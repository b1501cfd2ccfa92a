const format = new Intl.NumberFormat(undefined, { maximumFractionDigits: 1 });
const units = ['B', 'kB', 'MB', 'GB'];

/** Size in decimal units. Null: nothing was uploaded yet. */
export function bytesText(bytes: number | null): string {
  if (bytes === null) return '';
  const power = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(1, bytes)) / 3));
  return `${format.format(bytes / 1_000 ** power)} ${units[power]}`;
}
