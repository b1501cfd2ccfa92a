// `npm start`. Syntax of Node 10, as in runtime.cjs.
require('./runtime.cjs')
  .onRuntime()
  .then(() => import('./start.mjs'));
