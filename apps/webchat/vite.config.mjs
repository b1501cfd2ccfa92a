import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { build, defineConfig } from 'vite';

const root = fileURLToPath(new URL('.', import.meta.url));
const { resolve } = createRequire(import.meta.url);
const nodeInBrowsers = `${root}src/node-in-browsers.ts`;
const banner = (licences) => `/*! Licences: ${licences} */`;

/**
 * Module of the public client. It is a build of its own because a chunk would import the script: from a cached script of
 * another build, or from a second copy where the address of the script has a query.
 */
const { output: client } = await build({
  root,
  configFile: false,
  logLevel: 'warn',
  publicDir: false,
  define: { 'process.env': '{}' },
  resolve: {
    alias: [
      // Its entry for browsers contains copies of Node's modules: 847 kB (gzip).
      { find: '@botpress/chat', replacement: resolve('@botpress/chat') },
      { find: /^(assert|crypto|stream|util)$/, replacement: nodeInBrowsers },
      // The client requires them only where there is no `window`.
      { find: /^(eventsource|jsonwebtoken)$/, replacement: nodeInBrowsers },
    ],
  },
  build: {
    write: false,
    rolldownOptions: {
      input: 'src/public-client.ts',
      preserveEntrySignatures: 'strict',
      transform: { inject: { Buffer: [nodeInBrowsers, 'Buffer'] } },
      output: { entryFileNames: 'assets/chat-[hash].js', postBanner: banner('../client-licences.md') },
    },
    modulePreload: false,
    license: { fileName: 'client-licences.md' },
  },
});

export default defineConfig({
  logLevel: 'warn',
  define: {
    'process.env.NODE_ENV': '"production"',
    PARLEY_CLIENT: JSON.stringify(client.find(({ isEntry }) => isEntry).fileName),
  },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  plugins: [
    {
      name: 'public-client',
      generateBundle() {
        for (const { fileName, code, source = code } of client) this.emitFile({ type: 'asset', fileName, source });
      },
    },
  ],
  build: {
    emptyOutDir: true,
    // One file, whose address is on pages of other people.
    rolldownOptions: {
      input: 'src/element.tsx',
      output: { entryFileNames: 'embed.js', postBanner: banner('licences.md') },
    },
    modulePreload: { polyfill: false },
    // Notices of the packages in the bundle.
    license: { fileName: 'licences.md' },
  },
});
