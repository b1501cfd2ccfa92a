/**
 * Code that runs in the sandbox before the code of the column. It keeps private references to the built-ins that it
 * needs, so that the column's code cannot replace them, and freezes the clock at `instant`. It returns three functions:
 * `run` calls the code with the row, `settled` returns the outcome of the promise that the code returned, `failure`
 * describes an error. They return JSON: `{ value }`, `{ refusal }` for a value that cannot be stored, `{ message,
 * stack, isSyntax }` for an error; or undefined while the promise is pending.
 */
export const prelude = String.raw`((instant) => {
  const { parse, stringify } = JSON;
  const { apply, construct, defineProperty } = Reflect;
  const { isFinite } = Number;
  const { slice } = String.prototype;
  const { then } = Promise.prototype;
  const [text, RealPromise, RealDate, dateText] = [String, Promise, Date, Date.prototype.toString];
  const [NotCode, OfEngine] = [SyntaxError, InternalError];

  const FixedDate = function Date(...given) {
    if (new.target === undefined) return apply(dateText, new RealDate(instant), []);
    return construct(RealDate, given.length === 0 ? [instant] : given, new.target);
  };
  const hide = (object, name, value) =>
    defineProperty(object, name, { value, writable: true, configurable: true, enumerable: false });
  defineProperty(FixedDate, 'prototype', { value: RealDate.prototype, writable: false });
  hide(FixedDate, 'now', () => instant);
  hide(FixedDate, 'parse', RealDate.parse);
  hide(FixedDate, 'UTC', RealDate.UTC);
  hide(RealDate.prototype, 'constructor', FixedDate);
  hide(globalThis, 'Date', FixedDate);

  const refusalOf = (value) => {
    const type = typeof value;
    if (type === 'function' || type === 'symbol' || type === 'bigint') return 'a ' + type;
    if (type === 'number' && !isFinite(value)) return text(value);
  };
  const describe = (error) => {
    const isObject = typeof error === 'object' && error !== null;
    const message = apply(slice, text(isObject ? (error.message ?? error) : error), [0, 1000]);
    const stack = isObject ? apply(slice, text(error.stack), [0, 4000]) : '';
    return stringify({ message, stack, isSyntax: error instanceof NotCode });
  };
  const failure = (error) => {
    try {
      return describe(error);
    } catch (inner) {
      // QuickJS throws null when it has no memory left for an error.
      if (inner === null || inner instanceof OfEngine) throw inner;
      return stringify({ message: 'an error that cannot be read', stack: '' });
    }
  };
  const success = (value) => {
    let refusal;
    const check = (_, inner) => {
      refusal ??= refusalOf(inner);
      return refusal === undefined ? inner : null;
    };
    try {
      const json = stringify({ value: value === undefined ? null : value }, check);
      return refusal === undefined ? json : stringify({ refusal });
    } catch (error) {
      return failure(error);
    }
  };

  let result;
  const run = (code, json) => {
    try {
      const row = parse(json);
      const first = code(row);
      const value = typeof first === 'function' ? first(row) : first;
      if (!(value instanceof RealPromise)) return success(value);
      apply(then, value, [(settled) => (result = success(settled)), (error) => (result = failure(error))]);
    } catch (error) {
      return failure(error);
    }
  };
  return { run, settled: () => result, failure };
})`;
