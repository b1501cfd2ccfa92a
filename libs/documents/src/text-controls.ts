const headBytes = 8_000;
/** Pattern of the control characters that text does not contain: all but tab, line ends, form feed and ESC (terminal logs). */
export const controls = '[\\0-\\x08\\x0e-\\x1a\\x1c-\\x1f]';
const control = new RegExp(controls);

/** Whether the first 8,000 bytes have control characters that text in an encoding of single bytes does not use. */
export function hasControls(bytes: Buffer): boolean {
  return control.test(bytes.toString('latin1', 0, headBytes));
}
