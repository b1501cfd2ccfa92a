/** JSON in ASCII, for receivers that decode each chunk of a body on its own and so break characters of several bytes. */
export function toAsciiJson(value: object): string {
  return JSON.stringify(value).replace(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
