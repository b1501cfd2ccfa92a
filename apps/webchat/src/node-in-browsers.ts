/**
 * Parts of Node's `assert`, `buffer` and `util` that packages of the public client use in a browser. Their other parts,
 * other modules of Node, and packages that the client requires only in Node, resolve to this module too.
 */

interface Class {
  prototype: object;
}

export function inherits(child: Class, parent: Class): void {
  Object.setPrototypeOf(child.prototype, parent.prototype);
}

export function ok(value: unknown): void {
  if (!value) throw new Error(`${String(value)} is not true`);
}

export function equal(actual: unknown, expected: unknown): void {
  ok(actual === expected);
}

export const Buffer = { isBuffer: () => false };
