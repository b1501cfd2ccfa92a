// `npm start`. Syntax of Node 10, as in runtime.cjs.
void require('./runtime.cjs')
  .onRuntime()
  .then(() => import('./start.mjs'));
