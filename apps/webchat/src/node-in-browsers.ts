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

export function equal(actual: unknown, expected: unknown): void {
  if (actual !== expected) throw new Error(`${String(actual)} is not ${String(expected)}`);
}

export const Buffer = { isBuffer: () => false };
