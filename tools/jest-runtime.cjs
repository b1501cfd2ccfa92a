const { builtinModules } = require('node:module');
const { Script } = require('node:vm');
const { default: Runtime } = require('jest-runtime');

const ownOrCore = new RegExp(`^([./](?!.*/node_modules/)|node:|@parley/|(${builtinModules.join('|')})$)`);
/** Packages that remember every decorated class: each test file has its own copy, so that its classes can be freed. */
const isolated = /^(class-transformer|class-validator|class-validator-jsonschema|@nestjs\/typeorm)(\/|$)/;

const compiled = new Map();

/**
 * Jest runtime that loads packages once for each worker, with Node's `require`, and our own code again for each test file.
 * `jest.mock` of a package replaces it for our own code only. Belongs to `jest-environment.cjs`.
 */
module.exports = class SharedPackagesRuntime extends Runtime {
  constructor(...options) {
    super(...options);
    this.executor.compile = (source, filename) => this.compile(source, filename);
  }

  requireModule(from, moduleName, options, isRequireActual) {
    const isShared =
      moduleName && !options?.isInternalModule && !ownOrCore.test(moduleName) && !isolated.test(moduleName);
    return isShared ? require(moduleName) : super.requireModule(from, moduleName, options, isRequireActual);
  }

  /** Keeps the scripts, and with them the functions that V8 has compiled. */
  compile(source, filename) {
    let known = compiled.get(filename);
    if (known?.source !== source) {
      const start = `(function(${this.executor.injectedModuleParameters}){`;
      const script = new Script(`${start}${source}\n})`, { filename, columnOffset: -start.length });
      known = { source, script };
      compiled.set(filename, known);
    }
    return known.script.runInThisContext();
  }
};
