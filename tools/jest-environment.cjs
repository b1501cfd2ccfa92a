require('reflect-metadata');
const { ModernFakeTimers } = require('@jest/fake-timers');
const { ModuleMocker } = require('jest-mock');
const { startWatchdog } = require('./loop-watchdog.cjs');

/** Fake timers of the global object itself would replace those of `node:timers` and `node:timers/promises` as well. */
const otherThanGlobal = new Proxy(globalThis, {
  get: (target, name) => target[name],
  set: (target, name, value) => Reflect.set(target, name, value),
});

/** Set by pdfjs-dist when it is loaded, which happens once for each worker. */
const ofPackages = new Set(['DOMMatrix', 'ImageData', 'Path2D']);

/** One for all test files of a worker. */
let watch;

/**
 * Jest environment in the worker's own context, so that our code and the shared packages have the same `Error`, `Date`
 * and globals. Restores globals, `process`, its environment variables and listeners after each test file.
 */
module.exports = class SharedEnvironment {
  global = globalThis;

  constructor({ projectConfig }, context) {
    const { exitCode } = process;
    this.restorers = [
      () => (process.exitCode = exitCode),
      restorerOf(globalThis, (key) => !ofPackages.has(key)),
      restorerOf(process, (key) => key !== '_events' && key !== '_eventsCount'),
      restorerOf(process.env),
      restorerOfListeners(process),
    ];
    this.moduleMocker = new ModuleMocker(globalThis);
    this.fakeTimersModern = new ModernFakeTimers({ config: projectConfig, global: otherThanGlobal });
    this.suite = context?.testPath;
    this.maxStandstillSeconds = projectConfig.testEnvironmentOptions?.maxStandstillSeconds ?? 60;
  }

  setup() {
    watch ??= startWatchdog();
    watch(this.suite, this.maxStandstillSeconds);
  }

  teardown() {
    this.fakeTimersModern.dispose();
    for (const restore of this.restorers) restore();
  }

  exportConditions() {
    return ['node', 'node-addons'];
  }

  /** Required by Jest; the runtime compiles for the worker's own context. */
  getVmContext() {}
};

function restorerOf(object, isRestored = () => true) {
  const keys = () => Reflect.ownKeys(object).filter(isRestored);
  const before = new Map(keys().map((key) => [key, Object.getOwnPropertyDescriptor(object, key)]));
  return () => {
    for (const key of keys()) if (!before.has(key)) Reflect.deleteProperty(object, key);
    for (const [key, descriptor] of before) {
      if (!isSame(descriptor, Object.getOwnPropertyDescriptor(object, key)))
        Reflect.defineProperty(object, key, descriptor);
    }
  };
}

function isSame(descriptor, other) {
  return other && ['value', 'get', 'set', 'enumerable'].every((field) => Object.is(descriptor[field], other[field]));
}

function restorerOfListeners(emitter) {
  const before = new Map(emitter.eventNames().map((event) => [event, emitter.rawListeners(event)]));
  return () => {
    for (const event of emitter.eventNames()) {
      for (const listener of emitter.rawListeners(event)) {
        if (!before.get(event)?.includes(listener)) emitter.off(event, listener);
      }
    }
  };
}
