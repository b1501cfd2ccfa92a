/** The schema has amounts of money in billionths of a US dollar. */
export const billionths = 1_000_000_000;

/** Rounded up: nothing that has a price is free. */
export function inBillionths(dollars: number): number {
  return Math.ceil(Math.round(dollars * billionths * 1e3) / 1e3);
}

/** @param amount billionths, of which Postgres answers the text */
export function inDollars(amount: number | string): number {
  return Number(amount) / billionths;
}

/** Rounded to a trillionth, without the noise of binary fractions. */
export function roundedDollars(dollars: number): number {
  return Math.round(dollars * 1e12) / 1e12;
}
