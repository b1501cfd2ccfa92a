/** Whole number from `least` to `most`; `otherwise` for a text that is not a number, or for none. */
export function wholeNumber(
  written: string | undefined,
  { least, most = Number.MAX_SAFE_INTEGER, otherwise }: { least: number; most?: number; otherwise: number },
): number {
  const number = Math.trunc(Number(written?.trim() || Number.NaN));
  return Number.isNaN(number) ? otherwise : Math.min(Math.max(number, least), most);
}
